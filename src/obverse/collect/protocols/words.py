"""Words as numbers, and which of many candidates a sketch has: what `prefixes` and `fragments` share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from obverse.collect.protocols.base import Estimated, LocalProtocol, supported
from obverse.collect.protocols.projective_sketch import ProjectiveSketch
from obverse.collect.protocols.sketch import cell_sums
from obverse.collect.randomness.hashing import key_symbols_of
from obverse.core.errors import invariant

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from obverse.collect.protocols.base import Codes, Counts, Doubles

    Matrix = NDArray[np.float64]

WORD_BITS = 64
WIDE = 1 << 20  # candidates of one step
KEPT = 1 << 9  # that are followed, of those that stand out
TINY = 1e-9  # keeps words that meet in all rows, of a sketch that is too small, from being told apart by nothing
SCREENED = 0.75  # deviations below those that stand out, at which words are looked at: others may hide them
STRAYS = 16  # parts of words that nobody has, and that are followed nevertheless, on average; the last step has none of them


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
    import numpy as np

    bits = np.uint64(bits_for(symbols))
    for _ in range(letters):
        ended = parts[parts & np.uint64((1 << int(bits)) - 1) == 0]
        open_ = parts[parts & np.uint64((1 << int(bits)) - 1) != 0]
        longer = open_[:, None] << bits | np.arange(symbols, dtype=np.uint64)
        parts = np.concatenate([longer.reshape(-1), ended << bits])
    return parts


def beginnings(symbols: int, letters: int) -> Codes:
    """All beginnings of words; none begins with the end."""
    import numpy as np

    return extended(np.arange(1, symbols, dtype=np.uint64), symbols, letters - 1)


@dataclass(frozen=True, slots=True)
class Sifted:
    """Which candidates stand out, the surest first: their places, shares, and deviations from nothing; and their leverage."""

    places: Counts
    found: Estimated
    deviates: Doubles
    full: bool
    leverage: float


def sifted(sketch: ProjectiveSketch, counts: Counts, keys: Codes, chance: float) -> Sifted:
    """The candidates that a sketch has.

    Claim:   a candidate that nobody has stands out with a chance of about `chance`; shares are unbiased but for the choice.
    Proof:   its support is binomial, with q of n reports, but for people whose words meet it in some row. Those of words that
             stand out themselves are taken away: raw shares are (1 + A) f, A_uv being the rows in which u and v meet, less
             those expected, over all rows less those expected, and f the words that stand out, for which it is solved. In such
             a row reports vary as those of the other word do, which adds A times the difference. What words that do not stand
             out leave has the variance that `with_collisions` tells. The tail of the binomial is that of a normal at the
             signed root of its deviance, half a report off, which is far nearer than the plain normal tail where n q is small.
    Assumes: candidates do not depend on these reports.
    """
    import numpy as np

    n = int(counts.sum())
    none = np.zeros(0)
    if not n or not len(keys):
        return Sifted(np.zeros(0, dtype=np.int64), Estimated(none, none), none, False, 0.0)
    table, least = sketch.support(counts), NormalDist().inv_cdf(1 - chance)
    raw = supported(cell_sums(table, keys, sketch.columns), n, sketch.own, sketch.other).value
    first = _deviates(raw, n, sketch, np.zeros(1))
    places = np.flatnonzero(first > least - SCREENED)
    places = places[np.argsort(-first[places], kind="stable")][:KEPT]
    sure = int((first[places] > least).sum())  # they come first
    meeting = _meeting(sketch, keys[places], sure)
    taken = meeting @ np.linalg.inv(meeting[:sure] + (1 + TINY) * np.eye(sure))  # of the raw shares of those that are sure
    shares = raw[places] - taken @ raw[places[:sure]]
    own, other, known = float(sketch.own), float(sketch.other), np.clip(shares, 0.0, 1.0)
    scale, rate = n * (own - other) ** 2, other + known[:sure] * (own - other)
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

    Claim:   with s the slopes, s+ and s- what is positive and what is negative of them, q the chance of another item's support
             and p that of one's own, the larger of (s+ (1 - q) + s- q) / (p - q) up and 1 + (s+ q + s- (1 - q)) / (p - q) down.
    Proof:   a report counts (1 - q) / (p - q) or -q / (p - q) in each raw share, and at the worst in each as its slope has it.
             Its sender would have counted 0 or 1.
    Assumes: which words are sure stays as it is.
    """
    import numpy as np

    rise, fall = np.maximum(slopes, 0.0).sum(axis=1), np.maximum(-slopes, 0.0).sum(axis=1)
    up = (rise * (1 - other) + fall * other) / (own - other)
    down = 1 + (rise * other + fall * (1 - other)) / (own - other)
    return float(np.maximum(up, down).max(initial=0.0))


def named(codes: Codes, tested: int, found: Sifted) -> Discovered:
    """The words that stand out of those tested; p-values by Bonferroni."""
    import numpy as np

    p_values = np.array([min(tested * NormalDist().cdf(-z), 1.0) for z in found.deviates])
    return Discovered(codes[found.places], found.found, p_values, tested, found.full, found.leverage)


def share_seen(sketch: ProjectiveSketch, n: float, chance: float, missed: float) -> float:
    """The share that n reports of a sketch let stand out: by as many deviations as the chance takes, and those of bad luck.

    People are a sample, too. Collisions are counted as though all other words were just as frequent.
    """
    own, other = float(sketch.own), float(sketch.other)
    wide, unlucky = NormalDist().inv_cdf(1 - chance), NormalDist().inv_cdf(1 - missed)
    scale, share = n * (own - other) ** 2, 0.0
    for _ in range(50):  # the deviation of a share depends on it, ever less
        known = min(share, 1.0)
        likely = other + known * (own - other)
        variances = (rate * (1 - rate) / scale + known * sketch.met for rate in (other, likely))
        share = sum(times * math.sqrt(variance) for times, variance in zip((wide, unlucky), variances))
    return share


def _deviates(shares: Doubles, n: int, sketch: ProjectiveSketch, more: Doubles) -> Doubles:
    """How many deviations each share is from nothing, with so much variance more than that of the binomial."""
    import numpy as np

    own, other = float(sketch.own), float(sketch.other)
    rate = np.clip(other + shares * (own - other) - 0.5 / n, 0.5 / n, 1 - 0.5 / n)
    deviance = rate * np.log(rate / other) + (1 - rate) * np.log((1 - rate) / (1 - other))
    noise = other * (1 - other) / (n * (own - other) ** 2)
    found: Doubles = np.sign(rate - other) * np.sqrt(2 * n * np.maximum(deviance, 0.0) * noise / (noise + more))
    return found


def _meeting(sketch: ProjectiveSketch, keys: Codes, sure: int) -> Matrix:
    """For each key and each of the first ones the rows in which they meet, less those expected; 0 for a key and itself."""
    import numpy as np

    rows = np.zeros((len(keys), sure))
    for row in range(sketch.rows):
        here = key_symbols_of(np.array([row], dtype=np.uint64), keys, sketch.columns)
        rows += here[:, None] == here[:sure]
    found: Matrix = (rows / sketch.rows - 1 / sketch.columns) / (1 - 1 / sketch.columns) - np.eye(len(keys), sure)
    return found
