"""Discovered keys: what delta pays for, by exact computation over all sets of released keys."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.core.errors import InvariantBroken, Refused
from obverse.core.loss import ApproxLoss
from obverse.core.rng import Rng
from obverse.mechanisms import KeyThreshold
from obverse.mechanisms.enclosures import Enclosure, exp_plus
from obverse.mechanisms.key_threshold import at_least
from obverse.testing.noiseless import SeededRng
from obverse.testing.statistics import claim_holds, fits

LIGHT = settings(deadline=None, max_examples=40)
DELTA = Fraction(1, 10**6)
NOTIONS = {"add_remove": 1, "replace": 2}


def product(parts: list[Enclosure]) -> Enclosure:
    return math.prod((low for low, _ in parts), start=Fraction(1)), math.prod(
        (high for _, high in parts), start=Fraction(1)
    )


def sets_of_keys(mechanism: KeyThreshold, counts: tuple[int, ...]) -> list[Enclosure]:
    """The probability of each set of released keys."""
    each = [[mechanism.probability((count,), output) for output in (0, 1)] for count in counts]
    return [product([each[i][o] for i, o in enumerate(outs)]) for outs in itertools.product((0, 1), repeat=len(counts))]


def spent(mechanism: KeyThreshold, left: tuple[int, ...], right: tuple[int, ...]) -> Fraction:
    """The delta that this pair really needs at the claimed epsilon, from above."""
    p = sets_of_keys(mechanism, left)
    q = sets_of_keys(mechanism, right)
    least = exp_plus(mechanism.epsilon)[0]
    return sum((max(Fraction(0), a[1] - least * b[0]) for a, b in zip(p, q)), Fraction(0))


def neighbours(groups: int, notion: str, threshold: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """A unit with fresh keys, with keys of others, with both; under replace another one comes with keys of its own."""
    pairs = []
    for fresh in range(groups + 1):
        for known in (1, threshold - 1, threshold, 2 * threshold):
            mine = [(1, 0)] * fresh + [(known + 1, known)] * (groups - fresh)
            theirs = {"add_remove": [], "replace": [(b, a) for a, b in mine]}[notion]
            others = {"add_remove": [], "replace": [(0, 1)] * groups}[notion]
            pairs += [(tuple(zip(*(mine + theirs)))), tuple(zip(*(mine + others)))]
    return pairs  # type: ignore[return-value]


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5)])
def test_every_pair_of_neighbours_keeps_the_claim(groups: int, notion: str, epsilon: Fraction) -> None:
    mechanism = KeyThreshold(groups, epsilon, DELTA, groups * NOTIONS[notion])
    for left, right in neighbours(groups, notion, mechanism.threshold):
        assert claim_holds(mechanism.loss(), sets_of_keys(mechanism, left), sets_of_keys(mechanism, right))


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("least", [2, 5])
def test_every_pair_keeps_the_claim_where_keys_need_more_units(least: int, notion: str) -> None:
    mechanism = KeyThreshold(2, Fraction(1), DELTA, 2 * NOTIONS[notion], least)
    assert mechanism.threshold == KeyThreshold(2, Fraction(1), DELTA, 2 * NOTIONS[notion]).threshold + least - 1
    for left, right in neighbours(2, notion, mechanism.threshold):
        raised = [tuple(n and n + least - 1 for n in side) for side in (left, right)]
        for one, other in ((left, right), raised):
            assert claim_holds(mechanism.loss(), sets_of_keys(mechanism, one), sets_of_keys(mechanism, other))


def test_a_key_of_fewer_units_than_asked_for_is_never_released() -> None:
    mechanism = KeyThreshold(1, Fraction(1, 10), Fraction(1, 4), 1, 9)
    assert mechanism.probability((8,), 1) == (0, 0)
    assert not mechanism.passes(np.full(2_000, 8), SeededRng(4)).any()
    assert mechanism.passes(np.full(2_000, 9), SeededRng(4)).any()


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("groups", [1, 2, 5])
def test_delta_pays_for_fresh_keys_and_is_nearly_used_up(groups: int, notion: str) -> None:
    """All keys of one unit are its own; under replace all of the other's too: delta need not pay for both."""
    mechanism = KeyThreshold(groups, Fraction(1), DELTA, groups * NOTIONS[notion])
    ones = (1,) * groups
    zeros = (0,) * groups
    pair = (ones, zeros) if notion == "add_remove" else (ones + zeros, zeros + ones)
    step = math.exp(-1 / (groups * NOTIONS[notion]))  # the threshold is whole: up to one step is lost to rounding
    assert step * DELTA * Fraction(99, 100) < spent(mechanism, *pair) <= DELTA
    assert spent(mechanism, *pair[::-1]) <= DELTA


