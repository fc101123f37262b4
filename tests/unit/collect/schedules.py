"""A survey's whole schedule, played: reports of the answer until the lifetime is spent, then reports that carry
none.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from obverse.collect.device import Record, consented, made, marked, next_step
from obverse.collect.randomness.coins import Coins, Memo
from obverse.collect.spec import Spec
from obverse.collect.tally import Tally, tallied
from obverse.core.rng import Rng

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Month:
    """What was counted, the codes of the reports that carry an answer, and how many carry none."""

    tally: Tally
    answered: NDArray[np.uint64]
    silent: int

    def share(self, code: int) -> float:
        """Among the reports that carry an answer."""
        return float((self.answered == np.uint64(code)).mean())


def informative(spec: Spec, sent: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many reports of each device carry its answer, of fresh coins: as `next_step` charges them."""
    return np.minimum(sent, int(Fraction(spec.survey.lifetime) / spec.loss))


def any_items(spec: Spec, n: int, generator: np.random.Generator) -> NDArray[np.uint64]:
    """As `client` draws them: the option for no answer, else uniform."""
    asked = spec.survey
    if spec.parts:
        codes = [any_items(part, n, generator) for part in spec.parts]
        found = np.zeros(n, dtype=np.uint64)
        for stride, own in zip(spec.protocol._strides(), codes):  # type: ignore[attr-defined]
            found += own * np.uint64(stride)
        return found
    if asked.none is not None:
        return np.full(n, spec.code(asked.none), dtype=np.uint64)
    if asked.options:
        return np.array(spec.codes(), dtype=np.uint64)[generator.integers(0, len(asked.options), n)]
    if spec.grid is not None:
        return generator.integers(0, spec.grid.size, n).astype(np.uint64)
    words = generator.integers(0, 1 << 64, n, dtype=np.uint64)
    if asked.spelling is None:
        return words
    return words >> np.uint64(64 - asked.spelling.letters * asked.spelling.bits)


def month(
    spec: Spec, codes: NDArray[np.uint64], sent: NDArray[np.int64], generator: np.random.Generator, rng: Rng
) -> Month:
    """Of people with these answers who sent so many reports each; of fresh coins, many at once."""
    telling = informative(spec, sent)
    answered = np.repeat(codes, telling)
    silent = int((sent - telling).sum())
    reports = spec.protocol.reports(np.concatenate([answered, any_items(spec, silent, generator)]), rng)
    return Month(tallied(spec.digest, spec.protocol, reports), answered, silent)


def month_of_devices(spec: Spec, answers: list[list[Any]], rng: Rng) -> Month:
    """One list of answers for each device, one for each day: by the device's own program."""
    payloads = []
    answered = []
    silent = 0
    for days in answers:
        record = consented(Record())
        memo = Memo(rng.raw(32), spec.digest)
        for day, answer in enumerate(days, 1):
            step = next_step(spec, record, marked(spec, answer, memo), day)
            record = step.record
            report = made(spec, step, answer, token=rng.raw(32), epoch=0, coins=Coins(rng.raw), memo=memo)
            payloads.append(list(report[10:]))
            answered += [spec.code(answer, Coins(rng.raw))] * step.tells
            silent += not step.tells
    tally = tallied(spec.digest, spec.protocol, np.array(payloads, dtype=np.uint8))
    return Month(tally, np.array(answered, dtype=np.uint64), silent)
