"""What a device does for one survey: pure decisions, over a record that it keeps. `session.device` stores the record.

    record = consented(Record())                                # only after the person has read consent_text(spec)
    step = next_step(spec, record, marked(spec, answer, memo), today)
    ... store step.record durably; only then:
    sent = made(spec, step, answer, token=token, epoch=epoch, coins=coins, memo=memo)

Claim:   all that a device ever sends for a survey loses at most the survey's lifetime epsilon, whatever else is asked of it:
         the record's `spent` is never below what was lost. For lasting protocols, between people of whose
         reports the same ones share a permanent answer; which do is not hidden there.
Proof:   reports from fresh coins add their losses. Reports of a lasting protocol are made of permanent answers, independent for
         different labels; of each, one report loses `loss`, and any number lose `lasting` together. The sum of these is
         charged; before marks are erased, `lasting` for each. A charge that would exceed the lifetime is not made: from then
         on reports come from fresh coins, the key and the list of items alone, which no answer moves. Whether a report is
         refused depends on consent, dates and counts alone.
Assumes: the record is stored before the report leaves, and never goes back; a key is of one device.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal, get_args

from obverse.catalog.surveys import NO_LANGUAGE
from obverse.collect.card import card_text
from obverse.collect.card_words import in_language
from obverse.collect.protocols import Direct, OneOfSeveral, Several
from obverse.collect.randomness.coins import Coins
from obverse.collect.randomness.hashing import WORD
from obverse.collect.randomness.permanent import Memo
from obverse.collect.spec import Answers, Spec, number
from obverse.collect.wire import HEAD_BYTES
from obverse.core.errors import Refused, invariant
from obverse.core.rng import Rng

Consent = Literal["unasked", "given", "declined", "withdrawn"]
Mark = bytes | None  # of the permanent answer that a report is made of; None where there is none
TEST_BYTES, TEST_VALUES = 64, 8


@dataclass(frozen=True, slots=True)
class Record:
    """What a device remembers of one survey. No answer is in it, and once consent is withdrawn no mark of one."""

    consent: Consent = "unasked"
    reports: int = 0  # that were made, ever
    spent: Fraction = Fraction(0)
    over: bool = False  # all was spent that may be; reports tell of no answer any more
    day: int = 0  # the last one with a report; days count from the year 1
    today: int = 0  # reports of that day
    marks: Mapping[bytes, bool] = field(default_factory=dict)  # permanent answers that were used; whether more than once

    def __post_init__(self) -> None:
        invariant(self.consent in get_args(Consent), "consent is one of four words")
        counts = (self.reports, self.day, self.today)
        invariant(all(type(count) is int and count >= 0 for count in counts) and self.spent >= 0, "nothing counts backwards")


@dataclass(frozen=True, slots=True)
class Step:
    """The record that is to be stored before a report leaves, and whether the report is one of the answer."""

    record: Record
    tells: bool


def consent_text(spec: Spec, language: str = NO_LANGUAGE) -> str:
    """What a person reads before anything is sent."""
    return f"{card_text(spec, language)}\n\n{in_language(spec.survey.consent, language)}"


def consented(record: Record) -> Record:
    """Goes on from wherever the record was: what was spent stays spent."""
    return replace(record, consent="given")


def declined(spec: Spec, record: Record) -> Record:
    return replace(_forgotten(spec, record), consent="declined")


def withdrawn(spec: Spec, record: Record) -> Record:
    """A tombstone: counts and what was spent. Marks are erased; who consents again pays for their permanent answers again."""
    return replace(_forgotten(spec, record), consent="withdrawn")


def marked(spec: Spec, answer: Answers, memo: Memo) -> Mark:
    """The mark of the permanent answer; also refuses what is no answer, before anything is charged."""
    if spec.parts:
        for part, each in zip(spec.parts, spec.answers(answer)):
            marked(part, each, memo)
        return None
    if spec.grid is not None:
        number(answer)
        return None
    code = spec.code(answer)
    return None if spec.lasting is None else memo.mark(spec.lasting.label(code, memo.seed()))


def next_step(spec: Spec, record: Record, mark: Mark, today: int) -> Step:
    """Refuses, or says what is to be stored. An earlier day than the last one counts as that one: clocks go back."""
    asked = spec.survey
    if record.consent != "given":
        raise Refused(
            "no_consent",
            f"nobody has agreed to answer {asked.name}, so nothing is made.",
            fix="Show the consent text, and ask; without a yes nothing is sent.",
        )
    if record.reports >= asked.reports:
        raise Refused("schedule_over", f"all {asked.reports} reports of {asked.name} were sent.", fix="Nothing is left to do.")
    before = record.today if today <= record.day else 0
    if before >= asked.per_day:
        raise Refused("too_soon", f"{asked.name} takes {asked.per_day} a day, and they were sent.", fix="Try again tomorrow.")
    counted = replace(record, reports=record.reports + 1, day=max(today, record.day), today=before + 1)
    spent, marks = _charged(spec, record, mark)
    if record.over or spent > asked.lifetime:
        return Step(replace(counted, over=True), tells=False)
    return Step(replace(counted, spent=spent, marks=marks), tells=True)


def made(spec: Spec, step: Step, answer: Answers, *, token: bytes, epoch: int, coins: Coins, memo: Memo) -> bytes:
    """The report, framed. Both kinds are prepared alike and are of one length, so that it does not show which one left."""
    protocol = spec.lasting
    if protocol is not None:
        code, seed, spare = spec.code(answer), memo.seed(), memo.beyond()
        own = protocol.permanent(code, memo.coins(protocol.label(code, seed)), seed)
        other = protocol.permanent(_any_item(spec, spare), spare, seed)
        payload = protocol.instant((other, own)[step.tells], coins, seed)
    else:
        other, own = _any_item(spec, coins), spec.code(answer, coins)
        payload = spec.protocol.report((other, own)[step.tells], coins, spec.seed(token))
    return spec.frame.framed(epoch, payload)


def check_source(rng: Rng) -> None:
    """Refuses a source of randomness that is missing or stuck. A good one is refused with a chance below 2**-300."""
    try:
        first, second = rng.raw(TEST_BYTES), rng.raw(TEST_BYTES)
    except (OSError, RuntimeError):  # RuntimeError where the system has no source at all
        first = second = b""
    if len(first) != TEST_BYTES or len(second) != TEST_BYTES or first == second or len({*first, *second}) < TEST_VALUES:
        raise Refused(
            "no_entropy",
            "this system gives no randomness, so nothing is made.",
            why="a report without fresh coins tells the answer.",
            fix="Use a system whose source of randomness works.",
        )


def sent_words(spec: Spec, report: bytes) -> str:
    """What left the device, for its owner."""
    payload = report[HEAD_BYTES:]
    told = f"{len(report)} bytes: the survey, the epoch, and {len(payload)} of a randomized answer"
    if isinstance(spec.protocol, OneOfSeveral):
        return f"{told} to one of {len(spec.parts)} questions, which the token picked: {spec.parts[payload[0]].survey.name}"
    if spec.parts:
        return f"{told} to each of {len(spec.parts)} questions"
    if isinstance(spec.protocol, Direct) and spec.survey.options:
        told += f", {spec.survey.options[int.from_bytes(payload, 'little')]!r}, by coins that may have changed it"
    return told


def _charged(spec: Spec, record: Record, mark: Mark) -> tuple[Fraction, Mapping[bytes, bool]]:
    """What would have been spent with one more report, and the marks."""
    if mark is None or spec.permanent is None:
        return record.spent + spec.loss, record.marks
    one, all_ = min(spec.loss, spec.permanent), spec.permanent
    if mark not in record.marks:
        return record.spent + one, {**record.marks, mark: False}
    return record.spent + (0 if record.marks[mark] else all_ - one), {**record.marks, mark: True}


def _forgotten(spec: Spec, record: Record) -> Record:
    """Without marks. What was used once may be used once more, unknown as such, and twice may lose more than twice what once
    does: so all that they may ever lose is paid now, or, where the lifetime does not allow that, they are used no more."""
    spent = record.spent
    for mark, again in record.marks.items():
        if not again:
            spent = _charged(spec, replace(record, spent=spent), mark)[0]
    if spent > spec.survey.lifetime:
        return replace(record, over=True, marks={})
    return replace(record, spent=spent, marks={})


def _any_item(spec: Spec, coins: Coins) -> int:
    """An item that no answer moves: the one for no answer, else a uniform one; to each question. A text is a uniform key, a
    word a uniform number."""
    asked = spec.survey
    if isinstance(spec.protocol, Several):
        return spec.protocol.code([_any_item(part, coins) for part in spec.parts])
    if asked.none is not None:
        return spec.code(asked.none)
    if asked.options:
        return spec.code(asked.options[coins.below(len(asked.options))])
    if spec.grid is not None:
        return coins.below(spec.grid.size)
    key = int.from_bytes(coins.raw(8), "little") & WORD
    return key if asked.spelling is None else key >> WORD.bit_length() - asked.spelling.letters * asked.spelling.bits
