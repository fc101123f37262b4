"""No row can make the engine raise: whatever type a column lies in, whatever it holds, and whatever is asked of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import pytest

from obverse.catalog.model import Column
from obverse.core.bounds import UNBOUNDED, Bounds, Categories, interval
from obverse.core.types import Type
from obverse.engines.postgres import NAMED
from obverse.plan.dialects import DIALECTS
from obverse.plan.emit import expressions as printing
from obverse.testing.neighbours import WRITTEN
from tests.servers import postgres_address
from tests.stands import STANDS

D = DIALECTS["duckdb"]
MOMENTS = ("infinity", "-infinity", "epoch", "1970-01-01", "2020-02-29", "0001-01-01")
STORED: dict[str, tuple[str, ...]] = {  # a physical type and texts that can be stored in it
    "TINYINT": ("-128", "127"),
    "BIGINT": ("-9223372036854775808", "9223372036854775807", "0"),
    "HUGEINT": ("-170141183460469231731687303715884105728", "170141183460469231731687303715884105727"),
    "UBIGINT": ("18446744073709551615", "0"),
    "UHUGEINT": ("340282366920938463463374607431768211455",),
    "FLOAT": ("nan", "inf", "-inf", "3.4e38", "-0.0"),
    "DOUBLE": ("nan", "inf", "-inf", "1.7e308", "5e-324", "9.223372036854775807e18", "-9.3e18", "0.5"),
    "DECIMAL(38,0)": ("99999999999999999999999999999999999999", "-99999999999999999999999999999999999999"),
    "DECIMAL(38,37)": ("9.9999999999999999999999999999999999999",),
    "VARCHAR": (
        *WRITTEN,
        "294247-01-10",
        "5881580-07-11",
        "0x8000000000000000",
        "1e18446744073709551616",
        "24:00:00",
        "\U0001f600",
    ),
    "BLOB": ("\\xFF\\xFE", "", "a"),
    "BIT": ("1010",),
    "UUID": ("ffffffff-ffff-ffff-ffff-ffffffffffff",),
    "DATE": (*MOMENTS, "5881580-07-10"),
    "TIME": ("24:00:00", "00:00:00"),
    "TIMETZ": ("24:00:00+15:59:59",),
    "TIMESTAMP": (*MOMENTS, "294247-01-10 04:00:54.775806"),
    "TIMESTAMP_S": (*MOMENTS, "294247-01-10 04:00:54"),
    "TIMESTAMP_MS": (*MOMENTS, "294247-01-10 04:00:54"),
    "TIMESTAMP_NS": ("infinity", "2262-04-11 23:47:16.854775806", "1677-09-22 00:00:00"),
    "TIMESTAMPTZ": (*MOMENTS, "294247-01-10 04:00:54.775806+00"),
    "INTERVAL": ("2147483647 months", "-2147483648 days"),
    "BOOLEAN": ("true", "false"),
    "ENUM('a', 'zz', '7')": ("a", "7"),
}
BOUNDED: dict[Type, Bounds] = {
    Type.INTEGER: interval(-5, 20),
    Type.DOUBLE: interval(-2, 3),
    Type.BOOLEAN: Categories((True,)),
    Type.TEXT: Categories(("a", "7")),
    Type.DATE: interval(0, 20_000),
    Type.TIMESTAMP: interval(0, 10**15),
}


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as made:
        made.execute("SET threads = 1")
        yield made


@pytest.mark.parametrize("physical", STORED)
def test_every_declaration_reads_every_stored_value_without_an_error(
    physical: str, connection: duckdb.DuckDBPyConnection
) -> None:
    """The outcome is that of the empty table: rows, whatever they hold, decide nothing about errors."""
    listed = ", ".join(f"('{text}'::{physical})" for text in STORED[physical])
    connection.execute(
        f"CREATE OR REPLACE TABLE full_one AS SELECT * FROM (VALUES {listed}, (NULL::{physical})) AS v(x)"
    )
    connection.execute("CREATE OR REPLACE TABLE empty_one AS SELECT * FROM full_one WHERE false")
    for kind in Type:
        for bounds in (UNBOUNDED, BOUNDED[kind]):
            for nullable in (True, False):
                read = printing.enforced(Column("x", kind, nullable, bounds), D)
                for table in ("empty_one", "full_one"):
                    connection.execute(f"SELECT {read} AS c, hash(c) FROM {table} AS t").fetchnumpy()


ENDLESS = ("infinity", "-infinity", "0001-01-01")
IN_POSTGRES: dict[str, tuple[str, ...]] = {
    "SMALLINT": ("-32768", "32767"),
    "BIGINT": ("-9223372036854775808", "9223372036854775807"),
    "NUMERIC": ("NaN", "Infinity", "-1e1000", "1e-1000", "9223372036854775807.5", "1.797693134862315807e308", "0.5"),
    "REAL": ("NaN", "-Infinity", "1e-45", "3.4e38"),
    "DOUBLE PRECISION": ("NaN", "Infinity", "5e-324", "1.7e308", "9.223372036854775807e18", "-9.3e18"),
    "TEXT": (*WRITTEN, "9" * 401, "1e9999", "2020-02-30", "0000-01-01", "\u00a012", "\u0663", "5874897-12-31"),
    "CHAR(5)": ("a", ""),
    "BYTEA": ("\\xff00",),
    "UUID": ("ffffffff-ffff-ffff-ffff-ffffffffffff",),
    "JSONB": ('{"a": [1]}',),
    "MONEY": ("-92233720368547758.08",),
    "DATE": (*ENDLESS, "5874897-12-31", "4713-01-01 BC"),
    "TIME": ("24:00:00",),
    "TIMESTAMP": (*ENDLESS, "294276-12-31 23:59:59.999999", "4713-01-01 BC"),
    "TIMESTAMP WITH TIME ZONE": (*ENDLESS, "294276-12-31 23:59:59.999999+00", "4713-01-01 00:00:00+00 BC"),
    "INTERVAL": ("178000000 years", "-1 mon"),
    "BOOLEAN": ("true", "false"),
    "BIGINT[]": ("{1,2}",),
}


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    address = postgres_address()
    import psycopg

    with psycopg.connect(address, autocommit=True) as made:
        yield made


@pytest.mark.parametrize("physical", IN_POSTGRES)
def test_every_declaration_reads_every_value_stored_in_postgres_without_an_error(physical: str, server: Any) -> None:
    server.execute(f"DROP TABLE IF EXISTS stored; CREATE TABLE stored (x {physical})")
    for text in (*IN_POSTGRES[physical], None):
        server.execute(f"INSERT INTO stored VALUES (CAST(CAST(%s AS TEXT) AS {physical}))", (text,))
    if physical == "TEXT":  # eight bytes for each of so many are more than the server gives
        server.execute("INSERT INTO stored VALUES (repeat('1', 140000000))")
    name = NAMED.get(physical, physical)
    for kind in Type:
        for bounds in (UNBOUNDED, BOUNDED[kind]):
            for nullable in (True, False):
                read = printing.enforced(Column("x", kind, nullable, bounds, stored=name), DIALECTS["postgres"])
                server.execute(f"SELECT COUNT(md5(CAST(c AS TEXT))) FROM (SELECT {read} AS c FROM stored AS t) AS s")


ASKED = (
    "SELECT COUNT(*) FROM t WHERE f * f + g > 0 OR f // i = 2 OR f % i = 1 OR ABS(f) - f < 0",
    "SELECT COUNT(CAST(t AS INTEGER)), COUNT(CAST(t AS DOUBLE)), COUNT(CAST(t AS DATE)), COUNT(CAST(t AS TIMESTAMP)) "
    "FROM t",
    "SELECT COUNT(CAST(t AS BOOLEAN)), COUNT(CAST(g AS INTEGER)), COUNT(CAST(f AS TEXT)), COUNT(CAST(day AS TEXT)) "
    "FROM t",
    "SELECT SUM(CLAMP(g * g, -1, 1)), SUM(CLAMP(f - f, -1, 1)), SUM(CLAMP(ROUND(g, 12), 0, FLOOR(1.5))) FROM t",
    "SELECT COUNT(i / w), COUNT(d / d), SUM(CLAMP(1 / m, -2, 2)) FROM t",
    "SELECT EXTRACT(DOW FROM ts), EXTRACT(WEEK FROM day), COUNT(*) FROM t GROUP BY 1, 2",
    "SELECT date_trunc('hour', ts), COUNT(*) FROM t WHERE t LIKE '%a_%' OR t ILIKE 'É%' OR t IS NULL GROUP BY 1",
    "SELECT VAR_SAMP(big), AVG(big), SUM(big) FROM t",
    "SELECT SUM(NULLIF(i, w)), SUM(COALESCE(i, w, 3)), SUM(GREATEST(d, c, i)) FROM t WHERE i IS DISTINCT FROM w",
    "SELECT COUNT(LAST_DAY(CAST(REPLACE(t, 'a', '5881580-07-10') AS DATE))), COUNT(*) FROM t"
    " WHERE DATE_TRUNC('month', CAST(t || '5881580-07-10' AS DATE)) IS NULL OR 0 <= YEAR(CAST('290309-12-2' || w AS "
    "DATE))"
    " * 900000000000000",
    "SELECT SUM(CASE WHEN i > 3 THEN 5e-324 ELSE 1e30 END), MEDIAN(CASE WHEN i > 3 THEN -5e-324 ELSE 1e70 END) FROM t",
    "SELECT COUNT(*) FROM (SELECT big FROM t WHERE big IN (1, 2, 3, 4, 5, 6, 7, 8)) AS few WHERE big * 3000000000 > 5",
    "SELECT COUNT(*) FROM (SELECT g FROM t WHERE g IN (1, 2, 3, 4, 5, 6, 7.5, 8)) AS few WHERE LN(g) > 0.5",
    "SELECT COUNT(*) FROM (SELECT d FROM t WHERE d IN (1, 2, 3, 4, 5, 6, 7.5, 8)) AS few WHERE LN(d) > 0.5",
)


@pytest.mark.parametrize("kind", STANDS)
@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("unit", ["row", "one", "many", "path"])
def test_every_question_is_answered_on_every_table(unit: str, text: bool, kind: str, world: Callable[..., Any]) -> None:
    here = world(unit, "add-remove", text, kind)
    (one,) = here.families((8,), units=9)
    asked = [here.plan(question) for question in (ASKED if unit in ("row", "many") else ASKED[::3])]
    blank = {name: tuple(dict.fromkeys(row) for row in rows) for name, rows in one.database(9).items()}
    here.answers(asked, (dict.fromkeys(one.base, ()), blank, one.base, one.database(4), one.database(8)))
