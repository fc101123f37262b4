"""Whether a loss is within the claim of a release: the epsilon and delta, and the neighbours, that its statement tells."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from obverse.accounting.zcdp import epsilon_of
from obverse.catalog.model import Accounting
from obverse.core.numbers import exact


def within_claim(
    claim: Mapping[str, Any], accounting: Accounting, neighbours: str, amount: Fraction, hidden: Fraction = Fraction(0)
) -> bool:
    """Of this epsilon, or rho, and of a delta that hides rare values; in exact fractions. Numbers of a claim are rounded up."""
    if claim["neighbours"] != neighbours:
        return False
    epsilon, delta = exact(claim["epsilon"]), exact(claim["delta"])
    if accounting == "pure":
        return amount <= epsilon and hidden <= delta
    return hidden < delta and epsilon_of(amount, delta - hidden) <= epsilon
