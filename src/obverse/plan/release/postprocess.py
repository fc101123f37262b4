"""Released integers to answer columns with error bars; HAVING, ORDER BY and LIMIT on noisy values. Cannot reach Exact.

Expressions over whole columns of released values: post-processing, and how noise intervals pass through it.

Values of keys and aggregates in every cell of an answer, as columns that outputs read.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.answers.answer import Bar, ColumnInfo, Row
from obverse.core.errors import invariant
from obverse.core.types import Type, Value
from obverse.mechanisms.base import Additive
from obverse.mechanisms.discrete_gaussian import DiscreteGaussian
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.plan.aggregates import BY_NAME
from obverse.plan.aggregates.base import Estimate, Noisy, Served
from obverse.plan.expressions import (
    AggregateRef,
    Call,
    Expr,
    GroupingRef,
    KeyRef,
    Literal,
    Ref,
    Slot,
    aggregates_in,
    domain,
    from_number,
)
from obverse.plan.functions import meaning
from obverse.plan.intervals import Noise
from obverse.plan.pricing import Adaptive, MatrixStrategy, Plan
from obverse.plan.query import AggregateCall, Order, Question
from obverse.plan.relation import Aggregate, Cells, Key
from obverse.plan.release.noise import Released

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Column:
    """Values and where they are NULL; numbers as int64 or float64, truth as bool, all else as objects."""

    values: Array
    null: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Ends:
    """The ends of noise intervals, as doubles."""

    low: Array
    high: Array


def evaluate(expr: Expr, columns: Mapping[Slot, Column], length: int) -> Column:
    """The expression's value on every row at once."""
    match expr:
        case Ref() | KeyRef() | AggregateRef() | GroupingRef():
            return columns[expr.slot]
        case Literal(value, facts):
            return constant(value, facts.type, length)
        case Call(function, args):
            known = [evaluate(arg, columns, length) for arg in args]
            if function in FAST and all(k.values.dtype != object for k in known):
                return _fast(expr, known)
            return _slow(expr, known, np)


def constant(value: Value, kind: Type, length: int) -> Column:
    null = np.full(length, value is None)
    filler: Any = {Type.INTEGER: 0, Type.DOUBLE: 0.0, Type.BOOLEAN: False}.get(kind)
    return Column(np.full(length, filler if value is None else value, dtype=dtype_of(kind)), null)


def dtype_of(kind: Type) -> Any:
    return {Type.INTEGER: "int64", Type.DOUBLE: "float64", Type.BOOLEAN: "bool"}.get(kind, object)


def _fast(expr: Call, args: list[Column]) -> Column:
    kind = expr.facts.type
    null = np.logical_or.reduce([a.null for a in args])
    if expr.function == "divide":
        null = null | (args[1].values == 0)
    values = [a.values for a in args]
    if expr.function in ("add", "subtract", "multiply", "negate", "abs", "divide", "to_double"):
        values = [v.astype(dtype_of(kind)) for v in values]
    with np.errstate(all="ignore"):
        found = FAST[expr.function](np, *values)
    if found.dtype.kind == "f":
        null = null | ~np.isfinite(found)
    return Column(found.astype(dtype_of(kind)), null)


FAST: dict[str, Callable[..., Any]] = {
    "add": lambda np, a, b: a + b,
    "subtract": lambda np, a, b: a - b,
    "multiply": lambda np, a, b: a * b,
    "divide": lambda np, a, b: a / np.where(b == 0, 1, b),
    "negate": lambda np, a: -a,
    "abs": lambda np, a: np.abs(a),
    "to_double": lambda np, a: a,
    "eq": lambda np, a, b: a == b,
    "ne": lambda np, a, b: a != b,
    "lt": lambda np, a, b: a < b,
    "le": lambda np, a, b: a <= b,
    "gt": lambda np, a, b: a > b,
    "ge": lambda np, a, b: a >= b,
}


