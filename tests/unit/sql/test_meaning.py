"""Without noise and limits, the SQL that we print means what DuckDB means by the question itself."""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from obverse.testing import noiseless, synthetic

TOML = """\
[project]
name = "meaning"
[budget]
epsilon = 1
[tables.t]
source = "t.parquet"
unit = "row"
[tables.t.columns]
a = { type = "integer", bounds = [-50, 50] }
b = { type = "integer", bounds = [-5, 5] }
x = { type = "double", bounds = [-100, 100], grid = 0.25 }
s = { type = "text", values = ["", "a", "ab", "B", "100%", "a_c", "é"], nullable = true }
n = { type = "text" }
f = { type = "boolean" }
d = { type = "date", bounds = ["2019-01-01", "2021-12-31"] }
m = { type = "timestamp", bounds = ["2019-01-01", "2021-12-31"] }
"""
PREDICATES = """\
a > 3; NOT a > 3; a <> 3; a = b; a >= b AND x < 5; a BETWEEN -3 AND 10; a NOT BETWEEN -3 AND 10; a IN (1,2,3)
a NOT IN (1,2,3); a NOT IN (1,NULL); a IN (1,NULL); s LIKE 'a%'; s NOT LIKE 'a%'; s LIKE '%\\%' ESCAPE '\\'
s LIKE 'a\\_c' ESCAPE '\\'; s LIKE 'a_c'; s LIKE '_'; s ILIKE 'b'; s NOT ILIKE 'b'; NOT s LIKE 'a%'; s < 'b'; s > 'B'
s IS NULL; s IS NOT NULL; NOT s IS NULL; f; NOT f; f IS TRUE; f IS NOT TRUE; f IS FALSE; f IS NOT FALSE; f IS NULL
f OR a > 3; f AND NULL; a IS DISTINCT FROM 3; a IS NOT DISTINCT FROM b; a // NULLIF(b, 0) > 1; a % NULLIF(b, 0) = 1
a % 3 = 1; a * b > 10; -a > 3; ABS(a) > 3; ROUND(x) > 3; ROUND(a, -1) > 3; FLOOR(x) = 3; CEIL(x) = 3; LEAST(a, b) > 0
GREATEST(a, b, x) > 0; COALESCE(a, b, 0) = 0; NULLIF(a, 3) > 0; CASE WHEN a > 3 THEN b ELSE a END > 2
CASE a WHEN 3 THEN TRUE WHEN 4 THEN FALSE END; IF(f, a, b) > 0; CAST(x AS INTEGER) = 3; CAST(a AS DOUBLE) / 3 > 1
CAST(a AS TEXT) = '3'; CAST(f AS INTEGER) = 1; CAST(a AS BOOLEAN); CAST(f AS TEXT) = 'true'
CAST(d AS TEXT) = '2020-02-02'; CAST(m AS DATE) = DATE '2020-02-02'; d > '2020-02-02'; d = m; d < m
m > '2020-02-02 10:00:00'; EXTRACT(YEAR FROM d) = 2020; EXTRACT(DOW FROM d) = 0; EXTRACT(ISODOW FROM d) = 7
EXTRACT(WEEK FROM d) = 1; EXTRACT(DOY FROM d) = 33; EXTRACT(QUARTER FROM d) = 3; EXTRACT(HOUR FROM m) = 3
EXTRACT(SECOND FROM m) = 3; MONTH(d) = 2; dayofweek(d) = 0; isodow(d) = 7; DATE_PART('year', d) = 2020
DATE_TRUNC('month', d) = DATE '2020-02-01'; DATE_TRUNC('week', d) = DATE '2020-02-03'
DATE_TRUNC('quarter', m) = TIMESTAMP '2020-01-01'; TRY_CAST(n AS INTEGER) = 1; TRY_CAST(n AS INTEGER) = 4
TRY_CAST(n AS INTEGER) IS NULL; TRY_CAST(n AS DOUBLE) > 1; TRY_CAST(n AS BOOLEAN) IS NULL
TRY_CAST(n AS DATE) IS NOT NULL; (a, b) = (1, 2); (a = 1) = f; 1 < 2; a = 3.0; a = 3.5; 3 < a AND a < 5 OR b = 1
a > 7 / 2; a IN (3.0, 4); COALESCE(f, FALSE)"""
AGGREGATES = """\
COUNT(*); COUNT(a); SUM(a); SUM(x); SUM(a * b); SUM(a + x); SUM(-a); AVG(a); AVG(x); VAR_POP(a); VAR_SAMP(a)
STDDEV_POP(a); STDDEV(a); VARIANCE(x); SUM(a) FILTER (WHERE f); COUNT(*) FILTER (WHERE s = 'a')
AVG(x) FILTER (WHERE NOT f); SUM(CASE WHEN f THEN a END); SUM(ABS(a)); SUM(CAST(f AS INTEGER)); SUM(a % 7)
SUM(a // 7); SUM(x / 4); SUM(LEAST(a, b)); SUM(COALESCE(a, 0)); SUM(a) + SUM(b); SUM(a) / COUNT(*)
COUNT(*) - COUNT(a); ROUND(AVG(x), 1); CAST(AVG(a) AS INTEGER); SUM(EXTRACT(YEAR FROM d))
CASE WHEN COUNT(*) > 5 THEN 'x' ELSE 'y' END; COUNT(*) > 5; COUNT(*) % 7; NULLIF(COUNT(*), 400)"""
KEYS = """\
s; f; b; d; EXTRACT(YEAR FROM d); DATE_TRUNC('year', m); CASE WHEN a > 3 THEN 'x' WHEN a > 0 THEN 'y' ELSE 'z' END
a > 3; a // 10; a % 3; CAST(x AS INTEGER); COALESCE(s, 'zz'); b IS NULL; YEAR(d) - 2000; ABS(b)
CAST(FLOOR(x / 10) AS INTEGER)"""
ORDERS = [
    "b ORDER BY c DESC, b LIMIT 3",
    "b ORDER BY b NULLS FIRST",
    "b ORDER BY b DESC",
    "b ORDER BY b DESC NULLS LAST",
    "s ORDER BY s",
    "s ORDER BY s DESC LIMIT 2 OFFSET 1",
    "b HAVING SUM(a) > 0 ORDER BY 1",
    "f ORDER BY f DESC",
    "d HAVING COUNT(*) > 1 ORDER BY d LIMIT 5",
]
TEXTS = ["1", " 2 ", "x", "3.7", "true", "2020-01-01", "eve", "", "-0", "1e3", "NaN"]
Compare = Callable[[str], tuple[list[Any], list[Any]]]


