"""Sequence fragments (SFP): each report tells of a piece of a word and of the word; pieces are put together by a small hash."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from obverse.collect.protocols.base import Coded, Estimated, Told, bytes_for, in_blocks, numbers_in, packed, tallied
from obverse.collect.protocols.prefixes import LETTERS
from obverse.collect.protocols.projective_sketch import ProjectiveSketch
from obverse.collect.protocols.words import (
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
from obverse.collect.randomness.hashing import WORD, key_symbol, key_symbols_of
from obverse.collect.randomness.odds import check_epsilon
from obverse.core.errors import invariant
from obverse.core.rng import Rng

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Bits, Codes, Counts, Payloads

MARKS = 1 << 8  # hashes of words, by which pieces are known to be of one


@dataclass(frozen=True, slots=True)
class Fragments:
    """A piece of `step` letters, its place by the seed, with a hash of the word: by `sketch`. The word itself: by it again.

    Claim:   twice the epsilon of `sketch` per report and person, whatever two words are compared. A word that nobody has is
             discovered with a chance of at most the false alarm.
    Proof:   Apple 2017: the place does not depend on the word; given it, the report is two of the sketch, from coins of their
             own, so their losses add. Discovery: candidates come from pieces and are tested by whole words; the coins of the
             two are independent, so given what people have, the words' reports are independent of the candidates.
    Assumes: places and rows are picked uniformly and not by the sender, for the estimate; for the loss nothing but one report
             per person, or the losses of all of them added.
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
        return (place * self.sketch.cells + sent).to_bytes(self.head, "little") + self.sketch.report(code, coins, second)

    @in_blocks
    def reports(self, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
        import numpy as np

        invariant(within(codes, self.symbols, self.letters), "words of so many letters")
        chosen = rng.words(len(codes)) if seeds is None else seeds
        places, rest = chosen % np.uint64(self.pieces), chosen // np.uint64(self.pieces)
        cuts = np.array([self._cut(place) for place in range(self.pieces)], dtype=np.uint64)[places.view(np.int64)]
        keys = (codes >> cuts[:, 0] & cuts[:, 1]) * np.uint64(MARKS) + _marks(codes)
        sent = places * np.uint64(self.sketch.cells) + numbers_in(self.sketch.reports(keys, rng, rest))
        whole = self.sketch.reports(codes, rng, rest // np.uint64(self.sketch.rows))
        return np.concatenate([packed(sent, self.head), whole], axis=1)

    def valid(self, payloads: Payloads) -> Bits:
        found: Bits = numbers_in(payloads[:, : self.head]) < self.pieces * self.sketch.cells
        return found & self.sketch.valid(payloads[:, self.head :])

    def agrees(self, payloads: Payloads, seeds: Codes) -> Bits:
        import numpy as np

        rows, rest = np.uint64(self.sketch.rows), seeds // np.uint64(self.pieces)
        wanted = seeds % np.uint64(self.pieces) * rows + rest % rows
        found: Bits = numbers_in(payloads[:, : self.head]) // np.uint64(self.sketch.columns) == wanted
        return found & self.sketch.agrees(payloads[:, self.head :], rest // rows)

    def fold(self, payloads: Payloads) -> Counts:
        import numpy as np

        pieces = tallied(payloads[:, : self.head], self.pieces * self.sketch.cells).reshape(-1, *self.sketch.shape)
        return np.concatenate([pieces, self.sketch.fold(payloads[:, self.head :])[None]])

    def estimate(self, counts: Counts, n: int, codes: Codes) -> Estimated:
        return self.sketch.estimate(counts[-1], n, codes)

    def discover(self, counts: Counts, n: int, false_alarm: float) -> Discovered:
        found = [self._found(counts[place], place) for place in range(self.pieces)]
        words = self._joined(found)
        return named(words, len(words), sifted(self.sketch, counts[-1], words, false_alarm / max(len(words), 1)))

    def visible(self, n: int, false_alarm: float, missed: float) -> float:
        """The larger share of those that pieces and words let through with their part of the luck; STRAYS words are tested."""
        each, tried = missed / (self.pieces + 1), MARKS * self.symbols**self.step
        piece = share_seen(self.sketch, n / self.pieces, min(STRAYS / tried, 0.5), each)
        return max(piece, share_seen(self.sketch, n, false_alarm / STRAYS, each))

    def sends(self) -> str:
        return (
            f"Of your word a piece of {self.step} letters is taken, its place as your token decides, with a hash of 8 bits;"
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
        bits, end = bits_for(self.symbols), min((place + 1) * self.step, self.letters)
        return (self.letters - end) * bits, (1 << (end - place * self.step) * bits) - 1

    def _found(self, counts: Counts, place: int) -> Codes:
        """Pieces with hashes that stand out at a place; a hash of 8 bits at the end of each."""
        import numpy as np

        letters = min((place + 1) * self.step, self.letters) - place * self.step
        first = np.arange(self.symbols, dtype=np.uint64)
        pieces = extended(first, self.symbols, letters - 1) if place else beginnings(self.symbols, letters)
        keys: Codes = (pieces[:, None] << np.uint64(8) | np.arange(MARKS, dtype=np.uint64)).reshape(-1)
        found = sifted(self.sketch, counts, keys, min(STRAYS / len(keys), 0.5))
        kept: Codes = keys[found.places]
        return kept

    def _joined(self, found: list[Codes]) -> Codes:
        """Words of pieces with one hash, at all places, that is also the word's; nothing follows an end."""
        import numpy as np

        bits, words = bits_for(self.symbols), []
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
    import numpy as np

    found: Codes = key_symbols_of(np.array([WORD], dtype=np.uint64), codes, MARKS)
    return found
