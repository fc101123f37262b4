"""Every registered engine gives what plans mean, in exact integers, and keeps silent about what it holds."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from obverse.catalog.complete import complete
from obverse.catalog.load import loads
from obverse.catalog.model import Catalog
from obverse.core.engine import Engine
from obverse.core.errors import InvariantBroken, Refused
from obverse.core.secret import Exact
from obverse.engines import ENGINES
from obverse.plan.query import Question
from obverse.plan.sensitivity import MeasuredPlan
from obverse.session.planning import annotated, read
from obverse.testing.conformance.engine import check_engine, check_silence
from obverse.testing.neighbours import Tables, family
from tests.stands import STANDS

COLUMNS = """
i = { type = "integer", bounds = [-5, 20] }
p = { type = "integer", bounds = [10, 40], nullable = false }
d = { type = "double", bounds = [-2.5, 10] }
c = { type = "double", bounds = [0, 100], grid = 0.25 }
big = { type = "integer", bounds = [-9223372036854775808, 9223372036854775807] }
s = { type = "text", values = ["a", "b", "c"] }
o = { type = "text", values = ["x", "y"], nullable = true }
w = { type = "text", values = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"], nullable = false }
v = { type = "text", values = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"], nullable = true }
b = { type = "boolean" }
day = { type = "date", bounds = ["2020-01-01", "2020-03-31"] }
ts = { type = "timestamp", bounds = ["2020-01-01", "2020-01-04"] }
f = { type = "integer" }
g = { type = "double" }
t = { type = "text" }
"""
TYPES = {
    "i": "BIGINT",
    "p": "BIGINT",
    "d": "DOUBLE",
    "c": "DOUBLE",
    "big": "BIGINT",
    "s": "VARCHAR",
    "o": "VARCHAR",
    "w": "VARCHAR",
    "v": "VARCHAR",
    "b": "BOOLEAN",
    "day": "DATE",
    "ts": "TIMESTAMP",
    "f": "BIGINT",
    "g": "DOUBLE",
    "t": "VARCHAR",
}
HEAD = '[project]\nname = "engines"\n[budget]\nepsilon = 9\n[tables.t]\nsource = "python"\nunit = '
KEYED = 'person = { type = "integer" }\n'
AROUND = f"""
[tables.people]
source = "python"
unit = "person"
[tables.people.columns]
{KEYED}
[tables.visits]
source = "python"
unit = "person -> people.person"
limits = {{ rows = 4 }}
[tables.visits.columns]
{KEYED}
visit = {{ type = "integer" }}
"""
UNITS = {
    "row": ('"row"', "", ""),
    "one": ('"person"', KEYED, ""),
    "many": ('"person"\nlimits = { rows = 3, sums = { c = 150.5 } }', KEYED, ""),
    "path": (
        '"visit -> visits.visit -> people.person"\nlimits = { rows = 3 }',
        'visit = { type = "integer" }\n',
        AROUND,
    ),
}
QUESTIONS = (
    "SELECT COUNT(*), COUNT(i), SUM(i), SUM(p), SUM(d), SUM(c), SUM(big) FROM t",
    "SELECT AVG(p), AVG(d), VAR_POP(i), STDDEV(c), AVG(big) FROM t WHERE i >= 0 OR i IS NULL",
    "SELECT COUNT(*) FILTER (WHERE b), SUM(i) FILTER (WHERE o = 'x') FROM t WHERE s <> 'c'",
    "SELECT COUNT(*) FROM t WHERE s = 'a' AND (i > 3 OR b) AND NOT (o = 'y') OR t LIKE '%a_%'",
    "SELECT SUM(CASE WHEN b THEN i WHEN o = 'x' THEN -i ELSE 2 END), SUM(COALESCE(i, 0) * 2 - ABS(p)) FROM t",
    "SELECT SUM(CAST(d AS INTEGER)), SUM(ROUND(d, 1)), SUM(CLAMP(f, -3, 7)), SUM(CLAMP(g * g, 0, 1)) FROM t",
    "SELECT SUM(LEAST(i, p)), SUM(i / p), SUM(i // 3), SUM(i % 4), SUM(EXTRACT(DOY FROM day)) FROM t",
    "SELECT s, COUNT(*), SUM(p) FROM t GROUP BY s",
    "SELECT i, AVG(d) FROM t GROUP BY i",
    "SELECT w, COUNT(*), SUM(c), AVG(c), COUNT(w) FROM t GROUP BY w",
    "SELECT v, w, b, COUNT(v), COUNT(c), AVG(i) FROM t WHERE w <> 'j' GROUP BY v, w, b",
    "SELECT v, SUM(i), COUNT(*) FROM t GROUP BY v",
    "SELECT s, o, b, COUNT(i), SUM(i) FROM t GROUP BY s, o, b",
    "SELECT CASE WHEN i > 5 THEN 'high' WHEN i > 0 THEN 'low' END, date_trunc('month', day), SUM(c) FROM t GROUP BY 1, "
    "2",
    "SELECT day, VAR_SAMP(i) FROM t WHERE ts >= TIMESTAMP '2020-01-01 12:00:00' GROUP BY day",
    "SELECT date_trunc('hour', ts), COUNT(*), SUM(i) FROM t WHERE ts < TIMESTAMP '2020-01-04 00:00:00' GROUP BY 1",
)
MANY = tuple((seed, place) for seed in (1, 2) for place in (0, 1, 3, 6))
DATABASES = {"duckdb": MANY, "postgres": MANY, "spark": ((1, 3),)}  # on Spark each question takes a job
EVERY = {("spark", unit): 2 for unit in ("one", "many", "path")}  # the questions that are asked
SILENCE = {
    "duckdb": {
        "raising": "SELECT CAST('eve' || CAST(range AS VARCHAR) AS BIGINT) AS k FROM range(3)",
        "slow": "SELECT CAST(SUM(a.range * b.range % 7) AS BIGINT) AS k FROM range(200000) AS a, range(200000) AS b",
        "inexact": "SELECT 1.5::DOUBLE AS k",
    },
    "postgres": {
        "raising": "SELECT CAST('eve' || CAST(n AS TEXT) AS BIGINT) AS k FROM generate_series(1, 3) AS n",
        "slow": "SELECT CAST(COUNT(pg_sleep(60)) AS BIGINT) AS k",
        "inexact": "SELECT CAST(1.5 AS DOUBLE PRECISION) AS k",
    },
    "spark": {
        "raising": "SELECT CAST('eve' || CAST(id AS STRING) AS BIGINT) AS k FROM range(3)",
        "slow": "SELECT CAST(SUM(a.id * b.id % 7) AS BIGINT) AS k FROM range(200000) AS a CROSS JOIN range(200000) AS "
        "b",
        "inexact": "SELECT 1.5D AS k",
    },
}


def made(kind: str) -> Callable[[Catalog, Tables], tuple[Engine, Catalog]]:
    """The engine of that kind over tables that hold these rows."""

    def make(catalog: Catalog, tables: Tables) -> tuple[Engine, Catalog]:
        stand = STANDS[kind](catalog, schemas(catalog))
        stand.fill(tables)
        return stand.engine, stand.catalog

    return make


def schemas(catalog: Catalog) -> dict[str, dict[str, str]]:
    return {name: {c: TYPES.get(c, "BIGINT") for c in table.columns} for name, table in catalog.tables.items()}


def catalog_of(unit: str) -> Catalog:
    path, keys, around = UNITS[unit]
    declared = loads(f"{HEAD}{path}\n[tables.t.columns]\n{COLUMNS}{keys}{around}", Path("/"))
    return complete(declared, schemas(declared), {})


def plans(catalog: Catalog, questions: Sequence[str] = QUESTIONS) -> list[tuple[str, MeasuredPlan]]:
    found = []
    for text in questions:
        question = read(text, catalog, dt.datetime(2024, 1, 1))
        assert isinstance(question, Question)
        found.append((text, annotated(question, catalog)))
    return found


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("kind", ENGINES)
def test_an_engine_gives_exactly_what_plans_mean(kind: str, unit: str) -> None:
    catalog = catalog_of(unit)
    for seed, place in DATABASES[kind]:
        one = family(catalog, schemas(catalog), seed, units=6, crowd=3)
        check_engine(made(kind), catalog, one.database(place), plans(catalog)[:: EVERY.get((kind, unit), 1)])


def test_an_engine_that_counts_wrongly_is_noticed() -> None:
    catalog = catalog_of("row")
    tables = family(catalog, schemas(catalog), 1, units=1).database(1)

    def short(catalog: Catalog, tables: Tables) -> tuple[Engine, Catalog]:
        return made("duckdb")(catalog, {name: rows[1:] for name, rows in tables.items()})

    with pytest.raises(AssertionError, match="the engine gives"):
        check_engine(short, catalog, tables, plans(catalog))


@pytest.mark.parametrize("kind", ENGINES)
def test_an_engine_says_one_thing_whatever_goes_wrong(kind: str) -> None:
    catalog = catalog_of("row")
    engine, _ = made(kind)(catalog, {"t": ()})
    try:
        check_silence(engine, **SILENCE[kind], secret="eve")
    finally:
        engine.close()


@pytest.mark.parametrize("sql", ["SELECT CAST(NULL AS BIGINT) AS k", "SELECT 1::HUGEINT AS k", "SELECT 'a' AS k"])
def test_only_integers_without_null_leave_duckdb(sql: str) -> None:
    engine, _ = made("duckdb")(catalog_of("row"), {"t": ()})
    try:
        with pytest.raises(InvariantBroken):
            engine.run(sql, timeout_s=60)
        assert isinstance(engine.run("SELECT 1::BIGINT AS k", timeout_s=60), Exact)
    finally:
        engine.close()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "COPY t TO '/tmp/obverse-leak.csv'",
        "ATTACH '/tmp/obverse-leak.duckdb'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
    ],
)
def test_duckdb_reaches_no_file_and_no_setting(sql: str) -> None:
    engine, _ = made("duckdb")(catalog_of("row"), {"t": ()})
    try:
        with pytest.raises(Refused):
            engine.run_public(sql, timeout_s=60)
    finally:
        engine.close()
