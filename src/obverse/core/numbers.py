"""Exact numbers and directed rounding: whatever is a privacy quantity is rounded against us, visibly."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal, InvalidOperation
from fractions import Fraction

from obverse.core.errors import Refused, invariant

SQRT_BITS = 64


def exact(number: int | str | float | Decimal | Fraction) -> Fraction:
    """The number as its decimal text says it: 0.1 is one tenth, not the nearest double."""
    if isinstance(number, bool):
        raise Refused("bad_parameter", "expected a number, got a boolean", fix="Write a number such as 0.1.")
    if isinstance(number, float):
        if not math.isfinite(number):
            raise Refused("bad_parameter", f"{number} is not a finite number", fix="Write a number such as 0.1.")
        return Fraction(repr(number))
    if isinstance(number, (int, Fraction)):
        return Fraction(number)
    try:
        decimal = Decimal(number)
    except (InvalidOperation, ValueError, TypeError):
        raise Refused("bad_parameter", "expected a number", fix="Write a number such as 0.1.") from None
    if not decimal.is_finite() or abs(decimal.adjusted()) > 400:
        raise Refused("bad_parameter", "expected a finite number", fix="Write a number such as 0.1.")
    return Fraction(decimal)


def up(number: Fraction) -> float:
    """The least double that is not below the number."""
    near = float(number)
    return near if Fraction(near) >= number else math.nextafter(near, math.inf)


def down(number: Fraction) -> float:
    """The largest double that is not above the number."""
    near = float(number)
    return near if Fraction(near) <= number else math.nextafter(near, -math.inf)


def sqrt_up(number: Fraction | int, bits: int = SQRT_BITS) -> Fraction:
    """A rational not below the square root, within 2**-bits of it; exact for perfect squares."""
    number = Fraction(number)
    invariant(number >= 0, "square root of a negative number")
    scaled = number.numerator * number.denominator << (2 * bits)
    root = math.isqrt(scaled)
    if root * root < scaled:
        root += 1
    return Fraction(root, number.denominator << bits)


def sqrt_down(number: Fraction | int, bits: int = SQRT_BITS) -> Fraction:
    """A rational not above the square root, within 2**-bits of it; exact for perfect squares."""
    number = Fraction(number)
    invariant(number >= 0, "square root of a negative number")
    return Fraction(math.isqrt(number.numerator * number.denominator << (2 * bits)), number.denominator << bits)


def log2_ceil(number: Fraction | int) -> int:
    """The least k with number <= 2**k."""
    number = Fraction(number)
    invariant(number > 0, "logarithm of a number that is not positive")
    k = number.numerator.bit_length() - number.denominator.bit_length() - 1
    while Fraction(2) ** k < number:
        k += 1
    return k


def plain(number: Fraction | int, digits: int = 6) -> str:
    """The number for people: exact when short, else rounded up in its last digit."""
    number = Fraction(number)
    if number == 0:
        return "0"
    rounding = Context(prec=digits, rounding=ROUND_CEILING)
    shown = rounding.divide(Decimal(number.numerator), Decimal(number.denominator)).normalize(rounding)
    return format(shown, "f") if abs(shown.adjusted()) < 7 else f"{shown:e}".replace("e+", "e")


def several(number: int, what: str) -> str:
    """1 row, 2 rows."""
    return f"{number} {what}{'' if number == 1 else 's'}"
