"""Rigorous bounds: checked against an independent series in fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.core.errors import InvariantBroken
from obverse.mechanisms.enclosures import PI, exp_minus, exp_minus_scaled, exp_plus, log_up, quotient, sqrt_of

LIGHT = settings(deadline=None, max_examples=40)
GAMMAS = st.fractions(min_value=0, max_value=30, max_denominator=10**9)


def series(gamma: Fraction, terms: int = 200) -> Fraction:
    """exp(gamma) from below, within the last term."""
    total = term = Fraction(1)
    for k in range(1, terms):
        term = term * gamma / k
        total += term
    return total


@LIGHT
@given(gamma=st.fractions(min_value=0, max_value=8, max_denominator=20))
def test_an_exponential_lies_within_its_bounds(gamma: Fraction) -> None:
    low, high = exp_plus(gamma, 100)
    assert low <= series(gamma) + Fraction(1, 2**150)
    assert series(gamma) <= high
    assert high - low <= high / 2**95


@LIGHT
@given(gamma=GAMMAS, bits=st.integers(8, 200))
def test_bounds_get_tighter_with_bits(gamma: Fraction, bits: int) -> None:
    low, high = exp_minus_scaled(gamma, bits)
    finer_low, finer_high = exp_minus_scaled(gamma, bits + 64)
    assert low << 64 <= finer_high
    assert finer_low <= high << 64
    assert 0 <= high - low <= 2
    assert math.isclose(high / 2**bits, math.exp(-gamma), abs_tol=2.0**-48 + 2.0 ** (1 - bits))


def test_exp_of_zero_is_exact_and_of_a_giant_next_to_nothing() -> None:
    assert exp_minus_scaled(Fraction(0), 64) == (2**64, 2**64)
    assert exp_minus_scaled(Fraction(10**9), 64) == (0, 1)
    low, high = exp_minus(Fraction(10**9))
    assert low == 0 < high < Fraction(1, 2**1000)


@LIGHT
@given(ratio=st.fractions(min_value=1, max_value=10**6, max_denominator=10**6))
def test_a_logarithm_is_rounded_up_and_hardly(ratio: Fraction) -> None:
    bound = log_up(ratio)
    assert exp_plus(bound)[1] >= ratio
    assert float(bound) - math.log(ratio) <= 2.0**-44


def test_ln_3_is_just_above_itself() -> None:
    truth = Fraction("1.098612288668109691395245236922525704647490557822749451734694333")
    assert 0 <= log_up(Fraction(3)) - truth < 2.0**-44
    assert log_up(Fraction(1)) == 0


def test_pi_lies_within_its_bounds() -> None:
    machin = Fraction(0)
    for k in range(60):
        sign = -1 if k % 2 else 1
        machin += sign * (Fraction(16, (2 * k + 1) * 5 ** (2 * k + 1)) - Fraction(4, (2 * k + 1) * 239 ** (2 * k + 1)))
    assert PI[0] < machin < PI[1]


def test_quotients_and_roots_go_outward() -> None:
    assert quotient((Fraction(1), Fraction(2)), (Fraction(3), Fraction(4))) == (Fraction(1, 4), Fraction(2, 3))
    low, high = sqrt_of((Fraction(2), Fraction(2)), 40)
    assert low**2 < 2 < high**2


def test_what_has_no_meaning_is_refused() -> None:
    for call in (lambda: exp_minus(Fraction(-1)), lambda: log_up(Fraction(1, 2))):
        with pytest.raises(InvariantBroken):
            call()
