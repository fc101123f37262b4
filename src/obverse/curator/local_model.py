"""How wrong an answer would be at many prices, here and if everybody randomized their own answer; nothing is read or
spent.

The same number without a trusted curator: what people's own randomized answers would tell, at the same epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any

from obverse.catalog.model import Survey
from obverse.collect.planning import chosen, deviation
from obverse.collect.protocols import Direct, Unary
from obverse.core.errors import Refused
from obverse.core.numbers import exact
from obverse.mechanisms.base import Additive
from obverse.plan.pricing import Plan
from obverse.plan.relation import Shape
from obverse.session.planning import Number
from obverse.session.session import Session

PEOPLE = 10_000  # where nobody said how many there are
STEPS = 100  # places of a number between its bounds
COMPARED_OPTIONS_MAX = 10_000


def local_widths(costed: Plan, epsilon: Fraction, people: int) -> tuple[float, float] | tuple[()]:
    """Half of the noise interval if each of so many people randomized an answer; and the people that the central error
    takes.

    Only for one count of people, or one sum of a bounded number, each person with one row: anything else has no such
    twin.
    """
    setting = costed.setting
    if (
        len(costed.measures) != 1
        or setting.shape not in (Shape.ROW, Shape.ONE)
        or setting.rows != 1
        or setting.discovered
    ):
        return ()
    (measure,) = costed.measures
    (mechanism,) = costed.mechanisms
    if not isinstance(mechanism, Additive) or setting.cells > COMPARED_OPTIONS_MAX:
        return ()
    grid = measure.term.grid
    if measure.term.kind == "sum" and grid is not None and setting.cells == 1:
        size = float((grid.last - grid.first) * grid.step)
        bounds: tuple[Fraction, Fraction] | None = (Fraction(0), Fraction(STEPS))
    elif measure.term.kind == "count":
        size = 1.0
        bounds = None
    else:
        return ()
    try:
        deviation = chosen(_survey(max(setting.cells, 2), bounds, epsilon, people)).deviation
    except Refused:  # so small an epsilon that no report can carry it
        return ()
    sigmas = NormalDist().inv_cdf((1 + costed.level) / 2)
    local = sigmas * deviation * size * people
    central = float(mechanism.interval(costed.level)) * float(measure.unit)
    return local, float(math.ceil(people * (local / central) ** 2))


def _survey(options: int, bounds: tuple[Fraction, Fraction] | None, epsilon: Fraction, people: int) -> Survey:
    return Survey(
        name="explored", question={}, options=() if bounds else tuple(map(str, range(options))), labels={}, none=None,
        bounds=bounds, step=None if bounds is None else Fraction(1), protocol="auto", epsilon=epsilon, permanent=None,
        people=people, reports=1, per_day=1, lifetime=epsilon, minimum=1, retention_days=1, purpose={}, consent={},
    )  # fmt: skip


POINTS_MAX = 12
PEOPLE_MAX = 10**9
LOCAL_MAX = Fraction(8)  # beyond it a report is hardly randomized at all
OPTIONS_MAX = 1024


@dataclass(frozen=True, slots=True)
class Point:
    """One price: the noise interval's half-width of each measure, and how many such questions are left."""

    epsilon: str
    widths: tuple[float | None, ...]
    like_this: int | None
    local: float | None  # the half-width of a count, in the local model

    def as_json(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "widths": list(self.widths), "like_this": self.like_this, "local": self.local}


def explored(
    session: Session, sql: str, epsilons: Sequence[Number], people: int, options: int, confidence: float = 0.95
) -> tuple[tuple[str, ...], tuple[Point, ...]]:
    """The names of the measures, and a point for each price. The local model is that of one count of `people`, of whom
    each
    picks one of `options` and randomizes it alone."""
    if not 1 <= len(epsilons) <= POINTS_MAX or not 1 <= people <= PEOPLE_MAX or not 2 <= options <= OPTIONS_MAX:
        raise Refused(
            "bad_parameter", "there are too many prices, people or options.",
            fix=f"Name at most {POINTS_MAX} prices, {PEOPLE_MAX:,} people, and from 2 to {OPTIONS_MAX} options.",
        )  # fmt: skip
    names: tuple[str, ...] = ()
    points = []
    for epsilon in epsilons:
        told = session.explain(sql, epsilon=epsilon, confidence=confidence)
        names = tuple(str(measure["name"]) for measure in told.measures)
        widths = tuple(None if m["half_width"] is None else float(m["half_width"]) for m in told.measures)
        left = None if told.remaining is None else told.remaining.like_this
        points.append(Point(told.price.epsilon, widths, left, local_width(exact(epsilon), people, options, confidence)))
    return names, tuple(points)


def local_width(epsilon: Fraction, people: int, options: int, confidence: float) -> float | None:
    """By how much a count is off, at that confidence, where the best of two plain protocols randomizes every answer."""
    if not 0 < epsilon <= LOCAL_MAX:
        return None
    errors = [deviation(made(options, epsilon), people) for made in (Direct.fitted, Unary.fitted)]
    return NormalDist().inv_cdf((1 + confidence) / 2) * people * min(errors)
