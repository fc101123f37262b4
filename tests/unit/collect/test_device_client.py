"""The rules of a device: consent first, counts before answers, a lifetime that is kept, and silence that tells
nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from obverse.collect.device import (
    Record,
    check_source,
    consent_text,
    consented,
    declined,
    made,
    marked,
    next_step,
    withdrawn,
)
from obverse.collect.protocols import Direct, Loloha, MemoisedUnary, Rappor
from obverse.collect.randomness.coins import Coins, Memo, epsilon_of
from obverse.collect.randomness.hashing import item_key
from obverse.collect.spec import Answer, Spec, read_spec
from obverse.collect.wire import HEAD_BYTES
from obverse.core.errors import Refused
from obverse.core.rng import Rng
from obverse.testing.noiseless import SeededRng
from tests.unit.collect.surveys import LETTERS, LONG, lasting_spec, spec_for

GIVEN = Record(consent="given")
TOKEN = bytes(32)


def walk(spec: Spec, record: Record, answers: list[Answer], memo: Memo, day: int = 1) -> tuple[Record, list[bool]]:
    """One report after the other; the last record, and which ones told of the answer."""
    tells = []
    for answer in answers:
        step = next_step(spec, record, marked(spec, answer, memo), day)
        record = step.record
        tells = [*tells, step.tells]
    return record, tells


def code_of(spec: Spec, record: Record, day: int = 1) -> str:
    with pytest.raises(Refused) as refused:
        next_step(spec, record, None, day)
    return refused.value.code


@pytest.mark.parametrize("record", [Record(), declined(spec_for(), GIVEN), withdrawn(spec_for(), GIVEN)])
def test_without_consent_nothing_is_made(record: Record) -> None:
    assert code_of(spec_for(), record) == "no_consent"
    assert next_step(spec_for(), consented(record), None, 1).tells


def test_a_day_has_so_many_reports_and_not_one_more_even_if_the_clock_goes_back() -> None:
    spec = spec_for(more="reports = 9\nper_day = 2\nlifetime = 9")
    record, _ = walk(spec, GIVEN, ["no", "no"], Memo(bytes(32), b""), day=7)
    assert code_of(spec, record, 7) == code_of(spec, record, 6) == "too_soon"
    back = next_step(spec, next_step(spec, GIVEN, None, 7).record, None, 6).record
    assert (back.day, back.today) == (7, 2)
    later = next_step(spec, record, None, 8).record
    assert (later.day, later.today, later.reports) == (8, 1, 3)


def test_after_the_schedule_nothing_is_made() -> None:
    spec = spec_for(more="reports = 2\nper_day = 5")
    record, _ = walk(spec, GIVEN, ["no", "yes"], Memo(bytes(32), b""))
    assert code_of(spec, record, 9) == "schedule_over"


def test_refusals_do_not_depend_on_the_answer_but_for_what_is_none() -> None:
    with pytest.raises(Refused) as refused:
        marked(spec_for(), "perhaps", Memo(bytes(32), b""))
    assert refused.value.code == "not_an_option"


def test_fresh_coins_cost_their_loss_each_until_the_lifetime_is_spent_and_then_nothing() -> None:
    spec = spec_for(more="reports = 9\nper_day = 9\nlifetime = 2.5")
    record, tells = walk(spec, GIVEN, ["no"] * 9, Memo(bytes(32), b""))
    assert tells == [True, True] + [False] * 7
    assert record.spent == 2 * spec.protocol.loss() <= spec.survey.lifetime
    assert (record.reports, record.over) == (9, True)


def test_a_permanent_answer_is_paid_once_however_many_reports_are_made_of_it() -> None:
    protocol = MemoisedUnary.symmetric(4, Fraction(2), Fraction(1))
    memo = Memo(bytes(32), b"")
    spec = lasting_spec(protocol)
    spent = [
        walk(spec, GIVEN, list(answers), memo)[0].spent for answers in ("a", "aa", "aaaaaaaa", "ab", "aabb", "abababab")
    ]
    one = protocol.loss()
    all_ = protocol.lasting()
    assert spent == [one, all_, all_, 2 * one, 2 * all_, 2 * all_]


def test_a_lifetime_that_pays_for_two_permanent_answers_makes_no_third_and_never_goes_back() -> None:
    protocol = MemoisedUnary.symmetric(4, Fraction(2), Fraction(1))
    memo = Memo(bytes(32), b"")
    spec = lasting_spec(protocol, "4")
    record, tells = walk(spec, GIVEN, list("aabbca"), memo)
    assert tells == [True] * 4 + [False] * 2
    assert record.spent == 2 * protocol.lasting() <= 4


def test_answers_of_one_symbol_share_their_permanent_answer_and_its_price() -> None:
    protocol = Loloha(4, 50, Direct.two_coins(), Direct.truthful(2, Fraction(1, 2)))
    memo = Memo(bytes(32), b"")
    spec = lasting_spec(protocol)
    record, _ = walk(spec, GIVEN, list("abcdabcd"), memo)
    assert record.spent == len(record.marks) * protocol.lasting()
    assert len(record.marks) == len({protocol.label(code, memo.seed()) for code in range(4)}) == 2


def test_withdrawing_leaves_counts_and_what_was_spent_and_no_mark_of_an_answer() -> None:
    spec = lasting_spec(MemoisedUnary.symmetric(4, Fraction(2), Fraction(1)), "3")
    memo = Memo(bytes(32), b"")
    record, _ = walk(spec, GIVEN, ["a", "a"], memo)
    assert record.marks
    stone = withdrawn(spec, record)
    assert stone == Record("withdrawn", 2, record.spent, False, 1, 2, {})
    again, tells = walk(spec, consented(stone), ["a", "a"], memo)
    assert (again.spent, tells) == (record.spent + spec.protocol.loss(), [True, False])  # and not lasting() anew
    assert walk(spec, consented(withdrawn(spec, again)), ["a"], memo)[1] == [False]


@pytest.mark.parametrize("stop", [withdrawn, declined])
def test_who_toggles_consent_pays_for_a_permanent_answer_before_its_mark_is_erased(
    stop: Callable[[Spec, Record], Record],
) -> None:
    """Of many symbols two reports may lose more than twice what one does; so that is charged, or nothing more is
    told.
    """
    options = [str(number) for number in range(12)]
    protocol = Loloha(12, 2, Direct.fitted(12, Fraction(3)), Direct.fitted(12, Fraction(7, 10)))
    spec = replace(spec_for(options, more=LONG.format("100")), protocol=protocol)
    memo = Memo(bytes(32), b"")
    record, _ = walk(spec, GIVEN, ["3"], memo)
    assert record.marks
    assert not stop(spec, record).marks
    record, tells = walk(spec, consented(stop(spec, record)), ["3"], memo)
    assert tells == [True]

    seed = memo.seed()
    sent = list(protocol.payloads(memo.seed()))

    def chance(code: int, one: bytes, two: bytes) -> Fraction:
        held = protocol.standing(code, seed)
        return sum(
            (p * protocol.given(r, one, seed) * protocol.given(r, two, seed) for r, p in held), start=Fraction(0)
        )

    other = next(code for code in range(12) if protocol.label(code, seed) != protocol.label(3, seed))
    lost = max(epsilon_of(chance(3, one, two) / chance(other, one, two)) for one in sent for two in sent)
    assert 2 * protocol.loss() < lost <= record.spent

    short = replace(spec, survey=replace(spec.survey, lifetime=2 * protocol.loss()))
    record, _ = walk(short, GIVEN, ["3"], memo)
    record, tells = walk(short, consented(stop(short, record)), ["3"], memo)
    assert (record.spent, tells) == (protocol.loss(), [False])


def test_the_consent_text_has_the_card_and_the_words() -> None:
    text = consent_text(spec_for(), "de")
    assert "Rauchst du?" in text
    assert "I agree." in text
    assert "Verlust (Epsilon)" in text


# A year of reports


def guess_rate_limit(n: int, chance: float, false_alarm: float = 1e-7) -> int:
    """The least number of right guesses of n that somebody right with this chance reaches with at most the false
    alarm.
    """
    tail = 0.0
    for right in range(n, -1, -1):
        tail += math.comb(n, right) * chance**right * (1 - chance) ** (n - right)
        if tail > false_alarm:
            return right + 1
    return 0


def right_guesses(protocol: MemoisedUnary, people: int, *, memoised: bool) -> int:
    """Of people with uniform answers, how many are guessed by the bit that is set most often in 365 reports."""
    spec = lasting_spec(protocol)
    rng = SeededRng(11)
    right = 0
    for person in range(people):
        memo = Memo(rng.key(), spec.digest)
        answer = person % 4
        record = GIVEN
        bits = np.zeros(8)
        for _ in range(365):
            if memoised:
                step = next_step(spec, record, marked(spec, LETTERS[answer], memo), 1)
                sent = made(spec, step, LETTERS[answer], token=TOKEN, epoch=0, coins=Coins(rng.raw), memo=memo)
                record = step.record
            else:
                sent = spec.frame.framed(0, protocol.report(answer, Coins(rng.raw)))
            bits += np.unpackbits(np.frombuffer(sent[HEAD_BYTES:], dtype=np.uint8), bitorder="little")
        assert not memoised or record.spent == protocol.lasting()
        right += int(np.argmax(bits)) == answer
    return right


def test_a_year_of_reports_does_not_beat_the_permanent_bound() -> None:
    """Guesses are right with a chance of at most e**eps / (e**eps + 3), eps that of all reports ever.

    False alarm 1e-7.
    """
    protocol = MemoisedUnary.symmetric(4, Fraction(1), Fraction(1, 2))
    growth = math.exp(float(protocol.lasting()))
    limit = guess_rate_limit(60, growth / (growth + 3))
    assert limit < 50
    assert right_guesses(protocol, 60, memoised=True) < limit
    assert right_guesses(protocol, 60, memoised=False) > limit  # without memory the same attack finds nearly everybody


# Randomness


class Stuck(Rng):
    def raw(self, n: int) -> bytes:
        return b"\x07" * n


class Missing(Rng):
    def raw(self, n: int) -> bytes:
        raise NotImplementedError


class Short(Rng):
    def raw(self, n: int) -> bytes:
        return super().raw(n // 2)


class Repeating(Rng):
    def raw(self, n: int) -> bytes:
        return bytes(range(n))


class Stepping(Rng):
    """Another byte each time, and nothing but that."""

    calls = 0

    def raw(self, n: int) -> bytes:
        self.calls += 1
        return bytes([self.calls]) * n


@pytest.mark.parametrize("source", [Stuck, Missing, Short, Repeating, Stepping])
def test_a_source_that_is_missing_or_stuck_is_refused(source: type[Rng]) -> None:
    with pytest.raises(Refused) as refused:
        check_source(source())
    assert refused.value.code == "no_entropy"


def test_the_source_of_the_system_passes() -> None:
    check_source(Rng())


def test_lasting_specifications_come_back_and_their_permanent_epsilon_is_not_believed_but_computed() -> None:
    spec = lasting_spec(Rappor.published())
    assert read_spec(spec.document).document == spec.document
    wrong = spec.document.replace(str(spec.protocol.lasting()).encode(), b"1/10")  # type: ignore[attr-defined]
    assert wrong != spec.document
    with pytest.raises(Refused) as refused:
        read_spec(wrong)
    assert refused.value.code == "bad_spec"
    assert spec.code("a") == item_key("a")
