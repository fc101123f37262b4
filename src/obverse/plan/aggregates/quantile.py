"""MEDIAN, QUANTILE_CONT, QUANTILE_DISC, MIN and MAX: places in a tree of noisy counts."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor

import numpy as np

from obverse.core.errors import Refused, invariant
from obverse.core.types import Type
from obverse.plan.aggregates.base import Estimate, Places, Served, Setting, capped
from obverse.plan.expressions import number_bounds
from obverse.plan.measures import Measure, ordered_bounds, tree_term
from obverse.plan.query import AggregateCall

WHOLE_MAX = 1 << 53  # whole numbers that a double holds; places among larger ones are doubles


@dataclass(frozen=True, slots=True)
class Quantile:
    """An order statistic of a bounded number, date or timestamp.

    Claim:   the tree's noise covers it, several of one argument share one tree; the interval holds the statistic of the
             bounded values with at least the stated level; it and the value lie within the bounds.
    Proof:   every node of every level is a noised count (quantile_nodes); the descent and the interval are
             post-processing (quantile_tree). A leaf's values are told by its middle: half a leaf is added to the
             interval, and half a step where values are rounded to the grid (rounding keeps their order). The statistic
             lies within the bounds, so what sticks out may be cut off.
    Assumes: the argument has bounds.
    """

    name: str
    spoken: str

    def type(self, call: AggregateCall) -> Type:
        assert call.argument is not None
        kind = call.argument.facts.type
        bounds = number_bounds(call.argument.facts) if kind is Type.INTEGER else None
        wide = bounds is not None and bounds.magnitude > WHOLE_MAX
        return Type.DOUBLE if (self.interpolates and kind.numeric) or wide else kind

    @property
    def interpolates(self) -> bool:
        return self.name in ("median", "quantile_cont")

    def measures(self, call: AggregateCall, setting: Setting) -> tuple[Measure, ...]:
        assert call.argument is not None
        try:
            return (capped("tree", tree_term(call.argument), setting),)
        except Refused as refused:
            refused.message = (
                f"the sensitivity of {self.spoken} is unbounded here: its argument has no bounds on both sides."
            )
            raise

    def finish(self, served: tuple[Served, ...], call: AggregateCall, setting: Setting, level: float) -> Estimate:
        (places,) = served
        invariant(isinstance(places, Places), "an order statistic is served by a tree")
        assert isinstance(places, Places)
        assert call.argument is not None
        leaves = tree_term(call.argument).leaves
        bounds = ordered_bounds(call.argument)
        facts = call.argument.facts
        assert leaves is not None
        step = float(leaves.step)
        start = step * leaves.first
        scale = step * 2**leaves.shift
        width = step * (2**leaves.shift - 1)
        rounded = 0.0 if leaves.step == facts.step or not facts.type.numeric else step / 2
        lo, hi = (
            (float(bounds.lo), float(bounds.hi)) if facts.type is Type.DOUBLE else (ceil(bounds.lo), floor(bounds.hi))
        )
        value, low, high = (start + scale * np.asarray(x) for x in (places.value, places.low, places.high))
        ends = value + width / 2, low - rounded, high + width + rounded
        return Estimate(*(np.clip(x, lo, max(lo, hi)) for x in ends))


QUANTILES = (
    Quantile("median", "MEDIAN(x)"),
    Quantile("quantile_cont", "QUANTILE_CONT(x, q), PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x)"),
    Quantile("percentile_disc", "QUANTILE_DISC(x, q), PERCENTILE_DISC(q) WITHIN GROUP (ORDER BY x)"),
    Quantile("min", "MIN(x)"),
    Quantile("max", "MAX(x)"),
)
