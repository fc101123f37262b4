"""Projects that a test makes from plain values."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import duckdb
import numpy as np
import pytest

from obverse.core.errors import Refused
from obverse.core.types import Type
from obverse.demo.project import matches
from obverse.testing import synthetic
from obverse.testing.synthetic import kind_of

TOML = """\
[project]
name = "made"
[budget]
epsilon = 1
[tables.t]
source = "{file}"
unit = "row"
"""
VALUES = {
    "i": [1, None, -3],
    "x": [0.5, 2, None],
    "b": [True, False, None],
    "s": ["", None, 'a "quoted", text'],
    "d": [dt.date(2020, 2, 29), None, dt.date(1, 1, 1)],
    "m": [dt.datetime(2020, 2, 29, 1, 2, 3, 4), None, dt.datetime(1999, 1, 1)],
    "n": [None, None, None],
}


def test_values_come_back_as_they_were(tmp_path: Path) -> None:
    folder = synthetic({"t": VALUES}, TOML.format(file="t.parquet"), tmp_path / "made")
    with duckdb.connect() as connection:
        rows = connection.execute(f"SELECT * FROM '{folder / 't.parquet'}'").fetchall()
    assert rows == list(zip(*VALUES.values()))


def test_arrays_are_taken_like_lists(tmp_path: Path) -> None:
    masked = np.ma.masked_array([1, 2, 3], mask=[False, True, False])
    folder = synthetic(
        {"t": {"i": masked, "x": np.array([0.5, 1.0, 2.0])}}, TOML.format(file="t.parquet"), tmp_path / "made"
    )
    with duckdb.connect() as connection:
        assert connection.execute(f"SELECT i, x FROM '{folder / 't.parquet'}'").fetchall() == [
            (1, 0.5),
            (None, 1.0),
            (3, 2.0),
        ]


@pytest.mark.parametrize("file", ["t.parquet", "t.csv"])
def test_every_file_is_signed(tmp_path: Path, file: str) -> None:
    folder = synthetic({"t": VALUES}, TOML.format(file=file), tmp_path / "made")
    assert matches(folder / "manifest.json", [folder / file])
    assert json.loads((folder / "manifest.json").read_text())["generator"] == "obverse.testing.synthetic"
    with (folder / file).open("ab") as opened:
        opened.write(b" ")
    assert not matches(folder / "manifest.json", [folder / file])


def test_two_projects_of_the_same_values_are_two_datasets(tmp_path: Path) -> None:
    made = [synthetic({"t": VALUES}, TOML.format(file="t.parquet"), tmp_path / name) for name in ("one", "two")]
    assert (made[0] / "t.parquet").read_bytes() != (made[1] / "t.parquet").read_bytes()


def test_a_column_has_the_type_of_its_values_whatever_is_declared() -> None:
    kinds = {name: kind_of(values) for name, values in VALUES.items()}
    assert list(kinds.values()) == [
        Type.INTEGER, Type.DOUBLE, Type.BOOLEAN, Type.TEXT, Type.DATE, Type.TIMESTAMP, Type.TEXT,
    ]  # fmt: skip
    with pytest.raises(Refused):
        kind_of([1, "a"])


def test_nothing_is_ever_written_over(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"real")
    with pytest.raises(Refused) as refused:
        synthetic({"t": VALUES}, TOML.format(file="t.parquet"), tmp_path)
    assert refused.value.code == "cannot_write"
    assert (tmp_path / "t.parquet").read_bytes() == b"real"
    assert not (tmp_path / "manifest.json").exists()


@pytest.mark.parametrize("tables", [{}, {"t": VALUES, "u": VALUES}, {"u": VALUES}])
def test_the_tables_are_those_of_the_toml(tmp_path: Path, tables: dict[str, dict[str, list[object]]]) -> None:
    with pytest.raises(Refused):
        synthetic(tables, TOML.format(file="t.parquet"), tmp_path / "made")


@pytest.mark.parametrize("file", ["python", "t.duckdb:t"])
def test_only_files_that_can_be_written_are_made(tmp_path: Path, file: str) -> None:
    with pytest.raises(Refused):
        synthetic({"t": VALUES}, TOML.format(file=file), tmp_path / "made")
