"""Values read as another type in Spark: NULL where they cannot be, and texts by a grammar that every engine shares.

Spark alone would read '1d' and '0x1p3' as doubles and the year 0, and a double of 2**63 as the largest integer; and a text
such as '1e-999999999' would keep it busy for ever. So a text is looked at first, and is read only where it is of the grammar.
"""

from __future__ import annotations

from obverse.core.types import Type
from obverse.plan.dialects.spark_texts import quoted

LENGTH_MAX = 1000
BLANKS = "[ \\t\\n\\x0B\\f\\r]*"
DIGITS = "[0-9]+(?:_[0-9]+)*"
NUMBER = f"[+-]?(?:{DIGITS}(?:\\.(?:{DIGITS})?)?|\\.{DIGITS})(?:[eE][+-]?0*[0-9]{{1,4}})?"
NOT_FINITE = "[+-]?(?i:inf|infinity|nan)"
MOMENT = "(?!0000)[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[ T][0-9]{1,2}:[0-9]{1,2}(?::[0-9]{1,2}(?:\\.[0-9]{1,6})?)?)?"
GRAMMAR = {
    Type.INTEGER: NUMBER,
    Type.DOUBLE: f"(?:{NUMBER}|{NOT_FINITE})",
    Type.DATE: MOMENT,
    Type.TIMESTAMP: MOMENT,
}
TRUE, FALSE = ("true", "t", "1", "yes", "y"), ("false", "f", "0", "no", "n")
NAMES = {Type.INTEGER: "BIGINT", Type.DOUBLE: "DOUBLE", Type.BOOLEAN: "BOOLEAN", Type.TEXT: "STRING"} | {
    Type.DATE: "DATE",
    Type.TIMESTAMP: "TIMESTAMP_NTZ",
}
WHOLE = ("tinyint", "smallint", "int", "bigint", "boolean")
FLOATS = ("float", "double")
PLAIN = (*WHOLE, *FLOATS, "date", "timestamp", "timestamp_ntz")


def read_as(sql: str, kind: Type, source: Type | None) -> str:
    """A value of a known type read as another one."""
    match source, kind:
        case Type.TEXT, _ if kind is not Type.TEXT:
            return from_text(sql, kind)
        case Type.DOUBLE, Type.INTEGER:
            return whole_of_double(sql)
        case Type.INTEGER, Type.BOOLEAN:
            return f"({sql} <> 0)"
        case _:
            return f"try_cast({sql} AS {NAMES[kind]})"


def read_stored(sql: str, kind: Type) -> str:
    """A column of whatever type it has in its source. Spark knows that type, and leaves of the CASE what is for it."""
    text = from_text(f"try_cast({sql} AS STRING)", kind) if kind is not Type.TEXT else ""
    plain = f"try_cast({sql} AS {NAMES[kind]})"
    match kind:
        case Type.INTEGER:
            half = whole_of_double(f"try_cast({sql} AS DOUBLE)")
            return f"(CASE WHEN {_is(sql, WHOLE)} THEN {plain} WHEN {_is(sql, FLOATS)} THEN {half} ELSE {text} END)"
        case Type.TEXT:
            return f"(CASE WHEN {_is(sql, PLAIN)} OR typeof({sql}) RLIKE '^(string|char|varchar|decimal)' THEN {plain} END)"
        case _:
            return f"(CASE WHEN typeof({sql}) RLIKE '^(string|char|varchar)' THEN {text} ELSE {plain} END)"


def whole_of_double(sql: str) -> str:
    """Halves to even; the check is for 2**63 alone, which Spark would take for the largest integer."""
    return f"(CASE WHEN {sql} < 9223372036854775808D THEN try_cast(rint({sql}) AS BIGINT) END)"


def from_text(sql: str, kind: Type) -> str:
    if kind is Type.BOOLEAN:
        yes, no = (", ".join(map(quoted, words)) for words in (TRUE, FALSE))
        return f"(CASE WHEN lower({sql}) IN ({yes}) THEN TRUE WHEN lower({sql}) IN ({no}) THEN FALSE END)"
    match kind:
        case Type.INTEGER:  # read in one step, so that it is rounded once, halves away from zero
            found = f"try_cast(try_cast(replace({sql}, '_', '') AS DECIMAL(38, 0)) AS BIGINT)"
        case Type.DOUBLE:
            found = f"try_cast(replace({sql}, '_', '') AS DOUBLE)"
        case Type.DATE:
            found = f"try_cast(try_cast({sql} AS TIMESTAMP_NTZ) AS DATE)"
        case _:
            found = f"try_cast({sql} AS {NAMES[kind]})"
    grammar = f"\\A{BLANKS}{GRAMMAR[kind]}{BLANKS}\\z"
    read = f"CASE WHEN {sql} RLIKE {quoted(grammar)} THEN {found} END"
    return f"(CASE WHEN length({sql}) <= {LENGTH_MAX} THEN {read} END)"


def _is(sql: str, kinds: tuple[str, ...]) -> str:
    return f"typeof({sql}) IN ({', '.join(map(quoted, kinds))})"