@pytest.mark.parametrize("notion", NOTIONS)
def test_leaving_the_groups_out_of_the_logarithm_overspends(notion: str) -> None:
    groups = 5
    right = KeyThreshold(groups, Fraction(1), DELTA, groups * NOTIONS[notion])
    b = groups * NOTIONS[notion]
    wrong = 1 + math.ceil(b * math.log(1 / (DELTA * (1 + math.exp(-1 / b)))))
    assert wrong < right.threshold
    each = at_least(wrong - 1, Fraction(b))[0]
    assert 1 - (1 - each) ** groups > 4 * DELTA, "one fresh key is paid for, five are not"
    each = at_least(right.threshold - 1, Fraction(b))[1]
    assert 1 - (1 - each) ** groups <= DELTA


@LIGHT
@given(
    groups=st.integers(1, 1000),
    twice=st.booleans(),
    epsilon=st.fractions(min_value=Fraction(1, 100), max_value=20, max_denominator=1000),
    digits=st.integers(3, 40),
)
def test_the_threshold_is_the_formula_of_the_sheet(groups: int, twice: bool, epsilon: Fraction, digits: int) -> None:
    mechanism = KeyThreshold(groups, epsilon, Fraction(1, 10**digits), groups * (1 + twice))
    b = mechanism.reach / epsilon
    exponent = float(b) * math.log(groups * 10**digits / (1 + math.exp(-1 / b)))
    assert mechanism.threshold in {1 + math.ceil(exponent - 1e-6), 1 + math.ceil(exponent + 1e-6)}


def test_a_generous_delta_does_not_break_epsilon() -> None:
    """Here delta alone would set a threshold at which a new key's silence costs more than its share of epsilon."""
    mechanism = KeyThreshold(1, Fraction(1, 10), Fraction(1, 4), 2)
    p = at_least(mechanism.threshold - 1, Fraction(20))[1]
    assert p <= 1 - Fraction(math.exp(-1 / 20))
    for left, right in neighbours(1, "replace", mechanism.threshold):
        assert claim_holds(mechanism.loss(), sets_of_keys(mechanism, left), sets_of_keys(mechanism, right))


def test_less_noise_at_the_same_threshold_breaks_the_claim() -> None:
    mechanism = KeyThreshold(2, Fraction(1), DELTA, 2)
    weaker = mechanism.scaled(Fraction(9, 10))
    left = (mechanism.threshold - 1,) * 2
    right = (mechanism.threshold,) * 2
    assert not claim_holds(mechanism.loss(), sets_of_keys(weaker, left), sets_of_keys(weaker, right))


def test_keys_are_released_as_often_as_the_law_says() -> None:
    mechanism = KeyThreshold(3, Fraction(2), Fraction(1, 1000), 6)
    rng = SeededRng(1)
    times = 100_000
    for count in (1, mechanism.threshold - 2, mechanism.threshold, mechanism.threshold + 4):
        released = mechanism.passes(np.full(times, count, dtype=np.int64), rng)
        law = [float(mechanism.probability((count,), output)[0]) for output in (0, 1)]
        assert fits(released.astype(np.int64), 0, law)  # false alarm 1e-9


def test_a_key_of_nobody_is_never_released() -> None:
    counts = np.zeros(100_000, dtype=np.int64)
    assert not KeyThreshold(1, Fraction(1, 100), Fraction(1, 2), 1).passes(counts, Rng()).any()


@LIGHT
@given(level=st.sampled_from([0.5, 0.9, 0.999]), epsilon=st.sampled_from([Fraction(1, 10), Fraction(1), Fraction(7)]))
def test_a_key_is_seen_from_the_stated_count_on(level: float, epsilon: Fraction) -> None:
    mechanism = KeyThreshold(2, epsilon, DELTA, 2)
    count = mechanism.seen_from(level)
    assert mechanism.probability((count,), 1)[0] >= Fraction(str(level))
    assert count == mechanism.threshold or mechanism.probability((count - 1,), 1)[1] < Fraction(str(level))


def test_its_loss_is_its_epsilon_and_delta() -> None:
    assert KeyThreshold(3, Fraction(1, 2), DELTA, 6).loss() == ApproxLoss(Fraction(1, 2), DELTA)


def test_the_largest_counts_do_not_overflow() -> None:
    released = KeyThreshold(1, Fraction(1, 2**40), DELTA, 2).passes(np.array([2**62, 1], dtype=np.int64), Rng())
    assert released.tolist() == [True, False]


def test_impossible_parameters_are_refused() -> None:
    for call in (
        lambda: KeyThreshold(0, Fraction(1), DELTA, 0),
        lambda: KeyThreshold(2, Fraction(1), DELTA, 3),
        lambda: KeyThreshold(1, Fraction(0), DELTA, 1),
        lambda: KeyThreshold(1, Fraction(1), Fraction(0), 1),
        lambda: KeyThreshold(1, Fraction(1), DELTA, 1).passes(np.array([-1]), Rng()),
        lambda: KeyThreshold(1, Fraction(1), DELTA, 1).passes(np.array([1.0]), Rng()),
    ):
        with pytest.raises(InvariantBroken):
            call()
    with pytest.raises(Refused) as refusal:
        KeyThreshold(1, Fraction(1, 2**50), DELTA, 1)
    assert refusal.value.code == "noise_too_large"
