"""Functions as they are written for PostgreSQL and DuckDB: without noise they mean what DuckDB means by the same
text.
"""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import pytest

from obverse.testing import noiseless, synthetic

TOML = """\
[project]
name = "functions"
[budget]
epsilon = 1
[tables.t]
source = "t.parquet"
unit = "row"
[tables.t.columns]
a = { type = "integer", bounds = [-50, 50] }
b = { type = "integer", bounds = [-5, 5] }
x = { type = "double", bounds = [-100, 100], grid = 0.25 }
y = { type = "double", bounds = [0.5, 8] }
s = { type = "text", values = ["", "a", "ab", "Bee", "100%", "a-b-c", " pad "], nullable = true }
u = { type = "text", values = ["é", "Straße", "a"], nullable = true }
n = { type = "text" }
f = { type = "boolean" }
d = { type = "date", bounds = ["2019-01-01", "2021-12-31"] }
e = { type = "date", bounds = ["1950-01-01", "2000-12-31"] }
m = { type = "timestamp", bounds = ["2019-01-01", "2019-01-31"] }
"""
PREDICATES = """\
LOWER(s) = 'bee'; UPPER(n) = 'AB'; LENGTH(n) > 2; CHAR_LENGTH(s) = 3; LEN(s) = 3; SUBSTRING(n, 2, 2) = 'b'; SUBSTR(n, \
2) = 'b'
SUBSTRING(n FROM 1 FOR 1) = 'a'; LEFT(n, 1) = 'a'; LEFT(n, -1) = 'a'; RIGHT(n, 1) = 'b'; RIGHT(n, -1) = 'b'; TRIM(n) \
= 'pad'
LTRIM(n) = 'pad '; RTRIM(n) = ' pad'; TRIM(BOTH 'a' FROM n) = 'b'; TRIM(LEADING 'a' FROM n) = 'b'; TRIM(n, 'ab') = ''
REPLACE(n, 'a', 'xyz') = 'xyzb'; REPLACE(n, 'ab', '') = ''; CONCAT(s, '-', n) LIKE 'a-%'; CONCAT(a, s) = '3a'
s || n = 'aab'; s || a || n = 'a3b'; CONCAT_WS('-', s, n, a) LIKE '%-ab-%'; STARTS_WITH(n, 'a'); n ^@ 'a'; PREFIX(n, \
'a')
ENDS_WITH(n, 'b'); SUFFIX(n, 'b'); CONTAINS(n, 'a'); POSITION('b' IN n) = 2; STRPOS(n, 'b') = 2; INSTR(n, 'b') > 0
SPLIT_PART(s, '-', 2) = 'b'; SPLIT_PART(s, '-', -1) = 'c'; LPAD(n, 4, '*') = '**ab'; RPAD(n, 4, '*-') = 'ab*-'
REVERSE(n) = 'ba'; n NOT ILIKE 'A%'; UPPER(u) = 'É'; LENGTH(u) = 6; a % 3 = 1; MOD(a, 3) = -1; SIGN(x) = -1; SIGN(a) = 0
TRUNC(x) = -3; SQRT(ABS(x)) > 3; POWER(b, 2) > 4; b ^ 2 > 4; POW(2, b) < 1; EXP(b) > 2; LN(y) > 1; LOG(y) > 0.5; \
LOG10(y) > 0.5
LOG2(y) > 1; LOG(2, y) > 1; LOG(3, y) > 1; CBRT(x) > 2; SIN(x) > 0.5; COS(a) > 0.5; TAN(b) > 1; ATAN(x) > 1
ASIN(x / 100) > 0.5; ACOS(x / 100) > 0.5; DEGREES(b) > 90; RADIANS(a) > 0.5; PI() > y; IFNULL(a, 3) = 3
IF(a > 3, 1, 2) = 1; COALESCE(a, b) = 1; NULLIF(s, 'a') IS NULL
EXTRACT(DECADE FROM e) = 195; EXTRACT(CENTURY FROM e) = 20; EXTRACT(MILLENNIUM FROM e) = 2; EXTRACT(ISOYEAR FROM d) = \
2020
EXTRACT(EPOCH FROM m) > 1546500000; EPOCH(d) > 1546500000; DATE_PART('isodow', d) = 3; WEEKDAY(d) = 0; DECADE(e) = 195
DATE_TRUNC('decade', e) = DATE '1960-01-01'; DATE_TRUNC('minute', m) > TIMESTAMP '2019-01-15 10:00:00'
DATE_TRUNC('second', m) > TIMESTAMP '2019-01-15 10:00:00'; DATE_DIFF('day', e, d) > 20000; DATEDIFF('month', d, m) > 3
DATE_DIFF('year', e, d) > 40; DATE_DIFF('week', d, m) > 3; DATE_DIFF('quarter', e, d) > 100; DATE_DIFF('hour', d, m) > 3
DATE_DIFF('minute', d, m) > 3; DATE_DIFF('second', d, m) > 3; DATE_DIFF('day', d, DATE '2020-05-05') > 0
d + INTERVAL '1 month' > DATE '2020-01-31'; d - INTERVAL 2 YEAR > DATE '2018-02-28'
m + INTERVAL '3' HOUR > TIMESTAMP '2019-01-15'
d + INTERVAL '1 year 2 months 3 days' > DATE '2021-01-01'; INTERVAL '1 day' + d = DATE '2020-01-01'; d + 30 > DATE \
'2020-01-31'
d - 30 > DATE '2020-01-31'; d - e > 20000; d - DATE '2020-01-01' = 3; DATE '2020-01-01' - d = 3
EXTRACT(YEAR FROM AGE(d, e)) = 60; DATE_PART('year', AGE(d, e)) = 60; EXTRACT(YEAR FROM AGE(DATE '2022-02-28', e)) >= 50
MAKE_DATE(2020, 2, 3) = d; LAST_DAY(d) = DATE '2020-02-29'; DAYNAME(d) = 'Monday'; MONTHNAME(d) = 'May'
STRFTIME(d, '%Y-%m') = '2020-02'; STRFTIME(m, '%H:%M') > '12:00'; DATE(m) = DATE '2019-01-05'
d > DATE '2020-01-01' + INTERVAL '30 days'; DATE_ADD(d, INTERVAL 1 DAY) = DATE '2020-01-01'"""
KEYS = """\
UPPER(s); LEFT(s, 1); RIGHT(s, 2); SUBSTRING(s, 1, 2); LENGTH(s); TRIM(s); REPLACE(s, 'a', 'bb'); SPLIT_PART(s, '-', 2)
POSITION('b' IN s); CONCAT(s, '/', b); s || '!'; LPAD(s, 3, '.'); LENGTH(u); LEFT(u, 1); STARTS_WITH(s, 'a'); REVERSE(s)
a % 4; SIGN(a); EXTRACT(DECADE FROM e); EXTRACT(CENTURY FROM e); DATE_TRUNC('decade', e); DATE_TRUNC('quarter', d)
DATE_TRUNC('hour', m); LAST_DAY(d); DAYNAME(d); MONTHNAME(d); STRFTIME(d, '%Y-%m'); STRFTIME(d, '%m'); STRFTIME(m, '%H')
DATE_DIFF('year', e, DATE '2020-06-01'); EXTRACT(YEAR FROM AGE(DATE '2020-06-01', e)); CAST(DATE_TRUNC('month', m) AS \
DATE)
DATE_TRUNC('month', d + INTERVAL '1 month'); CAST(b AS TEXT); CONCAT_WS('-', s, f); DATE_TRUNC('week', d - 3)
CASE WHEN LENGTH(n) > 2 THEN 'long' ELSE 'short' END; CAST(TRUNC(y) AS INTEGER)"""
VALUES = ["", "a", "ab", "Bee", "100%", "a-b-c", " pad "]
Compare = Callable[..., tuple[list[Any], list[Any]]]


