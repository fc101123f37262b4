"""What is printed is read back by Spark as it was meant, and means what it means to DuckDB."""

from __future__ import annotations

import datetime as dt
import math
import random
import time
from collections.abc import Callable
from typing import Any

import duckdb
import pytest

from obverse.catalog.model import Column
from obverse.core.errors import InvariantBroken
from obverse.core.types import INT64_MAX, INT64_MIN, Type, Value
from obverse.engines.spark import type_name
from obverse.plan.dialects.base import Dialect
from obverse.plan.dialects.duckdb import DuckDB
from obverse.plan.dialects.spark import Spark
from tests.servers import spark_session

D = Spark()
OTHER = DuckDB()
MOMENTS = (
    dt.datetime(1, 1, 1),
    dt.datetime(1582, 10, 10, 3, 4, 5, 678901),
    dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
)
VALUES: dict[Type, tuple[Value, ...]] = {
    Type.INTEGER: (0, -1, 2**31, INT64_MIN, INT64_MAX),
    Type.DOUBLE: (0.1, -2.5, 5e-324, 1.7976931348623157e308, 1 / 3, math.inf, -math.inf, math.nan, 1e16),
    Type.BOOLEAN: (True, False),
    Type.TEXT: ("", "it's", "a\\b", "\\", "\\n", "${spark.app.name}", "a\nb\t\r", '"`', "é\U0001f600", "--", "%_"),
    Type.DATE: tuple(moment.date() for moment in MOMENTS),
    Type.TIMESTAMP: MOMENTS,
}
NUMBERS = (
    *(
        "12",
        "-7",
        "2.5",
        "-2.5",
        "0.49999999999999999999",
        ".5",
        "5.",
        "+7",
        "1e3",
        "25e-1",
        " 8 ",
        "\t7\n",
        "1_000",
        "1__0",
        "_1",
    ),
    *(
        "9223372036854775807",
        "9223372036854775808",
        "9223372036854775807.4",
        "9223372036854775807.5",
        "1e19",
        "1e400",
        "1e-400",
    ),
    *("", "-", ".", "e5", "1e", "1d", "1f", "0x1p3", "--1", "7 8", "\u0667", "true", "1,5", "1e00003", "9" * 30),
)
TRUTHS = ("true", "TRUE", "t", "1", "yes", "Y", "on", " true", "0", "no", "f", "1.0", "2", "", "\u017f")
DAYS = (
    "2020-02-29",
    "2020-1-2",
    "2021-02-29",
    "2020-02-29 13:00",
    "2020-02-29T13:00:01.5",
    "2020-01-01 25:00:00",
    "x",
    "",
)


@pytest.fixture(scope="module")
def spark() -> Any:
    return spark_session()


def one_row(session: Any, *sqls: str) -> list[Any]:
    """The values of expressions without columns."""
    (row,) = session.sql(f"SELECT {', '.join(f'{sql} AS c{i}' for i, sql in enumerate(sqls))}").collect()
    return list(row)


def by_duckdb(*sqls: str) -> list[Any]:
    (row,) = duckdb.execute(f"SELECT {', '.join(sqls)}").fetchall()
    return list(row)


def on_both(session: Any, *printed: Callable[[Dialect], str]) -> tuple[list[Any], list[Any]]:
    """Texts made by a dialect, evaluated by its engine."""
    return one_row(session, *(p(D) for p in printed)), by_duckdb(*(p(OTHER) for p in printed))


@pytest.mark.parametrize("kind", Type)
def test_a_literal_is_read_back_as_its_value_and_type(kind: Type, spark: Any) -> None:
    written = [D.literal(value, kind) for value in (*VALUES[kind], None)]
    found = one_row(spark, *written)
    assert all(a == b or (a != a and b != b) for a, b in zip(found, (*VALUES[kind], None), strict=True))
    assert set(one_row(spark, *(f"typeof({text})" for text in written))) == {D.type_name(kind).lower()}


def test_an_identifier_names_one_column_whatever_it_is_called(spark: Any) -> None:
    names = ["a b", "a`b", "a.b", "select", "é", "`"]
    found = spark.sql(f"SELECT {', '.join(f'1 AS {D.identifier(name)}' for name in names)}")
    assert found.columns == names


