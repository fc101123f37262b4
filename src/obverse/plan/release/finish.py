"""Released integers to answer columns with error bars; HAVING, ORDER BY and LIMIT on noisy values. Cannot reach Exact."""

from __future__ import annotations

import gc
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from obverse.answers.answer import ColumnInfo, Row
from obverse.answers.cells import Bar
from obverse.core.errors import invariant
from obverse.core.types import Type
from obverse.mechanisms.base import Additive
from obverse.mechanisms.discrete_gaussian import DiscreteGaussian
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.plan.aggregates import BY_NAME
from obverse.plan.aggregates.base import Estimate, Noisy, Served
from obverse.plan.allocate import CostedPlan
from obverse.plan.expressions import Expr, from_number, refs
from obverse.plan.intervals import Noise
from obverse.plan.query import Order, Question
from obverse.plan.release.keys import empty, key_columns, typed
from obverse.plan.release.vector import Column, Ends, ends_of, evaluate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from obverse.plan.release.randomize import Released


@dataclass(frozen=True, slots=True)
class Finished:
    """The rows of an answer, before claim and price are put beside them."""

    columns: tuple[ColumnInfo, ...]
    rows: tuple[Row, ...]
    intervals: tuple[tuple[Bar, ...], ...]
    blocks: tuple[NDArray[np.int64], ...] = ()  # a strategy's entries, which have no rows


def finish(released: Released, costed: CostedPlan) -> Finished:
    """Post-processing alone: a function of released integers and public figures."""
    if costed.strategy is not None or costed.course is not None:
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


def _finish(released: Released, costed: CostedPlan) -> Finished:
    if released.named is not None:
        return _named(released.named, released, costed)
    work = _Work(costed, released, _noisy(released, costed))
    question = costed.annotated.limited.question
    columns = work.columns()
    keep = work.kept(columns)
    infos, cells, bars = [], [], []
    for output in question.outputs:
        found = evaluate(output.expr, columns, work.cells)
        aggregated = sorted({r.name for r in refs(output.expr) if r.name.startswith("agg")})
        infos.append(ColumnInfo(output.name, output.expr.facts.type, "value" if aggregated else "key"))
        cells.append(_listed(found, keep, output.expr.facts.type))
        ends = work.ends(output.expr, aggregated)
        bars.append(_bars(ends, found, keep, output.expr.facts.type))
    rows, intervals = tuple(zip(*cells)) if cells else (), tuple(zip(*bars)) if bars else ()
    if question.distinct:
        first = {row: place for place, row in reversed(list(enumerate(rows)))}
        chosen = sorted(first.values())[_page(question)]
        rows, intervals = tuple(rows[i] for i in chosen), tuple(intervals[i] for i in chosen)
    return Finished(tuple(infos), rows, intervals)


def _named(named: NDArray[np.int64], released: Released, costed: CostedPlan) -> Finished:
    """The keys of the cells that a series names; their counts are not told."""
    question = costed.annotated.limited.question
    known = key_columns(costed.annotated.limited.root, released)
    infos, cells = [], []
    for output in question.outputs:
        if not any(ref.name.startswith("agg") for ref in refs(output.expr)):
            infos.append(ColumnInfo(output.name, output.expr.facts.type, "key"))
            cells.append(_listed(evaluate(output.expr, known, released.cells), named, output.expr.facts.type))
    rows = tuple(zip(*cells))
    return Finished(tuple(infos), rows, tuple((None,) * len(infos) for _ in rows))


@dataclass(frozen=True, slots=True)
class _Work:
    costed: CostedPlan
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
        limited = self.costed.annotated.limited
        call = limited.question.aggregates[place]
        served: tuple[Served, ...]
        if place in self.released.places:
            served = (self.released.places[place],)
        else:
            served = tuple(self.noisy[i] for i in limited.serves[place])
        return BY_NAME[call.function].finish(served, call, limited.setting, level)

    def columns(self) -> dict[str, Column]:
        """Keys and aggregates under the names that outputs use."""
        question = self.costed.annotated.limited.question
        known = key_columns(self.costed.annotated.limited.root, self.released)
        if not self.cells:
            return known | {f"agg{i}": empty(BY_NAME[c.function].type(c)) for i, c in enumerate(question.aggregates)}
        for i, call in enumerate(question.aggregates):
            values = self.estimate(i, self.costed.level).value
            known[f"agg{i}"] = typed(values, BY_NAME[call.function].type(call), call)
        return known

    def ends(self, expr: Expr, aggregated: list[str]) -> Ends | None:
        """The output's interval: each of its n aggregates held at 1 - (1 - level)/n, so that all hold together."""
        if not aggregated or not self.cells:
            return None
        level = 1 - (1 - self.costed.level) / len(aggregated)
        known = {}
        for name in aggregated:
            estimate = self.estimate(int(name[3:]), level)
            known[name] = Ends(estimate.low, estimate.high)
        return ends_of(expr, known, self.cells)

    def kept(self, columns: dict[str, Column]) -> NDArray[np.intp]:
        """Places of the rows that stay, in the order asked for; ties and the default are the cells' public order."""
        import numpy as np

        question = self.costed.annotated.limited.question
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


def _noisy(released: Released, costed: CostedPlan) -> dict[int, Noisy]:
    import numpy as np

    gaussian = costed.accounting == "zcdp"
    found = {}
    for i, integers in released.sums.items():
        unit, mechanism = costed.measures[i].unit, costed.mechanisms[i]
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
    import numpy as np

    values, null = column.values[keep], column.null[keep]
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
    import numpy as np

    values, null = column.values[keep], column.null[keep]
    if kind is Type.DOUBLE:
        invariant(bool(np.all(np.isfinite(values.astype(np.float64)) | null)), "what is told is a number")
    plain = values.tolist()
    return [None if gone else v for v, gone in zip(plain, null.tolist())] if null.any() else plain


def _bars(ends: Ends | None, column: Column, keep: NDArray[np.intp], kind: Type) -> list[Bar]:
    import numpy as np

    if ends is None or not (kind.numeric or kind in (Type.DATE, Type.TIMESTAMP)):
        return [None] * len(keep)
    low, high = ends.low[keep], ends.high[keep]
    known = np.isfinite(low) & np.isfinite(high) & ~column.null[keep]
    if kind is not Type.DOUBLE:
        low, high = np.where(known, np.floor(low), 0).astype(np.int64), np.where(known, np.ceil(high), 0).astype(np.int64)
    pairs: list[Any] = list(zip(low.tolist(), high.tolist()))
    if kind in (Type.DATE, Type.TIMESTAMP):
        pairs = [tuple(from_number(Fraction(end), kind) for end in pair) for pair in pairs]
    return pairs if known.all() else [pair if ok else None for pair, ok in zip(pairs, known.tolist())]