def listed(text: str) -> list[str]:
    return [part.strip() for line in text.splitlines() for part in line.split("; ")]


def rows() -> dict[str, list[Any]]:
    chance = random.Random(8)

    def day(first: dt.datetime, count: int) -> dt.date:
        return (first + dt.timedelta(days=chance.randrange(count))).date()

    makers: dict[str, Callable[[], Any]] = {
        "a": lambda: chance.randint(-50, 50),
        "b": lambda: chance.randint(-5, 5),
        "x": lambda: chance.randint(-400, 400) / 4,
        "y": lambda: chance.uniform(0.5, 8),
        "s": lambda: chance.choice(VALUES),
        "u": lambda: chance.choice(["é", "Straße", "a"]),
        "n": lambda: chance.choice([*VALUES, "b", "ba", "é", "\U0001f600b"]),
        "f": lambda: chance.random() < 0.5,
        "d": lambda: day(dt.datetime(2019, 1, 1), 1095),
        "e": lambda: day(dt.datetime(1950, 1, 1), 18000),
        "m": lambda: dt.datetime(2019, 1, 1) + dt.timedelta(seconds=chance.randrange(30 * 86_400)),
    }
    return {name: [None if chance.random() < 0.1 else make() for _ in range(600)] for name, make in makers.items()}


