"""A Parquet file tells the range of its columns and is silent on NaN: no row of a question may be judged by that
range.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from obverse.catalog.load import loads
from obverse.catalog.model import Column
from obverse.core.bounds import UNBOUNDED, interval
from obverse.core.types import Type
from obverse.engines.duckdb import DuckDBEngine
from obverse.plan.dialects import DIALECTS
from obverse.plan.emit import expressions as printing

TOML = """
[project]
name = "ranges"
[budget]
epsilon = 1
[tables.t]
source = "t.parquet"
unit = "row"
"""


@pytest.mark.parametrize("width", ["float16", "float32", "float64"])
def test_a_number_that_is_none_counts_as_none_whatever_other_rows_hold(width: str, tmp_path: Path) -> None:
    """With one row outside the bounds, the engine looks at each row; without, it would believe the file's range."""
    pyarrow = pytest.importorskip("pyarrow")
    numpy = pytest.importorskip("numpy")
    from pyarrow import parquet

    d = DIALECTS["duckdb"]
    for others in ([1.0, 8.0], [1.0, 60.0]):
        parquet.write_table(pyarrow.table({"x": numpy.array([*others, math.nan], width)}), tmp_path / "t.parquet")
        engine = DuckDBEngine(loads(TOML, tmp_path))
        for bounds in (UNBOUNDED, interval(0, 10)):
            read = printing.enforced(Column("x", Type.DOUBLE, True, bounds), d)
            whole = f"SUM(CASE WHEN c >= 0 AND c <= 60 THEN {d.round_to_integer('c', small=False)} END)"
            sql = f"SELECT COUNT(c) AS m0, CAST({whole} AS BIGINT) AS m1 FROM (SELECT {read} AS c FROM t AS t) AS s"
            found = engine.run(sql, timeout_s=60).reveal()
            total = sum(others) if bounds == UNBOUNDED else sum(min(10, x) for x in others)
            assert (found["m0"].tolist(), found["m1"].tolist()) == ([2], [total])
        engine.close()
