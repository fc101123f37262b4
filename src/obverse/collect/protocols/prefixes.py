"""Prefix extension (PEM): each report tells of a word's beginning; frequent ones are followed to whole words nobody listed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from obverse.collect.protocols.base import Coded, Estimated, Told, bytes_for, in_blocks, numbers_in, packed, sampled, tallied
from obverse.collect.protocols.projective_sketch import ProjectiveSketch
from obverse.collect.protocols.words import (
    KEPT,
    STRAYS,
    WIDE,
    WORD_BITS,
    Discovered,
    beginnings,
    bits_for,
    check_words,
    extended,
    named,
    share_seen,
    sifted,
    within,
)
from obverse.collect.randomness.coins import Coins
from obverse.core.errors import invariant
from obverse.core.rng import Rng

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Bits, Codes, Counts, Payloads

LETTERS = 8
EACH, LAST = 2, 3  # of so many people each, the last group has more: there a word must stand out of the most candidates


@dataclass(frozen=True, slots=True)
class Prefixes:
    """The seed puts a report into one of `groups`; there the word's first letters, `step` more in each, are sent by `sketch`.

    Claim:   epsilon of `sketch` per report and person, whatever two words are compared. A word that nobody has is discovered
             with a chance of at most the false alarm.
    Proof:   the group does not depend on the word; given it, the report is the sketch's of the beginning. Wang, Li, Jha 2019:
             all of epsilon is spent on one beginning, and people are divided instead. Discovery: the candidates of a group
             are those that groups of other people let through, so its reports are independent of them; in the last one a word
             that nobody has stands out with at most the false alarm over the number of candidates. Estimate: the last
             group's people are a sample of all, which adds f (1 - f) (1/m - 1/n), m of n being in it.
    Assumes: groups and rows are picked uniformly and not by the sender, for the estimate; for the loss nothing but one report
             per person, or the losses of all of them added.
    """

    name: ClassVar[str] = "prefixes"
    told: ClassVar[Told] = "shares"
    coded: ClassVar[Coded] = "word"
    symbols: int
    letters: int
    step: int
    groups: int
    sketch: ProjectiveSketch

    def __post_init__(self) -> None:
        check_words(self.letters, self.symbols)
        invariant(self.step >= 1 and self.groups >= 1, "each group has letters more than the one before")
        invariant(self.letters > (self.groups - 1) * self.step, "the first group has a letter")

    @classmethod
    def fitted(cls, size: int, epsilon: Fraction) -> Prefixes:
        """For words of a usual length, of letters that are one of `size` symbols."""
        return cls.of_words(min(LETTERS, WORD_BITS // bits_for(size)), size, epsilon)

    @classmethod
    def of_words(cls, letters: int, symbols: int, epsilon: Fraction) -> Prefixes:
        """As few groups as candidates allow: the fewer they are, the more people each has."""
        first = max(length for length in range(1, WORD_BITS) if length == 1 or symbols**length <= WIDE)
        step = max(length for length in range(1, WORD_BITS) if length == 1 or KEPT * symbols**length <= WIDE)
        groups = 1 + max(0, -(-(letters - first) // step))
        return cls(symbols, letters, step, groups, ProjectiveSketch.fitted(symbols, epsilon))

    @property
    def lengths(self) -> list[int]:
        """How many letters each group sends."""
        return [self.letters - (self.groups - 1 - group) * self.step for group in range(self.groups)]

    @property
    def parts(self) -> int:
        return EACH * (self.groups - 1) + LAST

    @property
    def length(self) -> int:
        return bytes_for(self.groups * self.sketch.cells)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.groups, *self.sketch.shape)

    def loss(self) -> Fraction:
        return self.sketch.loss()

    def report(self, code: int, coins: Coins, seed: int) -> bytes:
        invariant(0 <= code < 1 << self.letters * bits_for(self.symbols), "a word of so many letters")
        group = self._group(seed)
        sent = self.sketch.report(code >> self._shift(group), coins, seed // self.parts)
        return (group * self.sketch.cells + int.from_bytes(sent, "little")).to_bytes(self.length, "little")

    @in_blocks
    def reports(self, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
        import numpy as np

        invariant(within(codes, self.symbols, self.letters), "words of so many letters")
        chosen = rng.words(len(codes)) if seeds is None else seeds
        groups = self._groups(chosen)
        shifts = np.array([self._shift(group) for group in range(self.groups)], dtype=np.uint64)
        sent = self.sketch.reports(codes >> shifts[groups.view(np.int64)], rng, chosen // np.uint64(self.parts))
        return packed(groups * np.uint64(self.sketch.cells) + numbers_in(sent), self.length)

    def valid(self, payloads: Payloads) -> Bits:
        return numbers_in(payloads) < self.groups * self.sketch.cells

    def agrees(self, payloads: Payloads, seeds: Codes) -> Bits:
        import numpy as np

        rows = seeds // np.uint64(self.parts) % np.uint64(self.sketch.rows)
        wanted = self._groups(seeds) * np.uint64(self.sketch.rows) + rows
        found: Bits = numbers_in(payloads) // np.uint64(self.sketch.columns) == wanted
        return found

    def fold(self, payloads: Payloads) -> Counts:
        return tallied(payloads, self.groups * self.sketch.cells).reshape(self.shape)

    def estimate(self, counts: Counts, n: int, codes: Codes) -> Estimated:
        """Of whole words, by the last group alone; an empty table stands for as many people there as are expected."""
        told = int(counts[-1].sum()) or max(1, n * LAST // self.parts)
        return sampled(self.sketch.estimate(counts[-1], told, codes), told, n)

    def discover(self, counts: Counts, n: int, false_alarm: float) -> Discovered:
        tried = beginnings(self.symbols, self.lengths[0])
        for group in range(self.groups - 1):
            found = sifted(self.sketch, counts[group], tried, min(STRAYS / max(len(tried), 1), 0.5))
            tried = extended(tried[found.places], self.symbols, self.step)
        found = sifted(self.sketch, counts[-1], tried, false_alarm / max(len(tried), 1))
        told = max(1, int(counts[-1].sum()))
        found = replace(found, found=sampled(found.found, told, n), leverage=found.leverage * n / told)
        return named(tried, len(tried), found)

    def visible(self, n: int, false_alarm: float, missed: float) -> float:
        """The largest share of those that each group lets through with its part of the luck; twice STRAYS are followed."""
        each, tried, shares = missed / self.groups, self.symbols ** self.lengths[0], []
        for group in range(self.groups):
            last = group == self.groups - 1
            chance = false_alarm / tried if last else min(STRAYS / tried, 0.5)
            shares.append(share_seen(self.sketch, n * (LAST if last else EACH) / self.parts, chance, each))
            tried = 2 * STRAYS * self.symbols**self.step
        return max(shares)

    def sends(self) -> str:
        *some, whole = self.lengths
        lengths = f"{', '.join(map(str, some))} or {whole}" if some else f"{whole}"
        return f"Of your word the first {lengths} letters are taken, as your token decides, and sent as one randomized number."

    def leverage(self) -> float:
        """Of a report of the last group, whose people stand for all; who cheats may throw other tokens away."""
        return self.sketch.leverage() * self.parts / LAST

    def probability(self, code: int, payload: bytes, seed: int) -> Fraction:
        group, sent = divmod(int.from_bytes(payload, "little"), self.sketch.cells)
        if group != self._group(seed):
            return Fraction(0)
        told = sent.to_bytes(self.sketch.length, "little")
        return self.sketch.probability(code >> self._shift(group), told, seed // self.parts)

    def payloads(self, seed: int) -> Iterator[bytes]:
        first = self._group(seed) * self.sketch.cells
        for sent in self.sketch.payloads(seed // self.parts):
            yield (first + int.from_bytes(sent, "little")).to_bytes(self.length, "little")

    def _group(self, seed: int) -> int:
        return min(seed % self.parts // EACH, self.groups - 1)

    def _groups(self, seeds: Codes) -> Codes:
        import numpy as np

        found: Codes = np.minimum(seeds % np.uint64(self.parts) // np.uint64(EACH), np.uint64(self.groups - 1))
        return found

    def _shift(self, group: int) -> int:
        """Bits of a word that a group leaves out."""
        return (self.letters - self.lengths[group]) * bits_for(self.symbols)