@pytest.fixture(scope="module")
def compare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compare]:
    """Our rows without noise, and DuckDB's own, of the same text."""
    folder = synthetic({"t": rows()}, TOML, tmp_path_factory.mktemp("functions"))
    with noiseless(folder, limits=None) as session, duckdb.connect() as plain:
        plain.execute(f"CREATE VIEW t AS SELECT * FROM '{folder / 't.parquet'}'")
        yield lambda sql, theirs="": ([tuple(row) for row in session.ask(sql)], plain.execute(theirs or sql).fetchall())


@pytest.mark.parametrize("predicate", listed(PREDICATES))
def test_a_condition_keeps_the_same_rows(compare: Compare, predicate: str) -> None:
    ours, theirs = compare(f"SELECT COUNT(*) FROM t WHERE {predicate}")
    assert ours == theirs


@pytest.mark.parametrize("key", listed(KEYS))
def test_a_function_of_public_values_is_a_public_key(compare: Compare, key: str) -> None:
    ours, theirs = compare(f"SELECT {key} AS k, COUNT(*) AS c FROM t GROUP BY k")
    midnight = {(dt.datetime.combine(k, dt.time()) if type(k) is dt.date else k, c) for k, c in theirs}
    found = {(dt.datetime.combine(k, dt.time()) if type(k) is dt.date else k, c) for k, c in ours if c}
    assert found == midnight


TERMS = "SQRT(ABS(x)); POWER(b, 2); LN(y); SIN(x); EXP(y); LENGTH(s); DATE_DIFF('day', e, d); SIGN(a); TRUNC(x)"


@pytest.mark.parametrize("term", listed(TERMS))
def test_a_sum_of_a_function_is_bounded_by_its_arguments(compare: Compare, term: str) -> None:
    ((ours,),), ((theirs,),) = compare(f"SELECT SUM({term}) AS v FROM t")
    assert math.isclose(ours, theirs, rel_tol=1e-4, abs_tol=1)


WRITTEN = {  # what DuckDB does not have, and what means the same there
    "WIDTH_BUCKET(x, -50, 50, 10)": "CASE WHEN x < -50 THEN 0 WHEN x >= 50 THEN 11 ELSE floor(x / 10) + 6 END",
    "TO_CHAR(d, 'YYYY-MM')": "STRFTIME(d, '%Y-%m')",
    "TO_CHAR(m, 'HH24:00')": "STRFTIME(m, '%H:00')",
    "NVL(b, 3)": "COALESCE(b, 3)",
    "NVL2(b, 'some', 'none')": "CASE WHEN b IS NOT NULL THEN 'some' ELSE 'none' END",
    "BTRIM(s)": "TRIM(s)",
    "LPAD(s, 3)": "LPAD(s, 3, ' ')",
}


@pytest.mark.parametrize("ours", WRITTEN)
def test_what_only_postgresql_has_means_what_it_means_there(compare: Compare, ours: str) -> None:
    asked, found = (f"SELECT {key} AS k, COUNT(*) AS c FROM t GROUP BY k" for key in (ours, WRITTEN[ours]))
    mine, theirs = compare(asked, found)
    assert {row for row in mine if row[1]} == set(theirs)
