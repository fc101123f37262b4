"""What differs between engines when a plan is printed: names, types, and the functions whose meaning is not the
same.
"""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from obverse.catalog.model import Column, Table
from obverse.core.errors import invariant
from obverse.core.types import Type, Value

Typed = tuple[str, Type]  # a printed value and its type
# magnitudes up to which doubles are told apart finely, and at all
CLOSE = 2.0**10
FAR = 2.0**50
TERM_MOST = 2**37
SMALL = 2**63 >> 40  # so many times 2**40 fits 64 bits
FINE = 2.0**52
COARSE = 2.0**12


def listed(values: Sequence[Value], kind: Type) -> str:
    """Values in one text, with a comma between: integers as they are, texts by the bytes of UTF-8."""
    invariant(all(value not in (None, "") for value in values), "keys are not empty")
    return ",".join(str(value) if kind is Type.INTEGER else str(value).encode().hex() for value in values)


class Dialect(ABC):
    """The spelling that engines share. Every identifier is quoted, every literal typed."""

    name: ClassVar[str]
    quote: ClassVar[str] = '"'
    types: ClassVar[Mapping[Type, str]]
    calls: ClassVar[Mapping[str, Callable[..., str]]] = {}  # functions that are spelled otherwise here

    def identifier(self, name: str) -> str:
        invariant("\0" not in name, "a name holds no zero byte")
        return f"{self.quote}{name.replace(self.quote, self.quote * 2)}{self.quote}"

    def relation(self, table: Table) -> str:
        """A declared table as the engine knows it."""
        return self.identifier(table.name)

    def type_name(self, kind: Type) -> str:
        return self.types[kind]

    def cast(self, sql: str, kind: Type) -> str:
        return f"CAST({sql} AS {self.types[kind]})"

    def stored(self, sql: str, column: Column) -> str:
        """A column as it lies, read as its declared type; what cannot be read is NULL."""
        return self.try_cast(sql, column.type)

    @abstractmethod
    def try_cast(self, sql: str, kind: Type, source: Type | None = None) -> str:
        """The value read as another type, NULL where it cannot be; `source` is the type that it has, where that is
        known.
        """

    def literal(self, value: Value, kind: Type) -> str:
        match value:
            case None:
                return f"CAST(NULL AS {self.types[kind]})"
            case bool():
                return "TRUE" if value else "FALSE"
            case int() | float() if kind is Type.DOUBLE:
                return self.cast(f"'{float(value)!r}'", Type.DOUBLE)
            case int():
                return (
                    str(value)
                    if abs(value) < 2**31 and kind is not Type.INTEGER
                    else self.cast(str(value), Type.INTEGER)
                )
            case dt.datetime():
                return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
            case dt.date():
                return f"DATE '{value.isoformat()}'"
            case str():
                invariant("\0" not in value, "a text literal holds no zero byte")
                return self.text(value)
            case _:
                raise AssertionError("unreachable")

    def text(self, value: str) -> str:
        return "'" + value.replace("'", "''") + "'"

    def call(self, function: str, *args: str) -> str:
        """A function of that name, as it is spelled here."""
        spelled = self.calls.get(function)
        return spelled(*args) if spelled is not None else f"{function}({', '.join(args)})"

    @abstractmethod
    def like(self, text: str, pattern: str, escape: str, *, folded: bool) -> str:
        """Whether a text is of a pattern, which is given as it was written; folded: whatever the case of its
        letters.
        """

    # numbers

    def operation(self, sign: str, left: str, right: str, *, large: bool, small: bool) -> str:
        """+, -, * or / of doubles. `large`: the result may be beyond doubles; `small`: it may be below them."""
        return f"({left} {sign} {right})"

    def in_steps(self, sql: str, factor: float, divisor: float) -> str:
        """A double times the one and divided by the other, each a whole number, before it is rounded to an integer."""
        sql += f" * {self.literal(factor, Type.DOUBLE)}" if factor != 1.0 else ""
        return sql + (f" / {self.literal(divisor, Type.DOUBLE)}" if divisor != 1.0 else "")

    @abstractmethod
    def is_finite(self, sql: str) -> str:
        """Whether a double is neither infinite nor NaN; NULL of NULL."""

    def bytes_of(self, sql: str) -> str:
        """How many bytes a text has; known without reading it."""
        return f"octet_length({sql})"

    @abstractmethod
    def power(self, base: str, exponent: str, *, sure: bool) -> str:
        """A power of doubles, NULL where it is not finite; `sure`: it is finite for every base and exponent."""

    @abstractmethod
    def rounded(self, sql: str, digits: int) -> str:
        """A double to so many decimals, halves away from zero."""

    def whole_quotient(self, top: str, bottom: str, *, wide: bool = False) -> str:
        """Integer division towards zero, by what is not 0. `wide`: one of the two is, and the quotient fits 64 bits."""
        return f"({top} / {bottom})"

    @abstractmethod
    def wide(self, sql: str) -> str:
        """The integer in more than 100 bits, so that per-unit products cannot overflow."""

    def total(self, sql: str, most: int = TERM_MOST) -> str:
        """The sum of up to 2**40 integers of that magnitude, wide enough in every order in which they may be added."""
        return f"SUM({sql})"

    def extreme(self, function: str, sql: str, kind: Type) -> str:
        """MIN or MAX of a group's values."""
        return f"{function}({sql})"

    def shifted(self, sql: str, bits: int) -> str:
        """An integer, divided by a power of two and rounded down."""
        return f"({sql} >> {bits})"

    @abstractmethod
    def round_to_integer(self, sql: str, *, small: bool) -> str:
        """A double to an integer, halves to even; small: it surely fits 32 bits."""

    # dates and times

    @abstractmethod
    def date_part(self, field: str, sql: str) -> str:
        """A part of a date or timestamp, as an integer."""

    @abstractmethod
    def seconds(self, sql: str) -> str:
        """Seconds since 1970-01-01, with their fractions."""

    @abstractmethod
    def date_trunc(self, unit: str, sql: str, kind: Type) -> str:
        """The start of the unit that a date or timestamp lies in, of the same type."""

    @abstractmethod
    def days(self, sql: str) -> str:
        """Days since 1970-01-01 of a date."""

    @abstractmethod
    def micros(self, sql: str) -> str:
        """Microseconds since 1970-01-01 of a timestamp."""

    @abstractmethod
    def date_of_days(self, sql: str) -> str:
        """The date so many days after 1970-01-01; the caller keeps the number within the calendar."""

    @abstractmethod
    def moment_of_micros(self, sql: str) -> str:
        """The timestamp so many microseconds after 1970-01-01; the caller keeps the number within the calendar."""

    @abstractmethod
    def make_date(self, year: str, month: str, day: str) -> str:
        """The date of these parts, NULL where there is none."""

    @abstractmethod
    def last_day(self, sql: str, kind: Type) -> str:
        """The last day of a date's month."""

    @abstractmethod
    def date_diff(self, unit: str, start: str, end: str, kind: Type) -> str:
        """How many starts of the unit lie between two dates or two timestamps; of weeks how many times seven days."""

    @abstractmethod
    def add_months(self, sql: str, months: int) -> str:
        """A timestamp so many months later; a day that a month lacks becomes its last."""

    @abstractmethod
    def add_micros(self, sql: str, micros: int) -> str:
        """A timestamp so many microseconds later."""

    @abstractmethod
    def format_moment(self, sql: str, pattern: str) -> str:
        """A date or timestamp as text; the pattern is in the signs of strftime."""

    # lists, rows and choices

    def listed_text(self, sql: str, values: Sequence[Value]) -> str:
        """The text where it is one of the values, else NULL; by hash, however many there are."""
        members = ", ".join(self.literal(value, Type.TEXT) for value in values)
        return f"(CASE WHEN {sql} IN ({members}) THEN {sql} END)"

    def place(self, sql: str, values: Sequence[Value], kind: Type, alias: str) -> tuple[str, str]:
        """The place of a value among the listed ones, NULL where it is none of them, and a join that looks it up."""
        rows = ", ".join(f"({self.literal(v, kind)}, {i})" for i, v in enumerate(values))
        return f"{alias}.i", f" LEFT JOIN (VALUES {rows}) AS {alias}(v, i) ON {alias}.v = {sql}"

    @abstractmethod
    def column_of(self, values: Sequence[Value], kind: Type) -> str:
        """A subquery with the values in its column `u`: integers, or texts that are not empty. However many, they are
        one
        literal, which an engine reads faster than a list of them; texts by their bytes, so that no sign means
        anything."""

    def same(self, left: str, right: str, kind: Type) -> str:
        """Whether two keys are equal, or both NULL; of a form that rows can be joined by."""
        return f"{left} IS NOT DISTINCT FROM {right}"

    def common(self, name: str, query: str, *, kept: bool) -> str:
        """One item of WITH; kept: its rows are written down once, not computed where they are read."""
        return f"{name} AS {'MATERIALIZED' if kept else 'NOT MATERIALIZED'} {query}"

    def once(self, query: str) -> str:
        """A subquery in brackets that is computed once, however many threads or workers read it."""
        return query

    def keyed_hash(self, key: str, values: Sequence[Typed]) -> str:
        """A text that nobody without the key can foresee, the same for equal values on every engine."""
        parts = ", ".join(f"COALESCE({self.canonical(sql, kind)}, chr(30))" for sql, kind in values)
        return f"md5(concat_ws(chr(31), {self.text(key)}, {parts}))"

    @abstractmethod
    def sha256(self, text: str) -> str:
        """The SHA-256 of a text's UTF-8, in hexadecimal digits."""

    @abstractmethod
    def hex_word(self, digits: str, place: int) -> str:
        """Eight hexadecimal digits of a text, from that place on (counted from 1), as an integer whose sums are
        exact.
        """

    def canonical(self, sql: str, kind: Type) -> str:
        """A text that is the same on every engine.

        Doubles that it does not tell apart are told apart by what follows it.
        """
        match kind:
            case Type.TEXT:
                return sql
            case Type.BOOLEAN:
                return f"(CASE WHEN {sql} THEN '1' WHEN NOT {sql} THEN '0' END)"
            case Type.DATE:
                return self.cast(self.days(sql), Type.TEXT)
            case Type.TIMESTAMP:
                return self.cast(self.micros(sql), Type.TEXT)
            case Type.INTEGER:
                return self.cast(sql, Type.TEXT)
            case Type.DOUBLE:
                fine, coarse = (self._scaled(sql, most, by) for most, by in ((CLOSE, FINE), (FAR, COARSE)))
                return f"({self.cast(fine, Type.TEXT)} || {self.text(' ')} || {self.cast(coarse, Type.TEXT)})"

    def _scaled(self, sql: str, most: float, by: float) -> str:
        low, high, factor = (self.literal(number, Type.DOUBLE) for number in (-most, most, by))
        # NaN is above every number, so it counts as the highest; `* by` is exact, so nothing is lost but fractions
        return self.round_to_integer(f"(LEAST(GREATEST({sql}, {low}), {high}) * {factor})", small=False)
