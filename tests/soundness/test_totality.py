"""No row can make the engine raise: whatever type a column lies in, whatever it holds, and whatever is asked of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import pytest

from obverse.catalog.model import Column
from obverse.core.bounds import UNBOUNDED, Bounds, Categories, interval
from obverse.core.types import Type
from obverse.plan import print as printing
from obverse.plan.dialects import DIALECTS
from obverse.testing.neighbours import WRITTEN
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
    connection.execute(f"CREATE OR REPLACE TABLE full_one AS SELECT * FROM (VALUES {listed}, (NULL::{physical})) AS v(x)")
    connection.execute("CREATE OR REPLACE TABLE empty_one AS SELECT * FROM full_one WHERE false")
    for kind in Type:
        for bounds in (UNBOUNDED, BOUNDED[kind]):
            for nullable in (True, False):
                read = printing.enforced(Column("x", kind, nullable, bounds), D)
                for table in ("empty_one", "full_one"):
                    connection.execute(f"SELECT {read} AS c, hash(c) FROM {table} AS t").fetchnumpy()


ASKED = (
    "SELECT COUNT(*) FROM t WHERE f * f + g > 0 OR f // i = 2 OR f % i = 1 OR ABS(f) - f < 0",
    "SELECT COUNT(CAST(t AS INTEGER)), COUNT(CAST(t AS DOUBLE)), COUNT(CAST(t AS DATE)), COUNT(CAST(t AS TIMESTAMP)) FROM t",
    "SELECT COUNT(CAST(t AS BOOLEAN)), COUNT(CAST(g AS INTEGER)), COUNT(CAST(f AS TEXT)), COUNT(CAST(day AS TEXT)) FROM t",
    "SELECT SUM(CLAMP(g * g, -1, 1)), SUM(CLAMP(f - f, -1, 1)), SUM(CLAMP(ROUND(g, 12), 0, FLOOR(1.5))) FROM t",
    "SELECT COUNT(i / w), COUNT(d / d), SUM(CLAMP(1 / m, -2, 2)) FROM t",
    "SELECT EXTRACT(DOW FROM ts), EXTRACT(WEEK FROM day), COUNT(*) FROM t GROUP BY 1, 2",
    "SELECT date_trunc('hour', ts), COUNT(*) FROM t WHERE t LIKE '%a_%' OR t ILIKE 'É%' OR t IS NULL GROUP BY 1",
    "SELECT VAR_SAMP(big), AVG(big), SUM(big) FROM t",
    "SELECT SUM(NULLIF(i, w)), SUM(COALESCE(i, w, 3)), SUM(GREATEST(d, c, i)) FROM t WHERE i IS DISTINCT FROM w",
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
