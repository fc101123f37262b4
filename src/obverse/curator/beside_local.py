"""The same number without a trusted curator: what people's own randomized answers would tell, at the same epsilon."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

from obverse.catalog.model import Survey
from obverse.collect.choose import chosen
from obverse.core.errors import Refused
from obverse.mechanisms.base import Additive
from obverse.plan.allocate import CostedPlan
from obverse.plan.nodes import Shape

PEOPLE = 10_000  # where nobody said how many there are
STEPS = 100  # places of a number between its bounds
OPTIONS_MAX = 10_000


def local_widths(costed: CostedPlan, epsilon: Fraction, people: int) -> tuple[float, float] | tuple[()]:
    """Half of the noise interval if each of so many people randomized an answer; and the people that the central error takes.

    Only for one count of people, or one sum of a bounded number, each person with one row: anything else has no such twin.
    """
    setting = costed.annotated.limited.setting
    if len(costed.measures) != 1 or setting.shape not in (Shape.ROW, Shape.ONE) or setting.rows != 1 or setting.discovered:
        return ()
    (measure,), (mechanism,) = costed.measures, costed.mechanisms
    if not isinstance(mechanism, Additive) or setting.cells > OPTIONS_MAX:
        return ()
    grid = measure.term.grid
    if measure.term.kind == "sum" and grid is not None and setting.cells == 1:
        size = float((grid.last - grid.first) * grid.step)
        bounds: tuple[Fraction, Fraction] | None = (Fraction(0), Fraction(STEPS))
    elif measure.term.kind == "count":
        size, bounds = 1.0, None
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
