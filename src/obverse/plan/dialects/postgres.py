"""PostgreSQL's spelling: texts in the order of their code points, whatever the database's locale; nothing raises on a row."""

from __future__ import annotations

from collections.abc import Sequence

from obverse.catalog.model import Column, Table
from obverse.core.errors import invariant
from obverse.core.types import Type, Value
from obverse.plan.dialects import postgres_doubles as doubles
from obverse.plan.dialects import postgres_reading as reading
from obverse.plan.dialects.base import SMALL, TERM_MOST, Dialect, listed
from obverse.plan.dialects.letters import letters
from obverse.plan.dialects.patterns import folded as fold
from obverse.plan.dialects.patterns import pieces

C = 'COLLATE "C"'
NAMED_MAX = 63  # bytes of a name; longer ones are cut without a word
SIGNS = {"%Y": "YYYY", "%m": "MM", "%d": "DD", "%j": "DDD", "%H": "HH24", "%M": "MI", "%S": "SS"}
MICROS = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}
DAY = 86_400_000_000


class Postgres(Dialect):
    """Text for PostgreSQL 14 and later, under the settings that the engine makes."""

    name = "postgres"
    types = {
        Type.INTEGER: "BIGINT",
        Type.DOUBLE: "DOUBLE PRECISION",
        Type.BOOLEAN: "BOOLEAN",
        Type.TEXT: "TEXT",
        Type.DATE: "DATE",
        Type.TIMESTAMP: "TIMESTAMP",
    }
    calls = {
        "lower": lambda text: cased(text, "lower"),
        "upper": lambda text: cased(text, "upper"),
        "left": lambda text, count: f"left({text}, CAST({count} AS INTEGER))",
        "right": lambda text, count: f"right({text}, CAST({count} AS INTEGER))",
        "substring": lambda text, start, count: f"substring({text}, CAST({start} AS INTEGER), CAST({count} AS INTEGER))",
        "split_part": lambda text, by, part: f"split_part({text}, {by}, CAST({part} AS INTEGER))",
        "exp": doubles.exponential,
        "log2": doubles.log2,
    }

    def identifier(self, name: str) -> str:
        invariant(len(name.encode()) <= NAMED_MAX, "a name is not cut")
        return super().identifier(name)

    def relation(self, table: Table) -> str:
        """Always with its schema: the search path holds none of the curator's."""
        return ".".join(map(self.identifier, (table.source.table or table.name).split(".")))

    def stored(self, sql: str, column: Column) -> str:
        return reading.stored(sql, column)

    def cast(self, sql: str, kind: Type) -> str:
        text = super().cast(sql, kind)
        return f"({text} {C})" if kind is Type.TEXT else text

    def try_cast(self, sql: str, kind: Type, source: Type | None = None) -> str:
        invariant(source is not None, "what is cast has a type")
        assert source is not None
        return self.cast(sql, kind) if (source, kind) in reading.PLAIN else reading.READ[source, kind](sql)

    def literal(self, value: Value, kind: Type) -> str:
        return self.cast("NULL", Type.TEXT) if value is None and kind is Type.TEXT else super().literal(value, kind)

    def text(self, value: str) -> str:
        return f"({super().text(value)} {C})"

    def like(self, text: str, pattern: str, escape: str, *, folded: bool) -> str:
        if folded:
            text, pattern, escape = cased(text, "lower"), fold(pattern), fold(escape)
        return f"({text} LIKE {self.text(pattern)} ESCAPE {self.text(escape)})"

    def operation(self, sign: str, left: str, right: str, *, large: bool, small: bool) -> str:
        return doubles.operation(sign, left, right, large=large, small=small)

    def in_steps(self, sql: str, factor: float, divisor: float) -> str:
        """What is below 1 is zero once it is divided by two or more and rounded; a quotient below doubles would raise."""
        times = super().in_steps(sql, factor, 1.0)
        if divisor == 1.0:
            return times
        zero, by = (self.literal(number, Type.DOUBLE) for number in (0.0, divisor))
        return f"(CASE WHEN abs({times}) < 1 THEN {zero} ELSE {times} / {by} END)"

    def is_finite(self, sql: str) -> str:
        return doubles.is_finite(sql)

    def power(self, base: str, exponent: str, *, sure: bool) -> str:
        return doubles.power(base, exponent, sure=sure)

    def rounded(self, sql: str, digits: int) -> str:
        return doubles.rounded(sql, digits)

    def whole_quotient(self, top: str, bottom: str, *, wide: bool = False) -> str:
        return f"div({top}, {bottom})" if wide else f"({top} / {bottom})"

    def wide(self, sql: str) -> str:
        return f"CAST({sql} AS NUMERIC)"

    def total(self, sql: str, most: int = TERM_MOST) -> str:
        """Of integers of 32 bits the server adds up in 64, of 64 bits in more."""
        return f"SUM(CAST({sql} AS {'INTEGER' if most < SMALL else 'BIGINT'}))"

    def extreme(self, function: str, sql: str, kind: Type) -> str:
        if kind is Type.BOOLEAN:
            return f"{'bool_and' if function == 'MIN' else 'bool_or'}({sql})"
        return super().extreme(function, sql, kind)

    def round_to_integer(self, sql: str, *, small: bool) -> str:
        return f"CAST({sql} AS {'INTEGER' if small else 'BIGINT'})"

    def date_part(self, field: str, sql: str) -> str:
        part = f"date_part('{field}', {sql})"
        return f"CAST({f'floor({part})' if field == 'second' else part} AS BIGINT)"

    def seconds(self, sql: str) -> str:
        return f"date_part('epoch', {sql})"

    def date_trunc(self, unit: str, sql: str, kind: Type) -> str:
        return f"CAST(date_trunc('{unit}', CAST({sql} AS TIMESTAMP)) AS {self.types[kind]})"  # of a date it would have a zone

    def days(self, sql: str) -> str:
        return f"({sql} - DATE '1970-01-01')"

    def micros(self, sql: str) -> str:
        return f"CAST(EXTRACT(EPOCH FROM {sql}) * 1000000 AS BIGINT)"  # a NUMERIC, so exact

    def date_of_days(self, sql: str) -> str:
        return f"(DATE '1970-01-01' + CAST({sql} AS INTEGER))"

    def moment_of_micros(self, sql: str) -> str:
        days, rest = f"CAST({sql} / {DAY} AS INTEGER)", f"{sql} % {DAY}"  # a product of a span and a large number is rounded
        return f"(TIMESTAMP '1970-01-01' + {days} * INTERVAL '1 day' + ({rest}) * INTERVAL '1 microsecond')"

    def make_date(self, year: str, month: str, day: str) -> str:
        return reading.made_date(year, month, day)

    def last_day(self, sql: str, kind: Type) -> str:
        month = f"date_trunc('month', CAST({sql} AS TIMESTAMP))"
        return f"CAST({month} + INTERVAL '1 month' - INTERVAL '1 day' AS DATE)"

    def date_diff(self, unit: str, start: str, end: str, kind: Type) -> str:
        if unit in MICROS and kind is Type.DATE:
            return f"({self.date_diff('day', start, end, kind)} * {DAY // MICROS[unit]})"
        return f"({self._number(unit, end, kind)} - {self._number(unit, start, kind)}){' / 7' if unit == 'week' else ''}"

    def _number(self, unit: str, sql: str, kind: Type) -> str:
        """Which of its units a moment lies in, counted from any start."""
        if unit in MICROS:
            return f"{self.micros(self.date_trunc(unit, sql, Type.TIMESTAMP))} / {MICROS[unit]}"
        if unit in ("day", "week"):
            return f"CAST({self.days(f'CAST({sql} AS DATE)')} AS BIGINT)"
        year = self.date_part("year", sql)
        per_year = {"year": 1, "quarter": 4, "month": 12}[unit]
        return year if per_year == 1 else f"({year} * {per_year} + {self.date_part(unit, sql)})"

    def add_months(self, sql: str, months: int) -> str:
        return f"({sql} + INTERVAL '{months} months')"

    def add_micros(self, sql: str, micros: int) -> str:
        return f"({sql} + INTERVAL '{micros} microseconds')"

    def format_moment(self, sql: str, pattern: str) -> str:
        parts = (f"to_char({sql}, '{SIGNS[p]}')" if p in SIGNS else self.text(p) for p in pieces(pattern))
        return f"(CASE WHEN {sql} IS NOT NULL THEN ({' || '.join(parts)}) {C} END)"

    def place(self, sql: str, values: Sequence[Value], kind: Type, alias: str) -> tuple[str, str]:
        place, joined = super().place(sql, values, kind, alias)
        return f"CAST({place} AS BIGINT)", joined

    def same(self, left: str, right: str, kind: Type) -> str:
        """Of equalities that rows can be hashed by, which IS NOT DISTINCT FROM is not."""
        none = self.literal(reading.NOTHING[kind], kind)
        return f"COALESCE({left}, {none}) = COALESCE({right}, {none}) AND ({left} IS NULL) = ({right} IS NULL)"

    def sha256(self, text: str) -> str:
        return f"encode(sha256(convert_to({text}, 'UTF8')), 'hex')"

    def hex_word(self, digits: str, place: int) -> str:
        return f"CAST(CAST('x' || substr({digits}, {place}, 8) AS bit(32)) AS bigint)"  # whose sum is a numeric

    def column_of(self, values: Sequence[Value], kind: Type) -> str:
        if kind is Type.INTEGER:
            return f"(SELECT unnest(CAST('{{{listed(values, kind)}}}' AS BIGINT[])) AS u)"
        hexadecimal = f"unnest(string_to_array('{listed(values, kind)}', ','))"
        return f"(SELECT convert_from(decode(h, 'hex'), 'UTF8') AS u FROM {hexadecimal} AS h)"

    def once(self, query: str) -> str:
        """Each worker of a parallel plan would compute the whole subquery for itself; what is written down is read as it is."""
        return f"(WITH once AS MATERIALIZED {query} SELECT * FROM once)"


def cased(text: str, side: str) -> str:
    """Letter by letter, ASCII fast: the database's own case depends on its locale."""
    old, new = letters(side)
    plain = f"{side}({text} {C})"
    return f"(CASE WHEN octet_length({text}) = length({text}) THEN {plain} ELSE translate({plain}, '{old}', '{new}') END {C})"
