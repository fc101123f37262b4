"""Several questions in one report: one of them at the whole loss, or all of them at a part of it each.

All answers of a person are one code: the number of the answer to each question, the first question's counting least.
What a server keeps is the counts of every question in a row, and after them how many reports there are of each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise, product
from typing import TYPE_CHECKING, ClassVar, Protocol, Self

import numpy as np

from obverse.collect.protocols.base import Coded, Estimated, LastingProtocol, LocalProtocol, Told, sampled
from obverse.collect.protocols.direct import Direct
from obverse.collect.randomness.coins import Coins
from obverse.collect.randomness.hashing import mix, mixed
from obverse.core.errors import invariant
from obverse.core.rng import Rng

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Bits, Codes, Counts, Payloads

PARTS_MAX = 255
SIZE_MAX = 1 << 64


class Part(LocalProtocol, Protocol):
    """A protocol of so many items or places."""

    @property
    def size(self) -> int: ...


def fits_within(part: LocalProtocol) -> bool:
    """Whether it may answer one of several questions: from fresh coins, an item of a list or a place of a grid."""
    return part.coded in ("index", "place") and not isinstance(part, (LastingProtocol, Several))


def seed_within(seed: int, place: int) -> int:
    """The seed of one question's part of a report; parts have nothing in common."""
    return mix(seed ^ place)


@dataclass(frozen=True, slots=True)
class Several:
    """What both ways have in common."""

    told: ClassVar[Told] = "shares"
    coded: ClassVar[Coded] = "index"
    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        invariant(isinstance(self.parts, tuple) and 1 <= len(self.parts) <= PARTS_MAX, "from 1 to 255 questions")
        invariant(all(fits_within(part) for part in self.parts), "each question has items or places, and fresh coins")
        invariant(self.size <= SIZE_MAX, "all answers of a person are 64 bits")

    @classmethod
    def fitted(cls, size: int, epsilon: Fraction) -> Self:
        return cls((Direct.fitted(size, epsilon),))

    @property
    def size(self) -> int:
        return math.prod(part.size for part in self.parts)

    @property
    def shape(self) -> tuple[int, ...]:
        return (sum(math.prod(part.shape) for part in self.parts) + len(self.parts),)

    def code(self, codes: Sequence[int]) -> int:
        """All answers as one."""
        invariant(len(codes) == len(self.parts), "an answer to each question")
        invariant(all(0 <= one < part.size for one, part in zip(codes, self.parts)), "items of the list")
        return sum(one * stride for one, stride in zip(codes, self._strides()))

    def answer(self, code: int, place: int) -> int:
        """The answer to one question."""
        return code // self._strides()[place] % self.parts[place].size

    def answers(self, codes: Codes, place: int) -> Codes:
        """Those of many people."""
        invariant(self.size == SIZE_MAX or bool(np.all(codes < np.uint64(self.size))), "answers to each question")
        return codes // np.uint64(self._strides()[place]) % np.uint64(self.parts[place].size)

    def counted(self, counts: Counts, place: int) -> tuple[Counts, int]:
        """The counts of one question, and how many reports there are of it."""
        ends = [0, *accumulate(math.prod(part.shape) for part in self.parts)]
        own = counts[ends[place] : ends[place + 1]].reshape(self.parts[place].shape)
        return own, int(counts[ends[-1] + place])

    def estimate(self, counts: Counts, n: int, codes: Codes) -> Estimated:
        """Here codes number the items of all questions, one question after the other; a mean is one item."""
        found = []
        for place, part in enumerate(self.parts):
            own, many = self.counted(counts, place)
            if part.told == "mean":
                found.append(part.estimate(own, max(many, 1), codes[:0]))
            else:
                each = part.estimate(own, max(many, 1), np.arange(part.size, dtype=np.uint64))
                found.append(sampled(each, max(many, 1), n))
        value, variance = (np.concatenate(all_) for all_ in zip(*((each.value, each.variance) for each in found)))
        return Estimated(value[codes], variance[codes], max(each.floor for each in found))

    def leverage(self) -> float:
        return max(part.leverage() for part in self.parts)

    def _strides(self) -> list[int]:
        return list(accumulate((part.size for part in self.parts[:-1]), int.__mul__, initial=1))

    def _folded(self, rows: Sequence[Payloads]) -> Counts:
        """The counts of reports that are sorted by question."""
        each = [part.fold(np.ascontiguousarray(some)).reshape(-1) for part, some in zip(self.parts, rows)]
        return np.concatenate([*each, np.array([len(some) for some in rows], dtype=np.int64)])


