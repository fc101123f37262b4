"""DuckDB's spelling."""

from __future__ import annotations

import datetime as dt

from obverse.core.errors import invariant
from obverse.core.types import Type, Value

TYPE_NAMES = {
    Type.INTEGER: "BIGINT",
    Type.DOUBLE: "DOUBLE",
    Type.BOOLEAN: "BOOLEAN",
    Type.TEXT: "VARCHAR",
    Type.DATE: "DATE",
    Type.TIMESTAMP: "TIMESTAMP",
}


class DuckDB:
    """Text for DuckDB 2. Every identifier is quoted, every literal typed."""

    name = "duckdb"

    def identifier(self, name: str) -> str:
        invariant("\0" not in name, "a name holds no zero byte")
        return '"' + name.replace('"', '""') + '"'

    def type_name(self, kind: Type) -> str:
        return TYPE_NAMES[kind]

    def cast(self, sql: str, kind: Type) -> str:
        return f"CAST({sql} AS {TYPE_NAMES[kind]})"

    def try_cast(self, sql: str, kind: Type) -> str:
        return f"TRY_CAST({sql} AS {TYPE_NAMES[kind]})"

    def literal(self, value: Value, kind: Type) -> str:
        name = TYPE_NAMES[kind]
        match value:
            case None:
                return f"CAST(NULL AS {name})"
            case bool():
                return "TRUE" if value else "FALSE"
            case int() | float() if kind is Type.DOUBLE:
                return f"CAST('{float(value)!r}' AS DOUBLE)"
            case int():
                return str(value) if abs(value) < 2**31 and kind is not Type.INTEGER else f"CAST({value} AS BIGINT)"
            case dt.datetime():
                return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
            case dt.date():
                return f"DATE '{value.isoformat()}'"
            case str():
                invariant("\0" not in value, "a text literal holds no zero byte")
                return "'" + value.replace("'", "''") + "'"
            case _:
                raise AssertionError("unreachable")

    def date_part(self, field: str, sql: str) -> str:
        return f"CAST(date_part('{field}', {sql}) AS BIGINT)"

    def date_trunc(self, unit: str, sql: str, kind: Type) -> str:
        return f"CAST(date_trunc('{unit}', {sql}) AS {TYPE_NAMES[kind]})"

    def is_finite(self, sql: str) -> str:
        return f"isfinite({sql})"

    def days(self, sql: str) -> str:
        """Days since 1970-01-01 of a date."""
        return f"datediff('day', DATE '1970-01-01', {sql})"

    def whole_quotient(self, top: str, bottom: str) -> str:
        """Integer division towards zero; the caller guards the divisor."""
        return f"({top} // {bottom})"

    def wide(self, sql: str) -> str:
        """The integer in 128 bits, so that per-unit products cannot overflow."""
        return f"CAST({sql} AS HUGEINT)"

    def round_to_integer(self, sql: str, *, small: bool) -> str:
        """A double to an integer, halves to even; small: it surely fits 32 bits."""
        return f"CAST({sql} AS {'INTEGER' if small else 'BIGINT'})"


DIALECTS = {"duckdb": DuckDB()}
