"""Spark's spelling, under ANSI mode, with UTC as the session's time zone.

Texts in Spark: literals, patterns, and functions whose edges differ from those of other engines.

Values read as another type in Spark: NULL where they cannot be, and texts by a grammar that every engine shares.

Spark alone would read '1d' and '0x1p3' as doubles and the year 0, and a double of 2**63 as the largest integer; and a
text such as '1e-999999999' would keep it busy for ever. So a text is looked at first, and is read only where it is of
the grammar.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence

from obverse.catalog.complete import type_of
from obverse.catalog.model import Column
from obverse.core.errors import invariant
from obverse.core.types import Type, Value
from obverse.plan.dialects.base import SMALL, TERM_MOST, Dialect, listed
from obverse.plan.dialects.patterns import folded as fold
from obverse.plan.dialects.patterns import letters, like_parts, pieces

PLACE_MAX = 2**31 - 1
SMALL_ASCII = string.ascii_lowercase
PLAIN = re.compile(r"[A-Za-z0-9]|[^\x00-\x7f]")


def quoted(value: str) -> str:
    """A literal; a dollar sign is written by its number, so that nothing can be read as a variable."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024") + "'"


def number(printed: str) -> int:
    """The integer of a literal as the dialect prints it: bare, or inside a cast."""
    found = re.fullmatch(r"(?:CAST\()?(-?\d+)(?: AS BIGINT\))?", printed)
    invariant(found is not None, "places are literals")
    assert found is not None
    return int(found[1])


def left(x: str, count: str) -> str:
    n = number(count)
    return f"left({x}, {n})" if n >= 0 else f"left({x}, length({x}) - {-n})"


def right(x: str, count: str) -> str:
    n = number(count)
    return f"right({x}, {n})" if n >= 0 else f"substring({x}, {min(1 - n, PLACE_MAX)})"


def substring(x: str, start: str, count: str) -> str:
    return f"substring({x}, {number(start)}, {number(count)})"


def split_part(x: str, separator: str, place: str) -> str:
    return f"split_part({x}, {separator}, {number(place)})"


def trimmed(side: str) -> Callable[[str, str], str]:
    return lambda x, signs: x if signs == "''" else f"trim({side} {signs} FROM {x})"


def lower(x: str) -> str:
    """Letter by letter: Java maps only two otherwise, a dotted I to two letters and a sigma by where it stands."""
    return f"lower(translate({x}, '\u0130\u03a3', 'i\u03c3'))"


def upper(x: str) -> str:
    """Letter by letter, by a table where not all is ASCII: Java maps some letters to several."""
    small, large = letters("upper")
    plain = f"translate({x}, '{SMALL_ASCII}{small}', '{SMALL_ASCII.upper()}{large}')"
    return f"(CASE WHEN octet_length({x}) = length({x}) THEN upper({x}) ELSE {plain} END)"


CALLS: Mapping[str, Callable[..., str]] = {
    "left": left,
    "right": right,
    "substring": substring,
    "split_part": split_part,
    "ltrim": trimmed("LEADING"),
    "rtrim": trimmed("TRAILING"),
    "lower": lower,
    "upper": upper,
    "strpos": lambda x, part: f"instr({x}, {part})",
    "concat": lambda *parts: f"concat_ws('', {', '.join(parts)})",  # passes NULLs over
}