@dataclass(frozen=True, slots=True)
class OneOfSeveral(Several):
    """The report of one question, which the report's token picks; its number is sent along. Reports are of one length.

    Claim:   the largest epsilon of the parts per report and person, whatever all their answers are.
    Proof:   which question it is does not depend on the answers; given it, the report is that of its part, of one
             answer.
             Estimates: those of each part, of the people whom it was asked, who are picked uniformly.
    Assumes: for the estimates, seeds are uniform and not chosen by the sender; for the loss nothing but one report per
             person, or the losses of all of them added.
    """

    name: ClassVar[str] = "one_of_several"

    @property
    def length(self) -> int:
        return 1 + max(part.length for part in self.parts)

    def loss(self) -> Fraction:
        return max(part.loss() for part in self.parts)

    def asked(self, seed: int) -> int:
        """The number of the question."""
        return (seed >> 32) * len(self.parts) >> 32

    def report(self, code: int, coins: Coins, seed: int) -> bytes:
        place = self.asked(seed)
        sent = self.parts[place].report(self.answer(code, place), coins, seed_within(seed, place))
        return bytes([place]) + sent.ljust(self.length - 1, b"\0")

    def reports(self, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
        chosen = rng.words(len(codes)) if seeds is None else seeds
        found = np.zeros((len(codes), self.length), dtype=np.uint8)
        asked = self._asked(chosen)
        for place, part in enumerate(self.parts):
            (who,) = np.nonzero(asked == place)
            own = self.answers(codes[who], place)
            hashing = mixed(chosen[who] ^ np.uint64(place))
            found[who, 0] = place
            found[who, 1 : 1 + part.length] = part.reports(own, rng, hashing)
        return found

    def valid(self, payloads: Payloads) -> Bits:
        found = np.zeros(len(payloads), dtype=np.bool_)
        for place, part in enumerate(self.parts):
            (who,) = np.nonzero(payloads[:, 0] == place)
            found[who] = part.valid(self._own(payloads[who], part)) & ~payloads[who, 1 + part.length :].any(axis=1)
        return found

    def agrees(self, payloads: Payloads, seeds: Codes) -> Bits:
        found: Bits = payloads[:, 0] == self._asked(seeds)
        for place, part in enumerate(self.parts):
            (who,) = np.nonzero(payloads[:, 0] == place)
            found[who] &= part.agrees(self._own(payloads[who], part), mixed(seeds[who] ^ np.uint64(place)))
        return found

    def fold(self, payloads: Payloads) -> Counts:
        return self._folded([self._own(payloads[payloads[:, 0] == i], part) for i, part in enumerate(self.parts)])

    def probability(self, code: int, payload: bytes, seed: int) -> Fraction:
        place = self.asked(seed)
        part = self.parts[place]
        if payload[0] != place or any(payload[1 + part.length :]):
            return Fraction(0)
        return part.probability(self.answer(code, place), payload[1 : 1 + part.length], seed_within(seed, place))

    def payloads(self, seed: int) -> Iterator[bytes]:
        place = self.asked(seed)
        for sent in self.parts[place].payloads(seed_within(seed, place)):
            yield bytes([place]) + sent.ljust(self.length - 1, b"\0")

    def _asked(self, seeds: Codes) -> Codes:
        return (seeds >> np.uint64(32)) * np.uint64(len(self.parts)) >> np.uint64(32)

    @staticmethod
    def _own(rows: Payloads, part: Part) -> Payloads:
        return rows[:, 1 : 1 + part.length]


@dataclass(frozen=True, slots=True)
class AllOfSeveral(Several):
    """A report of every question, one after the other.

    Claim:   the sum of the epsilons of the parts per report and person, whatever all their answers are.
    Proof:   parts flip coins of their own, so that the probability of a report is the product of those of its parts;
             each of these changes by its own epsilon at most. Estimates: those of each part, of all people.
    Assumes: one report per person, or the losses of all of them added.
    """

    name: ClassVar[str] = "all_of_several"

    @property
    def length(self) -> int:
        return sum(part.length for part in self.parts)

    def loss(self) -> Fraction:
        return sum((part.loss() for part in self.parts), Fraction(0))

    def report(self, code: int, coins: Coins, seed: int) -> bytes:
        each = enumerate(self.parts)
        return b"".join(part.report(self.answer(code, place), coins, seed_within(seed, place)) for place, part in each)

    def reports(self, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
        chosen = rng.words(len(codes)) if seeds is None else seeds
        each = enumerate(self.parts)
        made = [part.reports(self.answers(codes, i), rng, mixed(chosen ^ np.uint64(i))) for i, part in each]
        return np.concatenate(made, axis=1)

    def valid(self, payloads: Payloads) -> Bits:
        found: Bits = np.logical_and.reduce([part.valid(own) for part, own in zip(self.parts, self._own(payloads))])
        return found

    def agrees(self, payloads: Payloads, seeds: Codes) -> Bits:
        each = enumerate(zip(self.parts, self._own(payloads)))
        found: Bits = np.logical_and.reduce([part.agrees(own, mixed(seeds ^ np.uint64(i))) for i, (part, own) in each])
        return found

    def fold(self, payloads: Payloads) -> Counts:
        return self._folded(self._own(payloads))

    def probability(self, code: int, payload: bytes, seed: int) -> Fraction:
        found = Fraction(1)
        start = 0
        for place, part in enumerate(self.parts):
            own = payload[start : start + part.length]
            start = start + part.length
            found *= part.probability(self.answer(code, place), own, seed_within(seed, place))
        return found

    def payloads(self, seed: int) -> Iterator[bytes]:
        each = enumerate(self.parts)
        return (b"".join(sent) for sent in product(*(part.payloads(seed_within(seed, place)) for place, part in each)))

    def _own(self, payloads: Payloads) -> list[Payloads]:
        ends = accumulate((part.length for part in self.parts), initial=0)
        return [payloads[:, start:end] for start, end in pairwise(ends)]
