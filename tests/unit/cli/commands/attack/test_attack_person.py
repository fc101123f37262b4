"""obverse attack on a table with several rows of a person: people are counted, or it is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Obverse

TOML = """
[project]
name = "clinic"
[budget]
epsilon = 1
[tables.people]
source = "people.csv"
unit = "pid"
[tables.people.columns]
town = { type = "text" }
ill = { type = "text" }
[tables.visits]
source = "visits.csv"
unit = "pid -> people.pid"
limits = { rows = 6 }
[tables.visits.columns]
town = { type = "text" }
ill = { type = "text" }
[tables.drugs]
source = "drugs.csv"
unit = "visit -> visits.vid -> people.pid"
limits = { rows = 9 }
[tables.drugs.columns]
drug = { type = "text" }
ill = { type = "text" }
"""
ILL = ("flu", "gout", "cold", "cough")


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    """Forty people, a town each, six visits each, of two illnesses; each visit has a drug that four of them take."""
    visits = [(6 * p + v, f"p{p}", f"town{p}", ILL[(p + v) % 2 + p % 3]) for p in range(40) for v in range(6)]
    (tmp_path / "obverse.toml").write_text(TOML)
    (tmp_path / "people.csv").write_text("pid,town,ill\n" + "".join(f"p{p},town{p},flu\n" for p in range(40)))
    (tmp_path / "visits.csv").write_text(
        "vid,pid,town,ill\n" + "".join(",".join(map(str, row)) + "\n" for row in visits)
    )
    (tmp_path / "drugs.csv").write_text(
        "visit,drug,ill\n" + "".join(f"{v},d{v // 6 % 10},i{v // 6}\n" for v, *_ in visits)
    )
    return tmp_path


def told(found: Any) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(found.stdout)
    return said


def won(found: Any) -> tuple[int, int]:
    rate = told(found)["rate"]
    return rate["wins"], rate["trials"]


def test_classes_of_one_person_are_found_in_a_projects_table(obverse: Obverse, clinic: Path) -> None:
    """Each town is one person, with two illnesses in six rows: no class of rows holds one, and each is known."""
    door = ("-p", str(clinic), "--reason", "a look", "--json")
    found = obverse("attack", "homogeneity", "visits", "--on", "town", "--secret", "ill", *door)
    assert (found.exit_code, *won(found)) == (5, 40, 40)
    assert "in 40 of 40 classes one ill is everybody's" in told(found)["sentence"]
    found = obverse("attack", "background", "visits", "--on", "town", "--secret", "ill", *door)
    assert won(found)[1] == 40
    found = obverse("attack", "homogeneity", "drugs", "--on", "drug", "--secret", "ill", *door)
    assert (found.exit_code, told(found)["figures"]["smallest_class"], won(found)[1]) == (0, 4, 40)
    refused = obverse("attack", "homogeneity", "visits", "--on", "town", "--secret", "ill", "--person", "vid", *door)
    assert told(refused)["error"]["code"] == "bad_parameter"


def test_a_file_says_by_an_option_whose_a_row_is(obverse: Obverse, clinic: Path, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text((clinic / "visits.csv").read_text())
    asked = ("attack", "homogeneity", str(path), "--on", "town", "--secret", "ill", "--json")
    assert won(obverse(*asked))[1] == 240
    assert won(obverse(*asked, "--person", "pid")) == (40, 40)


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "visits", "--quasi", "town", "--secret", "ill"),
        ("sampling", "people", "--population", "visits", "--on", "town"),
        ("attribute", "people", "--members", "visits", "--outsiders", "people", "--on", "town", "--secret", "ill"),
    ],
)
def test_a_list_of_people_has_one_row_of_each(obverse: Obverse, clinic: Path, words: tuple[str, ...]) -> None:
    """It said "People 120 are released", of forty people, and took rows of the same ones as the control."""
    found = obverse("attack", *words, "-p", str(clinic), "--reason", "a look", "--json")
    assert (found.exit_code, told(found)["error"]["code"]) == (3, "rows_not_people")


def test_a_comparison_says_that_each_row_is_taken_as_a_person(obverse: Obverse, clinic: Path, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text((clinic / "visits.csv").read_text())
    found = obverse("attack", "compare", str(path), "--quasi", "town", "--secret", "ill", "--epsilons", "1")
    assert "Each row is taken as a person" in " ".join(found.stdout.split())


def test_a_list_with_one_row_of_each_is_read(obverse: Obverse, clinic: Path) -> None:
    words = ("sampling", "people", "--population", "people", "--on", "town")
    assert obverse("attack", *words, "-p", str(clinic), "--reason", "a look", "--json").exit_code == 5
