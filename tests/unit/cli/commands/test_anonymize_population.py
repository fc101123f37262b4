"""obverse anonymize -p PROJECT --population FILE: people of the population too, where it has the column of the unit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Obverse

TOML = """
[project]
name = "clinic"
[budget]
epsilon = 1
[tables.people]
source = "people.csv"
unit = "{unit}"
[tables.people.columns]
city = {{ type = "text" }}
[tables.visits]
source = "visits.csv"
unit = "{path}"
limits = {{ rows = 6 }}
[tables.visits.columns]
city = {{ type = "text" }}
"""


@pytest.mark.parametrize("table", ["people", "visits"])
@pytest.mark.parametrize(("column", "risk"), [("pid", 1 / 8), ("other", 1 / 48)])
def test_the_population_of_a_projects_table_is_counted_by_the_unit(
    obverse: Obverse, tmp_path: Path, table: str, column: str, risk: float
) -> None:
    """Eight people with six rows each; four of them are in the table. By rows the risk was a sixth of what it is."""
    folder = tmp_path / "clinic"
    folder.mkdir()
    (folder / "obverse.toml").write_text(TOML.format(unit="pid", path="pid -> people.pid"))
    (folder / "people.csv").write_text("pid,city\n" + "".join(f"p{n},town\n" for n in range(4)))
    (folder / "visits.csv").write_text("pid,city\n" + "".join(f"p{n},town\n" * 2 for n in range(4)))
    (tmp_path / "all.csv").write_text(f"{column},city\n" + "".join(f"p{n},town\n" * 6 for n in range(8)))
    asked = (
        "-p",
        str(folder),
        "--reason",
        "a look",
        "--quasi",
        "city",
        "--population",
        str(tmp_path / "all.csv"),
        "--json",
    )
    assert json.loads(obverse("anonymize", "check", table, *asked).stdout)["risk"]["journalist"] == pytest.approx(risk)
    made = obverse("anonymize", table, *asked, "--k", "2", "--out", str(tmp_path / "out"))
    assert json.loads(made.stdout)["risk"]["journalist"] == pytest.approx(risk)


def test_rows_that_are_units_are_counted_as_rows(obverse: Obverse, tmp_path: Path) -> None:
    """It ended in an internal error."""
    folder = tmp_path / "clinic"
    folder.mkdir()
    (folder / "obverse.toml").write_text(TOML.partition("[tables.visits]")[0].format(unit="row"))
    (folder / "people.csv").write_text("pid,city\n" + "".join(f"p{n},town\n" for n in range(4)))
    (tmp_path / "all.csv").write_text("pid,city\n" + "p1,town\n" * 6)
    asked = (
        "-p",
        str(folder),
        "--reason",
        "a look",
        "--quasi",
        "city",
        "--population",
        str(tmp_path / "all.csv"),
        "--json",
    )
    for verb in (("check", "people"), ("people", "--k", "2", "--out", str(tmp_path / "out"))):
        report = json.loads(obverse("anonymize", *verb, *asked).stdout)
        assert report["risk"]["journalist"] == pytest.approx(1 / 6)
        assert report["counted"]["sentence"] == "Each row is a person, as the project declares."
