"""Spark's spelling, under ANSI mode, with UTC as the session's time zone."""

from __future__ import annotations

from collections.abc import Sequence

from obverse.catalog.model import Column
from obverse.core.types import Type, Value
from obverse.plan.dialects import spark_texts as texts
from obverse.plan.dialects.base import SMALL, TERM_MOST, Dialect, listed
from obverse.plan.dialects.spark_reading import read_as, read_stored

TINY_DIGITS = 1 << 20  # sums are split here, so that neither part of 2**40 integers below 2**37 can leave 64 bits
CLOCK = ("hour", "minute", "second")
MICROS = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}
PARTS = {
    "year": "year({day})",
    "quarter": "quarter({day})",
    "month": "month({day})",
    "day": "dayofmonth({day})",
    "dow": "(dayofweek({day}) - 1)",
    "isodow": "(weekday({day}) + 1)",
    "doy": "dayofyear({day})",
    "week": "weekofyear({day})",
    "isoyear": "extract(YEAROFWEEK FROM {day})",
    "decade": "(year({day}) div 10)",
    "century": "((year({day}) + 99) div 100)",
    "millennium": "((year({day}) + 999) div 1000)",
}
FORMATS = {"%Y": "yyyy", "%m": "MM", "%d": "dd", "%j": "DDD", "%H": "HH", "%M": "mm", "%S": "ss"}


