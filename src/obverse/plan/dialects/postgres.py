"""PostgreSQL's spelling: texts in the order of their code points, whatever the database's locale; nothing raises on a
row.

Doubles in PostgreSQL, which raises where a result is too large or too small for a double.

Claim:   each expression raises on no row, and gives what IEEE arithmetic gives: infinity, or zero.
Proof:   a product or quotient is taken as it is where both magnitudes lie within 2**-500 and 2**500, since it then lies
         within 2**-1000 and 2**1000. For others, the same operation on numbers scaled by powers of two tells by one
         comparison, as the exact result would, whether it rounds to 2**1024 (or to 0). Scaling is exact there: a
         product beyond has both factors above 1, one below has one factor below 2**-500 and the other below 1; a
         quotient beyond has a divisor below 1, and is beyond just where its dividend is at least 2**1024 times that;
         one below has a divisor above 1 and a dividend below. A sum is beyond only if both terms are above 2**960, and
         then just where half of it is.
Assumes: the result's interval excludes what the caller says it excludes. A product of which the exact value is between
         2**-1075 and the next double may be told as 0.

Values read as another type in PostgreSQL, NULL where they cannot be: it has no TRY_CAST, so what would raise is kept
out.

Claim:   each expression raises on no value.
Proof:   a text is cast only where a pattern of ASCII signs says that it is a number of at most 400 signs and an
         exponent of at most four digits, which NUMERIC holds; a NUMERIC becomes a double only between the least and the
         largest one; a double becomes an integer only where 64 bits hold it; a date is made only of a day that its
         month has.
Assumes: CASE evaluates a branch only for rows that reach it (constants apart, which no row changes).
"""

from __future__ import annotations

import datetime as dt
import math
import sys
from collections.abc import Callable, Sequence

from obverse.catalog.complete import type_of
from obverse.catalog.model import Column, Table
from obverse.core.errors import invariant
from obverse.core.types import Type, Value
from obverse.plan.dialects.base import SMALL, TERM_MOST, Dialect, listed
from obverse.plan.dialects.patterns import folded as fold
from obverse.plan.dialects.patterns import letters, pieces

LARGEST = sys.float_info.max
NEAR = 2.0**-500
FAR = 2.0**500
HUGE = 2.0**960
UP = 2.0**512
DOWN = 2.0**-512
LEAST = 2.0**-51  # 2**-1075 scaled by 2**1024
EXPONENTS = (-745.1, 709.7827)  # natural logarithms of what surely is a double
PLAIN_POWER = 1e-290


def number(value: float) -> str:
    return f"CAST('{value!r}' AS DOUBLE PRECISION)"


INFINITE = number(math.inf)


def is_finite(x: str) -> str:
    return f"({x} > {number(-math.inf)} AND {x} < {INFINITE})"  # NaN is above every number


def operation(sign: str, left: str, right: str, *, large: bool, small: bool) -> str:
    plain = f"({left} {sign} {right})"
    if not large and not small:
        return plain
    if sign in "+-":
        return _sum(sign=sign, left=left, right=right, plain=plain)
    between = f"BETWEEN {number(NEAR)} AND {number(FAR)}"
    odd = f"(SELECT {_product(sign)} FROM (SELECT {left} AS a, {right} AS b OFFSET 0) AS o)"
    return f"(CASE WHEN abs({left}) {between} AND abs({right}) {between} THEN {plain} ELSE {odd} END)"


def _sum(sign: str, left: str, right: str, plain: str) -> str:
    within = f"abs({left}) < {number(LARGEST / 4)} AND abs({right}) < {number(LARGEST / 4)}"
    other = "b" if sign == "+" else "(-b)"
    finite = f"{is_finite('a')} AND {is_finite('b')}"
    half = f"a * 0.5 + {other} * 0.5"
    beyond = f"{finite} AND a > {number(HUGE)} AND {other} > {number(HUGE)} AND {half} >= {number(2.0**1023)}"
    below = f"{finite} AND a < -{number(HUGE)} AND {other} < -{number(HUGE)} AND {half} <= -{number(2.0**1023)}"
    exact = f"CASE WHEN {beyond} THEN {INFINITE} WHEN {below} THEN -{INFINITE} ELSE a {sign} b END"
    odd = f"(SELECT {exact} FROM (SELECT {left} AS a, {right} AS b OFFSET 0) AS o)"
    return f"(CASE WHEN {within} THEN {plain} ELSE {odd} END)"