def _slow(expr: Call, args: list[Column], np: Any) -> Column:
    """By the function's reference meaning, once per row: for choices, texts and dates."""
    boxed = [np.where(a.null, None, a.values.astype(object)) for a in args]
    found = np.frompyfunc(lambda *values: meaning(expr, values), len(args), 1)(*boxed)
    null = np.equal(found, None).astype(bool)
    kind = expr.facts.type
    filler: Any = {Type.INTEGER: 0, Type.DOUBLE: 0.0, Type.BOOLEAN: False}.get(kind)
    values = np.where(null, filler, found).astype(dtype_of(kind))
    return Column(values, null | ~np.isfinite(values) if kind is Type.DOUBLE else null)


def ends_of(expr: Expr, columns: Mapping[Slot, Ends], length: int) -> Ends | None:
    """The interval of the expression over intervals of its parts (interval arithmetic); None where it has none."""
    match expr:
        case Ref() | KeyRef() | AggregateRef() | GroupingRef():
            return columns.get(expr.slot)
        case Literal(value) if isinstance(value, (int, float)) and not isinstance(value, bool):
            point = np.full(length, float(value))
            return Ends(point, point)
        case Call(function, args) if function in CORNERS:
            known = [ends_of(arg, columns, length) for arg in args]
            present = [k for k in known if k is not None]
            if len(present) < len(known):
                return None
            return _ends(function, present, np)
        case _:
            return None


def _ends(function: str, args: list[Ends], np: Any) -> Ends:
    if function == "divide":
        crosses = (args[1].low <= 0) & (args[1].high >= 0)
        safe = Ends(np.where(crosses, 1.0, args[1].low), np.where(crosses, 1.0, args[1].high))
        inner = _corners(function, [args[0], safe], np)
        return Ends(np.where(crosses, -np.inf, inner.low), np.where(crosses, np.inf, inner.high))
    inner = _corners(function, args, np)
    if function == "abs":
        crosses = (args[0].low <= 0) & (args[0].high >= 0)
        return Ends(np.where(crosses, 0.0, inner.low), inner.high)
    return inner


def _corners(function: str, args: list[Ends], np: Any) -> Ends:
    import itertools

    with np.errstate(all="ignore"):  # an end that is infinite makes others NaN: no interval then
        corners = [CORNERS[function](np, *c) for c in itertools.product(*((a.low, a.high) for a in args))]
        return Ends(np.minimum.reduce(corners), np.maximum.reduce(corners))


def _rounded(np: Any, x: Any, digits: Any = 0.0) -> Any:
    """Halves away from zero, as ROUND does; the digits are one literal for all rows."""
    places = int(np.ravel(digits)[0]) if np.size(digits) else 0
    unit = 10.0 ** abs(places)
    scaled = np.abs(x) * unit if places >= 0 else np.abs(x) / unit
    whole = np.floor(scaled)
    whole = whole + (scaled - whole >= 0.5)
    return np.copysign(whole / unit if places >= 0 else whole * unit, x)


CORNERS: dict[str, Callable[..., Any]] = {
    "add": lambda np, a, b: a + b,
    "subtract": lambda np, a, b: a - b,
    "multiply": lambda np, a, b: a * b,
    "divide": lambda np, a, b: a / b,
    "negate": lambda np, a: -a,
    "abs": lambda np, a: np.abs(a),
    "round": _rounded,
    "floor": lambda np, a: np.floor(a),
    "ceil": lambda np, a: np.ceil(a),
    "to_double": lambda np, a: a,
    "to_integer": lambda np, a: np.rint(a),
    "least": lambda np, *xs: np.minimum.reduce(xs),
    "greatest": lambda np, *xs: np.maximum.reduce(xs),
    "clamp": lambda np, x, lo, hi: np.clip(x, lo, hi),
    "coalesce": lambda np, a, *rest: a,
}


Floats = NDArray[np.float64]


