"""Sums are exact integers: the same in any order and by any number of threads, and neighbours differ by what they
should.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from obverse.catalog.complete import complete
from obverse.catalog.load import loads
from obverse.catalog.model import Catalog
from obverse.plan.emit.emit import emit
from obverse.plan.query import Question
from obverse.session.planning import annotated, read

ROWS = 400_000
TOML = """
[project]
name = "sums"
[budget]
epsilon = 1
[tables.t]
source = "python"
unit = "row"
[tables.t.columns]
x = { type = "double", bounds = [-9007199254740992, 9007199254740992] }
y = { type = "double", bounds = [0, 1] }
c = { type = "double", bounds = [-1000, 1000], grid = 0.01 }
n = { type = "integer", bounds = [-9007199254740993, 9007199254740993] }
k = { type = "integer", bounds = [0, 6] }
"""
COLUMNS = {"x": "DOUBLE", "y": "DOUBLE", "c": "DOUBLE", "n": "BIGINT", "k": "BIGINT"}
QUESTIONS = (
    "SELECT SUM(x), SUM(y), SUM(c), SUM(n), AVG(y), VAR_POP(c) FROM t",
    "SELECT k, SUM(x), SUM(c * 0.1), STDDEV(y) FROM t GROUP BY k",
)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return complete(loads(TOML, Path("/")), {"t": COLUMNS}, {})


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as made:
        made.execute(
            "CREATE TABLE rows AS SELECT CAST(list_value(9007199254740992, 1, -9007199254740992)[i % 3 + 1] AS DOUBLE) "
            "AS x,"
            " (i * 7919 % 1000003) / 1000003.0 AS y, ((i * 104729) % 200001 - 100000) / 100.0 AS c,"
            f" i * 22517998136 - 9007199254740993 AS n, i % 7 AS k, hash(i) AS h FROM range({ROWS}) AS r(i)"
        )
        yield made


def sql_of(text: str, catalog: Catalog) -> str:
    question = read(text, catalog, dt.datetime(2024, 1, 1))
    assert isinstance(question, Question)
    return emit(annotated(question, catalog).root, catalog, "duckdb")


@pytest.mark.parametrize("text", QUESTIONS)
def test_a_sum_is_the_same_in_any_order_and_by_any_number_of_threads(
    text: str, catalog: Catalog, connection: duckdb.DuckDBPyConnection
) -> None:
    found = set()
    for order in ("k, x", "h", "h DESC"):
        connection.execute(f"CREATE OR REPLACE TABLE t AS SELECT * FROM rows ORDER BY {order}")
        for threads in (1, 2, 3, 4):
            connection.execute(f"SET threads = {threads}")
            found.add(tuple(sorted(connection.execute(sql_of(text, catalog)).fetchall())))
    assert len(found) == 1


def test_floats_would_not_do(connection: duckdb.DuckDBPyConnection) -> None:
    """The same rows, added as doubles by one thread, depend on their order: what the grid is for."""
    connection.execute("SET threads = 1")
    found = set()
    for order in ("v", "v DESC"):
        connection.execute(
            "CREATE OR REPLACE TABLE t AS SELECT v FROM (SELECT 9007199254740992::DOUBLE AS v UNION ALL "
            f"SELECT 1::DOUBLE FROM range(1024)) AS l ORDER BY {order}"
        )
        found.add(connection.execute("SELECT SUM(v) FROM t").fetchall()[0])
    assert len(found) > 1


@pytest.mark.parametrize("largest_first", [True, False])
@pytest.mark.parametrize("column", ["x", "n"])
def test_neighbours_of_2_to_53_and_ones_differ_by_their_row_alone(
    column: str, largest_first: bool, catalog: Catalog, connection: duckdb.DuckDBPyConnection
) -> None:
    """2**53 + 1024 ones, permuted: with doubles adding the large value moves the sum by 2**53 or by 2**53 - 1024."""
    sql = sql_of(f"SELECT SUM({column}) FROM t", catalog)
    sums = []
    for large in (0, 1):
        rows = ["9007199254740992"] * large + ["1"] * 1024
        listed = ", ".join(f"({value}::DOUBLE)" for value in (rows if largest_first else rows[::-1]))
        other = ", ".join(f"0 AS {name}" for name in COLUMNS if name != column)
        kept = f"CAST(v AS {COLUMNS[column]}) AS {column}"
        connection.execute(f"CREATE OR REPLACE TABLE t AS SELECT {kept}, {other} FROM (VALUES {listed}) AS l(v)")
        sums.append(connection.execute(sql).fetchall()[0][1])
    question = read(f"SELECT SUM({column}) FROM t", catalog, dt.datetime(2024, 1, 1))
    assert isinstance(question, Question)
    (measure,) = annotated(question, catalog).measures
    assert sums[1] - sums[0] == round(2**53 / measure.unit)
    assert abs(sums[1] - sums[0]) <= measure.proven.l1
