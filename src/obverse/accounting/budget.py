"""Budgets as filters: a debit is taken exactly when what is spent plus the debit still fits under the cap.

A filter, not an odometer: the promise is the cap, fixed before the first question, so it holds however adaptively
the questions are chosen (pure: sums of epsilon and delta; zcdp: Whitehouse, Ramdas, Rogers and Wu 2023).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import assert_never

from obverse.accounting import pure, zcdp
from obverse.accounting.directed import digits_down, digits_up
from obverse.core.errors import invariant
from obverse.core.ledger import Accounting, Budget, Cap, Spent
from obverse.core.loss import Loss
from obverse.core.numbers import plain

GRID = 10**36 * math.lcm(*range(1, 41))
"""Counted losses are multiples of 1/GRID, rounded up, so that sums of odd fractions cannot grow without end.

Decimals of up to 36 places, and thirds, sevenths and the like, are met exactly: ten debits of 0.1 fit into 1.
"""


def cap_of(budget: Budget, accounting: Accounting) -> Cap:
    """The cap that keeps a declared (epsilon, delta). Under zcdp half of delta pays for turning rho into epsilon."""
    match accounting:
        case "pure":
            return Cap("pure", budget.epsilon, budget.delta)
        case "zcdp":
            return Cap("zcdp", zcdp.rho_for(budget.epsilon, budget.delta / 2), budget.delta / 2)
        case _:
            assert_never(accounting)


def cap_within(budget: Budget, whole: Budget, accounting: Accounting) -> Cap:
    """The cap of one analyst or purpose; where no delta is declared, the dataset's own is the only limit on it."""
    return cap_of(Budget(budget.epsilon, budget.delta or whole.delta), accounting)


def tighter(cap: Cap, other: Cap) -> Cap:
    """The cap that holds exactly when both hold."""
    invariant(cap.accounting == other.accounting, "epsilon and rho are not compared")
    return Cap(cap.accounting, min(cap.amount, other.amount), min(cap.delta, other.delta))


def count(loss: Loss, accounting: Accounting) -> Spent:
    """What a loss is charged as: its exact total, rounded up to the grid."""
    amount, delta = pure.total(loss) if accounting == "pure" else zcdp.total(loss)
    return Spent(accounting, _on_grid(amount), _on_grid(delta))


def fits(cap: Cap, spent: Spent, charge: Spent) -> bool:
    """Whether the debit may be taken; exact."""
    after = spent.plus(charge)
    invariant(cap.accounting == after.accounting, "epsilon and rho are not compared")
    return after.amount <= cap.amount and after.delta <= cap.delta


def remaining(cap: Cap, spent: Spent) -> Spent:
    """What is left; nothing is left when the cap was lowered below what is spent."""
    invariant(cap.accounting == spent.accounting, "epsilon and rho are not compared")
    zero = Fraction(0)
    return Spent(cap.accounting, max(zero, cap.amount - spent.amount), max(zero, cap.delta - spent.delta))


def share(charge: Spent, cap: Cap) -> Fraction:
    """The part of the whole cap that a debit takes, in whichever of its two numbers it takes more of."""
    invariant(cap.accounting == charge.accounting, "epsilon and rho are not compared")
    parts = [_part(charge.amount, cap.amount), _part(charge.delta, cap.delta)]
    return max(parts)


def like_this(charge: Spent, spent: Spent, cap: Cap) -> int | None:
    """How many more such questions fit; None when they are free."""
    left = remaining(cap, spent)
    if not fits(cap, spent, Spent(cap.accounting)):
        return 0
    pairs = [(left.amount, charge.amount), (left.delta, charge.delta)]
    times = [have // need for have, need in pairs if need > 0]
    return min(times) if times else None


def words(spent: Spent) -> str:
    """A price for people, rounded up."""
    name = "epsilon" if spent.accounting == "pure" else "rho"
    delta = f" and delta {plain(digits_up(spent.delta, 6))}" if spent.delta else ""
    return f"{name} {plain(digits_up(spent.amount, 6))}{delta}"


def words_left(spent: Spent) -> str:
    """What is left, for people, rounded down."""
    name = "epsilon" if spent.accounting == "pure" else "rho"
    return f"{name} {plain(digits_down(spent.amount, 6))} and delta {plain(digits_down(spent.delta, 6))}"


def _part(charge: Fraction, cap: Fraction) -> Fraction:
    if charge == 0:
        return Fraction(0)
    return charge / cap if cap > 0 else Fraction(1)


def _on_grid(number: Fraction) -> Fraction:
    return number if GRID % number.denominator == 0 else Fraction(math.ceil(number * GRID), GRID)