def _product(sign: str) -> str:
    """a * b or a / b of any doubles; the second is not 0 in a quotient."""
    up = number(UP)
    down = number(DOWN)
    one = number(1.0)
    if sign == "*":
        high = f"abs(a) > {one} AND abs(b) > {one} AND (abs(a) * {down}) * (abs(b) * {down}) >= {one}"
        less = "LEAST(abs(a), abs(b))"
        more = "GREATEST(abs(a), abs(b))"
        scaled = f"({less} * {number(2.0**1000)}) * ({more} * {up})"
        low = f"{less} < {number(NEAR)} AND {more} < {one} AND {scaled} <= {number(2.0**437)}"  # 2**-1075, scaled
    else:
        high = f"abs(b) < {one} AND abs(a) >= (abs(b) * {up}) * {up}"
        low = f"abs(a) < {one} AND abs(b) > {one} AND (abs(a) * {up}) / (abs(b) * {down}) <= {number(LEAST)}"
    # these raise nothing
    plain = f"a IS NULL OR b IS NULL OR a = 0 OR b = 0 OR NOT ({is_finite('a')} AND {is_finite('b')})"
    signed = f"CASE WHEN (a > 0) = (b > 0) THEN {INFINITE} ELSE -{INFINITE} END"
    return (
        f"CASE WHEN {plain} THEN a {sign} b WHEN {high} THEN {signed} WHEN {low} THEN {number(0.0)} ELSE a {sign} b END"
    )


def power(base: str, exponent: str, *, sure: bool) -> str:
    """The power where it is finite; 0 where it is too small; NULL elsewhere."""
    least, most = (number(end) for end in EXPONENTS)
    size = "(LEAST(GREATEST(y, -1e300), 1e300) * ln(abs(x)))"
    raised = (
        "power(x, y)"
        if sure
        else (f"(SELECT CASE WHEN {is_finite('p')} THEN p END FROM (SELECT power(x, y) AS p) AS q)")
    )
    of_zero = "CASE WHEN y = 'NaN' THEN NULL WHEN y > 0 THEN 0.0 WHEN y = 0 THEN 1.0 END"
    arms = (
        f"WHEN x IS NULL OR y IS NULL THEN NULL WHEN x = 0 THEN {of_zero}",
        f"WHEN x < 0 AND {is_finite('y')} AND y <> floor(y) THEN CASE WHEN x = -{INFINITE} AND y < 0 THEN 0.0 END",
        f"WHEN NOT ({is_finite('x')} AND {is_finite('y')}) THEN {raised}",
        f"WHEN y = 1 THEN x WHEN abs(y) < {PLAIN_POWER!r} THEN 1.0",
        f"WHEN {size} > {most} THEN NULL WHEN {size} < {least} THEN 0.0",
    )
    return f"(SELECT CASE {' '.join(arms)} ELSE {raised} END FROM (SELECT {base} AS x, {exponent} AS y OFFSET 0) AS o)"


def exponential(x: str) -> str:
    return f"(CASE WHEN {x} < {number(EXPONENTS[0])} THEN {number(0.0)} ELSE exp({x}) END)"


def log2(x: str) -> str:
    """Exact where the argument is a power of two."""
    whole = (
        f"CASE WHEN l < 1023.5 THEN CASE WHEN power({number(2.0)}, round(l)) = x THEN round(l) ELSE l END ELSE l END"
    )
    divided = f"SELECT x, ln(x) / ln({number(2.0)}) AS l FROM (SELECT {x} AS x OFFSET 0) AS i OFFSET 0"
    return f"(SELECT {whole} FROM ({divided}) AS o)"


