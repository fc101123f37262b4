"""The least noise for a target loss, and the least epsilon for a target error: monotone searches on rationals."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from obverse.accounting.budget import count
from obverse.accounting.directed import digits_up
from obverse.core.errors import Refused, invariant
from obverse.core.ledger import Spent
from obverse.core.loss import Loss

_DOUBLINGS = 256
EPSILON_LEAST, EPSILON_MOST = Fraction(1, 10**9), Fraction(1000)


def least_noise(
    target: Spent, loss_at: Callable[[Fraction], Loss], *, start: Fraction = Fraction(1), bits: int = 30
) -> Fraction:
    """The least noise scale whose loss is within the target: it always is, and is least up to 2**-bits of itself.

    Assumes: a larger scale never loses more. Of all scales that serve, the one with the shortest fraction is taken.
    """
    invariant(start > 0, "a noise scale is positive")

    def serves(scale: Fraction) -> bool:
        charge = count(loss_at(scale), target.accounting)
        return charge.amount <= target.amount and charge.delta <= target.delta

    low, high = _bracket(serves, start)
    if low == 0:
        return high
    while high - low > high / 2**bits:
        middle = (low + high) / 2
        low, high = (low, middle) if serves(middle) else (middle, high)
    short = _shortest_between(low, high)
    return short if serves(short) else high


def least_epsilon(target_half_width: Fraction, half_width_at: Callable[[Fraction], Fraction | float]) -> Fraction:
    """The least epsilon, rounded up to six digits, at which the error's half-width is within the target.

    Assumes: a larger epsilon never errs more, and the half-width does not depend on the data.
    """
    if target_half_width <= 0:
        raise Refused("bad_parameter", "the error to stay within must be positive", fix="Write a width such as 50.")

    def serves(epsilon: Fraction) -> bool:
        return Fraction(half_width_at(epsilon)) <= target_half_width

    if not serves(EPSILON_MOST):
        raise Refused(
            "error_out_of_reach",
            "no epsilon up to 1000 brings the error within the wish",
            why="rounding to the grid, or the noise's own grid, is already wider",
            fix="Ask for a wider error, or declare a finer grid.",
        )
    low, high = EPSILON_LEAST, EPSILON_MOST
    if serves(low):
        return low
    while high - low > high / 10**8:
        middle = (low + high) / 2
        low, high = (low, middle) if serves(middle) else (middle, high)
    for digits in range(1, 7):  # the shortest decimal that the search cannot tell from its result
        rounded = digits_up(low, digits)
        if low < rounded <= high and serves(rounded):
            return rounded
    rounded = digits_up(high, 6)
    return rounded if serves(rounded) else high


def _bracket(serves: Callable[[Fraction], bool], start: Fraction) -> tuple[Fraction, Fraction]:
    """(low, high) within a factor of two, where high serves and low does not; low is 0 when everything serves."""
    scale = start
    if serves(scale):
        for _ in range(_DOUBLINGS):
            if not serves(scale / 2):
                return scale / 2, scale
            scale /= 2
        return Fraction(0), scale
    for _ in range(_DOUBLINGS):
        scale *= 2
        if serves(scale):
            return scale / 2, scale
    raise Refused(
        "loss_out_of_reach",
        "no amount of noise brings the loss within the target",
        why="a part of the loss (such as a threshold's delta) does not shrink with the noise",
        fix="Allow a larger epsilon or delta for this question.",
    )


def _shortest_between(low: Fraction, high: Fraction) -> Fraction:
    """The fraction with the least denominator in (low, high], by continued fractions."""
    whole = low.numerator // low.denominator
    if whole + 1 <= high:
        return Fraction(whole + 1)
    rest_low, rest_high = low - whole, high - whole
    if rest_low == 0:
        return whole + Fraction(1, -(-rest_high.denominator // rest_high.numerator))
    return whole + 1 / _shortest_from(1 / rest_high, 1 / rest_low)


def _shortest_from(low: Fraction, high: Fraction) -> Fraction:
    """The fraction with the least denominator in [low, high)."""
    whole = -(-low.numerator // low.denominator)
    if whole < high:
        return Fraction(whole)
    base = low.numerator // low.denominator
    return base + 1 / _shortest_between(1 / (high - base), 1 / (low - base))
