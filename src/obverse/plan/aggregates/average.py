"""AVG(x)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from obverse.core.types import Type
from obverse.plan.aggregates.base import Estimate, Noisy, Served, Setting, capped, sums
from obverse.plan.intervals import Floats, ratio
from obverse.plan.measures import Measure, bounded, count_term, sum_term
from obverse.plan.query import AggregateCall


@dataclass(frozen=True, slots=True)
class Average:
    """The mean of a bounded number: a noisy sum over a noisy count, or over a declared public size.

    Claim:   the measures' noise covers the mean; the interval holds the bounded mean with at least the stated level.
    Proof:   post-processing of the sum, centred at the middle of the bounds, and of the count, both weighted alike, so
             the ratio of the true measures is a weighted mean. Fieller: the true ratio r makes sum - r * count pure
             noise. With a public size n (replace, whole table, one sure row per unit): the sum's sensitivity over n.
    Assumes: the argument has bounds.
    """

    name: ClassVar[str] = "avg"
    spoken: ClassVar[str] = "AVG(x)"

    def type(self, call: AggregateCall) -> Type:
        return Type.DOUBLE

    def measures(self, call: AggregateCall, setting: Setting) -> tuple[Measure, ...]:
        argument = call.argument
        assert argument is not None
        if setting.fixed_size is not None and not argument.facts.nullable:
            term = sum_term(argument, setting.rows)
            return (capped("avg", replace(term, unit=term.unit / setting.fixed_size), setting),)
        count = capped("count", count_term(argument), setting)
        return count, capped("sum", sum_term(argument, setting.rows, centred=True), setting, paired=True)

    def finish(self, served: tuple[Served, ...], call: AggregateCall, setting: Setting, level: float) -> Estimate:
        argument = call.argument
        noisy = sums(served)
        assert argument is not None
        bounds = bounded(argument)
        lo = float(bounds.lo)
        hi = float(bounds.hi)
        if len(noisy) == 1:
            half = noisy[0].half_width(level)
            ends = (noisy[0].values - half, noisy[0].values + half)
            return Estimate(np.clip(noisy[0].values, lo, hi), np.clip(ends[0], lo, hi), np.clip(ends[1], lo, hi))
        count, total = noisy
        term = sum_term(argument, setting.rows, centred=True)
        assert term.grid is not None
        centre = float(term.grid.centre * term.unit)
        limit = float(term.magnitude * term.unit)
        low, high = ratio(total.values, count.values, (total.noise, count.noise), limit, level, gaussian=total.gaussian)
        value = np.clip(np.clip(drawn_in(total, count.values, limit), -limit, limit), low, high)
        exact = term.grid.step == argument.facts.step  # values lie on the grid, else each row was rounded to it
        step = 0.0 if exact else float(term.unit) / 2
        return Estimate(*(np.clip(x + centre, lo, hi) for x in (value, low - step, high + step)))


def drawn_in(total: Noisy, count: Floats, limit: float) -> Floats:
    """The centred mean total / count, drawn towards the middle of the bounds where noise would drown it.

    Claim:   the least mean squared error of all multiples of the total, for means that are evenly spread within their
             bounds.
    Proof:   let the total be r c + e, with r of variance limit**2 / 3 and e of variance s**2, independent. The best
             multiple of the total for r is cov(r, total) / var(total) = c limit**2 / 3 / (c**2 limit**2 / 3 + s**2).
    Assumes: the noisy count stands for c. Where c is large against 3 s / limit this is total / c; without noise it is.
    """
    deviation = total.mechanism.stddev() * total.unit
    ridge = 3 * (deviation / limit) ** 2 if limit > 0 else 0.0
    people = np.maximum(count, 0.0)
    found: Floats = total.values * people / np.maximum(people**2 + ridge, 1.0)
    return found
