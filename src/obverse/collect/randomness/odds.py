"""Probabilities of the local model: whole numbers of 2**53, so that every language flips the same coins.

Epsilon is computed from these integers and rounded up; no protocol ever sees a probability that was typed or rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from obverse.core.errors import Refused, invariant
from obverse.mechanisms.enclosures import exp_minus, log_up

BITS = 53
ONE = 1 << BITS
HALF = ONE >> 1
EPSILON_MIN, EPSILON_MAX = Fraction(1, 1000), Fraction(20)


def share(odds: int) -> Fraction:
    return Fraction(odds, ONE)


def epsilon_of(ratio: Fraction) -> Fraction:
    """The loss of a report whose probabilities differ by at most this ratio; rounded up."""
    return log_up(max(ratio, 1 / ratio))


def most_odds(guess: Fraction, fits: Callable[[int], bool]) -> int:
    """The largest odds that fit, found from a guess within a few steps of it.

    Assumes: whatever is below fitting odds fits.
    """
    odds = min(max(round(guess * ONE), 1), ONE - 1)
    while odds < ONE - 1 and fits(odds + 1):
        odds += 1
    while odds > 1 and not fits(odds):
        odds -= 1
    invariant(fits(odds), "some odds fit every epsilon that is allowed")
    return odds


def exp_down(epsilon: Fraction) -> Fraction:
    """e**epsilon, rounded down."""
    return 1 / exp_minus(epsilon)[1]


def sway(own: Fraction, other: Fraction) -> float:
    """By how much of a person one crafted report can move an item's number of people, up or down.

    Claim:   with own the chance that a report supports one's own item, other that of another one, the larger of 1 - other and
             own, divided by own - other.
    Proof:   a report that supports an item counts (1 - other) / (own - other) for it, another one -other / (own - other). Who
             crafts it would have counted 0 or 1 on average: from 0 up it is the first, from 1 down one more than the second.
    Assumes: own > other.
    """
    return float(max(1 - other, own) / (own - other))


def check_epsilon(epsilon: Fraction) -> None:
    if not EPSILON_MIN <= epsilon <= EPSILON_MAX:
        raise Refused(
            "bad_parameter",
            "the epsilon of a report lies between 0.001 and 20.",
            why="below, a report tells next to nothing; above, it tells nearly all, and nobody should send it.",
            fix="Choose an epsilon such as 1 or 2.",
        )
