"""DuckDB's spelling."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from obverse.catalog.model import Column
from obverse.core.types import Type, Value
from obverse.plan.dialects.base import Dialect, listed

BYTES = 'COLLATE "binary"'
CALENDAR = dt.datetime.min, dt.datetime.max


class DuckDB(Dialect):
    """Text for DuckDB 2."""

    name = "duckdb"
    types = {
        Type.INTEGER: "BIGINT",
        Type.DOUBLE: "DOUBLE",
        Type.BOOLEAN: "BOOLEAN",
        Type.TEXT: "VARCHAR",
        Type.DATE: "DATE",
        Type.TIMESTAMP: "TIMESTAMP",
    }

    calls = {"reverse": lambda text: f"array_to_string(list_reverse(regexp_extract_all({text}, '(?s).')), '')"}

    def stored(self, sql: str, column: Column) -> str:
        """A text is compared by its bytes, whatever collation its column has in the source, which DESCRIBE does not
        show.
        """
        read = super().stored(sql, column)
        return f"({read} {BYTES})" if column.type is Type.TEXT else read

    def try_cast(self, sql: str, kind: Type, source: Type | None = None) -> str:
        """A text is read as a date of the years 1 to 9999 alone, as functions of dates assume: beyond, some raise."""
        read = f"TRY_CAST({sql} AS {self.types[kind]})"
        if source is not Type.TEXT or not kind.temporal:
            return read
        first, last = (self.literal(end.date() if kind is Type.DATE else end, kind) for end in CALENDAR)
        return f"(CASE WHEN {read} BETWEEN {first} AND {last} THEN {read} END)"

    def is_finite(self, sql: str) -> str:
        return f"isfinite({sql})"

    def bytes_of(self, sql: str) -> str:
        return f"strlen({sql})"

    def like(self, text: str, pattern: str, escape: str, *, folded: bool) -> str:
        word = "ILIKE" if folded else "LIKE"
        return f"({text} {word} {self.text(pattern)}{f' ESCAPE {self.text(escape)}' if escape else ''})"

    def power(self, base: str, exponent: str, *, sure: bool) -> str:
        text = f"power({base}, {exponent})"
        return text if sure else f"(CASE WHEN {self.is_finite(text)} THEN {text} END)"

    def rounded(self, sql: str, digits: int) -> str:
        return f"round({sql}, {digits})"

    def whole_quotient(self, top: str, bottom: str, *, wide: bool = False) -> str:
        return f"({top} // {bottom})"

    def wide(self, sql: str) -> str:
        return f"CAST({sql} AS HUGEINT)"

    def round_to_integer(self, sql: str, *, small: bool) -> str:
        return f"CAST({sql} AS {'INTEGER' if small else 'BIGINT'})"

    def date_part(self, field: str, sql: str) -> str:
        return f"CAST(date_part('{field}', {sql}) AS BIGINT)"

    def seconds(self, sql: str) -> str:
        return f"date_part('epoch', {sql})"

    def date_trunc(self, unit: str, sql: str, kind: Type) -> str:
        return f"CAST(date_trunc('{unit}', {sql}) AS {self.types[kind]})"

    def days(self, sql: str) -> str:
        return f"datediff('day', DATE '1970-01-01', {sql})"

    def micros(self, sql: str) -> str:
        return f"epoch_us({sql})"

    def date_of_days(self, sql: str) -> str:
        return f"(DATE '1970-01-01' + CAST({sql} AS INTEGER))"

    def moment_of_micros(self, sql: str) -> str:
        return f"make_timestamp({sql})"

    def make_date(self, year: str, month: str, day: str) -> str:
        return f"TRY(make_date({year}, {month}, {day}))"

    def last_day(self, sql: str, kind: Type) -> str:
        return f"last_day({sql})"

    def date_diff(self, unit: str, start: str, end: str, kind: Type) -> str:
        return f"date_diff('{unit}', {start}, {end})"

    def add_months(self, sql: str, months: int) -> str:
        return f"({sql} + to_months(CAST({months} AS INTEGER)))"

    def add_micros(self, sql: str, micros: int) -> str:
        return f"({sql} + to_microseconds(CAST({micros} AS BIGINT)))"

    def format_moment(self, sql: str, pattern: str) -> str:
        return f"strftime({sql}, {self.text(pattern)})"

    def listed_text(self, sql: str, values: Sequence[Value]) -> str:
        return f"CAST({self._member(sql, values)} AS VARCHAR)"

    def place(self, sql: str, values: Sequence[Value], kind: Type, alias: str) -> tuple[str, str]:
        """Of a text by an ENUM, which is looked up by hash where it stands; of others by a join."""
        if kind is not Type.TEXT:
            return super().place(sql, values, kind, alias)
        return f"CAST(enum_code({self._member(sql, values)}) AS BIGINT)", ""

    def sha256(self, text: str) -> str:
        return f"sha256({text})"

    def hex_word(self, digits: str, place: int) -> str:
        return f"CAST('0x' || substr({digits}, {place}, 8) AS BIGINT)"  # whose sum is a HUGEINT

    def column_of(self, values: Sequence[Value], kind: Type) -> str:
        if kind is Type.INTEGER:
            return f"(SELECT unnest(CAST('[{listed(values, kind)}]' AS BIGINT[])) AS u)"
        return (
            f"(SELECT decode(unhex(h)) AS u FROM (SELECT unnest(string_split('{listed(values, kind)}', ',')) AS h) "
            "AS x)"
        )

    def _member(self, sql: str, values: Sequence[Value]) -> str:
        return f"TRY_CAST({sql} AS ENUM({', '.join(self.literal(value, Type.TEXT) for value in values)}))"
