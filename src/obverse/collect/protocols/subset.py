"""Subset selection: a few items, one's own rather among them. The least error for lists of a few dozen."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from obverse.collect.protocols.base import Coded, Estimated, Told, everyone, supported
from obverse.collect.protocols.bit_sums import column_sums
from obverse.collect.randomness.coins import (
    ONE,
    Coins,
    check_epsilon,
    epsilon_of,
    exp_down,
    flips,
    most_odds,
    share,
    sway,
)
from obverse.core.errors import invariant
from obverse.core.rng import Rng

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Bits, Codes, Counts, Payloads

SIZE_MAX = 1 << 12
BLOCK = 1 << 11  # people at a time


@dataclass(frozen=True, slots=True)
class Subset:
    """A set of `chosen` items: with probability inside / 2**53 one's own and others, else others only; others each
    alike.

    Claim:   epsilon = ln(p (d - w) / ((1 - p) w)) per report and person, p = inside / 2**53, rounded up; w of d items.
    Proof:   Ye, Barg 2018, Wang et al. 2016: a set with one's own item has probability p / C(d - 1, w - 1), another one
             (1 - p) / C(d - 1, w), whatever the item is, and C(d - 1, w) / C(d - 1, w - 1) = (d - w) / w. The own item
             is supported with p, another with (p (w - 1) + (1 - p) w) / (d - 1); `supported` does the rest.
    Assumes: one report per person, or the losses of all of them added; p > w / d.
    """

    name: ClassVar[str] = "subset"
    told: ClassVar[Told] = "shares"
    coded: ClassVar[Coded] = "index"
    size: int
    chosen: int
    inside: int

    def __post_init__(self) -> None:
        invariant(2 <= self.size <= SIZE_MAX, "subset selection has from 2 to 4096 items")
        invariant(1 <= self.chosen < self.size, "a subset is neither empty nor all items")
        invariant(
            self.inside * self.size > ONE * self.chosen and self.inside < ONE,
            "one's own is sent more often than others",
        )

    @classmethod
    def fitted(cls, size: int, epsilon: Fraction) -> Subset:
        check_epsilon(epsilon)
        chosen = min(max(1, round(size / (exp_down(epsilon) + 1))), size - 1)
        least = ONE * chosen // size
        weight = exp_down(epsilon) * chosen
        fits = lambda odds: odds <= least or cls(size, chosen, odds).loss() <= epsilon  # noqa: E731
        return cls(size, chosen, most_odds(weight / (weight + size - chosen), fits))

    @property
    def own(self) -> Fraction:
        return share(self.inside)

    @property
    def other(self) -> Fraction:
        return (self.chosen - self.own) / (self.size - 1)

    @property
    def length(self) -> int:
        return (self.size + 7) // 8

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.size,)

    def loss(self) -> Fraction:
        return epsilon_of(Fraction(self.inside * (self.size - self.chosen), (ONE - self.inside) * self.chosen))

    def report(self, code: int, coins: Coins, seed: int = 0) -> bytes:
        """Others are shuffled until as many are drawn as a set has; the last one gives way to one's own."""
        invariant(0 <= code < self.size, "an item of the list")
        inside = coins.flip(self.inside)
        others = list(range(self.size))
        del others[code]
        # the last item first
        digits = bytearray(b"0" * self.size)
        taken = code
        for place, drawn in enumerate(coins.below_each(range(self.size - 1, self.size - 1 - self.chosen, -1))):
            drawn += place
            taken = others[drawn]
            others[drawn] = others[place]
            digits[~taken] = 49  # the digit one
        if inside:
            digits[~taken] = 48
            digits[~code] = 49
        return int(digits, 2).to_bytes(self.length, "little")

    def reports(self, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
        invariant(bool(np.all(codes < self.size)), "items of the list")
        found = np.zeros((len(codes), self.length), dtype=np.uint8)
        for start in range(0, len(codes), BLOCK):
            own = codes[start : start + BLOCK].astype(np.int64)
            others = np.tile(np.arange(self.size - 1, dtype=np.int16), (len(own), 1))
            people = np.arange(len(own))
            for place in range(self.chosen):
                drawn = place + rng.below(self.size - 1 - place, len(own))
                taken = others[people, drawn]
                others[people, drawn] = others[:, place]
                others[:, place] = taken
            sent = others[:, : self.chosen].astype(np.int64)
            sent += sent >= own[:, None]
            sent[:, -1] = np.where(flips(self.inside, len(own), rng), own, sent[:, -1])
            bits = np.zeros((len(own), 8 * self.length), dtype=np.uint8)
            bits[people[:, None], sent] = 1
            found[start : start + BLOCK] = np.packbits(bits, axis=1, bitorder="little")
        return found

    def valid(self, payloads: Payloads) -> Bits:
        spare = self.size % 8
        found: Bits = np.bitwise_count(payloads).sum(axis=1) == self.chosen
        return found & (payloads[:, -1] < 1 << spare) if spare else found

    def agrees(self, payloads: Payloads, seeds: Codes) -> Bits:
        return everyone(payloads)

    def fold(self, payloads: Payloads) -> Counts:
        return column_sums(payloads, self.size)

    def estimate(self, counts: Counts, n: int, codes: Codes) -> Estimated:
        return supported(counts[codes], n, self.own, self.other)

    def leverage(self) -> float:
        return sway(self.own, self.other)

    def probability(self, code: int, payload: bytes, seed: int = 0) -> Fraction:
        if int.from_bytes(payload, "little") >> code & 1:
            return self.own / comb(self.size - 1, self.chosen - 1)
        return (1 - self.own) / comb(self.size - 1, self.chosen)

    def payloads(self, seed: int = 0) -> Iterator[bytes]:
        for items in itertools.combinations(range(self.size), self.chosen):
            yield sum(1 << item for item in items).to_bytes(self.length, "little")
