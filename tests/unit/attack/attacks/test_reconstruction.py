from __future__ import annotations

import sys

import numpy as np
import pytest

from obverse.attack.attacks import Reconstruction
from obverse.attack.attacks.reconstruction import noisy_sums
from obverse.attack.solvers import bits_by_least_squares, bits_by_linear_program, bits_of, certain_bits, consistent
from obverse.core.errors import Refused


def asked(people: int, queries: int, error: float, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    truth = generator.random(people) < 0.5
    subsets = generator.random((queries, people)) < 0.5
    return subsets, subsets @ truth.astype(float) + generator.uniform(-error, error, queries), truth


def test_every_candidate_that_agrees_is_kept_and_no_other() -> None:
    subsets, answers, truth = asked(10, 6, 0.9)
    kept = bits_of(consistent(subsets, answers, 0.9), 10)
    everything = bits_of(np.arange(1 << 10, dtype=np.uint32), 10)
    agree = (np.abs(everything @ subsets.T.astype(float) - answers) <= 0.9).all(axis=1)
    assert np.array_equal(kept, everything[agree])
    assert (kept == truth).all(axis=1).any()


def test_the_integer_program_proves_what_trying_everything_proves() -> None:
    for seed in range(4):
        subsets, answers, truth = asked(12, 9, 0.6, seed)
        kept = bits_of(consistent(subsets, answers, 0.6), 12)
        proof = certain_bits(subsets, answers, 0.6)
        assert proof.decided
        assert np.array_equal(proof.certain, (kept == kept[0]).all(axis=0))
        assert np.array_equal(proof.bits[proof.certain], truth[proof.certain])


def test_answers_that_no_database_gives_prove_nothing() -> None:
    subsets = np.ones((2, 3), dtype=bool)
    proof = certain_bits(subsets, np.array([0.0, 3.0]), 0.4)
    assert (proof.bits, proof.decided, proof.certain.any()) == (None, True, False)


def test_all_methods_recover_everybody_from_accurate_sums() -> None:
    subsets, answers, truth = asked(60, 240, 0.4)
    assert np.array_equal(bits_by_least_squares(subsets, answers), truth)
    assert np.array_equal(bits_by_linear_program(subsets, answers), truth)
    proof = certain_bits(subsets, answers, 0.4)
    assert proof.certain.all()
    assert np.array_equal(proof.bits, truth)


def test_all_but_one_sets_are_decoded_too() -> None:
    """Subsets that are nearly alike: what they have in common must not drown what they differ in."""
    truth = np.arange(50) % 3 == 0
    subsets = np.vstack([np.ones((1, 50), dtype=bool), ~np.eye(50, dtype=bool)])
    assert np.array_equal(bits_by_least_squares(subsets, subsets @ truth.astype(float)), truth)


@pytest.mark.parametrize("method", ["linear", "exhaustive", "certain"])
def test_each_method_gives_a_finding(method: str) -> None:
    sums, truth = noisy_sums(np.random.default_rng(3), 16, 0.05)
    found = Reconstruction(method, queries=64, error=0.4).run(sums, truth)
    assert (found.rate.wins, found.leaks) == (16, True)


def test_an_interface_that_answers_nothing_is_not_blamed() -> None:
    truth = np.arange(20) % 2 == 0
    found = Reconstruction().run(lambda subsets: np.full(len(subsets), np.nan), truth)
    assert (found.leaks, found.figures["answered"]) == (False, 0)


def test_what_a_method_needs_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def code(attack: Reconstruction, people: int = 30) -> str:
        with pytest.raises(Refused) as refused:
            attack.run(*noisy_sums(np.random.default_rng(3), people, 0.1))
        return refused.value.code

    assert code(Reconstruction("exhaustive", error=1.0)) == "too_many_people"
    assert code(Reconstruction("certain")) == "error_unknown"
    monkeypatch.setitem(sys.modules, "scipy", None)
    assert code(Reconstruction("linear")) == "extra_missing"


def test_bits_that_are_proved_are_a_leak_though_they_are_the_fewer() -> None:
    """Sixteen exact sums prove twelve of forty bits: fewer than guessing gets right, and none of them by chance."""
    truth = np.arange(40) % 2 == 0
    found = Reconstruction("certain", 16, 0.0, seed=3).run(lambda some: some[:, truth].sum(axis=1).astype(float), truth)
    assert (found.rate.wins, found.rate.trials, found.leaks) == (12, 12, True)


def test_few_bits_that_are_proved_are_a_leak_too_unless_answers_were_further_off_than_told() -> None:
    """Three sums prove some of six bits. With noise beyond the error that is told, what is proved may be false."""
    truth = np.array([True, False, True, False, True, False])
    found = Reconstruction("certain", 3, 0.0).run(lambda some: some[:, truth].sum(axis=1).astype(float), truth)
    assert 0 < found.rate.wins == found.rate.trials < 6
    assert (found.leaks, found.control) == (True, 0.0)
    wrong = Reconstruction("certain", 3, 0.0).run(lambda some: some[:, ~truth].sum(axis=1).astype(float), truth)
    assert (wrong.leaks, wrong.control) == (False, 0.5)
