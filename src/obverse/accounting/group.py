"""What a loss about one unit is worth about several units that one person stands behind."""

from __future__ import annotations

import math
from fractions import Fraction

from obverse.core.ledger import Spent

EXPONENT_MAX = 700.0
LIBRARY = Fraction(1, 2**40)  # how far an exponential may be below the exact one, relatively


def grouped(spent: Spent, units: int) -> Spent:
    """The loss about so many units at once.

    Claim:   a mechanism that keeps the loss about each unit keeps the returned one about any `units` of them together.
    Proof:   group privacy. Between two databases that differ in k units lie k - 1 others, each one unit from the next. For
             (epsilon, delta) the steps compose to k epsilon, and to the sum of e^(i epsilon) delta for i below k, which is at
             most k e^((k - 1) epsilon) delta; for rho they compose to k squared rho (Bun and Steinke 2016, proposition 27).
    Assumes: nothing; where delta is above 0 under rho, no bound on it is told but 1.
    """
    if units == 1:
        return spent
    pure = spent.accounting == "pure"
    exponent = (units - 1) * float(spent.amount)
    delta = Fraction(1 if spent.delta else 0)
    if pure and exponent < EXPONENT_MAX:
        delta = min(delta, units * spent.delta * Fraction(math.exp(exponent)) * (1 + LIBRARY))
    return Spent(spent.accounting, spent.amount * (units if pure else units**2), delta)
