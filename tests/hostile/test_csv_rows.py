"""No line of a private CSV file makes a question fail, and what cannot be read is NULL, not a row that is gone."""

from __future__ import annotations

from pathlib import Path

import pytest

import obverse
from obverse.core.errors import CatalogError
from obverse.demo.project import manifest
from obverse.testing import noiseless

TOML = """\
[project]
name = "csv"
[privacy]
neighbours = "replace"
[budget]
epsilon = 1
[tables.people]
source = "people.csv"
unit = "row"
size = 11
[tables.people.columns]
id = {{ type = "integer" }}
height = {{ type = "integer", bounds = [48, 96]{nullable} }}
"""
LINES = {
    "a text for a number": b"77,tall\n",
    "invalid UTF-8": b"77,\xff\xfe\n",
    "a quote inside": b'77,6"4\n',
    "text after a quoted field": b'77,"64"x\n',
    "too many fields": b"77,64,65,66\n",
    "too few fields": b"77\n",
    "a zero byte": b"77,6\x004\n",
    "a carriage return": b"77,6\r4\n",
    "the other line ending": b"77,64\r\n",
    "a line break inside quotes": b'77,"6\n4"\n',
    "both inside quotes": b'77,"6\r\n4"\n',
    "a huge number": b"77,1e999\n",
    "a very long field": b"77," + b"9" * 3_000_000 + b"\n",
    "nothing": b"\n",
}
WELL_FORMED = ("a text for a number", "a line break inside quotes", "both inside quotes", "a huge number", "nothing")


def project(folder: Path, line: bytes, nullable: str) -> Path:
    whole = [b"%d,%d\n" % (i, 60 + i) for i in range(10)]
    file = folder / "people.csv"
    file.write_bytes(b"id,height\n" + b"".join(whole[:5]) + line + b"".join(whole[5:]))
    (folder / "manifest.json").write_text(manifest("obverse.testing.synthetic", 1, 0, "", [file]))
    (folder / "obverse.toml").write_text(TOML.format(nullable=nullable))
    return folder


def fit(folder: Path) -> bool:
    """Whether the product opens the project; if not, the whole file is refused before anything is asked of it."""
    try:
        obverse.open(folder).close()
    except CatalogError as error:
        return error.code != "source_unreadable"
    return True


@pytest.mark.parametrize("name", LINES)
def test_one_strange_line_refuses_the_file_or_changes_no_other_row(name: str, tmp_path: Path) -> None:
    """Never a question that fails: a failure after the debit would tell of the line."""
    folder = project(tmp_path, LINES[name], "")
    if not fit(folder):
        assert name not in WELL_FORMED
        return
    with noiseless(folder) as session:
        others = session.ask("SELECT COUNT(*) FROM people WHERE id < 10 AND height >= 60")
        everybody = session.ask("SELECT COUNT(*), COUNT(id), COUNT(height) FROM people")
    assert others.value == 10
    (counts,) = everybody
    assert all(10 <= n <= 12 for n in counts)


@pytest.mark.parametrize("column", ["id", "height"])
def test_a_value_that_cannot_be_read_leaves_its_row_in_place(column: str, tmp_path: Path) -> None:
    """DuckDB would push the cast into the reader and drop the row."""
    line = {"id": b"seventy,64\n", "height": b"77,tall\n"}[column]
    with noiseless(project(tmp_path, line, "")) as session:
        (counts,) = session.ask(f"SELECT COUNT(*), COUNT({column}) FROM people")
        missing = session.ask(f"SELECT COUNT(*) FROM people WHERE {column} IS NULL").value
    assert (*counts, missing) == (11, 10, 1)


def test_a_column_without_null_reads_what_it_cannot_read_as_its_lower_bound(tmp_path: Path) -> None:
    """Else the row would count as 0 in a sum whose sensitivity is only 96 - 48."""
    with noiseless(project(tmp_path, b"77,tall\n", ", nullable = false")) as session:
        sql = "SELECT SUM(height) FROM people"
        assert session.explain(sql).measures[0]["l1"] == 48
        assert session.ask(sql).value == sum(60 + i for i in range(10)) + 48
