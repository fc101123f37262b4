"""What engines are known to disagree about: missing and strange numbers, empty tables, zones, and letters of any
locale.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests import distribution
from tests.engines.edges import ASKED, TABLE, counts
from tests.engines.sites import (
    BEFORE,
    SITES,
    ZONE,
    DuckDBSite,
    Held,
    PostgresSite,
    Result,
    Site,
    SparkSite,
    SparkTableSite,
    Table,
)
from tests.servers import spark_session

OTHERS = [kind for kind in SITES if kind != "duckdb"]
LOCALES = {
    "libc en_US": "LOCALE 'en_US.UTF-8'",
    "icu en-US": "LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C'",
    "icu tr": "LOCALE_PROVIDER icu ICU_LOCALE 'tr' LOCALE 'C'",
    "libc C": "LOCALE 'C'",
}
TEXTS: Table = {name: TABLE[name] for name in ("u", "x", "s", "many", "kind", "id")}
BLANK: Table = {name: replace(held, values=(None,) * 4, texts={}) for name, held in TABLE.items()}
EMPTY: Table = {name: replace(held, values=(), texts={}) for name, held in TABLE.items()}
SHORT = ("a", "b", "A", "É", "é", None, "E\u0301", "ab")


@pytest.fixture(scope="module")
def expected() -> Mapping[str, Result]:
    """What DuckDB gives."""
    site = DuckDBSite(TABLE)
    found = {text: site.run(text) for texts in ASKED.values() for text in texts}
    site.close()
    return found


@pytest.fixture(scope="module")
def sites() -> Iterator[dict[str, Site]]:
    made: dict[str, Site] = {}
    yield made
    for site in made.values():
        site.close()


@pytest.mark.parametrize("subject", ASKED)
@pytest.mark.parametrize("kind", OTHERS)
def test_what_engines_disagree_about_has_one_result(
    subject: str, kind: str, expected: Mapping[str, Result], sites: dict[str, Site]
) -> None:
    here = sites.setdefault(kind, sites.get(kind) or SITES[kind](TABLE))
    for text in ASKED[subject]:
        assert here.run(text) == expected[text], text


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("table", [EMPTY, BLANK], ids=["no rows", "only NULLs"])
def test_tables_without_values_have_one_result(table: Table, kind: str) -> None:
    reference = DuckDBSite(table)
    here = SITES[kind](table)
    for texts in ASKED.values():
        for text in texts[:: 1 if kind == "postgres" else 6]:
            assert here.run(text) == reference.run(text), text
    here.close()
    reference.close()


def test_the_table_holds_what_it_is_there_for(expected: Mapping[str, Result]) -> None:
    """No question of these is about nothing: each gives some number that is not 0."""
    for text, (_, *rows) in expected.items():
        assert any(isinstance(value, int) and value for row in rows for value in row), text


@pytest.mark.parametrize("zone", [ZONE, "Asia/Kolkata"])
def test_the_zone_of_the_machine_changes_nothing(
    zone: str, expected: Mapping[str, Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        site = DuckDBSite(TABLE)
        for text in ASKED["times"]:
            assert site.run(text) == expected[text], text
        site.close()
    finally:
        monkeypatch.undo()
        time.tzset()


def test_the_zone_of_the_virtual_machine_of_spark_changes_nothing(expected: Mapping[str, Result]) -> None:
    zones = spark_session()._jvm.java.util.TimeZone
    before = zones.getDefault()
    zones.setDefault(zones.getTimeZone(ZONE))
    try:
        site = SparkSite(TABLE)
        for text in ASKED["times"][3:9]:
            assert site.run(text) == expected[text], text
        site.close()
    finally:
        zones.setDefault(before)


@pytest.mark.parametrize("locale", LOCALES)
def test_texts_are_compared_by_their_code_points_in_every_locale(locale: str, expected: Mapping[str, Result]) -> None:
    site = PostgresSite(TEXTS, distribution.database(LOCALES[locale]), BEFORE)
    for text in ASKED["texts"]:
        assert site.run(text) == expected[text], text
    site.close()


FOLDED = "CREATE COLLATION edges.folded (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
CITEXT = "CREATE EXTENSION citext SCHEMA public"
LETTERS = "'É', 'b', 'a', 'A', 'é', 'E\u0301', 'ab', 'p', 'P', 'q', 'Q', '7', '70', ' 7'"
DOMAINS = (
    "CREATE DOMAIN edges.folk AS public.citext",
    "CREATE DOMAIN edges.alike AS TEXT COLLATE edges.folded",
    "CREATE DOMAIN edges.kin AS edges.alike",
    f"CREATE TYPE edges.letter AS ENUM ({LETTERS})",
)
KINDS = ("CHAR(5)", "VARCHAR(5)", "CITEXT", "TEXT COLLATE edges.folded", 'TEXT COLLATE "en-US-x-icu"')
KINDS += ("edges.folk", "edges.alike", "edges.kin", "edges.letter")
OWN = (
    counts(
        "x = 'a'", "x = 'A'", "x < 'a'", "x = 'a '", "LENGTH(x) = 1", "x IN ('a', 'b')", "x || 'x' = 'ax'", "x >= 'É'"
    ),
    counts("x ILIKE 'É'", "LOWER(x) = 'a'", "s = 'a'", "s IS NULL", "s || 'x' = 'ax'", "i = 7"),
    "SELECT s, COUNT(*) FROM t GROUP BY s",
    "SELECT x, COUNT(*) FROM t GROUP BY x",
    "SELECT z, COUNT(*) FROM (SELECT u, MAX(x) AS z FROM t GROUP BY u) AS q GROUP BY z",
    "SELECT COUNT(DISTINCT u), COUNT(*) FROM t",
)


def texts_of(kind: str, values: Any = SHORT) -> Table:
    """Units, free texts, listed texts and numbers, all in texts of one kind."""
    types = {"postgres": kind, "spark": kind}
    return {
        "u": Held('{ type = "text" }', "VARCHAR", ("p", "P", "q", "p", "P", None, "q", "Q"), types),
        "x": Held('{ type = "text" }', "VARCHAR", values, types),
        "s": Held('{ type = "text", values = ["a", "b", "É"] }', "VARCHAR", values, types),
        "i": Held('{ type = "integer" }', "VARCHAR", ("7", "70", None, " 7"), types),
    }


COLLATIONS = ("NOCASE", "NOACCENT", "NOCASE.NOACCENT", "de", "NFC")


@pytest.mark.parametrize("collation", COLLATIONS)
def test_texts_of_every_collation_are_read_as_plain_ones_by_duckdb(collation: str) -> None:
    table = texts_of("TEXT")
    collated = {n: replace(held, types={"duckdb": f"VARCHAR COLLATE {collation}"}) for n, held in table.items()}
    same_as_plain(table, DuckDBSite(collated))


def same_as_plain(table: Table, here: Site) -> None:
    reference = DuckDBSite(table)
    for text in OWN:
        assert here.run(text) == reference.run(text), text
    here.close()
    reference.close()


@pytest.mark.parametrize("kind", KINDS)
def test_texts_of_every_kind_are_read_as_plain_ones_by_postgres(kind: str) -> None:
    before = [CITEXT, FOLDED, *DOMAINS]
    table = texts_of(kind)
    same_as_plain(table, PostgresSite(table, distribution.database(LOCALES["icu en-US"]), before))


@pytest.mark.parametrize("kind", ["CHAR(5)", "STRING COLLATE UTF8_LCASE", "STRING COLLATE UNICODE_CI_AI_RTRIM"])
def test_texts_of_every_kind_are_read_as_plain_ones_by_spark(kind: str) -> None:
    table = texts_of(kind)
    same_as_plain(table, SparkTableSite(table))


def test_days_beyond_the_calendar_are_nothing_or_at_the_end_of_their_bounds() -> None:
    days = ("infinity", "-infinity", "5000-01-01", "2020-05-05", None, "20000-01-01")
    table = {
        "u": Held('{ type = "integer" }', "BIGINT", tuple("123456")),
        "day": Held('{ type = "date" }', "DATE", days),
        "near": Held('{ type = "date", bounds = ["2020-01-01", "2020-12-31"] }', "DATE", days),
        "ts": Held('{ type = "timestamp" }', "TIMESTAMP", days),
        "zoned": Held('{ type = "timestamp", bounds = ["2020-01-01", "2020-12-31"] }', "TIMESTAMPTZ", days),
    }
    reference = DuckDBSite(table)
    here = PostgresSite(table)
    asked = counts("day IS NULL", "ts IS NULL", "near = DATE '2020-12-31'", "near = DATE '2020-01-01'", "near IS NULL")
    for text in (
        asked,
        counts("zoned IS NULL", "zoned > TIMESTAMP '2020-12-30'", "day > DATE '4000-01-01'", "ts < day"),
    ):
        assert here.run(text) == reference.run(text), text
    here.close()
    reference.close()


class OtherTypes(SparkSite):
    """Types that the others have not, beside one that they have."""

    def frame(self, spark: Any, table: Table) -> Any:
        odd = "X'41' AS x, array('a') AS s, named_struct('a', 1) AS i, map('a', 1) AS day, INTERVAL '1' DAY AS d"
        return spark.sql(
            f"SELECT id AS u, {odd}, CAST(1.005 AS DECIMAL(38, 18)) AS n, parse_json('1') AS ts FROM range(3)"
        )


def test_types_that_have_no_counterpart_hold_nothing_in_spark() -> None:
    site = OtherTypes({name: TABLE[name] for name in ("u", "x", "s", "i", "day", "d", "n", "ts")})
    (_, row) = site.run(counts(*(f"{name} IS NOT NULL" for name in ("x", "i", "day", "d", "ts", "n"))))
    assert row == (0, 0, 0, 0, 0, 0, 3)
    assert site.run(counts("s = 'a'"))[1:] == [(0, 0)]
    site.close()
