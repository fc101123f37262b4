"""How many rows of packed bits have each bit set; in all, and for each of many groups of rows.

Sixty-four columns are added at a time by full adders on words (carry-save): a counter is a list of planes of bits, of
weights 1, 2, 4 and so on, and only a counter that has taken in all its rows, and has been made narrow, is unpacked.
"""

from __future__ import annotations

from math import gcd

import numpy as np
from numpy.typing import NDArray

from obverse.core.errors import invariant

Words = NDArray[np.uint64]
Counts = NDArray[np.int64]
Payloads = NDArray[np.uint8]


PLANE = 1 << 13  # words that are added at a time, so that counters stay in the cache
NARROW = 1 << 8  # words of a plane that is unpacked rather than halved once more
DEEP = 16  # planes that a counter takes in at least, where there are rows enough
AHEAD = 1 << 10  # rows that are laid out beyond those that are needed
ALONE = 1 << 10  # groups of more rows, and of four times the usual number, are counted alone


class Planes:
    """A counter of bits, for as many columns as a plane has; planes are added one by one.

    Claim:   the planes kept, each times its weight, sum to the planes added.
    Proof:   a full adder replaces three bits a, b, c of one weight by a ^ b ^ c of that weight and their majority of
             twice the weight, and a + b + c = (a ^ b ^ c) + 2 majority(a, b, c).
    Assumes: planes are of one shape; those of weight 1 stay as they are, and others are given away.
    """

    __slots__ = ("spare", "totals", "waiting")

    def __init__(self) -> None:
        self.totals: list[Words] = []
        self.waiting: list[Words | None] = []
        self.spare: list[Words] = []  # to be written over

    def add(self, plane: Words, level: int = 0) -> None:
        while level < len(self.totals):
            other = self.waiting[level]
            if other is None:
                self.waiting[level] = plane
                return
            total = self.totals[level]
            either = self._room(plane)
            carry = self._room(plane)
            np.bitwise_xor(other, plane, out=either)
            np.bitwise_and(other, plane, out=carry)
            if level:
                self.spare += [other, plane]
            both = self._room(plane)
            np.bitwise_and(total, either, out=both)
            np.bitwise_or(carry, both, out=carry)
            np.bitwise_xor(total, either, out=total)
            self.spare += [either, both]
            self.waiting[level] = None
            plane = carry
            level = level + 1
        self.totals.append(plane if level else plane.copy())
        self.waiting.append(None)

    def halved(self) -> Planes:
        """A counter of planes half as long, the halves added to each other. This one is used up."""
        found = Planes()
        for level, (total, waiting) in enumerate(zip(self.totals, self.waiting)):
            for plane in (total, waiting):
                if plane is not None:
                    half = len(plane) // 2
                    invariant(len(plane) == 2 * half, "a plane of an even number of rows")
                    found.add(plane[:half], level)
                    found.add(plane[half:], level)
        return found

    def weighted(self) -> list[tuple[int, Words]]:
        """Planes with their weights, each of which is there once."""
        level = 0
        while level < len(self.totals):
            other = self.waiting[level]
            total = self.totals[level]
            if other is not None:
                self.waiting[level] = None
                carry = total & other
                total ^= other
                self.add(carry, level + 1)
            level += 1
        return [(1 << level, plane) for level, plane in enumerate(self.totals)]

    def _room(self, like: Words) -> Words:
        return self.spare.pop() if self.spare else np.empty(like.shape, dtype=np.uint64)


class Laid:
    """Rows of bytes as rows of whole words, written as far as they are read: what was just written is still near."""

    __slots__ = ("_bytes", "_done", "_rows", "words")

    def __init__(self, rows: Payloads) -> None:
        n, length = rows.shape
        self._rows = rows
        self._done = 0
        self._bytes = np.empty((n, length + -length % 8), dtype=np.uint8)
        self.words: Words = self._bytes.view("<u8")

    def up_to(self, end: int) -> Words:
        """The words, of which those before `end` are there."""
        if end > self._done:
            new = slice(self._done, end + AHEAD)
            length = self._rows.shape[1]
            self._bytes[new, :length] = self._rows[new]
            self._bytes[new, length:] = 0
            self._done = end + AHEAD
        return self.words


