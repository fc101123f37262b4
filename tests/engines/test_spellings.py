"""Texts that lie where a number or a date is declared: read alike by every engine, but for what docs/engines.md
names.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from obverse.catalog.model import Column
from obverse.core.types import Type
from obverse.plan.dialects import DIALECTS
from obverse.plan.emit import expressions as printing
from tests.servers import postgres_address, spark_session

KINDS = (Type.INTEGER, Type.DOUBLE, Type.BOOLEAN, Type.DATE, Type.TIMESTAMP)
ENGINES = ["postgres", "spark"]
ODD = (
    *(
        "",
        " ",
        ".",
        "-",
        "+",
        "e",
        "1e",
        "_1",
        "1_",
        "1__0",
        "1._5",
        "--1",
        "7,5",
        "1d",
        "1f",
        "0x",
        "0o17",
        "\u0667",
        "\u00a07",
    ),
    *(
        "true",
        "T",
        "YES",
        "y",
        "1",
        "0",
        "no",
        "on",
        "off",
        "truth",
        " true",
        "nan",
        "-Infinity",
        "INF",
        "null",
        "NULL",
    ),
    *(
        "2020-13-45",
        "2020-02-30",
        "2020-00-10",
        "0000-01-01",
        "2020-01",
        "20200105",
        "2020-01-05x",
        "2020-01-05T",
        "2020-01-05 10",
    ),
    *(
        "2020-01-05 23:59:60",
        "2020-01-05 10:60",
        "2020-01-05t10:00",
        "5 Jan 2020",
        "05.01.2020",
        "2020-01-05Z",
        "x" * 3000,
    ),
)
DUCKDB_ALONE = (  # by the gaps "spellings of numbers" and "spellings of dates"
    *("0x1f", "0b101", "+-1", "nan(1)", "1e99999", "2020/1/5", "2020 1 5", "320-01-05", "epoch", "2020-01-05 24:00:00"),
    *(
        "2020-01-05 10:00:00Z",
        "2020-01-05 10:00:00+05",
        "2020-01-05 10:00:00 Europe/Berlin",
        "2020-01-05 10:00:00.1234567",
    ),
)


def written(rng: random.Random) -> str:
    """A text of the grammar that engines share, or one that is close to it."""
    text = number(rng) if rng.random() < 0.5 else moment(rng)
    before = rng.choice(["", "", "", " ", "\t", "\n "])
    after = rng.choice(["", "", "", " ", "  ", "\t", "\n"])
    return f"{before}{text}{after}"


def number(rng: random.Random) -> str:
    def digits() -> str:
        return "".join(rng.choice("0123456789") for _ in range(rng.choice((1, 1, 2, 3, 6))))

    whole = rng.choice((digits(), f"{digits()}.{digits()}", f".{digits()}", f"{digits()}.", f"{digits()}_{digits()}"))
    power = rng.choice(("", "", "", "0", "1", "3", "+18", "-007", "-5", "308", "-324", "400", "-400", "4000"))
    return f"{rng.choice(('', '', '+', '-'))}{whole}{rng.choice('eE') if power else ''}{power}"


def moment(rng: random.Random) -> str:
    def two(most: int) -> str:
        return f"{rng.randint(0, most):0{rng.choice((1, 2))}d}"

    year = rng.choice(("0001", "0099", "1582", "1900", "2019", "2020", "9999"))
    clock = rng.choice(
        ("", "", f"{two(24)}:{two(60)}", f"{two(23)}:{two(59)}:{two(60)}{rng.choice(('', '.5', '.000001', '.999999'))}")
    )
    if clock.startswith("24"):
        clock = ""
    return f"{year}-{two(13)}-{two(32)}{rng.choice(' T') if clock else ''}{clock}"


def read_by(engine: str, texts: Sequence[str]) -> list[tuple[Any, ...]]:
    """Each text as a column of each type would read it; a zero has no sign."""
    dialect = DIALECTS[engine]
    columns = ", ".join(printing.enforced(Column("x", kind, True, stored="VARCHAR"), dialect) for kind in KINDS)
    sql = f"SELECT {columns} FROM t ORDER BY i"
    rows = {"duckdb": by_duckdb, "postgres": by_postgres, "spark": by_spark}[engine](sql, list(enumerate(texts)))
    return [tuple(0.0 if value == 0 and isinstance(value, float) else value for value in row) for row in rows]


def by_duckdb(sql: str, rows: list[tuple[int, str]]) -> list[Any]:
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (i INTEGER, x VARCHAR)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        return connection.execute(sql).fetchall()


def by_postgres(sql: str, rows: list[tuple[int, str]]) -> list[Any]:
    import psycopg

    with psycopg.connect(postgres_address(), autocommit=True) as connection:
        connection.execute("CREATE TABLE t (i INTEGER, x TEXT)")
        connection.cursor().executemany("INSERT INTO t VALUES (%s, %s)", rows)
        return connection.execute(sql).fetchall()


def by_spark(sql: str, rows: list[tuple[int, str]]) -> list[Any]:
    import pyarrow as pa

    spark = spark_session()
    spark.createDataFrame(pa.table({"i": [i for i, _ in rows], "x": [x for _, x in rows]})).createOrReplaceTempView("t")
    return [tuple(row) for row in spark.sql(sql).collect()]


@pytest.mark.parametrize("engine", ENGINES)
def test_texts_are_read_alike(engine: str) -> None:
    rng = random.Random(11)
    texts = [*ODD, *(written(rng) for _ in range(1500))]
    expected = read_by("duckdb", texts)
    found = read_by(engine, texts)
    assert sum(any(value is not None for value in row) for row in expected) > 1000
    for text, ours, theirs in zip(texts, found, expected):
        assert repr(ours) == repr(theirs), repr(text)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_duckdb_alone_reads_is_nothing_elsewhere(engine: str) -> None:
    for text, row in zip(DUCKDB_ALONE, read_by(engine, DUCKDB_ALONE)):
        assert set(row) == {None}, text


def test_what_the_page_of_engines_names_is_still_so() -> None:
    for text, row in zip(DUCKDB_ALONE, read_by("duckdb", DUCKDB_ALONE)):
        beyond = text in ("nan(1)", "1e99999")  # read, and then no value, since it is not finite
        assert beyond or any(value is not None for value in row), text