def test_a_zero_byte_is_a_defect() -> None:
    with pytest.raises(InvariantBroken):
        D.identifier("a\0b")
    with pytest.raises(InvariantBroken):
        D.literal("a\0b", Type.TEXT)


def test_a_hash_is_the_same_as_on_duckdb(spark: Any) -> None:
    keyed = [(kind, value) for kind, values in VALUES.items() for value in (*values, None)]

    def hashed(kind: Type, value: Value) -> Callable[[Dialect], str]:
        return lambda d: d.keyed_hash(
            "k'\\", [(d.literal(value, kind), kind), (d.literal(1, Type.INTEGER), Type.INTEGER)]
        )

    ours, theirs = on_both(spark, *(hashed(kind, value) for kind, value in keyed))
    assert ours == theirs


@pytest.mark.parametrize(
    ("kind", "texts"), [(Type.INTEGER, NUMBERS), (Type.DOUBLE, NUMBERS), (Type.BOOLEAN, TRUTHS), (Type.DATE, DAYS)]
)
def test_a_text_is_read_as_duckdb_reads_it(kind: Type, texts: tuple[str, ...], spark: Any) -> None:
    def read(text: str) -> Callable[[Dialect], str]:
        return lambda d: d.try_cast(d.literal(text, Type.TEXT), kind, Type.TEXT)

    ours, theirs = on_both(spark, *map(read, texts))
    assert dict(zip(texts, ours)) == dict(zip(texts, theirs))


def test_no_text_keeps_a_cast_busy(spark: Any) -> None:
    started = time.monotonic()
    long = ["1e-999999999", "1" * 100_000, "1_" * 50_000, " " * 100_000]
    found = one_row(spark, *(D.try_cast(D.literal(text, Type.TEXT), Type.INTEGER, Type.TEXT) for text in long))
    assert found == [None] * 4
    assert time.monotonic() - started < 20


def test_the_case_of_letters_changes_one_by_one_as_on_duckdb(spark: Any) -> None:
    letters = "aZ\u00df\u0149\u0130\u0131\u017f\u00b5\u00ff\u03a3\u03c2\u1e9e\ufb00\u1f80\u212a\u01c5\U00010428"

    def cased(name: str, letter: str) -> Callable[[Dialect], str]:
        return lambda d: d.call(name, d.literal(f"x{letter}", Type.TEXT))

    ours, theirs = on_both(spark, *(cased(name, letter) for name in ("lower", "upper") for letter in letters))
    assert ours == theirs


def test_patterns_fit_what_they_fit_on_duckdb(spark: Any) -> None:
    rng = random.Random(1)
    pairs = [
        ("a\\b", "a\\b", ""),
        ("a\nb", "a_b", ""),
        ("a$b", "%$%", ""),
        ("ab", "a!%", "!"),
        ("a%", "a!%", "!"),
        ("aba", "ab%ba", ""),
    ]
    for _ in range(200):
        text, pattern = (
            "".join(rng.choice(signs) for _ in range(rng.randrange(7))) for signs in ("aAb\\.", "aAb%%_\\.")
        )
        pairs.append((text, pattern, ""))

    def liked(text: str, pattern: str, escape: str, fold: bool) -> Callable[[Dialect], str]:
        return lambda d: d.like(d.literal(text, Type.TEXT), pattern, escape, folded=fold)

    ours, theirs = on_both(spark, *(liked(*pair, fold) for pair in pairs for fold in (False, True)))
    assert ours == theirs