def like(text: str, pattern: str, escape: str, *, folded: bool) -> str:
    """Whether the text is of the pattern.

    Spark's own LIKE tries every way to place what stands between two wildcards, which takes time beyond bounds. The
    first place that fits is as good as any later one, so that here each stretch but the last is placed once and for
    all.
    """
    if folded:
        text = lower(text)
        pattern = fold(pattern)
        escape = fold(escape)
    parts = like_parts(pattern, escape or None)
    invariant(parts is not None, "a pattern does not end in its escape sign")
    assert parts is not None
    stretches: list[list[str]] = [[]]
    for part in parts:
        if part is None:
            stretches.append([])
        else:
            stretches[-1].append(part)
    if "" not in parts and len(stretches) <= 2:
        return _plain(text, ["".join(stretch) for stretch in stretches])
    first, *others = ["".join(map(_letter, stretch)) for stretch in stretches]
    between = "".join(f"(?>.*?{stretch})" for stretch in others[:-1] if stretch)
    last = f".*{others[-1]}" if others else ""
    whole = f"(?s)\\A{first}{between}{last}\\z"
    return f"({text} RLIKE {quoted(whole)})"


def _plain(text: str, stretches: list[str]) -> str:
    """Texts with at most one wildcard and no open letter are compared as they are."""
    if len(stretches) == 1:
        return f"({text} = {quoted(stretches[0])})"
    first, last = stretches
    if not last:
        return f"startswith({text}, {quoted(first)})"
    if not first:
        return f"endswith({text}, {quoted(last)})"
    ends = f"startswith({text}, {quoted(first)}) AND endswith({text}, {quoted(last)})"
    return f"({ends} AND length({text}) >= {len(first) + len(last)})"


def _letter(sign: str) -> str:
    if not sign:
        return "."
    return sign if PLAIN.fullmatch(sign) else f"\\x{ord(sign):02x}"


def date_pattern(pattern: str, formats: Mapping[str, str]) -> str:
    """A pattern of strftime in Java's signs; all other text in quotes."""
    return "".join(formats.get(piece) or "'" + piece.replace("'", "''") + "'" for piece in pieces(pattern))


