"""How wrong an answer would be at many prices, here and if everybody randomized their own answer; nothing is read or spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any

from obverse.collect.choose import deviation
from obverse.collect.protocols import Direct, Unary
from obverse.core.errors import Refused
from obverse.core.numbers import exact
from obverse.session.planning import Number
from obverse.session.session import Session

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
    """The names of the measures, and a point for each price. The local model is that of one count of `people`, of whom each
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
