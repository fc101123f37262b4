"""MODE(x): a private choice among public values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from obverse.core.errors import Refused, invariant
from obverse.core.types import Type
from obverse.plan.aggregates.base import Estimate, Places, Served, Setting, capped
from obverse.plan.expressions import domain
from obverse.plan.measures import Measure, choice_term
from obverse.plan.query import AggregateCall

VALUES_MAX = 10_000
SCORES_MAX = 1 << 26


@dataclass(frozen=True, slots=True)
class Mode:
    """The most frequent of the argument's public values, chosen by the exponential mechanism.

    Claim:   each cell's choice is one value; together they cost the measure's share of the price.
    Proof:   a value's score is its weighted count. A unit's weights add up to at most the cap over all cells and
             values, so the ranges by which the scores of one cell move add up too (allocate).
    Assumes: the argument's values are a public list.
    """

    name: ClassVar[str] = "mode"
    spoken: ClassVar[str] = "MODE(x)"

    def type(self, call: AggregateCall) -> Type:
        assert call.argument is not None
        return call.argument.facts.type

    def measures(self, call: AggregateCall, setting: Setting) -> tuple[Measure, ...]:
        assert call.argument is not None
        values = domain(call.argument.facts, VALUES_MAX)
        if not values:
            raise Refused(
                "keys_not_public",
                "the values that it could be are not a public list.",
                why="a private choice is made among values that everybody knows.",
                fix="declare `values` for the column in obverse.toml, or choose by CASE with literals.",
            )
        if setting.cells * len(values) > SCORES_MAX:
            raise Refused(
                "too_complex",
                f"{setting.cells:,} groups with {len(values):,} values each are too many to choose from.",
                why="every value has a score in every group.",
                fix="group by fewer or coarser keys.",
            )
        return (capped("choice", choice_term(call.argument, len(values)), setting),)

    def finish(self, served: tuple[Served, ...], call: AggregateCall, setting: Setting, level: float) -> Estimate:
        (places,) = served
        invariant(isinstance(places, Places), "a choice is served by scores")
        assert isinstance(places, Places)
        return Estimate(places.value, places.low, places.high)