class Spark(Dialect):
    """Text for Spark 4. Whatever could raise is asked by a try_ function, or inside a CASE, which Spark reads lazily."""

    name = "spark"
    quote = "`"
    keeps_rows = False
    types = {
        Type.INTEGER: "BIGINT",
        Type.DOUBLE: "DOUBLE",
        Type.BOOLEAN: "BOOLEAN",
        Type.TEXT: "STRING",
        Type.DATE: "DATE",
        Type.TIMESTAMP: "TIMESTAMP_NTZ",
    }
    calls = {
        **texts.CALLS,
        "floor": lambda x: _whole(x, f"floor({x})"),
        "ceil": lambda x: _whole(x, f"ceil({x})"),
        "trunc": lambda x: _whole(x, f"try_cast({x} AS BIGINT)"),
        "least": lambda *args: f"least({', '.join(args)})" if len(args) > 1 else args[0],
        "greatest": lambda *args: f"greatest({', '.join(args)})" if len(args) > 1 else args[0],
    }

    def text(self, value: str) -> str:
        return texts.quoted(value)

    def literal(self, value: Value, kind: Type) -> str:
        written = super().literal(value, kind)
        return f"TIMESTAMP_NTZ{written.removeprefix('TIMESTAMP')}" if written.startswith("TIMESTAMP ") else written

    def stored(self, sql: str, column: Column) -> str:
        return read_stored(sql, column)

    def try_cast(self, sql: str, kind: Type, source: Type | None = None) -> str:
        return read_as(sql, kind, source)

    def like(self, text: str, pattern: str, escape: str, *, folded: bool) -> str:
        return texts.like(text, pattern, escape, folded=folded)

    # numbers

    def is_finite(self, sql: str) -> str:
        return f"(abs({sql}) < CAST('Infinity' AS DOUBLE))"  # NaN is above infinity

    def power(self, base: str, exponent: str, *, sure: bool) -> str:
        """Java gives NaN for powers of one that C and Python give as one: 1 to NaN, and -1 to an infinity."""
        ones = f"{base} = 1 AND {exponent} IS NOT NULL OR abs({base}) = 1 AND abs({exponent}) = CAST('Infinity' AS DOUBLE)"
        text = f"(CASE WHEN {ones} THEN 1D ELSE power({base}, {exponent}) END)"
        return f"power({base}, {exponent})" if sure else f"(CASE WHEN {self.is_finite(text)} THEN {text} END)"

    def rounded(self, sql: str, digits: int) -> str:
        """To whole numbers Spark rounds halves away from zero, and it goes by the shortest decimals: the halves are exact."""
        by, back = ("*", "/") if digits >= 0 else ("/", "*")
        scaled, factor = f"({sql} {by} {10 ** abs(digits)}D)", f"{10 ** abs(digits)}D"
        return f"(CASE WHEN {self.is_finite(scaled)} THEN round({scaled}) {back} {factor} ELSE {sql} END)"

    def whole_quotient(self, top: str, bottom: str, *, wide: bool = False) -> str:
        return f"({top} div {bottom})"

    def wide(self, sql: str) -> str:
        return f"CAST({sql} AS DECIMAL(38, 0))"

    def total(self, sql: str, most: int = TERM_MOST) -> str:
        whole = f"CAST({sql} AS BIGINT)"
        if most < SMALL:
            return f"SUM({whole})"
        high, low = f"SUM(shiftright({whole}, 20))", f"SUM({whole} & {TINY_DIGITS - 1})"
        return f"({self.wide(high)} * {TINY_DIGITS} + {low})"

    def shifted(self, sql: str, bits: int) -> str:
        return f"shiftright(CAST({sql} AS BIGINT), {bits})"

    def round_to_integer(self, sql: str, *, small: bool) -> str:
        return f"try_cast(rint({sql}) AS BIGINT)"

    # dates and times

    def date_part(self, field: str, sql: str) -> str:
        if field in CLOCK:
            return f"CAST({field}(CAST({sql} AS TIMESTAMP_NTZ)) AS BIGINT)"
        return f"CAST({PARTS[field].format(day=f'CAST({sql} AS DATE)')} AS BIGINT)"

    def seconds(self, sql: str) -> str:
        return f"(CAST({self.micros(sql)} AS DOUBLE) / 1e6D)"

    def date_trunc(self, unit: str, sql: str, kind: Type) -> str:
        if unit in CLOCK and kind is Type.TIMESTAMP:
            return f"CAST({_start(unit, sql)} AS TIMESTAMP_NTZ)"
        day = f"CAST({sql} AS DATE)"
        if unit == "decade":
            day = f"add_months(trunc({day}, 'YEAR'), -12 * (year({day}) % 10))"
        elif unit not in ("day", *CLOCK):
            day = f"trunc({day}, '{unit.upper()}')"
        return self.cast(day, kind)

    def days(self, sql: str) -> str:
        return f"CAST(unix_date({sql}) AS BIGINT)"

    def micros(self, sql: str) -> str:
        return f"unix_micros(CAST({sql} AS TIMESTAMP_LTZ))"

    def date_of_days(self, sql: str) -> str:
        return f"date_from_unix_date(try_cast({sql} AS INT))"

    def moment_of_micros(self, sql: str) -> str:
        return f"CAST(timestamp_micros({sql}) AS TIMESTAMP_NTZ)"

    def make_date(self, year: str, month: str, day: str) -> str:
        parts = ", ".join(f"try_cast({part} AS INT)" for part in (year, month, day))
        return f"CAST(try_make_timestamp_ntz({parts}, 0, 0, 0) AS DATE)"

    def last_day(self, sql: str, kind: Type) -> str:
        return f"last_day(CAST({sql} AS DATE))"

    def date_diff(self, unit: str, start: str, end: str, kind: Type) -> str:
        if unit in CLOCK:
            first, last = (f"unix_micros({_start(unit, moment)})" for moment in (start, end))
            return f"(({last} - {first}) div {MICROS[unit]})"
        if unit in ("day", "week"):
            first, last = (self.days(f"CAST({moment} AS DATE)") for moment in (start, end))
            return f"({last} - {first})" if unit == "day" else f"(({last} - {first}) div 7)"
        units = {"year": 1, "quarter": 4, "month": 12}[unit]
        first, last = (f"({self.date_part('year', moment)} * {units})" for moment in (start, end))
        if unit != "year":
            first, last = (f"({n} + {self.date_part(unit, moment)})" for n, moment in ((first, start), (last, end)))
        return f"({last} - {first})"

    def add_months(self, sql: str, months: int) -> str:
        return f"({sql} + INTERVAL '{months}' MONTH)"

    def add_micros(self, sql: str, micros: int) -> str:
        return self.moment_of_micros(f"({self.micros(sql)} + CAST({micros} AS BIGINT))")

    def format_moment(self, sql: str, pattern: str) -> str:
        return f"date_format(CAST({sql} AS TIMESTAMP_LTZ), {self.text(texts.date_pattern(pattern, FORMATS))})"

    # lists, rows and choices

    def same(self, left: str, right: str, kind: Type) -> str:
        return f"{left} <=> {right}"

    def sha256(self, text: str) -> str:
        return f"sha2(CAST({text} AS BINARY), 256)"

    def hex_word(self, digits: str, place: int) -> str:
        return f"CAST(conv(substr({digits}, {place}, 8), 16, 10) AS DECIMAL(20, 0))"  # whose sum has ten digits more

    def column_of(self, values: Sequence[Value], kind: Type) -> str:
        read = "CAST(h AS BIGINT)" if kind is Type.INTEGER else "decode(unhex(h), 'UTF-8')"
        return f"(SELECT {read} AS u FROM (SELECT explode(split('{listed(values, kind)}', ',')) AS h) AS x)"

    def common(self, name: str, query: str, *, kept: bool) -> str:
        return f"{name} AS {query}"

    def place(self, sql: str, values: Sequence[Value], kind: Type, alias: str) -> tuple[str, str]:
        place, joined = super().place(sql, values, kind, alias)
        return f"CAST({place} AS BIGINT)", joined


def _whole(x: str, integer: str) -> str:
    """A double rounded by a function that gives integers; from 2**52 on doubles are whole, and NaN stays as it is."""
    return f"(CASE WHEN abs({x}) < 4503599627370496D THEN CAST({integer} AS DOUBLE) ELSE {x} END)"


def _start(unit: str, sql: str) -> str:
    return f"date_trunc('{unit.upper()}', CAST({sql} AS TIMESTAMP_LTZ))"
