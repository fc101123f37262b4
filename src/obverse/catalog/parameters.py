"""Epsilon, delta and other declared numbers: read exactly, refused outside their range, alike by all faces."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from obverse.core.errors import Refused
from obverse.core.numbers import exact

EPSILON_MIN = Fraction(1, 10**9)
EPSILON_MAX = Fraction(100)
EPSILON_WORDS = "a number between 1e-9 and 100"
DELTA_WORDS = "a number at least 0 and below 1"


def epsilon(number: object, name: str = "epsilon") -> Fraction:
    """The epsilon of a question or a budget, between 1e-9 and 100; 0.1 is exactly one tenth."""
    value = _number(number, name, EPSILON_WORDS)
    if not EPSILON_MIN <= value <= EPSILON_MAX:
        raise _refused(name, EPSILON_WORDS, "Below, noise drowns every answer; above, nothing is protected.")
    return value


def delta(number: object, name: str = "delta") -> Fraction:
    """The delta of a question or a budget, at least 0 and below 1."""
    value = _number(number, name, DELTA_WORDS)
    if not 0 <= value < 1 or _negative_zero(number):
        raise _refused(name, DELTA_WORDS, "It is a probability, and should be far below one over the units.")
    return value


def positive(number: object, name: str) -> Fraction:
    """A number above zero."""
    value = _number(number, name, "a number above 0")
    if value <= 0:
        raise _refused(name, "a number above 0", "")
    return value


def _number(number: object, name: str, expected: str) -> Fraction:
    if isinstance(number, bool) or not isinstance(number, (int, float, Decimal, Fraction)):
        raise _refused(name, expected, "Text, booleans and lists are not numbers.")
    try:
        return exact(number)
    except Refused:
        raise _refused(name, expected, "Not-a-number and infinity are not numbers here.") from None


def _negative_zero(number: object) -> bool:
    return isinstance(number, (float, Decimal)) and str(number).startswith("-")


def _refused(name: str, expected: str, why: str) -> Refused:
    example = "1e-8" if expected == DELTA_WORDS else "0.1"
    return Refused(
        "bad_parameter", f"{name} must be {expected}", why=why, fix=f"Write {expected}, for example {example}."
    )
