"""Values read as another type in Spark: NULL where they cannot be, and texts by a grammar that every engine shares.

Spark alone would read '1d' and '0x1p3' as doubles and the year 0, and a double of 2**63 as the largest integer; and a text
such as '1e-999999999' would keep it busy for ever. So a text is looked at first, and is read only where it is of the grammar.
"""

from __future__ import annotations

from obverse.catalog.model import Column
from obverse.catalog.source_types import type_of
from obverse.core.types import Type
from obverse.plan.dialects.spark_texts import quoted

LENGTH_MAX = 1000
BLANKS = "[ \\t\\n\\x0B\\f\\r]*"
DIGITS = "[0-9]+(?:_[0-9]+)*"
NUMBER = f"[+-]?(?:{DIGITS}(?:\\.(?:{DIGITS})?)?|\\.{DIGITS})(?:[eE][+-]?0*[0-9]{{1,4}})?"
NOT_FINITE = "[+-]?(?i:inf|infinity|nan)"
DAY = "(?!0000)[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
CLOCK = "[ T][0-9]{1,2}:[0-9]{1,2}(?::[0-9]{1,2}(?:\\.[0-9]{1,6})?)? *"  # blanks may follow a time, as in DuckDB
GRAMMAR = {
    Type.INTEGER: f"{NUMBER}{BLANKS}",
    Type.DOUBLE: f"(?:{NUMBER}|{NOT_FINITE}){BLANKS}",
    Type.DATE: f"{DAY}(?:{CLOCK}|{BLANKS})",
    Type.TIMESTAMP: f"{DAY}(?:{CLOCK})?",
}
TRUE, FALSE = ("true", "t", "1", "yes", "y"), ("false", "f", "0", "no", "n")
NAMES = {Type.INTEGER: "BIGINT", Type.DOUBLE: "DOUBLE", Type.BOOLEAN: "BOOLEAN", Type.TEXT: "STRING"} | {
    Type.DATE: "DATE",
    Type.TIMESTAMP: "TIMESTAMP_NTZ",
}
SAME = ("BIGINT", "DOUBLE", "VARCHAR", "BOOLEAN", "DATE", "TIMESTAMP")  # what needs no cast to be of its type


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


def read_stored(sql: str, column: Column) -> str:
    """A column as it lies, by the type that it has in its source; what has no counterpart is read as nothing."""
    kind, stored = column.type, column.stored.upper()
    source = Type.TIMESTAMP if stored.startswith("TIMESTAMP") else type_of(stored)  # with a zone: what its clock shows in UTC
    if source is None:
        return f"CAST(NULL AS {NAMES[kind]})"
    if source is Type.TEXT and stored != "VARCHAR":  # Spark would compare it by its collation, or without blanks at its end
        plain = f"try_cast({sql} AS STRING)"
        sql, stored = f"rtrim({plain})" if stored.startswith("CHAR") else plain, "VARCHAR"
    if source is Type.DOUBLE and kind is Type.INTEGER:
        exact = stored.startswith("DECIMAL")
        return from_text(f"CAST({sql} AS STRING)", kind) if exact else whole_of_double(f"CAST({sql} AS DOUBLE)")
    whole = source is Type.INTEGER or source is Type.BOOLEAN
    if kind is Type.BOOLEAN and source is Type.INTEGER:
        return f"({sql} <> 0)"
    if source is kind and (stored in SAME or not whole):
        return sql if stored in SAME else f"try_cast({sql} AS {NAMES[kind]})"
    return from_text(sql, kind) if source is Type.TEXT and kind is not Type.TEXT else f"try_cast({sql} AS {NAMES[kind]})"


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
    grammar = f"\\A{BLANKS}{GRAMMAR[kind]}\\z"
    read = f"CASE WHEN {sql} RLIKE {quoted(grammar)} THEN {found} END"
    return f"(CASE WHEN length({sql}) <= {LENGTH_MAX} THEN {read} END)"
