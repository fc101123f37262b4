"""The sparse vector technique: exact laws of whole outputs on tiny vectors, and the known broken variants."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from obverse.core.errors import InvariantBroken, Refused
from obverse.core.loss import PureLoss
from obverse.core.rng import Rng
from obverse.mechanisms import SparseVector
from obverse.testing.noiseless import SeededRng
from obverse.testing.statistics import fits

Law = dict[tuple[int, ...], float]
Pair = tuple[tuple[int, ...], tuple[int, ...]]


def reaches(m: NDArray[np.int64], scale: float) -> NDArray[np.float64]:
    """P[V >= m]; without noise at scale zero."""
    if scale == 0:
        return (m <= 0).astype(float)
    q = math.exp(-1 / scale)
    return np.where(m >= 0, q ** np.maximum(m, 0), 1 + q - q ** np.maximum(1 - m, 0)) / (1 + q)


def law(vector: tuple[int, ...], threshold: int, first: int, shared: float, each: float) -> Law:
    """The probability of each output, summed over the noise of the threshold."""
    z = np.arange(-int(45 * shared) - 40, int(45 * shared) + 41)
    found: Law = {}

    def go(i: int, named: tuple[int, ...], chance: NDArray[np.float64]) -> None:
        if i == len(vector) or len(named) == first:
            found[named] = float(chance.sum())
            return
        passes = reaches(threshold + z - vector[i], each)
        go(i + 1, (*named, i), chance * passes)
        go(i + 1, named, chance * (1 - passes))

    go(0, (), np.exp(-np.abs(z) / shared) * math.tanh(1 / (2 * shared)))
    return found


def loss(pair: Pair, threshold: int, first: int, shared: float, each: float) -> float:
    """The largest log-ratio of an output's probabilities on two neighbours."""
    left, right = (law(vector, threshold, first, shared, each) for vector in pair)
    ratios = [(left[named], right[named]) for named in left]
    if any((p == 0) != (q == 0) for p, q in ratios):
        return math.inf
    return max(abs(math.log(p / q)) for p, q in ratios if p > 0)


def scales(mechanism: SparseVector) -> tuple[float, float]:
    shared, each = mechanism.noises
    return float(shared.scale), float(each.scale)


def worst(mechanism: SparseVector, pairs: list[Pair], factor: float = 1.0) -> float:
    shared, each = scales(mechanism)
    return max(loss(pair, mechanism.threshold, mechanism.first, factor * shared, factor * each) for pair in pairs)


def skipped_then_named(skipped: int, named: int, sensitivity: int, monotone: bool) -> list[Pair]:
    """Far entries that come nearer, then entries that stay (monotone) or go further away."""
    away = 0 if monotone else sensitivity
    return [
        ((above,) * skipped + (at,) * named, (above + sensitivity,) * skipped + (at - away,) * named)
        for above, at in itertools.product((0, 4, 9), (-6, 0))
    ]


KINDS = [
    SparseVector(1, Fraction(1), 0, 1),
    SparseVector(1, Fraction(2), 0, 2),
    SparseVector(2, Fraction(3), 0, 3),
    SparseVector(1, Fraction(1), 0, 1, monotone=True),
    SparseVector(1, Fraction(2), 0, 2, monotone=True),
    SparseVector(3, Fraction(3), 0, 3, monotone=True),
]


@pytest.mark.parametrize("mechanism", KINDS, ids=str)
def test_all_small_neighbours_keep_the_claim(mechanism: SparseVector) -> None:
    s = mechanism.sensitivity
    moves = [(0, s), (-s, 0)] if mechanism.monotone else [(-s, 0, s)]
    pairs = [
        (vector, tuple(x + m for x, m in zip(vector, move)))
        for vector in itertools.product((-3, 0, 2), repeat=3)
        for allowed in moves
        for move in itertools.product(allowed, repeat=3)
    ]
    assert worst(mechanism, pairs) <= mechanism.epsilon * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize("mechanism", KINDS, ids=str)
def test_the_claim_is_tight_so_a_tenth_of_the_noise_less_breaks_it(mechanism: SparseVector) -> None:
    pairs = skipped_then_named(6, mechanism.first, mechanism.sensitivity, mechanism.monotone)
    assert 0.99 * mechanism.epsilon < worst(mechanism, pairs) <= mechanism.epsilon * (1 + Fraction(1, 10**9))
    assert worst(mechanism, pairs, factor=0.9) > mechanism.epsilon


def test_without_noise_on_the_entries_the_order_is_told() -> None:
    """Stoddard, Chen, Machanavajjhala 2014: one entry passes where a larger one did not, which noise cannot explain."""
    shared, _ = scales(KINDS[1])
    assert loss(((0, 1), (1, 0)), 0, 2, shared, 0.0) == math.inf


def test_noise_that_does_not_grow_with_the_names_is_too_small() -> None:
    """Lee and Clifton 2014: entries get the noise of one name although several are told."""
    mechanism = SparseVector(1, Fraction(1), 0, 4)
    shared, each = scales(mechanism)
    pairs = skipped_then_named(4, 4, 1, False)
    assert max(loss(pair, 0, 4, shared, each / 4) for pair in pairs) > 2 * mechanism.epsilon