def column_sums(payloads: Payloads, size: int) -> Counts:
    """How many rows have each bit set, least significant first."""
    n, length = payloads.shape
    beside = 8 // gcd(length, 8)  # so many rows are whole words
    whole = n - n % beside
    words = np.ascontiguousarray(payloads[:whole]).reshape(-1, beside * length).view("<u8")
    counts = _unpacked(payloads[whole:])
    if whole:
        counts += _word_sums(words).reshape(beside, -1).sum(axis=0)
    return counts[:size]


def _word_sums(words: Words) -> Counts:
    """Column sums of rows of words."""
    n, width = words.shape
    group = _power_below(min(PLANE // width, n // DEEP))  # rows in a plane
    counter = Planes()
    for start in range(0, n - group + 1, group):
        counter.add(words[start : start + group])
    if n % group:
        last = np.zeros((group, width), dtype=np.uint64)
        last[: n % group] = words[n - n % group :]
        counter.add(last)
    while group > 1 and group * width > NARROW:
        counter = counter.halved()
        group = group // 2
    counts = np.zeros(64 * width, dtype=np.int64)
    for weight, plane in counter.weighted():
        counts += weight * _unpacked(plane.view(np.uint8))
    return counts


def grouped_sums(groups: NDArray[np.int64], payloads: Payloads, number: int, size: int, skipped: int) -> Counts:
    """For each of `number` groups how many of its rows have each bit set, and in a last column how many rows it has.

    The bits follow `skipped` bytes. Groups are taken side by side, those of like size together: a plane has as many
    rows of each. Groups that are large beside others are counted alone.
    """
    laid = Laid(payloads[:, skipped:])
    found = np.zeros((number, size + 1), dtype=np.int64)
    rows = np.bincount(groups, minlength=number)
    found[:, size] = rows
    # sorted by radix
    narrow = groups.astype(np.uint8 if number <= 1 << 8 else np.uint16) if number <= 1 << 16 else groups
    order = np.argsort(narrow, kind="stable")
    firsts = np.cumsum(rows) - rows
    largest = np.argsort(-rows, kind="stable")[: np.count_nonzero(rows)]
    usual = 4 * len(groups) // max(1, len(largest))
    alone = int(np.count_nonzero(rows > max(ALONE, usual)))
    for group in largest[:alone]:
        taken = order[firsts[group] : firsts[group] + rows[group]]
        found[group, :size] = _word_sums(laid.up_to(len(groups)).take(taken, axis=0, mode="clip"))[:size]
    beside = max(1, PLANE // laid.words.shape[1])
    for start in range(alone, len(largest), beside):
        some = largest[start : start + beside]
        found[some, :size] = _side_by_side(laid, order, firsts[some], rows[some], size)
    return found


def _side_by_side(laid: Laid, order: Counts, first: Counts, rows: Counts, size: int) -> Counts:
    """Sums of groups, of which the largest comes first: `rows` each, in `order` from `first` on."""
    # of each group in a plane
    layers = _power_below(min(PLANE // (laid.words.shape[1] * len(first)), int(rows[0]) // DEEP))
    counter = Planes()
    layer = np.arange(int(rows[0]) + -int(rows[0]) % layers)[:, None]
    places = order[(np.minimum(layer, rows - 1) + first).reshape(-1, layers * len(first))]
    ends = (places.max(axis=1) + 1).tolist()
    for start, place, end in zip(range(0, len(layer), layers), places, ends):
        plane = laid.up_to(end).take(place, axis=0, mode="clip")  # places are known to be there
        if start + layers > rows[-1]:
            plane[(layer[start : start + layers] >= rows).reshape(-1)] = 0  # of groups that have no row left
        counter.add(plane)
    while layers > 1:
        counter = counter.halved()
        layers = layers // 2
    kind = np.uint16 if rows[0] < 1 << 16 else np.int64
    sums = np.zeros((len(first), size), dtype=kind)
    for weight, words in counter.weighted():
        sums += np.unpackbits(words.view(np.uint8), axis=1, count=size, bitorder="little") * kind(weight)
    return sums.astype(np.int64)


def _power_below(number: int) -> int:
    """The largest power of two up to a number; 1 for less."""
    return 1 << max(number, 1).bit_length() - 1


def _unpacked(rows: Payloads) -> Counts:
    """Column sums of few rows, bit by bit."""
    sums: Counts = np.unpackbits(rows, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
    return sums
