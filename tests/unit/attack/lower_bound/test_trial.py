"""Trials: broken mechanisms are refuted on the pair that shows it, honest ones are not, and nothing is ever called
verified.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from obverse.attack.lower_bound.trial import confidence_words, form_of, pairs, trial
from obverse.core.errors import InvariantBroken, Refused


def laplace(scale: float, seed: int):
    """On a grid, without the last bits that would give noise in floating point away."""
    random = np.random.default_rng(seed)
    return lambda given, n: np.asarray(given) + np.rint(random.laplace(0, scale, (n, len(given))) * 1024) / 1024


def test_the_worst_pair_is_found_and_measured_on_fresh_outputs() -> None:
    found = trial(laplace(4.0, 1), pairs(4), 40_000, claimed=1.0, alpha=1e-3)
    assert not found.refuted
    assert 0.4 < found.evidence.epsilon <= 1
    assert np.abs(np.subtract(*found.pair)).sum() == 4
    assert "not refuted" in found.sentence


@pytest.mark.parametrize(
    ("alpha", "words"), [(0.05, "0.95"), (0.05 / 14, "0.9964"), (1e-6, "0.999999"), (0.01, "0.99")]
)
def test_a_confidence_is_rounded_down_to_what_tells_it_from_certainty(alpha: float, words: str) -> None:
    assert confidence_words(alpha) == words


def test_a_wrong_sensitivity_is_refuted() -> None:
    """Noise for one number that moves, where all four do."""
    assert trial(laplace(1.0, 2), pairs(4), 20_000, claimed=1.0, alpha=1e-3).refuted
    assert not trial(laplace(1.0, 2), pairs(4, moves="one"), 20_000, claimed=1.0, alpha=1e-3).refuted


def test_the_word_verified_is_never_said() -> None:
    for claim in (None, 0.1, 5.0):
        found = trial(laplace(1.0, 3), [((0.0,), (1.0,))], 20_000, claimed=claim)
        assert "verified" not in found.sentence.lower()
        assert "confidence 0.95" in found.sentence
        assert found.as_json()["refuted"] is (claim == 0.1)


def test_texts_and_lists_of_any_length_are_outputs() -> None:
    random = np.random.default_rng(4)

    def keys(given: int, n: int) -> list[list[str]]:
        return [["a", "b"][: 1 + given * int(coin)] for coin in random.integers(0, 2, n)]

    found = trial(keys, [(0, 1)], 4_000, claimed=1.0)
    assert found.refuted
    assert found.evidence.event == "output among {['a', 'b']}"
    assert form_of([[True, False]]).array([True, False]).tolist() == [1, 0]


ODD = {
    "none": lambda noisy: None,
    "a text": lambda noisy: "none",
    "another length": lambda noisy: [noisy],
    "infinity": lambda noisy: math.inf,
    "a fraction": lambda noisy: noisy + 0.5,
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("share", [0.0005, 0.3])
def test_an_output_that_is_no_number_tells_nothing_of_those_drawn_with_it(odd: str, share: float) -> None:
    """Noise for epsilon 0.1; on one input an odd output with a chance that delta allows.

    False alarms: at most 1e-6 each.
    """
    random = np.random.default_rng(7)

    def draw(given: int, n: int) -> list[Any]:
        noisy = given + random.geometric(0.095, n) - random.geometric(0.095, n)
        plain = [[x, 1] if odd == "another length" else x for x in noisy.tolist()]
        return [
            ODD[odd](x) if given and coin < share else y for x, y, coin in zip(noisy.tolist(), plain, random.random(n))
        ]

    assert not trial(draw, [(0, 1)], 8_000, claimed=0.1, delta=share, alpha=1e-6).refuted
    assert trial(draw, [(0, 1), (0, 0)], 40_000, claimed=0.1, delta=0.0, alpha=1e-6).refuted is (share == 0.3)


@pytest.mark.parametrize(
    ("odd", "written"),
    [
        (lambda x: None, float),
        (lambda x: "no", Fraction),
        (lambda x: [x, x], lambda x: [x]),
        (lambda x: [], lambda x: [x, 0]),
    ],
)
def test_too_little_noise_is_seen_though_some_outputs_are_no_numbers(odd: Any, written: Any) -> None:
    """A tenth of the outputs is something else, whatever the input; the others have half of the noise."""
    random = np.random.default_rng(11)

    def draw(given: float, n: int) -> list[Any]:
        noisy = (given + np.rint(random.laplace(0, 0.5, n) * 1024) / 1024).tolist()
        return [odd(x) if coin < 0.1 else written(x) for x, coin in zip(noisy, random.random(n))]

    found = trial(draw, [(0.0, 1.0)], 8_000, claimed=1.0, alpha=1e-6)
    assert found.refuted
    assert found.evidence.epsilon < 2


def test_how_many_numbers_there_are_is_told_too() -> None:
    """As many noisy numbers as there are people, of whom one input has one more now and then."""
    random = np.random.default_rng(12)

    def draw(given: int, n: int) -> list[Any]:
        return [random.laplace(0, 100, 2 + given * int(coin)) for coin in random.integers(0, 2, n)]

    assert trial(draw, [(0, 1)], 2_000, claimed=1.0).refuted


@pytest.mark.parametrize(
    "first", [[1, 2], [1.5, 2.0], ["a", 1], [[1, 2], [3, 4]], [[1], [2, 3]], [None, 2**70], [[], 1]]
)
def test_an_output_is_written_alike_in_whatever_company(first: list[Any]) -> None:
    form = form_of([first])
    several = [
        3,
        3.5,
        2**60 + 1,
        2**70,
        -1,
        math.inf,
        math.nan,
        None,
        "a",
        "3",
        [1, 2],
        [1],
        True,
        np.int64(3),
        np.float32(2),
    ]
    alone = [form.array([one])[0].tolist() for one in several]
    assert np.array_equal(form.array(several).tolist(), alone, equal_nan=True)
    assert np.array_equal(form.array(several[:1] + several[4:5]).tolist(), [alone[0], alone[4]])
    assert np.array_equal(form.array(several[1:4]).tolist(), alone[1:4])
    if form.shape == ():
        assert form.array(np.array([3, 7], dtype=np.uint8)).tolist()[0] == alone[0] == 3


def test_how_far_it_has_come_is_told_and_ends_at_one() -> None:
    told: list[float] = []
    trial(laplace(1.0, 5), pairs(3), 2_000, progress=told.append)
    assert told == sorted(told)
    assert told[-1] > 0.95


def test_a_target_that_gives_something_else_is_refused() -> None:
    for wrong in (lambda given, n: 1.0, lambda given, n: [1.0] * (n - 1)):
        with pytest.raises(Refused) as refused:
            trial(wrong, [(0, 1)], 100)
        assert refused.value.code == "bad_outputs"
    with pytest.raises(InvariantBroken):
        trial(laplace(1.0, 6), [], 100)


def test_pairs_are_neighbours_and_hold_the_patterns_that_break_mechanisms() -> None:
    found = pairs(5)
    assert all(max(abs(a - b) for a, b in zip(*pair)) == 1 for pair in found)
    assert ((1, 0, 0, 0, 0), (0, 1, 1, 1, 1)) in found  # one above, all others below
    assert ((0, 0, 0, 0, 0), (0, 1, 1, 1, 1)) in found  # all but one
    assert all(sum(a != b for a, b in zip(*pair)) == 1 for pair in pairs(5, moves="one"))
    assert pairs(1) == (((0.0,), (1.0,)),)
