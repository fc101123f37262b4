"""The curator's own door: rows come out exactly, and never without a record of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import obverse
from obverse.core.errors import Refused
from obverse.session.custody import collapsed

TOML = """
[project]
name = "clinic"
[budget]
epsilon = 1
[tables.people]
source = "people.csv"
unit = "id"
limits = { rows = 1 }
[tables.people.columns]
sex = { type = "text", values = ["f", "m"] }
age = { type = "integer", bounds = [0, 120] }
[tables.towns]
source = "towns.csv"
public = true
[tables.towns.columns]
town = { type = "text" }
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "obverse.toml").write_text(TOML)
    (tmp_path / "people.csv").write_text("id,sex,age\n1,f,30\n2,f,30\n3,m,\n4,m,40\n")
    (tmp_path / "towns.csv").write_text("town\nBern\nBern\n")
    return tmp_path


def kinds(project: Path) -> list[str]:
    with obverse.open(project) as session:
        return [entry.kind for entry in session.ledger.entries()]


def test_rows_are_counted_and_the_record_says_who_looked_and_why(project: Path) -> None:
    found = collapsed(project, "people", ["sex", "age"], what="anonymize", reason="a table for the board")
    rows = sorted(zip(*found.columns.values(), found.counts.tolist()), key=str)
    assert rows == [("f", 30, 2), ("m", 40, 1), ("m", None, 1)]
    with obverse.open(project) as session:
        *_, last = session.ledger.entries()
        assert session.ledger.spent().amount == 0
    told = {"table": "people", "columns": ["sex", "age"], "what": "anonymize", "reason": "a table for the board"}
    assert last.kind == "custody"
    assert {key: value for key, value in last.fields.items() if key != "time"} == told


def test_a_public_table_needs_no_record(project: Path) -> None:
    before = kinds(project)
    assert collapsed(project, "towns", ["town"], what="attack", reason="a look").counts.tolist() == [2]
    assert kinds(project) == before


@pytest.mark.parametrize(
    ("table", "column", "reason", "code"),
    [
        ("people", "sex", " ", "no_reason"),
        ("peple", "sex", "why", "unknown_table"),
        ("people", "sx", "why", "unknown_column"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_is_written(
    project: Path, table: str, column: str, reason: str, code: str
) -> None:
    before = kinds(project)
    with pytest.raises(Refused) as caught:
        collapsed(project, table, [column], what="anonymize", reason=reason)
    assert caught.value.code == code
    assert kinds(project) == before


def test_no_route_of_an_analyst_leads_there() -> None:
    """Only verbs of the curator may import the door."""
    root = Path(obverse.__file__).parent
    importing = {
        path.relative_to(root).as_posix() for path in root.rglob("*.py") if "session.custody" in path.read_text()
    }
    reports = {"publish/report.py"}
    assert importing == {"review/tables.py", *reports, "publish/report.py", "curator/rights/export.py"}