LENGTH_MAX = 1000
BLANKS = "[ \\t\\n\\x0B\\f\\r]*"
DIGITS = "[0-9]+(?:_[0-9]+)*"
NUMBER = f"[+-]?(?:{DIGITS}(?:\\.(?:{DIGITS})?)?|\\.{DIGITS})(?:[eE][+-]?0*[0-9]{{1,4}})?"
NOT_FINITE = "[+-]?(?i:inf|infinity|nan)"
DAY_PATTERN = "(?!0000)[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
# blanks may follow a time, as in DuckDB
CLOCK_PATTERN = "[ T][0-9]{1,2}:[0-9]{1,2}(?::[0-9]{1,2}(?:\\.[0-9]{1,6})?)? *"
GRAMMAR = {
    Type.INTEGER: f"{NUMBER}{BLANKS}",
    Type.DOUBLE: f"(?:{NUMBER}|{NOT_FINITE}){BLANKS}",
    Type.DATE: f"{DAY_PATTERN}(?:{CLOCK_PATTERN}|{BLANKS})",
    Type.TIMESTAMP: f"{DAY_PATTERN}(?:{CLOCK_PATTERN})?",
}
TRUE = ("true", "t", "1", "yes", "y")
FALSE = ("false", "f", "0", "no", "n")
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
    kind = column.type
    stored = column.stored.upper()
    # with a zone: what its clock shows in UTC
    source = Type.TIMESTAMP if stored.startswith("TIMESTAMP") else type_of(stored)
    if source is None:
        return f"CAST(NULL AS {NAMES[kind]})"
    # Spark would compare it by its collation, or without blanks at its end
    if source is Type.TEXT and stored != "VARCHAR":
        plain = f"try_cast({sql} AS STRING)"
        sql = f"rtrim({plain})" if stored.startswith("CHAR") else plain
        stored = "VARCHAR"
    if source is Type.DOUBLE and kind is Type.INTEGER:
        exact = stored.startswith("DECIMAL")
        return from_text(f"CAST({sql} AS STRING)", kind) if exact else whole_of_double(f"CAST({sql} AS DOUBLE)")
    whole = source is Type.INTEGER or source is Type.BOOLEAN
    if kind is Type.BOOLEAN and source is Type.INTEGER:
        return f"({sql} <> 0)"
    if source is kind and (stored in SAME or not whole):
        return sql if stored in SAME else f"try_cast({sql} AS {NAMES[kind]})"
    return (
        from_text(sql, kind) if source is Type.TEXT and kind is not Type.TEXT else (f"try_cast({sql} AS {NAMES[kind]})")
    )


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
    """Text for Spark 4. Whatever could raise is asked by a try_ function, or inside a CASE, which Spark reads
    lazily.
    """

    name = "spark"
    quote = "`"
    types = {
        Type.INTEGER: "BIGINT",
        Type.DOUBLE: "DOUBLE",
        Type.BOOLEAN: "BOOLEAN",
        Type.TEXT: "STRING",
        Type.DATE: "DATE",
        Type.TIMESTAMP: "TIMESTAMP_NTZ",
    }
    calls = {
        **CALLS,
        "floor": lambda x: _whole(x, f"floor({x})"),
        "ceil": lambda x: _whole(x, f"ceil({x})"),
        "trunc": lambda x: _whole(x, f"try_cast({x} AS BIGINT)"),
        "least": lambda *args: f"least({', '.join(args)})" if len(args) > 1 else args[0],
        "greatest": lambda *args: f"greatest({', '.join(args)})" if len(args) > 1 else args[0],
    }

    def text(self, value: str) -> str:
        return quoted(value)

    def literal(self, value: Value, kind: Type) -> str:
        written = super().literal(value, kind)
        return f"TIMESTAMP_NTZ{written.removeprefix('TIMESTAMP')}" if written.startswith("TIMESTAMP ") else written

    def stored(self, sql: str, column: Column) -> str:
        return read_stored(sql, column)

    def try_cast(self, sql: str, kind: Type, source: Type | None = None) -> str:
        return read_as(sql, kind, source)

    def like(self, text: str, pattern: str, escape: str, *, folded: bool) -> str:
        return like(text, pattern, escape, folded=folded)

    # numbers

    def is_finite(self, sql: str) -> str:
        return f"(abs({sql}) < CAST('Infinity' AS DOUBLE))"  # NaN is above infinity

    def power(self, base: str, exponent: str, *, sure: bool) -> str:
        """Java gives NaN for powers of one that C and Python give as one: 1 to NaN, and -1 to an infinity."""
        ones = (
            f"{base} = 1 AND {exponent} IS NOT NULL OR abs({base}) = 1 AND abs({exponent}) = CAST('Infinity' AS DOUBLE)"
        )
        text = f"(CASE WHEN {ones} THEN 1D ELSE power({base}, {exponent}) END)"
        return f"power({base}, {exponent})" if sure else f"(CASE WHEN {self.is_finite(text)} THEN {text} END)"

    def rounded(self, sql: str, digits: int) -> str:
        """To whole numbers Spark rounds halves away from zero, and it goes by the shortest decimals: the halves are
        exact.
        """
        by, back = ("*", "/") if digits >= 0 else ("/", "*")
        scaled = f"({sql} {by} {10 ** abs(digits)}D)"
        factor = f"{10 ** abs(digits)}D"
        return f"(CASE WHEN {self.is_finite(scaled)} THEN round({scaled}) {back} {factor} ELSE {sql} END)"

    def whole_quotient(self, top: str, bottom: str, *, wide: bool = False) -> str:
        return f"({top} div {bottom})"

    def wide(self, sql: str) -> str:
        return f"CAST({sql} AS DECIMAL(38, 0))"

    def total(self, sql: str, most: int = TERM_MOST) -> str:
        whole = f"CAST({sql} AS BIGINT)"
        if most < SMALL:
            return f"SUM({whole})"
        high = f"SUM(shiftright({whole}, 20))"
        low = f"SUM({whole} & {TINY_DIGITS - 1})"
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
        return f"date_format(CAST({sql} AS TIMESTAMP_LTZ), {self.text(date_pattern(pattern, FORMATS))})"

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
