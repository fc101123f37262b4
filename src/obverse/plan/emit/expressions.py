"""Expressions and scanned columns as engine SQL: each declared fact enforced where the column is read."""

from __future__ import annotations

from collections.abc import Mapping

from obverse.catalog.model import OTHER, Column
from obverse.core.bounds import Categories, Interval
from obverse.core.errors import InvariantBroken, Refused
from obverse.core.types import Type, days, micros
from obverse.plan.dialects.base import Dialect
from obverse.plan.expressions import (
    AggregateRef,
    Call,
    ColumnFacts,
    Expr,
    GroupingRef,
    KeyRef,
    Literal,
    Ref,
    from_number,
)
from obverse.plan.functions import BY_NAME, PASS_NULLS
from obverse.plan.functions.base import always_null
from obverse.plan.measures import Grid, Term, bounded, place_of

TEXT_MAX = 200_000
TEXT_BYTES_MAX = 65_536  # of a text in a row; a longer one is read as NULL
FEW = 8  # texts that are compared one by one; more are looked up
FIRST_DAY = "0001-01-01"
LAST_DAY = "9999-12-31"


def expression(expr: Expr, columns: Mapping[str, str], d: Dialect) -> str:
    """The expression over columns that are printed as given."""
    match expr:
        case Ref(name):
            return columns[name]
        case KeyRef() | AggregateRef() | GroupingRef():
            raise InvariantBroken("what is released is read in post-processing, not by an engine")
        case Literal(value, facts):
            return d.literal(value, facts.type)
        case Call(function, args):
            if function not in PASS_NULLS and any(always_null(arg.facts) for arg in args):
                # a NULL may be of a type that the engine has no such function for
                return d.literal(None, expr.facts.type)
            printed = tuple(expression(arg, columns, d) for arg in args)
            text = BY_NAME[function].sql(printed, tuple(arg.facts for arg in args), d)
            if len(text) > TEXT_MAX:  # some functions print an argument several times, and nesting multiplies that
                raise Refused(
                    "too_complex", "an expression of the question is too deeply nested.", fix="ask something simpler."
                )
            return text


def raw_column(column: Column, d: Dialect) -> str:
    """The column read as its declared type; what cannot be read is NULL."""
    return d.stored(f"t.{d.identifier(column.name)}", column)


def enforced(column: Column, d: Dialect) -> str:
    """The column as its declared facts say: type, bounds, values, nullability."""
    raw = raw_column(column, d)
    match column.bounds:
        case Interval(lo, hi):
            low = d.literal(from_number(lo, column.type), column.type)
            high = d.literal(from_number(hi, column.type), column.type)
            finite = f"{d.is_finite(raw)} AND " if column.type is Type.DOUBLE else ""
            inside = f"CASE WHEN {raw} BETWEEN {low} AND {high} THEN {raw}"
            text = f"{inside} WHEN {finite}{raw} < {low} THEN {low} WHEN {finite}{raw} > {high} THEN {high} END"
            return f"COALESCE({text}, {low})" if not column.nullable else f"({text})"
        case Categories():
            return _listed(column, raw, d)
        case _:
            return _unbounded(column, raw, d)


def _listed(column: Column, raw: str, d: Dialect) -> str:
    """A declared value as it is; any other one as the residual category, else as NULL."""
    values = column.declared or ()
    members = ", ".join(d.literal(v, column.type) for v in values)
    other = d.literal(OTHER, Type.TEXT) if column.other else ""
    if column.type is Type.TEXT and len(values) > FEW:
        found = d.listed_text(raw, values)
        return f"COALESCE({found}, {_residual(column, raw, other)})" if other else found
    if not members:
        return _residual(column, raw, other) if other else d.literal(None, column.type)
    rest = f" WHEN {raw} IS NOT NULL THEN {other}" if column.nullable else f" ELSE {other}"
    return f"(CASE WHEN {raw} IN ({members}) THEN {raw}{rest if other else ''} END)"


