from __future__ import annotations

import datetime as dt
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.core.errors import InvariantBroken
from obverse.core.types import Type
from obverse.engines.files import STAMP_KEY, write_csv, write_parquet
from tests.effort import effort

CELLS: dict[Type, st.SearchStrategy[Any]] = {
    Type.INTEGER: st.integers(-(2**63), 2**63 - 1),
    Type.DOUBLE: st.floats(allow_nan=False),
    Type.BOOLEAN: st.booleans(),
    Type.TEXT: st.text(st.characters(codec="utf-8", exclude_characters="\0")),
    Type.DATE: st.dates(),
    Type.TIMESTAMP: st.datetimes(),
}
NUMPY = {Type.INTEGER: "int64", Type.DOUBLE: "float64", Type.BOOLEAN: "bool", Type.TEXT: "object"} | {
    Type.DATE: "datetime64[D]",
    Type.TIMESTAMP: "datetime64[us]",
}
FILLER = {Type.INTEGER: 0, Type.DOUBLE: 0.0, Type.BOOLEAN: False, Type.TEXT: "", Type.DATE: dt.date(1970, 1, 1)} | {
    Type.TIMESTAMP: dt.datetime(1970, 1, 1)
}
ROWS = st.lists(st.tuples(*(st.none() | CELLS[kind] for kind in Type)), max_size=6)


def _columns(rows: list[tuple[Any, ...]]) -> tuple[dict[str, np.ndarray], dict[str, Type]]:
    columns = {}
    types = {}
    for position, kind in enumerate(Type):
        cells = [row[position] for row in rows]
        name = f'the "{kind.value}"'
        filled = np.array([FILLER[kind] if cell is None else cell for cell in cells], dtype=NUMPY[kind])
        columns[name] = np.ma.masked_array(filled, mask=[cell is None for cell in cells])
        types[name] = kind
    return columns, types


@settings(max_examples=60, deadline=None)
@given(rows=ROWS)
def test_every_value_and_null_is_read_back_in_its_row(rows: list[tuple[Any, ...]], tmp_path_factory) -> None:
    path = tmp_path_factory.mktemp("parquet") / "it's.parquet"
    columns, types = _columns(rows)
    write_parquet(columns, types, path)
    found = duckdb.sql(f"FROM read_parquet('{str(path).replace(chr(39), chr(39) * 2)}')")
    assert found.columns == list(columns)
    assert [str(kind) for kind in found.types] == ["BIGINT", "DOUBLE", "BOOLEAN", "VARCHAR", "DATE", "TIMESTAMP"]
    assert found.fetchall() == rows


def test_a_stamp_changes_the_bytes_and_no_value(tmp_path: Path) -> None:
    columns = {"x": np.arange(3)}
    types = {"x": Type.INTEGER}
    for name, stamp in (("a", "it's one"), ("b", "two"), ("c", "two")):
        write_parquet(columns, types, tmp_path / name, stamp=stamp)
    assert (tmp_path / "a").read_bytes() != (tmp_path / "b").read_bytes()
    assert (tmp_path / "b").read_bytes() == (tmp_path / "c").read_bytes()
    metadata = duckdb.sql(f"SELECT key, value FROM parquet_kv_metadata('{tmp_path / 'a'}')").fetchall()
    assert metadata == [(STAMP_KEY.encode(), b"it's one")]


def test_csv_has_a_header_and_quotes_what_needs_it(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    write_csv(
        {"a,b": np.array(['x "y"', "z"], dtype=object), "n": np.array([1, 2])},
        {"a,b": Type.TEXT, "n": Type.INTEGER},
        path,
    )
    assert path.read_text() == '"a,b",n\n"x ""y""",1\nz,2\n'


def test_a_hundred_thousand_rows_of_text_are_written_in_under_a_second(tmp_path: Path) -> None:
    texts = np.array([f"text {i % 1000}" for i in range(100_000)], dtype=object)
    with effort() as spent:
        write_parquet(
            {"t": texts, "n": np.arange(100_000)}, {"t": Type.TEXT, "n": Type.INTEGER}, tmp_path / "t.parquet"
        )
    assert spent.cpu_s < 1


def test_neither_pandas_nor_pyarrow_is_needed(tmp_path: Path) -> None:
    code = f"""
import sys
sys.modules["pandas"] = sys.modules["pyarrow"] = None
import numpy as np
from pathlib import Path
from obverse.core.types import Type
from obverse.engines.files import write_parquet
assert "duckdb" not in sys.modules
write_parquet({{"t": np.array(["a", "b"], dtype=object)}}, {{"t": Type.TEXT}}, Path({str(tmp_path / "t.parquet")!r}))
"""
    import obverse

    source = str(Path(obverse.__file__).parent.parent)
    subprocess.run([sys.executable, "-c", f"import sys; sys.path.insert(0, {source!r})\n{code}"], check=True)
    assert duckdb.sql(f"FROM '{tmp_path / 't.parquet'}'").fetchall() == [("a",), ("b",)]


def test_columns_without_a_type_or_of_different_lengths_are_our_own_fault(tmp_path: Path) -> None:
    with pytest.raises(InvariantBroken):
        write_parquet({"a": np.arange(3)}, {}, tmp_path / "t")
    with pytest.raises(InvariantBroken):
        write_parquet({"a": np.arange(3), "b": np.arange(2)}, {"a": Type.INTEGER, "b": Type.INTEGER}, tmp_path / "t")


def test_a_file_that_cannot_be_written_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="could not be written"):
        write_parquet({"a": np.arange(3)}, {"a": Type.INTEGER}, tmp_path / "no" / "such" / "t.parquet")
