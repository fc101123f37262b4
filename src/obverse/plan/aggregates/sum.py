"""SUM(x)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from obverse.core.types import Type
from obverse.plan.aggregates.base import Estimate, Served, Setting, capped, sums
from obverse.plan.expressions import Ref, number_bounds
from obverse.plan.measures import Measure, sum_term
from obverse.plan.query import AggregateCall

WHOLE_MAX = 1 << 31


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of a bounded number.

    Claim:   one noised measure of integers on the argument's grid; the interval holds the bounded sum with at least the
             stated level.
    Proof:   each row adds an integer within the grid's ends, each unit at most its cap (rules/aggregate); integers add
             up exactly, in any order.
    Assumes: the argument has bounds; values lie on the declared grid (else each row is rounded to it, see measure.py).
    """

    name: ClassVar[str] = "sum"
    spoken: ClassVar[str] = "SUM(x)"

    def type(self, call: AggregateCall) -> Type:
        """An integer while a billion rows of the largest magnitude fit 61 bits; sums of larger ones are doubles."""
        argument = call.argument
        if argument is None or argument.facts.type is not Type.INTEGER:
            return Type.DOUBLE
        bounds = number_bounds(argument.facts)
        return Type.INTEGER if bounds is not None and bounds.magnitude <= WHOLE_MAX else Type.DOUBLE

    def measures(self, call: AggregateCall, setting: Setting) -> tuple[Measure, ...]:
        argument = call.argument
        assert argument is not None
        most = argument.facts.sum_cap if isinstance(argument, Ref) else None
        return (capped("sum", sum_term(argument, setting.rows, most=most), setting, most=most),)

    def finish(self, served: tuple[Served, ...], call: AggregateCall, setting: Setting, level: float) -> Estimate:
        (total,) = sums(served)
        half = total.half_width(level)
        low = total.values - half
        high = total.values + half
        if self.type(call) is Type.INTEGER:
            return Estimate(np.rint(total.values), np.floor(low), np.ceil(high))
        return Estimate(total.values, low, high)