def rounded(x: str, digits: int) -> str:
    """Halves away from zero: scaled, cut, and one more where half is cut off; as it is where it cannot be scaled."""
    by = number(10.0 ** abs(digits))
    there, back = ("*", "/") if digits >= 0 else ("/", "*")
    cut = "trunc(s) + CASE WHEN abs(s - trunc(s)) >= 0.5 THEN sign(s) ELSE 0.0 END"
    if not digits:
        return f"(SELECT {cut} FROM (SELECT {x} AS s OFFSET 0) AS o)"
    scaled = operation(there, "x", by, large=digits > 0, small=digits < 0)
    again = operation(back, "w", by, large=digits < 0, small=False)
    sizes = f"SELECT x, {scaled} AS s FROM (SELECT {x} AS x OFFSET 0) AS i OFFSET 0"
    whole = f"SELECT x, s, {cut} AS w FROM ({sizes}) AS c OFFSET 0"
    return f"(SELECT CASE WHEN {is_finite('s')} THEN {again} ELSE x END FROM ({whole}) AS o)"


C = 'COLLATE "C"'
LENGTH_MAX = 400
BYTES_MAX = 65_536  # of a stored text that is read as another type: of long ones trimming raises, and takes its time
BLANKS = "' ' || chr(9) || chr(10) || chr(11) || chr(12) || chr(13)"
DIGITS = "[0-9]+(_[0-9]+)*"
NUMBER = f"^[+-]?({DIGITS}([.]({DIGITS})?)?|[.]{DIGITS})([eE][+-]?0*[0-9]{{1,4}})?$"
DAY_PATTERN = "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
CLOCK_PATTERN = "([01]?[0-9]|2[0-3]):[0-5]?[0-9](:[0-5]?[0-9]([.][0-9]{1,6})?)?"
YES = ("true", "t", "1", "yes", "y")
NO = ("false", "f", "0", "no", "n")
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
    most = "1.797693134862315807e308"
    least = "2.470328229206232721e-324"
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
        return _bound(
            _trimmed(x), f"CASE WHEN length(x) <= {LENGTH_MAX} AND x ~ '{NUMBER}' THEN {given}{otherwise} END"
        )

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
    return _bound(
        _begun(x), f"CASE WHEN x ~ '^{DAY_PATTERN}([ T]{CLOCK_PATTERN} *|[ \\t\\n\\v\\f\\r]*)$' THEN {DATE_IN_TEXT} END"
    )


def _moment_of_text(x: str) -> str:
    """A day, or a day and a time; blanks may follow the time alone, as in DuckDB."""
    there = f"CASE WHEN {DATE_IN_TEXT} IS NOT NULL THEN CAST(rtrim(x) AS TIMESTAMP) END"
    return _bound(_begun(x), f"CASE WHEN x ~ '^{DAY_PATTERN}([ T]{CLOCK_PATTERN} *)?$' THEN {there} END")


