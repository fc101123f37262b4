"""Auditors before a database: benign questions are granted, denials of simulatable ones tell nothing, a naive one's
do.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from obverse.attack.auditing.online import BooleanAuditor, LinearAuditor, NaiveAuditor, consistent
from obverse.core.errors import InvariantBroken, Refused

BENIGN = [  # over twelve people: everybody, two offices, three ages, each office by sex, everybody again
    *(range(12), range(6), range(6, 12), range(4), range(4, 8), range(8, 12)),
    *((0, 2, 4), (1, 3, 5), (6, 8, 10), (7, 9, 11), range(12)),
]


def test_a_benign_sequence_is_granted() -> None:
    auditor = LinearAuditor()
    assert [auditor.grants(one) for one in BENIGN] == [True] * len(BENIGN)


def test_the_sum_that_would_give_somebody_away_is_denied_and_later_ones_are_not() -> None:
    auditor = LinearAuditor()
    assert auditor.grants(range(12))
    assert not auditor.grants(range(11))
    assert not auditor.grants([3])
    assert auditor.grants(range(10))


def test_a_linear_denial_is_the_same_whatever_the_secrets_are() -> None:
    """By construction: grants takes the set alone. What it grants never determines a value."""
    random = np.random.default_rng(1)
    auditor = LinearAuditor()
    for _ in range(60):
        auditor.grants(int(i) for i in np.flatnonzero(random.random(10) < 0.5))
        assert not auditor.basis.determined


def test_a_naive_auditor_gives_everything_away_by_a_refusal() -> None:
    """Secrets 1, 1, 0. The first two are summed: 2 would determine both, so it is refused; then all three: 2, granted.

    From the refusal the asker knows that the first two are equal, and from the sum that they are 1 and the third is 0.
    """
    auditor = NaiveAuditor((1, 1, 0))
    heard = [(frozenset(of), auditor.asks(of)) for of in ((0, 1), (0, 1, 2))]
    assert [answer for _, answer in heard] == [None, 2]
    assert consistent(3, heard) == [(1, 1, 0)]
    # without the refusal three are possible
    assert len({w for w in itertools.product((0, 1), repeat=3) if sum(w) == 2}) == 3


def test_the_same_questions_tell_nothing_by_their_denials_where_the_auditor_is_simulatable() -> None:
    decisions = set()
    for world in itertools.product((0, 1), repeat=3):
        auditor = BooleanAuditor(3)
        heard = []
        for of in ((0, 1), (0, 1, 2)):
            heard.append(auditor.grants(of))
            if heard[-1]:
                auditor.answered(of, sum(world[i] for i in of))
        decisions.add(tuple(heard))
    assert len(decisions) == 1


def test_a_boolean_auditor_grants_a_sum_of_many_and_denies_one_of_few() -> None:
    auditor = BooleanAuditor(16, risk=0.2, rounds=5)
    assert not auditor.grants(range(3))  # none or all of three: one in four
    assert auditor.grants(range(16))
    auditor.answered(range(16), 7)
    assert not auditor.grants(range(15))


def test_the_chance_that_a_boolean_auditor_ever_tells_too_much_is_at_most_its_risk() -> None:
    random = np.random.default_rng(2)
    told = 0
    games = 200
    for _ in range(games):
        secret = random.integers(0, 2, 10)
        auditor = BooleanAuditor(10, risk=0.2, rounds=4)
        breached = False
        for _ in range(4):
            of = np.flatnonzero(random.random(10) < 0.8)
            if auditor.grants(of):
                auditor.answered(of, int(secret[of].sum()))
                chances = auditor._chances / auditor._chances.sum()
                breached |= auditor._tells(chances @ auditor._worlds)
        told += breached
    assert told <= 75  # forty expected at most; more than 75 with chance below 1e-8


def test_questions_beyond_the_rounds_are_denied() -> None:
    auditor = BooleanAuditor(12, rounds=2)
    assert [auditor.grants(range(12)) for _ in range(3)] == [True, True, False]


def test_what_cannot_be_listed_is_refused() -> None:
    with pytest.raises(Refused) as refused:
        BooleanAuditor(21)
    assert refused.value.code == "too_many_secrets"
    with pytest.raises(InvariantBroken):
        BooleanAuditor(3, prior=0.0)
