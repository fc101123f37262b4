"""What mechanisms share: search, rounding up, and the shape of a mechanism."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.core.errors import InvariantBroken
from obverse.mechanisms import MECHANISMS, Additive, DiscreteLaplace, RandomizedResponse
from obverse.mechanisms.base import least, outside, rounded_up

LIGHT = settings(deadline=None, max_examples=40)


@LIGHT
@given(answer=st.integers(0, 10**15), guess=st.integers(-10, 10**15))
def test_the_least_is_found_from_any_guess(answer: int, guess: int) -> None:
    assert least(lambda h: h >= answer, guess) == answer


@LIGHT
@given(number=st.fractions(min_value=Fraction(1, 2**40), max_value=2**46), bits=st.sampled_from([52, 100]))
def test_rounding_up_is_never_below_and_hardly_above(number: Fraction, bits: int) -> None:
    rounded = rounded_up(number, bits)
    assert number <= rounded <= number + max(number / 2 ** (bits - 2), Fraction(1, 2**bits))
    assert max(rounded.numerator, rounded.denominator) <= 2**bits


def test_small_fractions_stay_exact() -> None:
    assert rounded_up(Fraction(10, 3), 52) == Fraction(10, 3)
    assert rounded_up(Fraction(2**52), 52) == 2**52


def test_a_level_is_what_its_text_says() -> None:
    assert outside(0.95) == Fraction(1, 20)
    for level in (0.0, 1.0, -0.5, 1.5):
        with pytest.raises(InvariantBroken):
            outside(level)


def test_additive_mechanisms_are_known_by_their_shape() -> None:
    assert isinstance(DiscreteLaplace(1, Fraction(1)), Additive)
    assert not isinstance(RandomizedResponse.two_coins(), Additive)


@pytest.mark.parametrize("kind", MECHANISMS, ids=lambda kind: kind.name)
def test_a_mechanism_is_an_immutable_value_with_a_proof(kind: type) -> None:
    mechanism = kind.examples()[0].mechanism
    assert not hasattr(mechanism, "__dict__")
    assert hash(mechanism) == hash(kind.examples()[0].mechanism)
    assert all(word in (kind.__doc__ or "") for word in ("Claim:", "Proof:", "Assumes:"))
