"""Which secrets follow from sums: compared with every database, and certified by the questions that leak."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from obverse.attack.auditing import Sum, audit_booleans, audit_reals, booleans
from obverse.attack.auditing.booleans import combinations
from obverse.core.errors import InvariantBroken, Refused
from tests.effort import effort


def asked(n: int, questions: int, size: int, seed: int) -> tuple[list[int], list[Sum]]:
    random = np.random.default_rng(seed)
    bits = random.integers(0, 2, n)
    sets = [random.choice(n, size or int(random.integers(1, n)), replace=False) for _ in range(questions)]
    return bits.tolist(), [Sum(frozenset(map(int, one)), int(bits[one].sum())) for one in sets]


def by_trying(n: int, sums: Sequence[Sum]) -> dict[int, int]:
    """Secrets that all databases with these answers agree on."""
    fit = [
        d for d in itertools.product((0, 1), repeat=n) if all(sum(d[i] for i in one.of) == one.answer for one in sums)
    ]
    return {i: fit[0][i] for i in range(n) if len({d[i] for d in fit}) == 1}


@pytest.mark.parametrize("seed", range(12))
def test_booleans_are_determined_as_by_trying_every_database(seed: int) -> None:
    _, sums = asked(9, 2 + seed % 5, 0, seed)
    found = audit_booleans(9, sums)
    assert {one.secret: one.value for one in found.determined} == by_trying(9, sums)
    assert not found.undecided


@pytest.mark.parametrize("seed", range(6))
def test_a_certificate_suffices_and_each_of_its_questions_is_needed(seed: int) -> None:
    _, sums = asked(8, 6, 0, 100 + seed)
    for one in audit_booleans(8, sums).determined:
        leaking = [sums[q] for q in one.questions]
        assert one.minimal
        assert one.secret in by_trying(8, leaking)
        for left_out in range(len(leaking)):
            assert one.secret not in by_trying(8, leaking[:left_out] + leaking[left_out + 1 :])


@pytest.mark.parametrize("seed", range(6))
def test_wide_sets_are_encoded_otherwise_and_mean_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _, sums = asked(9, 4, 0, 500 + seed)
    monkeypatch.setattr(booleans, "WIDE", 2)
    found = audit_booleans(9, sums)
    assert {one.secret: one.value for one in found.determined} == by_trying(9, sums)


def test_without_questions_everything_is_free() -> None:
    assert audit_booleans(3, []).free == audit_reals(3, []).free == 3


def test_linear_algebra_misses_what_whole_numbers_give_away() -> None:
    bits, sums = asked(60, 30, 6, 1)
    found = audit_booleans(60, sums)
    assert not audit_reals(60, sums).determined
    assert len(found.determined) == 58
    assert all(bits[one.secret] == one.value for one in found.determined)


def test_a_difference_of_two_sums_is_found_by_linear_algebra_in_both_audits() -> None:
    sums = [Sum(frozenset(range(40)), 17), Sum(frozenset(range(39)), 16)]
    for found in (audit_booleans(40, sums), audit_reals(40, sums)):
        (one,) = found.determined
        assert (one.secret, one.value, one.questions, one.by) == (39, 1, (0, 1), "linear algebra")


def test_three_sums_of_pairs_determine_all_three_and_the_answer_may_be_no_whole_number() -> None:
    pairs = [Sum(frozenset(pair), answer) for pair, answer in (((0, 1), 3), ((1, 2), 4), ((0, 2), 6))]
    found = audit_reals(3, pairs)
    assert [one.secret for one in found.determined] == [0, 1, 2]
    assert [one.value for one in found.determined] == [Fraction(5, 2), Fraction(1, 2), Fraction(7, 2)]
    assert found.as_json()["determined"][0]["value"] == 2.5
    assert all(len(one.questions) <= 3 for one in found.determined)
    assert found.sentence == "The answers determine 3 of 3 secrets, and leave 0 open."


def test_combinations_modulo_a_prime_are_those_of_the_rationals() -> None:
    for seed in range(10):
        _, sums = asked(12, 11, 0, 300 + seed)
        assert combinations(12, sums).keys() == {one.secret for one in audit_reals(12, sums).determined}


def test_all_or_none_determines_each_by_its_own_question() -> None:
    sums = [Sum(frozenset((0, 1, 2)), 3), Sum(frozenset((3, 4)), 0), Sum(frozenset(), 0)]
    found = audit_booleans(6, sums)
    assert {one.secret: (one.value, one.questions) for one in found.determined} == {
        0: (1, (0,)), 1: (1, (0,)), 2: (1, (0,)), 3: (0, (1,)), 4: (0, (1,)),
    }  # fmt: skip
    assert found.free == 1


def test_when_time_is_over_it_says_undecided() -> None:
    _, sums = asked(100, 30, 0, 1)
    begun = time.monotonic()
    found = audit_booleans(100, sums, time_limit_s=0.3)
    assert time.monotonic() - begun < 20
    assert found.undecided
    assert "undecided" in found.sentence
    assert found.as_json()["undecided"] == list(found.undecided)


def test_sums_that_contradict_each_other_are_named() -> None:
    sums = [Sum(frozenset((0, 1)), 2), Sum(frozenset((2, 3)), 1), Sum(frozenset((0, 2)), 0)]
    with pytest.raises(Refused, match="questions 0, 2") as refused:
        audit_booleans(4, sums)
    assert refused.value.code == "inconsistent_sums"
    with pytest.raises(Refused, match="questions 0 contradict"):
        audit_booleans(4, [Sum(frozenset((0, 1)), 3)])


def test_what_cannot_be_audited_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for call in (lambda: audit_reals(2, [Sum(frozenset((2,)))]), lambda: audit_booleans(2, [Sum(frozenset((1,)))])):
        with pytest.raises(Refused) as refused:
            call()
        assert refused.value.code == "bad_sums"
    assert audit_reals(2, [Sum(frozenset((1,)))]).determined[0].value is None
    with pytest.raises(InvariantBroken):
        Sum(frozenset((-1,)))
    monkeypatch.setitem(sys.modules, "pysat.solvers", None)
    with pytest.raises(Refused) as missing:
        audit_booleans(2, [Sum(frozenset((1,)), 1)])
    assert missing.value.code == "extra_missing"


def test_a_set_too_wide_to_write_down_leaves_all_undecided_at_once() -> None:
    with effort() as spent:
        found = audit_booleans(
            30_000, [Sum(frozenset(range(30_000)), 15_000), Sum(frozenset((0, 1)), 1)], time_limit_s=1
        )
    assert (found.determined, len(found.undecided)) == ((), 30_000)
    assert spent.cpu_s < 5


@pytest.mark.parametrize("people", [30_000, 3_000])
def test_linear_algebra_tells_on_sums_that_no_solver_can_handle(people: int) -> None:
    """Everybody, and everybody but one: too wide, or too slow, for the solver."""
    sums = [Sum(frozenset(range(people)), people // 3), Sum(frozenset(range(people - 1)), people // 3 - 1)]
    found = audit_booleans(people, sums, time_limit_s=0.2)
    (one,) = found.determined
    assert (one.secret, one.value, one.questions, one.by) == (people - 1, 1, (0, 1), "linear algebra")
    assert len(found.undecided) == people - 1
    wrong = [sums[0], Sum(sums[1].of, people // 3 - 2)]
    with pytest.raises(Refused, match="questions 0, 1"):
        audit_booleans(people, wrong, time_limit_s=0.2)


def test_one_set_too_wide_hides_nothing_that_the_others_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(booleans, "WIDEST", 5)
    for seed in range(20):
        bits, sums = asked(9, 4, 0, 700 + seed)
        narrow = [one for one in sums if len(one.of) <= 5 or one.answer in (0, len(one.of))]
        wide = frozenset(range(9))
        if sum(bits) in (0, 9):
            continue
        found = audit_booleans(9, [*narrow, Sum(wide, sum(bits))])
        said = {one.secret: one.value for one in found.determined}
        assert by_trying(9, narrow).items() <= said.items() <= dict(enumerate(bits)).items()
        assert found.free == 0
        for one in found.determined:
            assert one.secret in by_trying(9, [[*narrow, Sum(wide, sum(bits))][q] for q in one.questions])


def test_none_or_all_of_a_wide_set_determines_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(booleans, "WIDEST", 5)
    for answer in (0, 40):
        found = audit_booleans(40, [Sum(frozenset(range(40)), answer)])
        assert [(one.value, one.questions) for one in found.determined] == [(answer // 40, (0,))] * 40
    with pytest.raises(Refused, match="questions 0 contradict"):
        audit_booleans(40, [Sum(frozenset(range(40)), 41)])