def _residual(column: Column, raw: str, other: str) -> str:
    """The residual category; NULL where the value is missing and may be."""
    return f"CASE WHEN {raw} IS NOT NULL THEN {other} END" if column.nullable else other


def _unbounded(column: Column, raw: str, d: Dialect) -> str:
    match column.type:
        case Type.DOUBLE:
            raw = f"(CASE WHEN {d.is_finite(raw)} THEN {raw} END)"
            default = "0.0"
        case Type.DATE | Type.TIMESTAMP:
            last = LAST_DAY if column.type is Type.DATE else f"{LAST_DAY} 23:59:59.999999"
            word = d.type_name(column.type)
            raw = f"(CASE WHEN {raw} BETWEEN {word} '{FIRST_DAY}' AND {word} '{last}' THEN {raw} END)"
            default = f"{word} '1970-01-01'"
        case Type.TEXT:
            # so that no row costs more than others
            raw = f"(CASE WHEN {d.bytes_of(raw)} <= {TEXT_BYTES_MAX} THEN {raw} END)"
            default = "''"
        case Type.BOOLEAN:
            default = "FALSE"
        case Type.INTEGER:
            default = "0"
    return raw if column.nullable else f"COALESCE({raw}, {default})"


def cut(value: str, facts: ColumnFacts, d: Dialect) -> str:
    """The value where it lies within its bounds, else NULL: so that an engine may compute on rows that a filter
    leaves out.
    """
    match facts.bounds:
        case Interval(lo, hi):
            low, high = (d.literal(from_number(end, facts.type), facts.type) for end in (lo, hi))
            return f"(CASE WHEN {value} BETWEEN {low} AND {high} THEN {value} END)"
        case Categories(values) if values:
            members = ", ".join(d.literal(v, facts.type) for v in values)
            return f"(CASE WHEN {value} IN ({members}) THEN {value} END)"
        case _:
            return value


def term(term: Term, value: str | None, d: Dialect, *, is_raw: bool) -> str:
    """The term's integer, NULL where its argument is NULL. `is_raw`: the value is a bare column, not yet clamped."""
    if value is None:
        return "1"
    assert term.expr is not None
    if term.kind == "count":
        double = is_raw and term.expr.facts.type is Type.DOUBLE
        return f"CASE WHEN {d.is_finite(value) if double else f'{value} IS NOT NULL'} THEN 1 END"
    assert term.grid is not None
    whole = term.expr.facts.type is Type.INTEGER
    sure = is_raw and not term.expr.facts.nullable
    text = _on_grid(term.grid, value, d, whole=whole, finite=is_raw and not whole, sure=sure)
    if term.grid.centre:
        text = f"({text} - {d.literal(term.grid.centre, Type.INTEGER)})"
    if term.kind == "sum":
        return text
    half = (1 << term.shift) >> 1
    square = f"CAST({text} AS BIGINT) * CAST({text} AS BIGINT)"
    return d.shifted(f"({square} + CAST({half} AS BIGINT))", term.shift) if term.shift else f"({square})"


def product(term: Term, x: str, y: str, d: Dialect) -> str:
    """The product of two centred arguments; NULL where either is."""
    assert term.expr is not None
    assert term.other is not None
    assert term.grid is not None
    assert term.other_grid is not None
    parts = []
    for grid, value, expr in ((term.grid, x, term.expr), (term.other_grid, y, term.other)):
        text = _on_grid(grid, value, d, whole=expr.facts.type is Type.INTEGER, finite=False)
        parts.append(f"(CAST({text} AS BIGINT) - {d.literal(grid.centre, Type.INTEGER)})")
    half = (1 << term.shift) >> 1
    product = f"({parts[0]} * {parts[1]})"
    if not term.shift:
        return product
    size = d.whole_quotient(f"(ABS{product} + CAST({half} AS BIGINT))", str(1 << term.shift))
    return f"(CASE WHEN {product} < 0 THEN -{size} ELSE {size} END)"