FILLERS: dict[Type, Any] = {Type.INTEGER: 0, Type.DOUBLE: 0.0, Type.BOOLEAN: False}


def key_columns(root: Aggregate, released: Released) -> dict[Slot, Column]:
    """The value of every key in every cell: released keys first, in their order, each with all public cells."""
    public = root.public
    cells = public.count
    known: dict[Slot, Column] = {}
    listed = 0
    found = 0
    within = np.tile(np.arange(cells), released.cells // max(cells, 1))
    for n, key in enumerate(root.child.keys):
        if key.domain is None:
            known["key", n] = _discovered(released.keys[found], key, cells)
            known["left_out", n] = Column(np.zeros_like(within), np.zeros(len(within), dtype=bool))
            found += 1
        else:
            known["key", n] = _public(public, listed, within)
            known["left_out", n] = _left_out(public, listed, within)
            listed += 1
    return known


def _public(public: Cells, place: int, within: NDArray[np.intp]) -> Column:
    """A public key's values; NULL in grouping sets that it is not part of."""
    key = public.keys[place]
    index = np.full(public.count, len(key.listed), dtype=np.int64)
    for chosen, offset in zip(public.sets, public.offsets):
        if place in chosen:
            size = public.size(chosen)
            shape = [public.keys[i].cells for i in chosen]
            index[offset : offset + size] = np.unravel_index(np.arange(size), shape)[chosen.index(place)]
    values = np.empty(len(key.listed) + 1, dtype=dtype_of(key.expr.facts.type))
    values[:-1] = list(key.listed)
    values[-1] = FILLERS.get(key.expr.facts.type)
    return Column(values[index][within], (index == len(key.listed))[within])


def _left_out(public: Cells, place: int, within: NDArray[np.intp]) -> Column:
    """1 in grouping sets that the key is not part of, else 0: what GROUPING tells."""
    sizes = [public.size(chosen) for chosen in public.sets]
    values = np.repeat(np.array([place not in chosen for chosen in public.sets], dtype=np.int64), sizes)
    return Column(values[within], np.zeros(len(within), dtype=bool))


def _discovered(values: NDArray[Any], key: Key, cells: int) -> Column:
    kind = key.expr.facts.type
    if kind is Type.DATE:  # which engines hand over as timestamps at midnight
        values = values.astype("datetime64[D]").astype(object)
    nothing: Any = None
    filler: Any = FILLERS.get(kind)
    null = np.equal(values, nothing).astype(bool)
    filled = np.where(null, filler, values).astype(dtype_of(kind))
    if kind is Type.DOUBLE:  # a product of large numbers, or a text that says so, may be no finite number
        null = null | ~np.isfinite(filled)
    return Column(np.repeat(filled, cells), np.repeat(null, cells))


def empty(kind: Type) -> Column:
    """A column without cells."""
    return Column(np.empty(0, dtype=dtype_of(kind)), np.empty(0, dtype=bool))


def typed(values: Floats, kind: Type, call: AggregateCall) -> Column:
    """An aggregate's estimates as its own type: whole numbers, dates, or the value that a choice stands for."""
    null = np.zeros(len(values), dtype=bool)
    if call.function == "mode":
        assert call.argument is not None
        listed = np.array(list(domain(call.argument.facts) or ()), dtype=dtype_of(kind))
        return Column(listed[values.astype(np.int64)], null)
    if kind in (Type.DATE, Type.TIMESTAMP):
        made = np.frompyfunc(lambda value: from_number(Fraction(round(value)), kind), 1, 1)(values)
        return Column(np.asarray(made, dtype=object), null)
    return Column(np.rint(values).astype(np.int64) if kind is Type.INTEGER else values, null)


@dataclass(frozen=True, slots=True)
class Finished:
    """The rows of an answer, before claim and price are put beside them."""

    columns: tuple[ColumnInfo, ...]
    rows: tuple[Row, ...]
    intervals: tuple[tuple[Bar, ...], ...]
    blocks: tuple[NDArray[np.int64], ...] = ()  # a strategy's entries, which have no rows


def finish(released: Released, costed: Plan) -> Finished:
    """Post-processing alone: a function of released integers and public figures."""
    if isinstance(costed.noise, MatrixStrategy | Adaptive):
        return Finished((), (), (), released.blocks)
    with collector_paused():
        return _finish(released, costed)


@contextmanager
def collector_paused() -> Iterator[None]:
    """A million row tuples hold no cycles; looking for some would take as long as making them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _finish(released: Released, costed: Plan) -> Finished:
    if released.named is not None:
        return _named(released.named, released, costed)
    work = _Work(costed, released, _noisy(released, costed))
    question = costed.question
    columns = work.columns()
    keep = work.kept(columns)
    infos = []
    cells = []
    bars = []
    for output in question.outputs:
        found = evaluate(output.expr, columns, work.cells)
        aggregated = aggregates_in(output.expr)
        infos.append(ColumnInfo(output.name, output.expr.facts.type, "value" if aggregated else "key"))
        cells.append(_listed(found, keep, output.expr.facts.type))
        ends = work.ends(output.expr, aggregated)
        bars.append(_bars(ends, found, keep, output.expr.facts.type))
    rows = tuple(zip(*cells)) if cells else ()
    intervals = tuple(zip(*bars)) if bars else ()
    if question.distinct:
        first = {row: place for place, row in reversed(list(enumerate(rows)))}
        chosen = sorted(first.values())[_page(question)]
        rows = tuple(rows[i] for i in chosen)
        intervals = tuple(intervals[i] for i in chosen)
    return Finished(tuple(infos), rows, intervals)


def _named(named: NDArray[np.int64], released: Released, costed: Plan) -> Finished:
    """The keys of the cells that a series names; their counts are not told."""
    question = costed.question
    known = key_columns(costed.root, released)
    infos = []
    cells = []
    for output in question.outputs:
        if not aggregates_in(output.expr):
            infos.append(ColumnInfo(output.name, output.expr.facts.type, "key"))
            cells.append(_listed(evaluate(output.expr, known, released.cells), named, output.expr.facts.type))
    rows = tuple(zip(*cells))
    return Finished(tuple(infos), rows, tuple((None,) * len(infos) for _ in rows))


@dataclass(frozen=True, slots=True)
class _Work:
    costed: Plan
    released: Released
    noisy: dict[int, Noisy]
    known: dict[tuple[int, float], Estimate] = field(default_factory=dict)

    @property
    def cells(self) -> int:
        return self.released.cells

    def estimate(self, place: int, level: float) -> Estimate:
        """Computed once for each level."""
        if (place, level) not in self.known:
            self.known[place, level] = self._estimated(place, level)
        return self.known[place, level]

    def _estimated(self, place: int, level: float) -> Estimate:
        limited = self.costed
        call = limited.question.aggregates[place]
        served: tuple[Served, ...]
        if place in self.released.places:
            served = (self.released.places[place],)
        else:
            served = tuple(self.noisy[i] for i in limited.serves[place])
        return BY_NAME[call.function].finish(served, call, limited.setting, level)

    def columns(self) -> dict[Slot, Column]:
        """Keys and aggregates under the names that outputs use."""
        question = self.costed.question
        known = key_columns(self.costed.root, self.released)
        if not self.cells:
            return known | {("agg", i): empty(BY_NAME[c.function].type(c)) for i, c in enumerate(question.aggregates)}
        for i, call in enumerate(question.aggregates):
            values = self.estimate(i, self.costed.level).value
            known["agg", i] = typed(values, BY_NAME[call.function].type(call), call)
        return known

    def ends(self, expr: Expr, aggregated: set[int]) -> Ends | None:
        """The output's interval: each of its n aggregates held at 1 - (1 - level)/n, so that all hold together."""
        if not aggregated or not self.cells:
            return None
        level = 1 - (1 - self.costed.level) / len(aggregated)
        known: dict[Slot, Ends] = {}
        for index in aggregated:
            estimate = self.estimate(index, level)
            known["agg", index] = Ends(estimate.low, estimate.high)
        return ends_of(expr, known, self.cells)

    def kept(self, columns: dict[Slot, Column]) -> NDArray[np.intp]:
        """Places of the rows that stay, in the order asked for; ties and the default are the cells' public order."""
        question = self.costed.question
        keep = np.arange(self.cells)
        if question.having is not None:
            truth = evaluate(question.having, columns, self.cells)
            keep = keep[truth.values.astype(bool) & ~truth.null]
        for order in reversed(question.order):
            keep = keep[_argsort(order, evaluate(order.expr, columns, self.cells), keep)]
        return keep if question.distinct else keep[_page(question)]


def _page(question: Question) -> slice:
    """What LIMIT and OFFSET leave."""
    return slice(question.offset, None if question.limit is None else question.offset + question.limit)


def _noisy(released: Released, costed: Plan) -> dict[int, Noisy]:
    gaussian = costed.accounting == "zcdp"
    found = {}
    for i, integers in released.sums.items():
        unit = costed.measures[i].unit
        mechanism = costed.mechanisms[i]
        assert isinstance(mechanism, Additive)
        values = integers.astype(np.float64) * float(unit.numerator) / float(unit.denominator)
        noise = Noise(_scale(mechanism) * float(unit), float(unit))
        found[i] = Noisy(values, float(unit), mechanism, noise, gaussian)
    return found


def _scale(mechanism: Additive) -> float:
    """The scale of the continuous noise that the mechanism's is a rounding of."""
    match mechanism:
        case DiscreteLaplace():
            return float(mechanism.scale)
        case DiscreteGaussian():
            return math.sqrt(mechanism.sigma_squared)
        case _:
            return mechanism.stddev()


def _argsort(order: Order, column: Column, keep: NDArray[np.intp]) -> NDArray[np.intp]:
    values = column.values[keep]
    null = column.null[keep]
    if values.dtype == object:
        known = sorted({v for v, gone in zip(values, null) if not gone})
        ranks = {v: i for i, v in enumerate(known)}
        values = np.array([ranks.get(v, 0) for v in values])
    values = values.astype(np.float64) if values.dtype == bool else values
    values = np.where(null, 0, -values if order.descending else values)
    first = np.argsort(values, kind="stable")
    blank = null[first] if not order.nulls_first else ~null[first]
    return first[np.argsort(blank, kind="stable")]


def _listed(column: Column, keep: NDArray[np.intp], kind: Type) -> list[Any]:
    values = column.values[keep]
    null = column.null[keep]
    if kind is Type.DOUBLE:
        invariant(bool(np.all(np.isfinite(values.astype(np.float64)) | null)), "what is told is a number")
    plain = values.tolist()
    return [None if gone else v for v, gone in zip(plain, null.tolist())] if null.any() else plain


def _bars(ends: Ends | None, column: Column, keep: NDArray[np.intp], kind: Type) -> list[Bar]:
    if ends is None or not (kind.numeric or kind in (Type.DATE, Type.TIMESTAMP)):
        return [None] * len(keep)
    low = ends.low[keep]
    high = ends.high[keep]
    known = np.isfinite(low) & np.isfinite(high) & ~column.null[keep]
    if kind is not Type.DOUBLE:
        low = np.where(known, np.floor(low), 0).astype(np.int64)
        high = np.where(known, np.ceil(high), 0).astype(np.int64)
    pairs: list[Any] = list(zip(low.tolist(), high.tolist()))
    if kind in (Type.DATE, Type.TIMESTAMP):
        pairs = [tuple(from_number(Fraction(end), kind) for end in pair) for pair in pairs]
    return pairs if known.all() else [pair if ok else None for pair, ok in zip(pairs, known.tolist())]
