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

    def seconds(self, sql: str) -> str:
        """Seconds since 1970-01-01, with their fractions."""
        return f"date_part('epoch', {sql})"

    def date_trunc(self, unit: str, sql: str, kind: Type) -> str:
        return f"CAST(date_trunc('{unit}', {sql}) AS {TYPE_NAMES[kind]})"

    def is_finite(self, sql: str) -> str:
        return f"isfinite({sql})"

    def days(self, sql: str) -> str:
        """Days since 1970-01-01 of a date."""
        return f"datediff('day', DATE '1970-01-01', {sql})"

    def date_of_days(self, sql: str) -> str:
        """The date so many days after 1970-01-01; the caller keeps the number within the calendar."""
        return f"(DATE '1970-01-01' + CAST({sql} AS INTEGER))"

    def moment_of_micros(self, sql: str) -> str:
        """The timestamp so many microseconds after 1970-01-01; the caller keeps the number within the calendar."""
        return f"make_timestamp({sql})"

    def make_date(self, year: str, month: str, day: str) -> str:
        """The date of these parts, NULL where there is none."""
        return f"TRY(make_date({year}, {month}, {day}))"

    def last_day(self, sql: str) -> str:
        return f"last_day({sql})"

    def date_diff(self, unit: str, start: str, end: str) -> str:
        return f"date_diff('{unit}', {start}, {end})"

    def add_months(self, sql: str, months: int) -> str:
        return f"({sql} + to_months(CAST({months} AS INTEGER)))"

    def add_micros(self, sql: str, micros: int) -> str:
        return f"({sql} + to_microseconds(CAST({micros} AS BIGINT)))"

    def format_moment(self, sql: str, pattern: str) -> str:
        """A date or timestamp as text; the pattern is in the signs of strftime."""
        return f"strftime({sql}, {self.literal(pattern, Type.TEXT)})"

    def log2(self, sql: str) -> str:
        return f"log2({sql})"

    def listed_text(self, sql: str, values: tuple[Value, ...]) -> str:
        """The text where it is one of the values, else NULL; by hash, however many there are."""
        return f"CAST({self._member(sql, values)} AS VARCHAR)"

    def text_place(self, sql: str, values: tuple[Value, ...]) -> str:
        """The place of a text among the values, else NULL."""
        return f"CAST(enum_code({self._member(sql, values)}) AS BIGINT)"

    def _member(self, sql: str, values: tuple[Value, ...]) -> str:
        return f"TRY_CAST({sql} AS ENUM({', '.join(self.literal(value, Type.TEXT) for value in values)}))"

    def keyed_hash(self, key: str, values: list[str]) -> str:
        """A text that nobody without the key can foresee, the same for equal values."""
        parts = ", ".join(f"COALESCE(CAST({value} AS VARCHAR), chr(30))" for value in values)
        return f"md5(concat_ws(chr(31), {self.literal(key, Type.TEXT)}, {parts}))"

    def micros(self, sql: str) -> str:
        """Microseconds since 1970-01-01 of a timestamp."""
        return f"epoch_us({sql})"

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
