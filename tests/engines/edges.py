"""Columns that hold what engines are known to disagree about, and questions about each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.engines.sites import Held, Table

MOST = str(2**63 - 1)
LEAST = str(-(2**63))
INTEGERS = (None, MOST, MOST, MOST, MOST, MOST, LEAST, LEAST, "0", "-1", "9007199254740993", "42", "3037000500")
DOUBLES = (
    *(
        None,
        "NaN",
        "Infinity",
        "-Infinity",
        "-0.0",
        "0.0",
        "5e-324",
        "-5e-324",
        "2.2250738585072014e-308",
        "0.5",
        "1.5",
        "2.5",
    ),
    *(
        "-0.5",
        "-2.5",
        "1.7976931348623157e308",
        "-1.7976931348623157e308",
        "9.223372036854775807e18",
        "-9.3e18",
        "0.1",
        "1e22",
    ),
    *("4503599627370497.5", "0.30000000000000004", "9007199254740993", "1e-7", "123456.789"),
)
EXACT = (
    None,
    "0",
    "0.5",
    "-0.5",
    "1.5",
    "2.5",
    "99999999999999999999.5",
    "0.1",
    "-7.25",
    "1234567.1",
    "9007199254740993",
)
LETTERS = (  # texts that locales order, fold or take for equal, each in its own way
    *(
        None,
        "",
        " ",
        "a",
        "A",
        "a ",
        " a",
        "b",
        "B",
        "z",
        "Z",
        "_",
        "%",
        "\\",
        "a\\",
        "'",
        "a\nb",
        "a\tb",
        "10",
        "9",
        "-",
    ),
    *(
        "ab",
        "ß",
        "ẞ",
        "ss",
        "SS",
        "İ",
        "i",
        "I",
        "ı",
        "i\u0307",
        "Σ",
        "σ",
        "ς",
        "ΟΔΟΣ",
        "οδος",
        "ﬁ",
        "fi",
        "FI",
        "é",
        "e\u0301",
    ),
    *(
        "É",
        "\U0001f600",
        "ǅ",
        "ǆ",
        "Ǆ",
        "straße",
        "STRASSE",
        "ŉ",
        "Å",
        "\u212b",
        "K",
        "k",
        "K",
        "ſ",
        "s",
        "\u00ad",
        "co-op",
    ),
    *("coop",),
)
DAYS = (
    *(
        None,
        "0001-01-01",
        "9999-12-31",
        "2020-02-29",
        "1582-10-04",
        "1582-10-15",
        "1900-02-28",
        "1969-12-31",
        "1970-01-01",
    ),
    *("2020-03-29", "2020-10-25", "2020-12-31", "2021-01-03", "2024-12-30", "0099-05-01"),
)
MOMENTS = (  # the hours that summer time leaves out and repeats, in Newfoundland, Berlin and on Lord Howe
    *(None, "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "1969-12-31 23:59:59.999999", "1970-01-01 00:00:00"),
    *(
        "2020-03-08 00:01:00",
        "2020-03-08 02:30:00",
        "2020-11-01 01:30:00",
        "2020-03-29 02:30:00",
        "2020-10-25 02:30:00",
    ),
    *("2020-10-04 02:15:00", "2011-12-30 12:00:00", "1883-11-18 12:03:58", "2016-12-31 23:59:59.5"),
    *("2020-06-30 23:59:59.999999",),
)
ZONED = tuple(None if m is None else f"{m}+00" for m in MOMENTS)
SPARK_ZONED = tuple(None if m is None else f"{m}+00:00" for m in MOMENTS)

TEXTS = {"types": {"postgres": "TEXT", "spark": "STRING"}}
DOUBLE = {"postgres": "DOUBLE PRECISION"}
UNITS = Held('{ type = "integer" }', "BIGINT", tuple(str(n // 3) for n in range(len(LETTERS))) + (None, "99"))

TABLE: Table = {
    "u": UNITS,
    "i": Held('{ type = "integer", bounds = [-9223372036854775808, 9223372036854775807] }', "BIGINT", INTEGERS),
    "f": Held('{ type = "integer" }', "BIGINT", INTEGERS),
    "small": Held('{ type = "integer" }', "SMALLINT", (None, "32767", "-32768", "0")),
    "d": Held('{ type = "double" }', "DOUBLE", DOUBLES, DOUBLE),
    "c": Held('{ type = "double", bounds = [-3, 1000], grid = 0.25 }', "DOUBLE", DOUBLES, DOUBLE),
    "m": Held('{ type = "double", bounds = [-3, 3], nullable = false }', "DOUBLE", DOUBLES, DOUBLE),
    "of_double": Held('{ type = "integer" }', "DOUBLE", DOUBLES, DOUBLE),
    "r": Held('{ type = "double" }', "FLOAT", (None, "0.1", "16777216", "3.4e38", "NaN", "-0.0"), {"postgres": "REAL"}),
    "n": Held('{ type = "double" }', "DECIMAL(38, 10)", EXACT),
    "whole": Held('{ type = "integer" }', "DECIMAL(38, 10)", EXACT),
    "odd": Held('{ type = "double" }', "DOUBLE", DOUBLES, {"postgres": "NUMERIC"}),
    "b": Held('{ type = "boolean" }', "BOOLEAN", (None, "true", "false", "true")),
    "x": Held('{ type = "text" }', "VARCHAR", LETTERS, **TEXTS),
    "s": Held('{ type = "text", values = ["a", "b", "ß", "É", "a "] }', "VARCHAR", LETTERS, **TEXTS),
    "many": Held(f'{{ type = "text", values = {list("abcdefghijBZéß_")} }}', "VARCHAR", LETTERS, **TEXTS),
    "day": Held('{ type = "date" }', "DATE", DAYS),
    "near": Held('{ type = "date", bounds = ["2020-01-01", "2020-12-31"] }', "DATE", DAYS),
    "of_day": Held('{ type = "timestamp" }', "DATE", DAYS),
    "ts": Held('{ type = "timestamp" }', "TIMESTAMP", MOMENTS, {"spark": "TIMESTAMP_NTZ"}),
    "zoned": Held('{ type = "timestamp" }', "TIMESTAMPTZ", ZONED, {"spark": "TIMESTAMP_LTZ"}, {"spark": SPARK_ZONED}),
    "zoned_day": Held('{ type = "date" }', "TIMESTAMPTZ", ZONED, {"spark": "TIMESTAMP_LTZ"}, {"spark": SPARK_ZONED}),
    "kind": Held(
        '{ type = "text" }',
        "ENUM('a', 'zz', 'B')",
        ("a", "zz", "B", None),
        {"postgres": "edges.kind", "spark": "STRING"},
    ),
    "id": Held(
        '{ type = "text" }',
        "UUID",
        ("FFFFFFFF-ffff-ffff-ffff-ffffffffffff", "00000000-0000-0000-0000-00000000000a"),
        {"spark": "STRING"},
        {"spark": ("ffffffff-ffff-ffff-ffff-ffffffffffff", "00000000-0000-0000-0000-00000000000a")},
    ),
}


def counts(*conditions: str) -> str:
    """How many rows are of each condition, in one question."""
    return f"SELECT {', '.join(f'COUNT(*) FILTER (WHERE {condition})' for condition in conditions)} FROM t"


def orders(x: str, *others: str) -> Sequence[str]:
    return [f"{x} {sign} {other}" for other in others for sign in ("<", "=", ">=")]


ASKED: Mapping[str, Sequence[str]] = {
    "integers": (
        "SELECT SUM(i), AVG(i), COUNT(i), VAR_SAMP(i) FROM t",
        counts(
            "f * f > 0", "f + f IS NULL", "f - i = 0", "ABS(f) > 5", "-f < 0", "f // 2 = 0", "f % 10 = 7", "f / i = 1"
        ),
        counts(
            "CAST(f AS DOUBLE) = 9007199254740992", "CAST(f AS TEXT) LIKE '-9%8'", "f > 9.2e18", "small + small > 65533"
        ),
        "SELECT SUM(CLAMP(f * 3, -10, 10)), SUM(CLAMP(f, -10, 100)), SUM(CLAMP(small, -9, 9)) FROM t",
    ),
    "doubles": (
        "SELECT SUM(c), COUNT(c), SUM(m), COUNT(m), COUNT(d), AVG(c), VAR_POP(m) FROM t",
        counts(
            "d = 0",
            "d * d = 0",
            "d * d IS NULL",
            "d + d > 1e308",
            "1 / d > 0",
            "1 / d < 0",
            "SQRT(d) >= 0",
            "LN(d) < 0",
        ),
        counts(
            "EXP(d) > 1", "POWER(d, 2) = 0", "ROUND(d, 0) = 3", "ROUND(d, 1) = 0.5", "FLOOR(d) = -1", "d::INTEGER = 2"
        ),
        counts(
            "of_double = 2",
            "of_double IS NULL",
            "of_double > 9e18",
            "r = 0.1",
            "r > 3e38",
            "r IS NULL",
            "d = d",
            "d < 0",
        ),
        counts(*orders("n", "0.1", "1234567.1", "99999999999999999999.5"), "n IS NULL", "n * 4 = 10"),
        counts(*orders("whole", "1", "2", "3"), "whole IS NULL", "whole < 0"),
        counts(*orders("odd", "0", "0.1", "1e22"), "odd IS NULL", "odd * 2 > 1e300"),
        "SELECT SUM(CLAMP(d, -5, 5)), SUM(CLAMP(n, -5, 5)), SUM(CLAMP(whole, -5, 5)), SUM(CLAMP(odd, -5, 5)) FROM t",
        "SELECT d, COUNT(*) FROM t GROUP BY d",
        "SELECT n, COUNT(*) FROM t GROUP BY n",
    ),
    "texts": (
        counts(*orders("x", "'a'", "'B'", "'_'", "'é'", "''")),
        counts(*orders("x", "'Z'", "'ß'", "' '", "'10'", "'co-op'", "'e\u0301'")),
        counts("x LIKE 'a%'", "x LIKE 'A_'", "x LIKE '%\\\\'", "x LIKE '_'", "x LIKE '#%' ESCAPE '#'", "x LIKE ''"),
        counts(
            "x ILIKE 'a%'",
            "x ILIKE 'ß'",
            "x ILIKE 'STRASSE'",
            "x ILIKE 'Σ'",
            "x ILIKE 'i'",
            "x ILIKE 'É'",
            "x ILIKE 'k'",
        ),
        counts(
            "x ILIKE 'ﬁ'", "x ILIKE 'İ'", "x ILIKE 'οδοσ'", "x ILIKE 'ǆ'", "x ILIKE 'å'", "x ILIKE 's'", "x ILIKE 'I%'"
        ),
        counts(
            *(
                f"LOWER(x) = '{w}'"
                for w in ("ss", "i", "i\u0307", "σ", "ς", "ß", "é", "ǆ", "å", "k", "οδος", "οδοσ", "ﬁ")
            )
        ),
        counts(
            *(f"UPPER(x) = '{w}'" for w in ("SS", "I", "İ", "Σ", "ẞ", "ß", "É", "Ǆ", "ﬁ", "FI", "ΟΔΟΣ", "S", "STRASSE"))
        ),
        counts(
            "LENGTH(x) = 1", "LENGTH(x) = 2", "x = TRIM(x)", "LEFT(x, 1) = 'a'", "REVERSE(x) = 'ba'", "x || ' ' = 'a '"
        ),
        "SELECT s, COUNT(*) FROM t GROUP BY s",
        "SELECT many, COUNT(*) FROM t GROUP BY many",
        "SELECT x, COUNT(*) FROM t GROUP BY x",
        "SELECT LOWER(x) AS l, COUNT(*) FROM t GROUP BY l",
        "SELECT COUNT(DISTINCT s), COUNT(*) FILTER (WHERE kind = 'a'), COUNT(*) FILTER (WHERE kind < 'a') FROM t",
        "SELECT kind, COUNT(*) FROM t GROUP BY kind",
        "SELECT id, COUNT(*) FROM t GROUP BY id",
        "SELECT COUNT(*) FROM (SELECT u, MIN(x) AS a, MAX(x) AS z FROM t GROUP BY u) AS q WHERE a < 'b' AND z > 'a'",
        "SELECT z, COUNT(*) FROM (SELECT u, MAX(x) AS z FROM t GROUP BY u) AS q GROUP BY z",
        "SELECT a, COUNT(*) FROM (SELECT u, MIN(x) AS a FROM t GROUP BY u) AS q GROUP BY a",
        "SELECT SUM(n) FROM (SELECT u, COUNT(DISTINCT x) AS n FROM t GROUP BY u) AS q WHERE n < 4",
    ),
    "times": (
        counts(*orders("day", "DATE '1582-10-10'", "DATE '2020-03-29'"), "EXTRACT(YEAR FROM day) = 1", "day IS NULL"),
        "SELECT EXTRACT(MONTH FROM near), COUNT(*) FROM t GROUP BY 1",
        counts(
            *orders("ts", "TIMESTAMP '2020-03-08 02:30:00'"),
            "EXTRACT(HOUR FROM ts) = 2",
            "EXTRACT(MINUTE FROM ts) = 30",
        ),
        counts(*orders("zoned", "TIMESTAMP '2020-03-08 02:30:00'"), "EXTRACT(HOUR FROM zoned) = 2", "zoned = ts"),
        counts(
            "zoned_day = CAST(ts AS DATE)", "zoned_day = DATE '2020-06-30'", "of_day < ts", "CAST(of_day AS DATE) = day"
        ),
        counts(
            "date_trunc('hour', zoned) = date_trunc('hour', ts)", "EXTRACT(EPOCH FROM zoned) = EXTRACT(EPOCH FROM ts)"
        ),
        counts("strftime(zoned, '%Y-%m-%d %H:%M:%S') = strftime(ts, '%Y-%m-%d %H:%M:%S')", "zoned IS NULL"),
        counts("CAST(day AS TEXT) = '0001-01-01'", "CAST(day AS TEXT) LIKE '1582%'"),
        counts(
            "ts + INTERVAL '1 hour' > TIMESTAMP '2020-03-08 03:00:00'", "day + INTERVAL '1 day' > DATE '2020-03-29'"
        ),
        "SELECT zoned, COUNT(*) FROM t GROUP BY zoned",
        "SELECT day, COUNT(*) FROM t GROUP BY day",
        "SELECT date_trunc('week', day) AS w, COUNT(*) FROM t GROUP BY w",
        "SELECT SUM(CLAMP(date_diff('day', DATE '2020-01-01', day), -9, 9)) FROM t WHERE b OR b IS NULL",
    ),
}
