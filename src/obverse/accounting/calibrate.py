"""The least epsilon for a target error: a monotone search on rationals."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from obverse.accounting.directed import digits_up
from obverse.core.errors import Refused

EPSILON_LEAST = Fraction(1, 10**9)
EPSILON_MOST = Fraction(1000)


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
    low = EPSILON_LEAST
    high = EPSILON_MOST
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