def leaf(term: Term, value: str, d: Dialect) -> str:
    """The leaf of a value on the tree's grid; NULL where it is NULL. Numbers are clamped before they are cast."""
    assert term.expr is not None
    assert term.leaves is not None
    place = _place(term, value, d)
    last = term.leaves.count - 1
    clamped = f"LEAST(GREATEST({place}, 0), {last})"
    if not term.expr.facts.type.numeric:
        return f"CASE WHEN {value} IS NULL THEN NULL ELSE {clamped} END"
    bounds = bounded(term.expr)
    kind = term.expr.facts.type
    ends = [from_number(end, kind) for end in (bounds.lo, bounds.hi)]
    places = [place_of(term.leaves, end) for end in ends]  # rounding is monotone, so the others lie between
    inside = place if places[0] >= 0 and places[1] <= last else clamped
    at_ends = [str(min(max(p, 0), last)) for p in places]
    written = [d.literal(end, kind) for end in ends]
    return _clamping(value, written, at_ends, inside, d, finite=kind is Type.DOUBLE, sure=not term.expr.facts.nullable)


def _place(term: Term, value: str, d: Dialect) -> str:
    """The value's place on the tree's grid, from its first leaf on."""
    assert term.expr is not None
    assert term.leaves is not None
    leaves = term.leaves
    kind = term.expr.facts.type
    match kind:
        case Type.DATE:
            number = d.days(value)
        case Type.TIMESTAMP:
            number = d.micros(value)
        case Type.INTEGER if leaves.step == 1:
            number = value
        case _:
            scaled = value if kind is Type.DOUBLE else d.cast(value, Type.DOUBLE)
            scaled = d.in_steps(scaled, float(leaves.step.denominator), float(leaves.step.numerator))
            last = leaves.first + (leaves.count << leaves.shift)
            number = d.round_to_integer(scaled, small=max(abs(leaves.first), abs(last)) < 2**31 - 1)
    number = f"({number} - CAST({leaves.first} AS BIGINT))" if leaves.first else number
    return d.shifted(number, leaves.shift) if leaves.shift else number


def _on_grid(grid: Grid, value: str, d: Dialect, *, whole: bool, finite: bool, sure: bool = False) -> str:
    kind = Type.INTEGER if whole else Type.DOUBLE
    low = d.literal(grid.lo, kind)
    high = d.literal(grid.hi, kind)
    if whole and grid.factor == grid.divisor == 1.0:
        inside = value
    else:
        scaled = d.in_steps(value if not whole else d.cast(value, Type.DOUBLE), grid.factor, grid.divisor)
        inside = d.round_to_integer(scaled, small=max(abs(grid.first), abs(grid.last)) < 2**31 - 1)
    return _clamping(value, [low, high], [str(grid.first), str(grid.last)], inside, d, finite=finite, sure=sure)


def _clamping(
    value: str, ends: list[str], at_ends: list[str], inside: str, d: Dialect, *, finite: bool, sure: bool
) -> str:
    """What a number becomes inside its bounds and beyond either end; where it is none, or not finite, NULL.

    `sure`: the column is declared to have no NULL, and what is none counts as its lowest value.
    """
    check = f"{d.is_finite(value)} AND " if finite else ""
    below, above = (f"{check}{value} {sign} {end} THEN {at}" for sign, end, at in zip("<>", ends, at_ends))
    outside = f"CASE WHEN {above} ELSE {at_ends[0]} END" if sure else f"CASE WHEN {below} WHEN {above} END"
    return f"CASE WHEN {value} BETWEEN {ends[0]} AND {ends[1]} THEN {inside} ELSE {outside} END"


def key_number(value: object) -> int:
    """A key's value as the integer that index arithmetic uses."""
    import datetime as dt

    if isinstance(value, dt.datetime):
        return micros(value)
    if isinstance(value, dt.date):
        return days(value)
    assert isinstance(value, int)
    return value