def listed(text: str) -> list[str]:
    return [part.strip() for line in text.splitlines() for part in line.split("; ")]


def rows() -> dict[str, list[Any]]:
    chance = random.Random(5)
    start = dt.datetime(2019, 1, 1)
    makers: dict[str, Callable[[], Any]] = {
        "a": lambda: chance.randint(-50, 50),
        "b": lambda: chance.randint(-5, 5),
        "x": lambda: chance.randint(-400, 400) / 4,
        "s": lambda: chance.choice(["", "a", "ab", "B", "100%", "a_c", "é"]),
        "n": lambda: chance.choice(TEXTS),
        "f": lambda: chance.random() < 0.5,
        "d": lambda: (start + dt.timedelta(days=chance.randint(0, 1094))).date(),
        "m": lambda: start + dt.timedelta(seconds=chance.randint(0, 1094 * 86_400)),
    }
    return {name: [None if chance.random() < 0.1 else make() for _ in range(400)] for name, make in makers.items()}


@pytest.fixture(scope="module")
def compare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compare]:
    """Our rows without noise, and DuckDB's own, of the same text."""
    folder: Path = synthetic({"t": rows()}, TOML, tmp_path_factory.mktemp("meaning"))
    with noiseless(folder, limits=None) as session, duckdb.connect() as plain:
        plain.execute(f"CREATE VIEW t AS SELECT * FROM '{folder / 't.parquet'}'")
        yield lambda sql: ([tuple(row) for row in session.ask(sql)], plain.execute(sql).fetchall())


def same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, (int, float)) and isinstance(theirs, (int, float)):
        return math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-9)
    return bool(ours == theirs)


@pytest.mark.parametrize("predicate", listed(PREDICATES))
def test_a_condition_keeps_the_same_rows(compare: Compare, predicate: str) -> None:
    ours, theirs = compare(f"SELECT COUNT(*) FROM t WHERE {predicate}")
    assert ours == theirs


@pytest.mark.parametrize("where", ["", " WHERE a > 5"])
@pytest.mark.parametrize("aggregate", listed(AGGREGATES))
def test_an_aggregate_has_the_same_value(compare: Compare, aggregate: str, where: str) -> None:
    ((ours,),), ((theirs,),) = compare(f"SELECT {aggregate} AS v FROM t{where}")
    assert same(ours, theirs)


@pytest.mark.parametrize("key", listed(KEYS))
def test_groups_have_the_same_counts_and_absent_keys_none(compare: Compare, key: str) -> None:
    ours, theirs = compare(f"SELECT {key} AS k, COUNT(*) AS c FROM t GROUP BY k")
    assert {row for row in ours if row[1]} == set(theirs)


@pytest.mark.parametrize("order", ORDERS)
def test_rows_come_in_the_same_order(compare: Compare, order: str) -> None:
    key = order[0]
    ours, theirs = compare(f"SELECT {key}, COUNT(*) AS c FROM t GROUP BY {order}")
    assert ours == theirs
