"""COUNT(*) and COUNT(x)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from obverse.core.types import Type
from obverse.plan.aggregates.base import Estimate, Served, Setting, capped, counted
from obverse.plan.measures import Measure, count_term
from obverse.plan.query import AggregateCall


@dataclass(frozen=True, slots=True)
class Count:
    """The number of rows, or of rows whose argument is not NULL.

    Claim:   one noised measure; the interval holds the bounded count with at least the stated level.
    Proof:   each row adds 1, each unit at most its cap (rules/aggregate); the interval is the mechanism's own, widened
             to whole numbers where weights left fractions.
    Assumes: units are limited to `rows` rows.
    """

    name: ClassVar[str] = "count"
    spoken: ClassVar[str] = "COUNT(*), COUNT(x)"

    def type(self, call: AggregateCall) -> Type:
        return Type.INTEGER

    def measures(self, call: AggregateCall, setting: Setting) -> tuple[Measure, ...]:
        return (capped("count", count_term(call.argument), setting),)

    def finish(self, served: tuple[Served, ...], call: AggregateCall, setting: Setting, level: float) -> Estimate:
        return counted(served, level)
