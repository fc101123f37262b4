"""Values read as another type in PostgreSQL, NULL where they cannot be: it has no TRY_CAST, so what would raise is kept out.

Claim:   each expression raises on no value.
Proof:   a text is cast only where a pattern of ASCII signs says that it is a number of at most 400 signs and an exponent
         of at most four digits, which NUMERIC holds; a NUMERIC becomes a double only between the least and the largest
         one; a double becomes an integer only where 64 bits hold it; a date is made only of a day that its month has.
Assumes: CASE evaluates a branch only for rows that reach it (constants apart, which no row changes).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

from obverse.catalog.model import Column
from obverse.catalog.source_types import type_of
from obverse.core.types import Type, Value

C = 'COLLATE "C"'
LENGTH_MAX = 400
BYTES_MAX = 65_536  # of a stored text that is read as another type: of long ones trimming raises, and takes its time
BLANKS = "' ' || chr(9) || chr(10) || chr(11) || chr(12) || chr(13)"
DIGITS = "[0-9]+(_[0-9]+)*"
NUMBER = f"^[+-]?({DIGITS}([.]({DIGITS})?)?|[.]{DIGITS})([eE][+-]?0*[0-9]{{1,4}})?$"
DAY = "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
CLOCK = "([01]?[0-9]|2[0-3]):[0-5]?[0-9](:[0-5]?[0-9]([.][0-9]{1,6})?)?"
YES, NO = ("true", "t", "1", "yes", "y"), ("false", "f", "0", "no", "n")
NOTHING: dict[Type, Value] = {
    Type.INTEGER: 0, Type.DOUBLE: 0.0, Type.BOOLEAN: False, Type.TEXT: "", Type.DATE: dt.date(1970, 1, 1),
    Type.TIMESTAMP: dt.datetime(1970, 1, 1),
}  # fmt: skip
NAMES = {Type.INTEGER: "BIGINT", Type.DOUBLE: "DOUBLE PRECISION"}
PLAIN = frozenset(
    [(Type.INTEGER, Type.DOUBLE), (Type.INTEGER, Type.TEXT), (Type.BOOLEAN, Type.TEXT), (Type.DATE, Type.TEXT)]
    + [(Type.DATE, Type.TIMESTAMP), (Type.TIMESTAMP, Type.DATE), *((kind, kind) for kind in Type)]
)


def whole_of_double(x: str) -> str:
    """Halves to even."""
    return f"(CASE WHEN {x} >= -9223372036854775808 AND {x} < 9223372036854775808 THEN CAST({x} AS BIGINT) END)"


def whole_of_numeric(x: str) -> str:
    """Halves away from zero; NaN is above every number."""
    within = "BETWEEN -9223372036854775808 AND 9223372036854775807"
    return f"(CASE WHEN {x} BETWEEN -1e19 AND 1e19 AND round({x}) {within} THEN CAST(round({x}) AS BIGINT) END)"


def double_of_numeric(x: str) -> str:
    """The nearest double; infinite or 0 where that is beyond or below all others."""
    most, least = "1.797693134862315807e308", "2.470328229206232721e-324"
    none, above, below = (f"CAST('{word}' AS DOUBLE PRECISION)" for word in ("NaN", "Infinity", "-Infinity"))
    ends = f"WHEN {x} = 'NaN' THEN {none} WHEN {x} > {most} THEN {above} WHEN {x} < -{most} THEN {below}"
    return f"(CASE {ends} WHEN abs({x}) < {least} THEN 0.0 ELSE CAST({x} AS DOUBLE PRECISION) END)"


def _bound(x: str, value: str) -> str:
    """The value of an expression over `x`, which is computed once."""
    return f"(SELECT {value} FROM (SELECT {x} AS x OFFSET 0) AS o)"


def _trimmed(x: str) -> str:
    return f"btrim({x}, {BLANKS})"


def _begun(x: str) -> str:
    return f"ltrim({x}, {BLANKS})"


def _numeric(then: Callable[[str], str], otherwise: str = "") -> Callable[[str], str]:
    """A text that is written as a number."""

    def read(x: str) -> str:
        given = f"(SELECT {then('n')} FROM (SELECT CAST(replace(x, '_', '') AS NUMERIC) AS n OFFSET 0) AS m)"
        return _bound(_trimmed(x), f"CASE WHEN length(x) <= {LENGTH_MAX} AND x ~ '{NUMBER}' THEN {given}{otherwise} END")

    return read


WORDS = "'nan', 'inf', '+inf', '-inf', 'infinity', '+infinity', '-infinity'"
DOUBLE_WORD = f" WHEN lower(x {C}) IN ({WORDS}) THEN CAST(x AS DOUBLE PRECISION)"


def _truth_of_text(x: str) -> str:
    yes, no = (", ".join(f"'{word}'" for word in words) for words in (YES, NO))
    return _bound(f"lower({x} {C})", f"CASE WHEN x IN ({yes}) THEN TRUE WHEN x IN ({no}) THEN FALSE END")


def made_date(year: str, month: str, day: str) -> str:
    last = "EXTRACT(DAY FROM make_date(y, m, 1) + INTERVAL '1 month' - INTERVAL '1 day')"
    inside = "y BETWEEN 1 AND 9999 AND m BETWEEN 1 AND 12 AND d BETWEEN 1 AND 31"
    there = f"CASE WHEN {inside} THEN CASE WHEN d <= {last} THEN make_date(y, m, d) END END"
    parts = ", ".join(f"CAST({part} AS INTEGER) AS {name}" for part, name in ((year, "y"), (month, "m"), (day, "d")))
    return f"(SELECT {there} FROM (SELECT {parts} OFFSET 0) AS p)"


DATE_IN_TEXT = made_date("substr(x, 1, 4)", "split_part(x, '-', 2)", "substring(split_part(x, '-', 3) FROM '^[0-9]+')")


def _date_of_text(x: str) -> str:
    return _bound(_begun(x), f"CASE WHEN x ~ '^{DAY}([ T]{CLOCK} *|[ \\t\\n\\v\\f\\r]*)$' THEN {DATE_IN_TEXT} END")


def _moment_of_text(x: str) -> str:
    """A day, or a day and a time; blanks may follow the time alone, as in DuckDB."""
    there = f"CASE WHEN {DATE_IN_TEXT} IS NOT NULL THEN CAST(rtrim(x) AS TIMESTAMP) END"
    return _bound(_begun(x), f"CASE WHEN x ~ '^{DAY}([ T]{CLOCK} *)?$' THEN {there} END")


READ: dict[tuple[Type, Type], Callable[[str], str]] = {
    (Type.DOUBLE, Type.INTEGER): whole_of_double,
    (Type.BOOLEAN, Type.INTEGER): lambda x: f"(CASE WHEN {x} THEN CAST(1 AS BIGINT) WHEN NOT {x} THEN CAST(0 AS BIGINT) END)",
    (Type.INTEGER, Type.BOOLEAN): lambda x: f"({x} <> 0)",
    (Type.TEXT, Type.INTEGER): _numeric(whole_of_numeric),
    (Type.TEXT, Type.DOUBLE): _numeric(double_of_numeric, DOUBLE_WORD),
    (Type.TEXT, Type.BOOLEAN): _truth_of_text,
    (Type.TEXT, Type.DATE): _date_of_text,
    (Type.TEXT, Type.TIMESTAMP): _moment_of_text,
}


def moment_of_date(x: str) -> str:
    """Dates reach further than timestamps."""
    return f"(CASE WHEN {x} < DATE '294277-01-01' OR {x} = DATE 'infinity' THEN CAST({x} AS TIMESTAMP) END)"


def as_type(x: str, kind: Type) -> str:
    """A cast that cannot fail."""
    return f"(CAST({x} AS TEXT) {C})" if kind is Type.TEXT else f"CAST({x} AS {NAMES.get(kind, kind.value.upper())})"


def stored(x: str, column: Column) -> str:
    """A column as it lies, by the type that it has in the database."""
    name, kind = column.stored.upper(), column.type
    numeric = name.startswith(("DECIMAL", "NUMERIC"))
    if numeric and kind is Type.INTEGER:
        return whole_of_numeric(x)
    if name.startswith("TIMESTAMP WITH TIME ZONE"):
        x, name = f"({x} AT TIME ZONE 'UTC')", "TIMESTAMP"
    if kind is Type.TEXT:
        return as_type(x, kind)
    source = type_of(name) or Type.TEXT
    x = double_of_numeric(x) if numeric else as_type(x, source)
    if source is Type.TEXT:
        x = f"(CASE WHEN octet_length({x}) <= {BYTES_MAX} THEN {x} END)"
    if source is kind:
        return x
    if (source, kind) == (Type.DATE, Type.TIMESTAMP):
        return moment_of_date(x)
    if (source, kind) in PLAIN:
        return as_type(x, kind)
    return READ[source, kind](x) if (source, kind) in READ else READ[Type.TEXT, kind](as_type(x, Type.TEXT))