def test_a_pattern_of_many_wildcards_is_answered_at_once(spark: Any) -> None:
    started = time.monotonic()
    pattern = D.like("repeat('a', 5000)", "%a" * 50 + "%b", "", folded=False)
    assert one_row(spark, pattern) == [False]
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("cast", ["BIGINT", "DECIMAL(38, 0)"])
def test_a_whole_quotient_goes_towards_zero(cast: str, spark: Any) -> None:
    pairs = [(7, 2), (-7, 2), (-1, 1024), (-(2**62), 3), (0, 5)]
    found = one_row(spark, *(D.whole_quotient(f"CAST({a} AS {cast})", f"CAST({b} AS {cast})") for a, b in pairs))
    assert found == [abs(a) // b * (1 if a >= 0 else -1) for a, b in pairs]


def test_a_sum_is_exact_whatever_the_signs_and_types(spark: Any) -> None:
    """Low parts add up to less than 2**60, and high parts to less than 2**57, for as many rows as an engine may
    hold.
    """
    values = [2**37 - 1, -(2**37) + 1, 1, -1, -(2**20), 2**20 - 1, None, 12345678901]
    for cast in ("BIGINT", "DECIMAL(38, 0)"):
        rows = ", ".join(f"(CAST({'NULL' if v is None else v} AS {cast}))" for v in values)
        ((found,),) = spark.sql(f"SELECT {D.total('x')} FROM (VALUES {rows}) AS v(x)").collect()
        assert int(found) == sum(v for v in values if v is not None)
    ((big,),) = spark.sql(f"SELECT {D.total('9223372036854775807')} FROM range(1000)").collect()
    assert int(big) == (2**63 - 1) * 1000
    ((none,),) = spark.sql(f"SELECT {D.total('id')} FROM range(0)").collect()
    assert none is None


def test_a_cast_to_an_integer_rounds_halves_to_even_and_takes_no_number_beyond(spark: Any) -> None:
    numbers = [0.5, 1.5, 2.5, -0.5, 2.4999999999999996, 1e9 + 0.5]
    assert one_row(spark, *(D.round_to_integer(D.literal(x, Type.DOUBLE), small=True) for x in numbers)) == list(
        map(round, numbers)
    )
    beyond = [2.0**63, -(2.0**63), -1e19, math.nan, math.inf]
    found = one_row(spark, *(D.try_cast(D.literal(x, Type.DOUBLE), Type.INTEGER, Type.DOUBLE) for x in beyond))
    assert found == [None, -(2**63), None, None, None]


STORED = {
    Type.INTEGER: (("CAST(7 AS TINYINT)", 7), ("2.5D", 2), ("2.5BD", 3), ("'2.5'", 3), ("TRUE", 1), ("2e19D", None)),
    Type.DOUBLE: (("7", 7.0), ("2.5BD", 2.5), ("' 1e3 '", 1000.0), ("'1d'", None), ("CAST(0.5 AS FLOAT)", 0.5)),
    Type.TEXT: (("7", "7"), ("'x' COLLATE UTF8_LCASE", "x"), ("X'41'", None), ("array(1)", None), ("2.50BD", "2.50")),
    Type.BOOLEAN: (("2", True), ("'YES'", True), ("'on'", None), ("FALSE", False)),
    Type.DATE: (
        ("TIMESTAMP_NTZ '2020-01-02 23:00:00'", dt.date(2020, 1, 2)),
        ("TIMESTAMP_LTZ '2020-01-02 23:00:00-05:00'", dt.date(2020, 1, 3)),
        ("'0000-01-01'", None),
    ),
    Type.TIMESTAMP: (
        ("TIMESTAMP_LTZ '2020-01-02 03:00:00+05:00'", dt.datetime(2020, 1, 1, 22)),
        ("DATE '2020-01-02'", dt.datetime(2020, 1, 2)),
    ),
}


@pytest.mark.parametrize("kind", STORED)
def test_a_column_is_read_as_declared_whatever_type_it_is_stored_as(kind: Type, spark: Any) -> None:
    described = spark.sql(f"SELECT {', '.join(sql for sql, _ in STORED[kind])}").schema.fields
    stored = [type_name(field.dataType.simpleString()) for field in described]
    found = one_row(
        spark, *(D.stored(sql, Column("c", kind, stored=name)) for (sql, _), name in zip(STORED[kind], stored))
    )
    assert found == [value for _, value in STORED[kind]]


def test_every_dialect_has_a_name_of_its_own() -> None:
    dialects: list[Dialect] = [D, OTHER]
    assert [d.name for d in dialects] == ["spark", "duckdb"]
