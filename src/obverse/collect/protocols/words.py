"""Words as numbers, and which of many candidates a sketch has: what `prefixes` and `fragments` share.

Prefix extension (PEM): each report tells of a word's beginning; frequent ones are followed to whole words nobody
listed.

Sequence fragments (SFP): each report tells of a piece of a word and of the word; pieces are put together by a small
hash.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from obverse.collect.protocols.base import (
    Coded,
    Estimated,
    LocalProtocol,
    Told,
    bytes_for,
    in_blocks,
    numbers_in,
    packed,
    sampled,
    supported,
    tallied,
)
from obverse.collect.protocols.count_mean import cell_sums
from obverse.collect.protocols.projective import ProjectiveSketch
from obverse.collect.randomness.coins import Coins, check_epsilon
from obverse.collect.randomness.hashing import WORD, key_symbol, key_symbols_of
from obverse.core.errors import invariant
from obverse.core.rng import Rng

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Bits, Codes, Counts, Doubles, Payloads


Matrix = NDArray[np.float64]


WORD_BITS = 64
WIDE = 1 << 20  # candidates of one step
KEPT = 1 << 9  # that are followed, of those that stand out
TINY = 1e-9  # keeps words that meet in all rows, of a sketch that is too small, from being told apart by nothing
SCREENED = 0.75  # deviations below those that stand out, at which words are looked at: others may hide them
# parts of words that nobody has, and that are followed nevertheless, on average; the last step has none of them
STRAYS = 16


@dataclass(frozen=True, slots=True)
class Discovered:
    """Words that nobody listed, the surest first; p-values are corrected for all that were tested in the last step."""

    codes: Codes
    found: Estimated
    p_values: Doubles
    tested: int
    full: bool  # more stood out than are followed
    leverage: float  # by how many people's number one crafted report can move a share


@runtime_checkable
class WordProtocol(LocalProtocol, Protocol):
    """One that finds words that nobody listed. A word is a number: a few bits for each letter, the first one highest.

    Symbol 0 ends a word and fills what is left; so the first letter is never 0, and after a 0 there are zeros only.
    """

    @property
    def symbols(self) -> int:
        """How many a letter may be, the end among them."""
        ...

    @property
    def letters(self) -> int:
        """How many a word has at most."""
        ...

    def discover(self, counts: Counts, n: int, false_alarm: float) -> Discovered:
        """Words that stand out; one that nobody has is among them with a chance of at most `false_alarm`."""
        ...

    def visible(self, n: int, false_alarm: float, missed: float) -> float:
        """The least share of a word that is not found with a chance of at most `missed`; above 1 where none is."""
        ...

    def sends(self) -> str:
        """What is sent, in a sentence."""
        ...


def bits_for(symbols: int) -> int:
    """Of one letter."""
    return (symbols - 1).bit_length()


def check_words(letters: int, symbols: int) -> None:
    invariant(symbols >= 2, "a letter is one of two symbols at least")
    invariant(1 <= letters * bits_for(symbols) <= WORD_BITS, "a word has at most 64 bits")


def within(codes: Codes, symbols: int, letters: int) -> bool:
    """Whether these are numbers of so many letters."""
    return int(codes.max(initial=0)) >> letters * bits_for(symbols) == 0


def extended(parts: Codes, symbols: int, letters: int) -> Codes:
    """Beginnings of words with so many letters more; after the end there is nothing but the end."""
    bits = np.uint64(bits_for(symbols))
    for _ in range(letters):
        ended = parts[parts & np.uint64((1 << int(bits)) - 1) == 0]
        open_ = parts[parts & np.uint64((1 << int(bits)) - 1) != 0]
        longer = open_[:, None] << bits | np.arange(symbols, dtype=np.uint64)
        parts = np.concatenate([longer.reshape(-1), ended << bits])
    return parts


def beginnings(symbols: int, letters: int) -> Codes:
    """All beginnings of words; none begins with the end."""
    return extended(np.arange(1, symbols, dtype=np.uint64), symbols, letters - 1)


@dataclass(frozen=True, slots=True)
class Sifted:
    """Which candidates stand out, the surest first: their places, shares, and deviations from nothing; and their
    leverage.
    """

    places: Counts
    found: Estimated
    deviates: Doubles
    full: bool
    leverage: float


def sifted(sketch: ProjectiveSketch, counts: Counts, keys: Codes, chance: float) -> Sifted:
    """The candidates that a sketch has.

    Claim:   a candidate that nobody has stands out with a chance of about `chance`; shares are unbiased but for the
             choice.
    Proof:   its support is binomial, with q of n reports, but for people whose words meet it in some row. Those of
             words that stand out themselves are taken away: raw shares are (1 + A) f, A_uv being the rows in which u
             and v meet, less those expected, over all rows less those expected, and f the words that stand out, for
             which it is solved. In such a row reports vary as those of the other word do, which adds A times the
             difference. What words that do not stand out leave has the variance that `with_collisions` tells. The tail
             of the binomial is that of a normal at the signed root of its deviance, half a report off, which is far
             nearer than the plain normal tail where n q is small.
    Assumes: candidates do not depend on these reports.
    """
    n = int(counts.sum())
    none = np.zeros(0)
    if not n or not len(keys):
        return Sifted(np.zeros(0, dtype=np.int64), Estimated(none, none), none, False, 0.0)
    table = sketch.support(counts)
    least = NormalDist().inv_cdf(1 - chance)
    raw = supported(cell_sums(table, keys, sketch.columns), n, sketch.own, sketch.other).value
    first = _deviates(raw, n, sketch, np.zeros(1))
    places = np.flatnonzero(first > least - SCREENED)
    places = places[np.argsort(-first[places], kind="stable")][:KEPT]
    sure = int((first[places] > least).sum())  # they come first
    meeting = _meeting(sketch, keys[places], sure)
    # of the raw shares of those that are sure
    taken = meeting @ np.linalg.inv(meeting[:sure] + (1 + TINY) * np.eye(sure))
    shares = raw[places] - taken @ raw[places[:sure]]
    own = float(sketch.own)
    other = float(sketch.other)
    known = np.clip(shares, 0.0, 1.0)
    scale = n * (own - other) ** 2
    rate = other + known[:sure] * (own - other)
    left = max(sketch.squares(counts, table) - float((known[:sure] ** 2).sum()), 0.0) * sketch.met
    more = left + np.maximum(meeting @ (rate * (1 - rate) - other * (1 - other)), 0.0) / scale
    deviates = _deviates(shares, n, sketch, more)
    kept = np.argsort(-deviates, kind="stable")[: int((deviates > least).sum())]
    tilt = own * (1 - own) - other * (1 - other)
    variance = (other * (1 - other) + known * tilt) / scale + more
    full = int((first > least).sum()) > KEPT
    sized = Estimated(shares[kept], variance[kept], left, tilt=tilt / scale, grain=1 / (2 * n * (own - other)))
    slopes = np.eye(len(places)) - np.pad(taken, ((0, 0), (0, len(places) - sure)))
    return Sifted(places[kept], sized, deviates[kept], full, _leverage(slopes[kept], own, other))


def _leverage(slopes: Matrix, own: float, other: float) -> float:
    """By how many people's number one report moves a share at the most, that is so much of each raw share.

    Claim:   with s the slopes, s+ and s- what is positive and what is negative of them, q the chance of another item's
             support and p that of one's own, the larger of (s+ (1 - q) + s- q) / (p - q) up and 1 + (s+ q + s- (1 - q))
             / (p - q) down.
    Proof:   a report counts (1 - q) / (p - q) or -q / (p - q) in each raw share, and at the worst in each as its slope
             has it. Its sender would have counted 0 or 1.
    Assumes: which words are sure stays as it is.
    """
    rise = np.maximum(slopes, 0.0).sum(axis=1)
    fall = np.maximum(-slopes, 0.0).sum(axis=1)
    up = (rise * (1 - other) + fall * other) / (own - other)
    down = 1 + (rise * other + fall * (1 - other)) / (own - other)
    return float(np.maximum(up, down).max(initial=0.0))


def named(codes: Codes, tested: int, found: Sifted) -> Discovered:
    """The words that stand out of those tested; p-values by Bonferroni."""
    p_values = np.array([min(tested * NormalDist().cdf(-z), 1.0) for z in found.deviates])
    return Discovered(codes[found.places], found.found, p_values, tested, found.full, found.leverage)


def share_seen(sketch: ProjectiveSketch, n: float, chance: float, missed: float) -> float:
    """The share that n reports of a sketch let stand out: by as many deviations as the chance takes, and those of bad
    luck.

    People are a sample, too. Collisions are counted as though all other words were just as frequent.
    """
    own = float(sketch.own)
    other = float(sketch.other)
    wide = NormalDist().inv_cdf(1 - chance)
    unlucky = NormalDist().inv_cdf(1 - missed)
    scale = n * (own - other) ** 2
    share = 0.0
    for _ in range(50):  # the deviation of a share depends on it, ever less
        known = min(share, 1.0)
        likely = other + known * (own - other)
        variances = (rate * (1 - rate) / scale + known * sketch.met for rate in (other, likely))
        share = sum(times * math.sqrt(variance) for times, variance in zip((wide, unlucky), variances))
    return share


def _deviates(shares: Doubles, n: int, sketch: ProjectiveSketch, more: Doubles) -> Doubles:
    """How many deviations each share is from nothing, with so much variance more than that of the binomial."""
    own = float(sketch.own)
    other = float(sketch.other)
    rate = np.clip(other + shares * (own - other) - 0.5 / n, 0.5 / n, 1 - 0.5 / n)
    deviance = rate * np.log(rate / other) + (1 - rate) * np.log((1 - rate) / (1 - other))
    noise = other * (1 - other) / (n * (own - other) ** 2)
    found: Doubles = np.sign(rate - other) * np.sqrt(2 * n * np.maximum(deviance, 0.0) * noise / (noise + more))
    return found


def _meeting(sketch: ProjectiveSketch, keys: Codes, sure: int) -> Matrix:
    """For each key and each of the first ones the rows in which they meet, less those expected; 0 for a key and
    itself.
    """
    rows = np.zeros((len(keys), sure))
    for row in range(sketch.rows):
        here = key_symbols_of(np.array([row], dtype=np.uint64), keys, sketch.columns)
        rows += here[:, None] == here[:sure]
    found: Matrix = (rows / sketch.rows - 1 / sketch.columns) / (1 - 1 / sketch.columns) - np.eye(len(keys), sure)
    return found


LETTERS = 8
# of so many people each, the last group has more: there a word must stand out of the most candidates
EACH = 2
LAST = 3


@dataclass(frozen=True, slots=True)
class Prefixes:
    """The seed puts a report into one of `groups`; there the word's first letters, `step` more in each, are sent by
    `sketch`.

    Claim:   epsilon of `sketch` per report and person, whatever two words are compared. A word that nobody has is
             discovered with a chance of at most the false alarm.
    Proof:   the group does not depend on the word; given it, the report is the sketch's of the beginning. Wang, Li, Jha
             2019: all of epsilon is spent on one beginning, and people are divided instead. Discovery: the candidates
             of a group are those that groups of other people let through, so its reports are independent of them; in
             the last one a word that nobody has stands out with at most the false alarm over the number of candidates.
             Estimate: the last group's people are a sample of all, which adds f (1 - f) (1/m - 1/n), m of n being in
             it.
    Assumes: groups and rows are picked uniformly and not by the sender, for the estimate; for the loss nothing but one
             report per person, or the losses of all of them added.
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
        invariant(within(codes, self.symbols, self.letters), "words of so many letters")
        chosen = rng.words(len(codes)) if seeds is None else seeds
        groups = self._groups(chosen)
        shifts = np.array([self._shift(group) for group in range(self.groups)], dtype=np.uint64)
        sent = self.sketch.reports(codes >> shifts[groups.view(np.int64)], rng, chosen // np.uint64(self.parts))
        return packed(groups * np.uint64(self.sketch.cells) + numbers_in(sent), self.length)

    def valid(self, payloads: Payloads) -> Bits:
        return numbers_in(payloads) < self.groups * self.sketch.cells

    def agrees(self, payloads: Payloads, seeds: Codes) -> Bits:
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
        """The largest share of those that each group lets through with its part of the luck; twice STRAYS are
        followed.
        """
        each = missed / self.groups
        tried = self.symbols ** self.lengths[0]
        shares = []
        for group in range(self.groups):
            last = group == self.groups - 1
            chance = false_alarm / tried if last else min(STRAYS / tried, 0.5)
            shares.append(share_seen(self.sketch, n * (LAST if last else EACH) / self.parts, chance, each))
            tried = 2 * STRAYS * self.symbols**self.step
        return max(shares)

    def sends(self) -> str:
        *some, whole = self.lengths
        lengths = f"{', '.join(map(str, some))} or {whole}" if some else f"{whole}"
        return (
            f"Of your word the first {lengths} letters are taken, as your token decides, and sent as one "
            "randomized "
            "number."
        )

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
        found: Codes = np.minimum(seeds % np.uint64(self.parts) // np.uint64(EACH), np.uint64(self.groups - 1))
        return found

    def _shift(self, group: int) -> int:
        """Bits of a word that a group leaves out."""
        return (self.letters - self.lengths[group]) * bits_for(self.symbols)


MARKS = 1 << 8  # hashes of words, by which pieces are known to be of one


@dataclass(frozen=True, slots=True)
class Fragments:
    """A piece of `step` letters, its place by the seed, with a hash of the word: by `sketch`. The word itself: by it
    again.

    Claim:   twice the epsilon of `sketch` per report and person, whatever two words are compared. A word that nobody
             has is discovered with a chance of at most the false alarm.
    Proof:   Apple 2017: the place does not depend on the word; given it, the report is two of the sketch, from coins of
             their own, so their losses add. Discovery: candidates come from pieces and are tested by whole words; the
             coins of the two are independent, so given what people have, the words' reports are independent of the
             candidates.
    Assumes: places and rows are picked uniformly and not by the sender, for the estimate; for the loss nothing but one
             report per person, or the losses of all of them added.
    """

    name: ClassVar[str] = "fragments"
    told: ClassVar[Told] = "shares"
    coded: ClassVar[Coded] = "word"
    symbols: int
    letters: int
    step: int
    sketch: ProjectiveSketch

    def __post_init__(self) -> None:
        check_words(self.letters, self.symbols)
        invariant(1 <= self.step <= self.letters, "a piece has a letter, and at most all")
        invariant(self.step * bits_for(self.symbols) <= WORD_BITS - 8, "a piece and a hash have at most 64 bits")

    @classmethod
    def fitted(cls, size: int, epsilon: Fraction) -> Fragments:
        """For words of a usual length, of letters that are one of `size` symbols."""
        return cls.of_words(min(LETTERS, WORD_BITS // bits_for(size)), size, epsilon)

    @classmethod
    def of_words(cls, letters: int, symbols: int, epsilon: Fraction) -> Fragments:
        check_epsilon(epsilon)
        step = max(length for length in range(1, letters + 1) if length == 1 or MARKS * symbols**length <= WIDE)
        return cls(symbols, letters, step, ProjectiveSketch.fitted(symbols, epsilon / 2))

    @property
    def pieces(self) -> int:
        return -(-self.letters // self.step)

    @property
    def head(self) -> int:
        """Bytes of the piece."""
        return bytes_for(self.pieces * self.sketch.cells)

    @property
    def length(self) -> int:
        return self.head + self.sketch.length

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.pieces + 1, *self.sketch.shape)

    def loss(self) -> Fraction:
        return 2 * self.sketch.loss()

    def report(self, code: int, coins: Coins, seed: int) -> bytes:
        invariant(0 <= code < 1 << self.letters * bits_for(self.symbols), "a word of so many letters")
        place, first, second = self._drawn(seed)
        shift, mask = self._cut(place)
        key = (code >> shift & mask) * MARKS + key_symbol(WORD, code, MARKS)
        sent = int.from_bytes(self.sketch.report(key, coins, first), "little")
        return (place * self.sketch.cells + sent).to_bytes(self.head, "little") + self.sketch.report(
            code, coins, second
        )

    @in_blocks
    def reports(self, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
        invariant(within(codes, self.symbols, self.letters), "words of so many letters")
        chosen = rng.words(len(codes)) if seeds is None else seeds
        places = chosen % np.uint64(self.pieces)
        rest = chosen // np.uint64(self.pieces)
        cuts = np.array([self._cut(place) for place in range(self.pieces)], dtype=np.uint64)[places.view(np.int64)]
        keys = (codes >> cuts[:, 0] & cuts[:, 1]) * np.uint64(MARKS) + _marks(codes)
        sent = places * np.uint64(self.sketch.cells) + numbers_in(self.sketch.reports(keys, rng, rest))
        whole = self.sketch.reports(codes, rng, rest // np.uint64(self.sketch.rows))
        return np.concatenate([packed(sent, self.head), whole], axis=1)

    def valid(self, payloads: Payloads) -> Bits:
        found: Bits = numbers_in(payloads[:, : self.head]) < self.pieces * self.sketch.cells
        return found & self.sketch.valid(payloads[:, self.head :])

    def agrees(self, payloads: Payloads, seeds: Codes) -> Bits:
        rows = np.uint64(self.sketch.rows)
        rest = seeds // np.uint64(self.pieces)
        wanted = seeds % np.uint64(self.pieces) * rows + rest % rows
        found: Bits = numbers_in(payloads[:, : self.head]) // np.uint64(self.sketch.columns) == wanted
        return found & self.sketch.agrees(payloads[:, self.head :], rest // rows)

    def fold(self, payloads: Payloads) -> Counts:
        pieces = tallied(payloads[:, : self.head], self.pieces * self.sketch.cells).reshape(-1, *self.sketch.shape)
        return np.concatenate([pieces, self.sketch.fold(payloads[:, self.head :])[None]])

    def estimate(self, counts: Counts, n: int, codes: Codes) -> Estimated:
        return self.sketch.estimate(counts[-1], n, codes)

    def discover(self, counts: Counts, n: int, false_alarm: float) -> Discovered:
        found = [self._found(counts[place], place) for place in range(self.pieces)]
        words = self._joined(found)
        return named(words, len(words), sifted(self.sketch, counts[-1], words, false_alarm / max(len(words), 1)))

    def visible(self, n: int, false_alarm: float, missed: float) -> float:
        """The larger share of those that pieces and words let through with their part of the luck; STRAYS words are
        tested.
        """
        each = missed / (self.pieces + 1)
        tried = MARKS * self.symbols**self.step
        piece = share_seen(self.sketch, n / self.pieces, min(STRAYS / tried, 0.5), each)
        return max(piece, share_seen(self.sketch, n, false_alarm / STRAYS, each))

    def sends(self) -> str:
        return (
            f"Of your word a piece of {self.step} letters is taken, its place as your token decides, with a hash of 8 "
            "bits;"
            " this and the word are sent as two randomized numbers, that share the loss."
        )

    def leverage(self) -> float:
        return self.sketch.leverage()

    def probability(self, code: int, payload: bytes, seed: int) -> Fraction:
        place, sent = divmod(int.from_bytes(payload[: self.head], "little"), self.sketch.cells)
        own, first, second = self._drawn(seed)
        if place != own:
            return Fraction(0)
        shift, mask = self._cut(place)
        key = (code >> shift & mask) * MARKS + key_symbol(WORD, code, MARKS)
        piece = self.sketch.probability(key, sent.to_bytes(self.sketch.length, "little"), first)
        return piece * self.sketch.probability(code, payload[self.head :], second)

    def payloads(self, seed: int) -> Iterator[bytes]:
        place, first, second = self._drawn(seed)
        for piece, whole in itertools.product(self.sketch.payloads(first), self.sketch.payloads(second)):
            yield (place * self.sketch.cells + int.from_bytes(piece, "little")).to_bytes(self.head, "little") + whole

    def _drawn(self, seed: int) -> tuple[int, int, int]:
        """What a seed decides: the place of the piece, and the seeds of both sketches."""
        rest, place = divmod(seed, self.pieces)
        return place, rest, rest // self.sketch.rows

    def _cut(self, place: int) -> tuple[int, int]:
        """By how many bits a word is shifted for a piece, and which are left; the last piece may be shorter."""
        bits = bits_for(self.symbols)
        end = min((place + 1) * self.step, self.letters)
        return (self.letters - end) * bits, (1 << (end - place * self.step) * bits) - 1

    def _found(self, counts: Counts, place: int) -> Codes:
        """Pieces with hashes that stand out at a place; a hash of 8 bits at the end of each."""
        letters = min((place + 1) * self.step, self.letters) - place * self.step
        first = np.arange(self.symbols, dtype=np.uint64)
        pieces = extended(first, self.symbols, letters - 1) if place else beginnings(self.symbols, letters)
        keys: Codes = (pieces[:, None] << np.uint64(8) | np.arange(MARKS, dtype=np.uint64)).reshape(-1)
        found = sifted(self.sketch, counts, keys, min(STRAYS / len(keys), 0.5))
        kept: Codes = keys[found.places]
        return kept

    def _joined(self, found: list[Codes]) -> Codes:
        """Words of pieces with one hash, at all places, that is also the word's; nothing follows an end."""
        bits = bits_for(self.symbols)
        words = []
        for mark in range(MARKS):
            joined = np.zeros(1, dtype=np.uint64)
            for place, keys in enumerate(found):
                pieces = keys[keys % np.uint64(MARKS) == mark] // np.uint64(MARKS)
                shift = np.uint64(self._cut(place)[1].bit_length())
                longer = (joined[:, None] << shift | pieces).reshape(-1)
                ended = np.repeat(joined & np.uint64((1 << bits) - 1) == 0, len(pieces)) & (place > 0)
                joined = longer[~ended | (np.tile(pieces, len(joined)) == 0)][:WIDE]
            words.append(joined)
        codes = np.concatenate(words)
        marks = np.repeat(np.arange(MARKS, dtype=np.uint64), [len(some) for some in words])
        found_words: Codes = codes[_marks(codes) == marks]
        return found_words


def _marks(codes: Codes) -> Codes:
    found: Codes = key_symbols_of(np.array([WORD], dtype=np.uint64), codes, MARKS)
    return found