READ: dict[tuple[Type, Type], Callable[[str], str]] = {
    (Type.DOUBLE, Type.INTEGER): whole_of_double,
    (Type.BOOLEAN, Type.INTEGER): lambda x: (
        f"(CASE WHEN {x} THEN CAST(1 AS BIGINT) WHEN NOT {x} THEN CAST(0 AS BIGINT) END)"
    ),
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
    name = column.stored.upper()
    kind = column.type
    numeric = name.startswith(("DECIMAL", "NUMERIC"))
    if numeric and kind is Type.INTEGER:
        return whole_of_numeric(x)
    if name.startswith("TIMESTAMP WITH TIME ZONE"):
        x = f"({x} AT TIME ZONE 'UTC')"
        name = "TIMESTAMP"
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
        "substring": lambda text, start, count: (
            f"substring({text}, CAST({start} AS INTEGER), CAST({count} AS INTEGER))"
        ),
        "split_part": lambda text, by, part: f"split_part({text}, {by}, CAST({part} AS INTEGER))",
        "exp": exponential,
        "log2": log2,
    }

    def identifier(self, name: str) -> str:
        invariant(len(name.encode()) <= NAMED_MAX, "a name is not cut")
        return super().identifier(name)

    def relation(self, table: Table) -> str:
        """Always with its schema: the search path holds none of the curator's."""
        return ".".join(map(self.identifier, (table.source.table or table.name).split(".")))

    def stored(self, sql: str, column: Column) -> str:
        return stored(sql, column)

    def cast(self, sql: str, kind: Type) -> str:
        text = super().cast(sql, kind)
        return f"({text} {C})" if kind is Type.TEXT else text

    def try_cast(self, sql: str, kind: Type, source: Type | None = None) -> str:
        invariant(source is not None, "what is cast has a type")
        assert source is not None
        return self.cast(sql, kind) if (source, kind) in PLAIN else READ[source, kind](sql)

    def literal(self, value: Value, kind: Type) -> str:
        return self.cast("NULL", Type.TEXT) if value is None and kind is Type.TEXT else super().literal(value, kind)

    def text(self, value: str) -> str:
        return f"({super().text(value)} {C})"

    def like(self, text: str, pattern: str, escape: str, *, folded: bool) -> str:
        if folded:
            text = cased(text, "lower")
            pattern = fold(pattern)
            escape = fold(escape)
        return f"({text} LIKE {self.text(pattern)} ESCAPE {self.text(escape)})"

    def operation(self, sign: str, left: str, right: str, *, large: bool, small: bool) -> str:
        return operation(sign, left, right, large=large, small=small)

    def in_steps(self, sql: str, factor: float, divisor: float) -> str:
        """What is below 1 is zero once it is divided by two or more and rounded; a quotient below doubles would
        raise.
        """
        times = super().in_steps(sql, factor, 1.0)
        if divisor == 1.0:
            return times
        zero, by = (self.literal(number, Type.DOUBLE) for number in (0.0, divisor))
        return f"(CASE WHEN abs({times}) < 1 THEN {zero} ELSE {times} / {by} END)"

    def is_finite(self, sql: str) -> str:
        return is_finite(sql)

    def power(self, base: str, exponent: str, *, sure: bool) -> str:
        return power(base, exponent, sure=sure)

    def rounded(self, sql: str, digits: int) -> str:
        return rounded(sql, digits)

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
        # of a date it would have a zone
        return f"CAST(date_trunc('{unit}', CAST({sql} AS TIMESTAMP)) AS {self.types[kind]})"

    def days(self, sql: str) -> str:
        return f"({sql} - DATE '1970-01-01')"

    def micros(self, sql: str) -> str:
        return f"CAST(EXTRACT(EPOCH FROM {sql}) * 1000000 AS BIGINT)"  # a NUMERIC, so exact

    def date_of_days(self, sql: str) -> str:
        return f"(DATE '1970-01-01' + CAST({sql} AS INTEGER))"

    def moment_of_micros(self, sql: str) -> str:
        # a product of a span and a large number is rounded
        days = f"CAST({sql} / {DAY} AS INTEGER)"
        rest = f"{sql} % {DAY}"
        return f"(TIMESTAMP '1970-01-01' + {days} * INTERVAL '1 day' + ({rest}) * INTERVAL '1 microsecond')"

    def make_date(self, year: str, month: str, day: str) -> str:
        return made_date(year, month, day)

    def last_day(self, sql: str, kind: Type) -> str:
        month = f"date_trunc('month', CAST({sql} AS TIMESTAMP))"
        return f"CAST({month} + INTERVAL '1 month' - INTERVAL '1 day' AS DATE)"

    def date_diff(self, unit: str, start: str, end: str, kind: Type) -> str:
        if unit in MICROS and kind is Type.DATE:
            return f"({self.date_diff('day', start, end, kind)} * {DAY // MICROS[unit]})"
        return (
            f"({self._number(unit, end, kind)} - {self._number(unit, start, kind)}){' / 7' if unit == 'week' else ''}"
        )

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
        none = self.literal(NOTHING[kind], kind)
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
        """Each worker of a parallel plan would compute the whole subquery for itself; what is written down is read
        as it is.
        """
        return f"(WITH once AS MATERIALIZED {query} SELECT * FROM once)"


def cased(text: str, side: str) -> str:
    """Letter by letter, ASCII fast: the database's own case depends on its locale."""
    old, new = letters(side)
    plain = f"{side}({text} {C})"
    return (
        f"(CASE WHEN octet_length({text}) = length({text}) THEN {plain} ELSE translate({plain}, '{old}', '{new}') "
        f"END {C})"
    )
