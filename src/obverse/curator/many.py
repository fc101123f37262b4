"""Once against many: the noise of each of so many questions that share the whole budget, as pure and as zcdp counts them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from obverse.accounting import budget as budgets
from obverse.accounting import zcdp
from obverse.catalog.model import Accounting, Catalog
from obverse.catalog.parameters import EPSILON_MAX, EPSILON_MIN
from obverse.core.ledger import Spent
from obverse.session.planning import Planned

TIMES = (1, 10, 100, 1000)
USUAL_DELTA = Fraction(1, 10**8)
TRIES = 60  # each takes a millionth off; what rounding moves is far less
Widths = tuple[float, ...]


def many_times(
    planned: Callable[..., Planned | None], catalog: Catalog, times: tuple[int, ...], widths: Callable[[Planned], Widths]
) -> dict[Accounting, list[Widths | None]]:
    """For each way of counting that the budget allows: what each of so many questions would have as noise."""
    kinds: tuple[Accounting, ...] = ("pure", "zcdp") if catalog.budget.delta > 0 else ("pure",)
    return {kind: [_each(planned, replace(catalog, accounting=kind), k, widths) for k in times] for kind in kinds}


def _each(
    planned: Callable[..., Planned | None], catalog: Catalog, times: int, widths: Callable[[Planned], Widths]
) -> Widths | None:
    """The largest epsilon of one question such that so many fit, and its noise; None where there is none."""
    cap = budgets.cap_of(catalog.budget, catalog.accounting)
    delta = min(catalog.delta or USUAL_DELTA, catalog.budget.delta / times)
    epsilon = cap.amount / times
    if catalog.accounting == "zcdp":
        epsilon = zcdp.epsilon_of(cap.amount / times, delta)
    epsilon = min(epsilon, EPSILON_MAX)
    for _ in range(TRIES):
        found = planned(epsilon, delta, catalog) if epsilon >= EPSILON_MIN else None
        if found is None:
            return None
        fit = budgets.like_this(budgets.count(found.loss, catalog.accounting), Spent(catalog.accounting), cap)
        if fit is not None and fit >= times:
            return widths(found)
        epsilon *= 1 - Fraction(1, 10**6)
    return None
