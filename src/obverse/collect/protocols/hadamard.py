"""Hadamard response in blocks: one word of about log2(size) bits, decoded by a fast transform."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from obverse.collect.protocols.base import (
    Coded,
    Estimated,
    Told,
    bytes_for,
    everyone,
    in_blocks,
    numbers_in,
    packed,
    tallied,
)
from obverse.collect.randomness.coins import ONE, Coins, check_epsilon, epsilon_of, exp_down, flips, most_odds, share
from obverse.collect.randomness.hashing import walsh_hadamard
from obverse.core.errors import invariant
from obverse.core.rng import Rng

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Bits, Codes, Counts, Doubles, Payloads

SIZE_MAX = 1 << 24


@dataclass(frozen=True, slots=True)
class Hadamard:
    """A word of `blocks` blocks; with probability odds / 2**53 one that agrees with the item, else a uniform one of
    all.

    Items are dealt to blocks of b - 1, b the power of two that holds them: item v has the column c, from 1 to b - 1, of
    its block, and the words x of the block for which x & c has an even number of ones agree with it. They are half of
    the block.

    Claim:   epsilon = ln(1 + 2 B r / (1 - r)) per report and person, r = odds / 2**53, B the blocks, rounded up.
    Proof:   Acharya, Sun, Zhang 2019: of B b words each has probability (1 - r) / (B b), and those b / 2 that agree
             with the item have 2 r / b more, whatever the item is. Estimate: let X be 1 for a word that agrees with v,
             -1 for another of its block, else 0. For one's own item E[X] = r; for another of the block, of whose words
             half agree with v, and for one of another block, it is 0. X**2 is 1 with probability r + (1 - r) / B for
             items of the block, and (1 - r) / B for all others. Sums of X over reports are a Walsh-Hadamard transform
             of the counts.
    Assumes: one report per person, or the losses of all of them added.
    """

    name: ClassVar[str] = "hadamard"
    told: ClassVar[Told] = "shares"
    coded: ClassVar[Coded] = "index"
    size: int
    blocks: int
    odds: int

    def __post_init__(self) -> None:
        invariant(2 <= self.size <= SIZE_MAX, "Hadamard response has from 2 to 2**24 items")
        invariant(
            1 <= self.blocks <= 2 * self.size and self.blocks & (self.blocks - 1) == 0, "blocks are a power of two"
        )
        invariant(0 < self.odds < ONE, "odds lie strictly between none and all")

    @classmethod
    def fitted(cls, size: int, epsilon: Fraction) -> Hadamard:
        check_epsilon(epsilon)
        growth = exp_down(epsilon)
        blocks = 1 if epsilon <= 1 else 1 << min(floor(growth), 2 * size).bit_length() - 1
        guess = (growth - 1) / (growth - 1 + 2 * blocks)
        return cls(size, blocks, most_odds(guess, lambda odds: cls(size, blocks, odds).loss() <= epsilon))

    @property
    def block(self) -> int:
        """Words in a block."""
        return 1 << (-(-self.size // self.blocks)).bit_length()

    @property
    def length(self) -> int:
        return bytes_for(self.blocks * self.block)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.blocks, self.block)

    def loss(self) -> Fraction:
        return epsilon_of(1 + 2 * self.blocks * Fraction(self.odds, ONE - self.odds))

    def report(self, code: int, coins: Coins, seed: int = 0) -> bytes:
        invariant(0 <= code < self.size, "an item of the list")
        agreeing = coins.flip(self.odds)
        word = coins.below(self.blocks * self.block)
        if agreeing:
            block, column = self._place(code)
            inside = word % self.block
            if (inside & column).bit_count() & 1:
                # one bit of the column, so that words that disagree turn to those that agree
                inside ^= column & -column
            word = block * self.block + inside
        return word.to_bytes(self.length, "little")

    @in_blocks
    def reports(self, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
        invariant(bool(np.all(codes < self.size)), "items of the list")
        block = codes // (self.block - 1)
        column = codes % (self.block - 1) + np.uint64(1)
        words = rng.below(self.blocks * self.block, len(codes)).view(np.uint64)
        inside = words & np.uint64(self.block - 1)
        odd = (np.bitwise_count(inside & column) & 1).astype(np.bool_)
        inside ^= np.where(odd, column & (~column + np.uint64(1)), np.uint64(0))
        agreeing = flips(self.odds, len(codes), rng)
        return packed(np.where(agreeing, block * np.uint64(self.block) + inside, words), self.length)

    def valid(self, payloads: Payloads) -> Bits:
        return numbers_in(payloads) < self.blocks * self.block

    def agrees(self, payloads: Payloads, seeds: Codes) -> Bits:
        return everyone(payloads)

    def fold(self, payloads: Payloads) -> Counts:
        return tallied(payloads, self.blocks * self.block).reshape(self.shape)

    def estimate(self, counts: Counts, n: int, codes: Codes) -> Estimated:
        block = codes // (self.block - 1)
        column = codes % (self.block - 1) + np.uint64(1)
        sums = walsh_hadamard(counts)
        rate = float(share(self.odds))
        spread = (1 - rate) / self.blocks
        value: Doubles = sums[block, column] / (n * rate)
        beside = np.clip((sums[block, 0] / n - spread) / rate, 0.0, 1.0)  # the share of the item's block
        known = np.clip(value, 0.0, 1.0)
        variance = (spread + np.maximum(beside, known) * rate - known * rate**2) / (n * rate**2)
        tilt = np.where(known >= beside, (1 - rate) / (n * rate), 0.0)  # of items alone in their block; of others less
        return Estimated(value, variance, tilt=tilt, grain=1 / (2 * n * rate))

    def leverage(self) -> float:
        """Down from one's own item: a word that disagrees counts as little as one that agrees counts much."""
        return float(1 + 1 / share(self.odds))

    def probability(self, code: int, payload: bytes, seed: int = 0) -> Fraction:
        block, column = self._place(code)
        found, inside = divmod(int.from_bytes(payload, "little"), self.block)
        agrees = found == block and not (inside & column).bit_count() & 1
        rate = share(self.odds)
        return (1 - rate) / (self.blocks * self.block) + (2 * rate / self.block if agrees else 0)

    def payloads(self, seed: int = 0) -> Iterator[bytes]:
        return (word.to_bytes(self.length, "little") for word in range(self.blocks * self.block))

    def _place(self, code: int) -> tuple[int, int]:
        return code // (self.block - 1), code % (self.block - 1) + 1