def test_naming_without_a_stop_is_not_private() -> None:
    """Chen, Xiao, Zhang, Xu 2015: noise for one name, and no limit on the names. More entries, more loss."""
    shared, each = scales(SparseVector(1, Fraction(1), 0, 1))
    losses = [loss(((0,) * n + (-4,) * n, (1,) * n + (-5,) * n), 0, 2 * n, shared, each) for n in (2, 4, 6)]
    assert 1 < losses[0] < losses[1] < losses[2]


def test_noise_of_monotone_entries_is_too_small_for_others() -> None:
    mechanism = SparseVector(1, Fraction(2), 0, 2, monotone=True)
    assert worst(mechanism, skipped_then_named(6, 2, 1, False)) > 1.2 * mechanism.epsilon


@pytest.mark.parametrize("mechanism", KINDS[1:5], ids=str)
def test_whole_outputs_have_the_law(mechanism: SparseVector) -> None:
    vector = (1, -2, 0, 3)
    rng = SeededRng(1)
    expected = law(vector, mechanism.threshold, mechanism.first, *scales(mechanism))
    outputs = sorted(expected)
    seen = [tuple(mechanism.sample(np.array(vector), rng).tolist()) for _ in range(5000)]
    codes = np.array([outputs.index(named) for named in seen])
    assert fits(codes, 0, [expected[named] for named in outputs])  # false alarm 1e-9


def test_the_stated_law_of_the_first_name_is_that_of_the_whole_outputs() -> None:
    mechanism = SparseVector(2, Fraction(3, 2), 1, 2)
    vector = (1, -2, 4)
    whole = law(vector, 1, 2, *scales(mechanism))
    for i in range(4):
        low, high = mechanism.probability(vector, i)
        summed = sum(p for named, p in whole.items() if (named[0] if named else 3) == i)
        assert low <= high <= low + Fraction(1, 10**20)
        assert float(low) == pytest.approx(summed, rel=1e-9)


@pytest.mark.parametrize(("first", "monotone"), [(1, False), (1, True), (10, False), (50, True)])
def test_the_split_is_exact_and_has_the_least_variance(first: int, monotone: bool) -> None:
    mechanism = SparseVector(3, Fraction(1), 0, first, monotone)
    reach = first if monotone else 2 * first
    shared, each = mechanism.noises
    assert Fraction(3) / shared.scale + Fraction(3 * reach) / each.scale <= 1
    assert float(3 / shared.scale) == pytest.approx(1 / (1 + reach ** (2 / 3)), rel=1e-3)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_no_decision_is_wrong_by_more_than_the_shortfall(level: float) -> None:
    """A binomial test per level, false alarm below 1e-6 (5 standard errors); the worst case, all entries just too
    far.
    """
    mechanism = SparseVector(1, Fraction(1), 100, 3)
    length = 40
    times = 4000
    a = mechanism.shortfall(length, level)
    vector = np.array([100 - a - 1, 100 + a + 1] * (length // 2), dtype=np.int64)
    rng = SeededRng(2)
    wrong = 0
    for _ in range(times):
        named = mechanism.sample(vector, rng)
        last = named[-1] if len(named) == 3 else length - 1
        skipped = np.setdiff1d(np.arange(last + 1), named)
        wrong += bool((vector[named] < 100 - a).any() or (vector[skipped] > 100 + a).any())
    assert wrong <= times * (1 - level) + 5 * math.sqrt(times * level * (1 - level))
    assert mechanism.shortfall(length, level) > mechanism.shortfall(1, level)
    assert SparseVector(1, Fraction(1), 100, 3, monotone=True).shortfall(length, level) < a


def test_at_most_the_first_are_named_in_order() -> None:
    vector = np.full(1000, 10**6, dtype=np.int64)
    assert SparseVector(1, Fraction(1), 0, 5).sample(vector, Rng()).tolist() == [0, 1, 2, 3, 4]
    assert SparseVector(1, Fraction(1), 0, 5).sample(-vector, Rng()).tolist() == []
    assert SparseVector(1, Fraction(1), 0, 5).sample(vector[:0], Rng()).dtype == np.int64


def test_the_widest_entries_do_not_overflow() -> None:
    vector = np.array([-(2**61), 2**61], dtype=np.int64)
    assert SparseVector(1, Fraction(1, 2**30), 2**61 - 2**50, 1).sample(vector, Rng()).tolist() == [1]


def test_its_loss_is_its_epsilon() -> None:
    assert SparseVector(1, Fraction(1, 7), 0, 9).loss() == PureLoss(Fraction(1, 7))


def test_impossible_parameters_are_refused() -> None:
    for call in (
        lambda: SparseVector(0, Fraction(1), 0, 1),
        lambda: SparseVector(1, Fraction(0), 0, 1),
        lambda: SparseVector(1, Fraction(1), 0, 0),
        lambda: SparseVector(1, Fraction(1), 2**62, 1),
        lambda: SparseVector(1, Fraction(1), 0, 1).sample(np.array([-(2**63)]), Rng()),
        lambda: SparseVector(1, Fraction(1), 0, 1).sample(np.zeros(3), Rng()),
        lambda: SparseVector(1, Fraction(1), 0, 1).shortfall(0, 0.9),
    ):
        with pytest.raises(InvariantBroken):
            call()
    with pytest.raises(Refused) as refusal:
        SparseVector(1, Fraction(1, 2**50), 0, 1)
    assert refusal.value.code == "noise_too_large"
