"""Logarithm and exponential as rationals on a stated side of the truth; 50 digits inside, so the sides nearly touch."""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from obverse.core.errors import invariant

DIGITS = 50
SHOWN_DIGITS = 25
_CONTEXT = Context(prec=DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN)
# Decimal's ln and exp are correctly rounded, the argument's division costs half a unit more; ten digits are given away.
_SLACK = Fraction(1, 10 ** (DIGITS - 10))
_EXPONENT_MAX = 10**8  # beyond it the argument's own rounding would eat the slack


def ln_up(number: Fraction) -> Fraction:
    """A rational not below ln(number)."""
    near = Fraction(_ln(number))
    return near + _SLACK * (1 + abs(near))


def ln_down(number: Fraction) -> Fraction:
    """A rational not above ln(number)."""
    near = Fraction(_ln(number))
    return near - _SLACK * (1 + abs(near))


def exp_up(number: Fraction) -> Fraction:
    """A rational not below e**number."""
    return Fraction(_exp(number)) * (1 + _SLACK)


def exp_down(number: Fraction) -> Fraction:
    """A rational not above e**number."""
    return Fraction(_exp(number)) * (1 - _SLACK)


def digits_up(number: Fraction, digits: int = SHOWN_DIGITS) -> Fraction:
    """The number rounded up to so many significant decimal digits."""
    return Fraction(Context(prec=digits, rounding=ROUND_CEILING).divide(number.numerator, number.denominator))


def digits_down(number: Fraction, digits: int = SHOWN_DIGITS) -> Fraction:
    """The number rounded down to so many significant decimal digits."""
    return Fraction(Context(prec=digits, rounding=ROUND_FLOOR).divide(number.numerator, number.denominator))


def _ln(number: Fraction) -> Decimal:
    invariant(number > 0, "logarithm of a number that is not positive")
    return _CONTEXT.ln(_CONTEXT.divide(number.numerator, number.denominator))


def _exp(number: Fraction) -> Decimal:
    invariant(abs(number) <= _EXPONENT_MAX, "exponent out of range")
    return _CONTEXT.exp(_CONTEXT.divide(number.numerator, number.denominator))
