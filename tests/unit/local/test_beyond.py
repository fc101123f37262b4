"""What a device sends beyond its lifetime: nothing that an answer moves, and nothing that shows it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from obverse.core.rng import Rng
from obverse.local.client import Record, Step, made, sent_words
from obverse.local.coins import Coins
from obverse.local.memo import Memo
from obverse.local.odds import ONE
from obverse.local.protocols import Direct, Loloha, OneBitMean, Rappor
from obverse.local.spec import Answer, Spec
from obverse.local.wire import HEAD_BYTES
from obverse.testing.goodness import fits
from obverse.testing.seeded import SeededRng
from tests.unit.local.surveys import LETTERS, lasting_spec, numbers_spec, spec_for, text_spec

GIVEN = Record(consent="given")
TOKEN = bytes(32)


def reports_of(spec: Spec, tells: bool, answer: Answer, rng: Rng, memo: Memo, n: int = 1) -> list[bytes]:
    step, tokens = Step(GIVEN, tells), [bytes([number % 256]) * 32 for number in range(n)]
    return [made(spec, step, answer, token=token, epoch=3, coins=Coins(rng.raw), memo=memo) for token in tokens]


SPECS = {
    "direct": spec_for(LETTERS),
    "none": spec_for(LETTERS, "unary", more='none = "c"'),
    "local_hash": spec_for(LETTERS, "local_hash"),
    "numbers": numbers_spec(),
    "text": text_spec(),
    "loloha": lasting_spec(Loloha.fitted(4, Fraction(1))),
    "rappor": lasting_spec(Rappor.published()),
}


@pytest.mark.parametrize("name", SPECS)
def test_beyond_the_lifetime_reports_do_not_depend_on_the_answer(name: str) -> None:
    """The same coins give the same bytes, whatever the answer is; before, they do not."""
    spec = SPECS[name]
    answers: list[Answer] = [0, 3, 10] if spec.survey.bounds else ["a", "b", "c"]
    memo = Memo(bytes(range(32)), spec.digest)
    for tells, kinds in ((False, 1), (True, 2)):
        sent = {tuple(reports_of(spec, tells, answer, SeededRng(7), memo, 40)) for answer in answers}
        assert len(sent) >= kinds
        assert len(sent) == 1 or tells


@pytest.mark.parametrize("name", SPECS)
def test_neither_length_nor_what_is_read_tells_whether_a_report_is_of_the_answer(name: str) -> None:
    spec = SPECS[name]
    seen = set()
    for tells in (False, True):
        read: list[int] = []
        rng = SeededRng(5)
        coins = Coins(lambda n, rng=rng, read=read: (read.append(n), rng.raw(n))[1])  # type: ignore[misc]
        answer: Answer = 3 if spec.survey.bounds else "a"
        memo = Memo(bytes(32), spec.digest)
        sent = made(spec, Step(GIVEN, tells), answer, token=TOKEN, epoch=0, coins=coins, memo=memo)
        seen.add((len(sent), sent[:HEAD_BYTES], tuple(read)))
    assert len(seen) == 1


def test_beyond_the_lifetime_items_are_uniform_or_the_one_for_no_answer() -> None:
    """False alarm 1e-9 each."""
    rng, memo = SeededRng(1), Memo(bytes(32), b"")
    sure = Direct(4, ONE - 1)  # so that what is sent is the item
    for more, law in (("", [0.25] * 4), ('none = "c"', [0.0, 0.0, 1.0, 0.0])):
        spec = replace(spec_for(LETTERS, more=more), protocol=sure)
        sent = np.array([report[-1] for report in reports_of(spec, False, "a", rng, memo, 2000)], dtype=np.int64)
        assert fits(sent, 0, law)
    spec = replace(numbers_spec(4), protocol=OneBitMean(4, ONE - 1))
    sent = np.array([report[-1] for report in reports_of(spec, False, 0, rng, memo, 2000)], dtype=np.int64)
    assert fits(sent, 0, [0.5, 0.5])


@pytest.mark.parametrize("protocol", [Loloha.fitted(4, Fraction(1)), Rappor.published()])
def test_beyond_the_lifetime_a_lasting_report_keeps_its_seed_and_is_of_one_permanent_answer_of_its_own(
    protocol: Loloha | Rappor,
) -> None:
    """Else a new cohort, or an answer drawn afresh each time, would tell that the limit was reached."""
    spec = lasting_spec(protocol)
    memo = Memo(bytes(range(32)), spec.digest)
    coins = [memo.coins(protocol.label(spec.code(letter), memo.seed())).raw(32) for letter in LETTERS]
    assert memo.beyond().raw(32) not in coins
    spare, coins_of_it = memo.beyond(), Coins(SeededRng(2).raw)
    item = spec.code(LETTERS[spare.below(4)])
    told = protocol.instant(protocol.permanent(item, spare, memo.seed()), coins_of_it, memo.seed())
    assert reports_of(spec, False, "a", SeededRng(2), memo)[0][HEAD_BYTES:] == told
    for tells in (False, True):
        sent = reports_of(spec, tells, "a", SeededRng(2), memo, 20)
        seeds = np.full(20, memo.seed(), dtype=np.uint64)
        payloads = np.frombuffer(b"".join(r[HEAD_BYTES:] for r in sent), dtype=np.uint8).reshape(20, -1)
        assert protocol.agrees(payloads, seeds).all()


def test_numbers_between_places_are_rounded_at_random() -> None:
    """A quarter of the way from 0 to 1; false alarm 1e-9."""
    spec = replace(numbers_spec(2), protocol=OneBitMean(2, ONE - 1))
    sent = reports_of(spec, True, 0.25, SeededRng(3), Memo(bytes(32), b""), 3000)
    assert fits(np.array([report[-1] for report in sent], dtype=np.int64), 0, [0.75, 0.25])


def test_words_tell_what_left_and_not_more() -> None:
    spec = spec_for(["a", "b"])
    (sent,) = reports_of(spec, True, "a", SeededRng(1), Memo(bytes(32), b""))
    assert f"{len(sent)} bytes" in sent_words(spec, sent)
    assert f"{'ab'[sent[-1]]!r}, by coins" in sent_words(spec, sent)
    (sent,) = reports_of(SPECS["rappor"], True, "a", SeededRng(1), Memo(bytes(32), b""))
    assert "by coins" not in sent_words(SPECS["rappor"], sent)
