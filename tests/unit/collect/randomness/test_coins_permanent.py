"""Permanent answers: the same for ever, and many reports of one tell no more than it does."""

from __future__ import annotations

import hmac
import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from obverse.collect.protocols import Direct, LastingProtocol, Loloha, Rappor
from obverse.collect.randomness.coins import ONE, Coins, Memo, epsilon_of
from obverse.collect.randomness.hashing import item_key
from obverse.testing.noiseless import SeededRng

YES = item_key("yes")
NO = item_key("no")


def test_the_bytes_are_hmac_in_counter_mode() -> None:
    key = bytes(range(32))
    parts = b"".join(
        len(part).to_bytes(8, "little") + part for part in (b"emoji", b"answer", (7).to_bytes(8, "little"))
    )
    under = hmac.digest(key, b"obverse memo\0" + parts, "sha256")
    stream = b"".join(hmac.digest(under, block.to_bytes(8, "little"), "sha256") for block in range(4))
    coins = Memo(key, b"emoji").coins(7)
    assert coins.raw(5) + coins.raw(60) + coins.raw(63) == stream


def test_a_key_is_not_printed() -> None:
    assert "ab" * 8 not in repr(Memo(b"ab" * 16, b"emoji"))


def test_questions_items_and_devices_have_coins_of_their_own() -> None:
    memos = [Memo(bytes(32), b"a"), Memo(bytes(32), b"b"), Memo(bytes([1] * 32), b"a")]
    assert len({memo.coins(label).raw(16) for memo in memos for label in (0, 1)}) == 6
    assert len({memo.seed() for memo in memos}) == 3


def test_published_losses_are_those_of_the_formulas() -> None:
    protocol = Rappor.published()
    assert math.isclose(float(protocol.lasting()), 4 * math.log(3), rel_tol=1e-9)
    assert math.isclose(float(protocol.lasting()), 4.394, abs_tol=5e-4)
    assert math.isclose(float(protocol.loss()), 1.074, abs_tol=5e-4)


def test_a_year_of_reports_finds_the_permanent_answer_and_not_the_true_one() -> None:
    """Who guesses between two items by all 365 reports is right as often as the permanent bits allow, and not more.

    The bound e**eps / (1 + e**eps) is 0.9, and 0.75 is expected: both bits right, or one and a fair guess. Permanent
    bits drawn afresh each time would be guessed always. False alarm: 6 sd.
    """
    protocol = Rappor(8, 1, 16, ONE // 4, ONE // 4, ONE // 4 * 3)
    rng = SeededRng(3)
    right = []
    for device in range(300):
        memo = Memo(rng.key(), b"a question")
        held, other = (YES, NO) if device % 2 else (NO, YES)
        cohort = memo.seed() % protocol.cohorts
        bits = np.zeros(8)
        for _ in range(365):
            seed = memo.seed()
            permanent = protocol.permanent(held, memo.coins(protocol.label(held, seed)), seed)
            sent = protocol.instant(permanent, Coins(rng.raw), seed)
            bits += np.unpackbits(np.frombuffer(sent[protocol.head :], dtype=np.uint8), bitorder="little")
        scores = [bits[protocol.bloom(code, cohort).bit_length() - 1] for code in (held, other)]
        if scores[0] != scores[1]:
            right.append(scores[0] > scores[1])
        else:
            right.append(device % 4 < 2)
    assert 0.6 < np.mean(right) < 0.9


def laws(
    protocol: LastingProtocol, one: Sequence[int], two: Sequence[int], seed: int
) -> Iterator[tuple[Fraction, Fraction]]:
    """The chances of every series of reports, for two people who have these items one after the other."""
    for series in itertools.product(protocol.payloads(seed), repeat=len(one)):
        chances = []
        for codes in (one, two):
            chance = Fraction(1)
            for label in {protocol.label(code, seed) for code in codes}:
                sent = [payload for code, payload in zip(codes, series) if protocol.label(code, seed) == label]
                held = next(code for code in codes if protocol.label(code, seed) == label)
                answers = protocol.standing(held, seed)
                chance *= sum(c * math.prod(protocol.given(r, payload, seed) for payload in sent) for r, c in answers)
            chances.append(chance)
        yield chances[0], chances[1]


def test_changing_answers_lose_what_each_symbol_does_if_they_change_at_the_same_times_and_only_then() -> None:
    protocol = Loloha(9, 50, Direct.two_coins(), Direct.truthful(2, Fraction(4, 5)))
    seed = 1
    a = 0
    b = next(code for code in range(9) if protocol.label(code, seed) != protocol.label(a, seed))

    def loss(one: Sequence[int], two: Sequence[int]) -> Fraction:
        return max(epsilon_of(p / q) for p, q in laws(protocol, one, two, seed))

    assert protocol.lifetime(1) < loss([a, b, a, b], [b, a, b, a]) <= protocol.lifetime(2) == protocol.lifetime(9)
    assert loss([a] * 4, [b] * 4) <= protocol.lifetime(1)
    assert loss([a, b] * 4, [a, a] * 4) > protocol.lifetime(9)  # who changes is seen to change
