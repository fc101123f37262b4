"""What a local protocol is: a frozen value that both sides share. The device makes reports, the server counts and
debiases.

A report is a fixed number of bytes. What the server keeps is one array of integers, to which reports add; so shards
merge in any order, and memory does not grow with the number of reports.

The mean of places of a grid, from the scores of what was sent.

Reports of one permanent answer have coins in common: what that adds to the variance of a share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import wraps
from typing import Any, ClassVar, Literal, Protocol, Self, TypeVar, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from obverse.collect.randomness.coins import Coins
from obverse.core.rng import Rng

Codes = NDArray[np.uint64]
Payloads = NDArray[np.uint8]
Counts = NDArray[np.int64]
Doubles = NDArray[np.float64]
Bits = NDArray[np.bool_]


BLOCK = 1 << 15  # reports that are made at a time
TALLIED = 1 << 18  # numbers that are counted at a time
Maker = TypeVar("Maker", bound="Callable[..., Payloads]")
Told = Literal["shares", "mean"]
# an item's number in the list; the 64-bit hash of its text; a place on a numeric grid; a word, a few bits for each
# letter
Coded = Literal["index", "key", "place", "word"]


@dataclass(frozen=True, slots=True)
class Estimated:
    """Unbiased shares of items (or one mean), and their variance; `floor` is the part that more reports do not lessen.

    The variance is that at the estimate cut to [0, 1]. At a share f it is by tilt f - bend f**2 more than at no share.
    """

    value: Doubles
    variance: Doubles
    floor: float = 0.0
    tilt: Doubles | float = 0.0
    bend: Doubles | float = 0.0
    grain: Doubles | float = 0.0  # half of what one report moves a value
    standing: Doubles | float = 0.0  # of the variance, what is of coins that a device keeps for all of its reports
    lean: Doubles | float = 0.0  # by how much more that is at all than at no share
    # of support: how many reports, and the chance that one supports what nobody has
    coins: tuple[int, float] | None = None


class LocalProtocol(Protocol):
    """One way to randomize on the device and to count on the server."""

    name: ClassVar[str]
    told: ClassVar[Told]
    coded: ClassVar[Coded]

    @classmethod
    def fitted(cls, size: int, epsilon: Fraction) -> Self:
        """The least noise over this many items whose loss is at most epsilon."""
        ...

    @property
    def length(self) -> int:
        """The length of a report."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the array of counts."""
        ...

    def loss(self) -> Fraction:
        """Epsilon of one report, from the integer odds, rounded up."""
        ...

    def report(self, code: int, coins: Coins, seed: int) -> bytes:
        """One report, of a device. `seed` comes from the report's token, for protocols whose hash nobody may choose."""
        ...

    def reports(self, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
        """Many reports at once, of as many people; seeds that are not given are drawn."""
        ...

    def valid(self, payloads: Payloads) -> Bits:
        """Which payloads are ones that some device could have sent."""
        ...

    def agrees(self, payloads: Payloads, seeds: Codes) -> Bits:
        """Which payloads carry what their seeds decide; of a valid one that does, some device could be the sender."""
        ...

    def fold(self, payloads: Payloads) -> Counts:
        """The counts of these reports; to be added to those of others. All payloads are valid."""
        ...

    def estimate(self, counts: Counts, n: int, codes: Codes) -> Estimated:
        """The shares of these items among n reports; or the mean, 0 for the first place of the grid and 1 for the
        last.
        """
        ...

    def leverage(self) -> float:
        """By how much of a person one crafted report can move an item's estimated number of people, or the sum of
        places.
        """
        ...

    def probability(self, code: int, payload: bytes, seed: int) -> Fraction:
        """That a device with this item sends this payload; exact."""
        ...

    def payloads(self, seed: int) -> Iterator[bytes]:
        """All reports that can be, for small parameters: the law is checked on them one by one."""
        ...


@runtime_checkable
class LastingProtocol(LocalProtocol, Protocol):
    """One whose reports are those of a permanent answer, drawn once and then always the same, randomized once more each
    time.

    `loss` is that of a report of somebody who sends no other, and `report` is for them: it draws a permanent answer
    afresh. Devices that send many draw it once, from `Memo`. Their `seed` is their own and never changes.
    """

    def lasting(self) -> Fraction:
        """Epsilon of all reports ever of one permanent answer together, rounded up."""
        ...

    def lifetime(self, values: int) -> Fraction:
        """Epsilon of all reports ever of somebody who has at most so many different answers.

        Between people of whose reports the same ones share a label: which reports are of one permanent answer is not
        hidden, as it is not in any protocol that answers the same to the same.
        """
        ...

    def label(self, code: int, seed: int) -> int:
        """Answers with one label share a permanent answer."""
        ...

    def permanent(self, code: int, coins: Coins, seed: int) -> int:
        """The permanent answer, from coins that are the same each time."""
        ...

    def instant(self, permanent: int, coins: Coins, seed: int) -> bytes:
        """A report of a permanent answer, from fresh coins."""
        ...

    def standing(self, code: int, seed: int) -> Iterator[tuple[int, Fraction]]:
        """All permanent answers of an item with their probabilities; exact, for small parameters."""
        ...

    def given(self, permanent: int, payload: bytes, seed: int) -> Fraction:
        """That a device with this permanent answer sends this payload; exact."""
        ...


@runtime_checkable
class MeanProtocol(LocalProtocol, Protocol):
    """One that tells the mean of places of a grid, by scores of what is sent."""

    @property
    def size(self) -> int:
        """How many places the grid has."""
        ...

    def scores(self) -> list[Fraction]:
        """What each report counts, by its number; unbiased: 0 at the first place, 1 at the last."""
        ...

    def spread(self, code: int) -> Fraction:
        """The variance of the score of somebody at this place; exact."""
        ...


def supported(counts: Counts, n: int, p: Fraction, q: Fraction) -> Estimated:
    """Shares from supporting reports: one's own item is supported with probability p, any other with q.

    Claim:   unbiased; the variance is that of people fixed and coins fresh, with the estimate, cut to [0, 1], for the
             share.
    Proof:   E[C] = n (f p + (1 - f) q), which is solved for f; C is a sum of independent coins, so its variance is
             n (f p (1 - p) + (1 - f) q (1 - q)), and the estimate divides it by n**2 (p - q)**2.
    Assumes: p > q.
    """
    own = float(p)
    other = float(q)
    value = (counts / n - other) / (own - other)
    known = np.clip(value, 0.0, 1.0)
    tilt = own * (1 - own) - other * (1 - other)
    scale = n * (own - other) ** 2
    variance = (other * (1 - other) + known * tilt) / scale
    return Estimated(value, variance, tilt=tilt / scale, grain=1 / (2 * n * (own - other)), coins=(n, other))


def sampled(found: Estimated, n: int, of: int) -> Estimated:
    """Shares of `of` people by the answers of n of them, whom chance picked.

    Claim:   the variance is that of fresh coins and of who was picked.
    Proof:   both add, and a mean of n out of `of` zeros and ones has variance f (1 - f) / n times (of - n) / (of - 1),
             which is at most 1 - (n - 1) / of.
    Assumes: every n of them were as likely.
    """
    share = np.clip(found.value, 0.0, 1.0)
    rate = (1 - (n - 1) / of) / n if n < of else 0.0
    variance = found.variance + share * (1 - share) * rate
    return replace(found, variance=variance, tilt=found.tilt + rate, bend=found.bend + rate)


def everyone(payloads: Payloads) -> Bits:
    """All of them."""
    return np.ones(len(payloads), dtype=np.bool_)


def in_blocks(make: Maker) -> Maker:
    """`reports`, made in blocks of people whose numbers stay in the cache while they are worked on."""

    @wraps(make)
    def reports(self: LocalProtocol, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
        if len(codes) <= BLOCK:
            return make(self, codes, rng, seeds)
        found = np.empty((len(codes), self.length), dtype=np.uint8)
        for start in range(0, len(codes), BLOCK):
            some = slice(start, start + BLOCK)
            found[some] = make(self, codes[some], rng, None if seeds is None else seeds[some])
        return found

    return cast(Maker, reports)


def bytes_for(values: int) -> int:
    """How many bytes hold every number below `values`."""
    return max(1, ((values - 1).bit_length() + 7) // 8)


def packed(numbers: Codes, length: int) -> Payloads:
    """Numbers as bytes, least significant first."""
    found = np.empty((len(numbers), length), dtype=np.uint8)
    write_numbers(found, numbers)
    return found


def write_numbers(out: Payloads, numbers: Codes) -> None:
    """The bytes of numbers, least significant first, into rows of up to eight; what is higher is left out."""
    place = 0
    length = out.shape[1]
    for width in (8, 4, 2, 1):  # as few columns as there are ones in the length
        if length & width:
            column = out[:, place : place + width].view(f"<u{width}")[:, 0]
            column[:] = numbers >> np.uint64(8 * place) if place else numbers
            place += width


def numbers_in(payloads: Payloads) -> Codes:
    """Numbers from up to eight bytes each, least significant first."""
    n, length = payloads.shape
    if length in (1, 2, 4, 8):
        rows = payloads if payloads.strides[1] == 1 else np.ascontiguousarray(payloads)
        return rows.view(f"<u{length}")[:, 0].astype(np.uint64)
    width = 4 if length == 3 else 8
    flat = np.empty(n * length + width, dtype=np.uint8)
    flat[: n * length] = payloads.reshape(-1)
    flat[n * length :] = 0
    words: NDArray[Any] = np.ndarray((n,), dtype=f"<u{width}", buffer=flat, strides=(length,))  # they overlap
    found = words.astype(np.uint64)
    found &= np.uint64((1 << 8 * length) - 1)
    return found


def tallied(payloads: Payloads, values: int) -> Counts:
    """How often each number below `values` was sent."""
    # numbers stay in the cache, if counts are few beside them
    step = len(payloads) if 8 * values > TALLIED else TALLIED
    counts = np.bincount(numbers_in(payloads[:step]).view(np.int64), minlength=values).astype(np.int64, copy=False)
    for start in range(step, len(payloads), TALLIED):
        counts += np.bincount(numbers_in(payloads[start : start + TALLIED]).view(np.int64), minlength=values)
    return counts


def averaged(counts: Counts, n: int, protocol: MeanProtocol) -> Estimated:
    """The mean of scores, each unbiased for its sender, by how often each was sent.

    Claim:   unbiased; the variance is at least that of people fixed and coins fresh, on average, and more by the
             variance of people's own values over n: it is right for people drawn at random. It is never below what
             coins alone make of people with this mean: few reports, all alike, are not certain.
    Proof:   it is the empirical variance of a score over n. By the law of total variance that of a score of somebody
             drawn is the mean variance of people's scores plus the variance of their values. `least_spread` bounds the
             former.
    Assumes: one report per person.
    """
    known = np.array([float(score) for score in protocol.scores()])
    mean = float(counts @ known) / n
    spread = max(float(counts @ (known - mean) ** 2) / n, least_spread(protocol, mean))
    return Estimated(np.array([mean]), np.array([spread / n]))


def least_spread(protocol: MeanProtocol, mean: float) -> float:
    """The least that the variance of scores is on average, among people whose values have this mean, cut to [0, 1].

    Claim:   with x a value from 0 to 1, s the variance at an end and s + k x (1 - x) that at x: s, or s + k m (1 - m)
             for a mean m if k is negative.
    Proof:   variances of all three protocols are polynomials of degree two in x, the same at x and 1 - x. The mean of
             x (1 - x) lies between 0, if all are at an end, and m (1 - m), if all are at m.
    Assumes: nothing.
    """
    end = protocol.spread(0)
    middle = protocol.size // 2
    along = middle / (protocol.size - 1)
    bend = float(protocol.spread(middle) - end) / (along * (1 - along)) if along < 1 else 0.0
    held = min(max(mean, 0.0), 1.0)
    return float(end) + min(bend, 0.0) * held * (1 - held)


def with_standing(found: Estimated, own: float, other: float, scale: float) -> Estimated:
    """The estimate, with the part of its variance that is of coins which a device keeps: permanent ones, and its hash.

    `own` is the variance of the chance that a report of somebody with the item supports it, over what the device keeps;
    `other` that of somebody else. Both are divided by `scale`.
    """
    lean = (own - other) / scale
    return replace(found, standing=other / scale + np.clip(found.value, 0.0, 1.0) * lean, lean=lean)


def repeated(found: Estimated, times: int) -> Estimated:
    """Shares from reports of which one device sent up to `times`.

    Claim:   the variance is at least that of all coins, fresh and kept, with people's answers fixed.
    Proof:   what a report counts has a variance W over fresh coins, and its chance given what the device keeps has a
             variance B over that; one report has W + B. A device's k reports have k W, and for their chances at most k
             times the sum of their B (Cauchy and Schwarz), whether they are of one permanent answer or of several. As k
             <= times, all n reports together have at most n W + times n B, which is `times` - 1 times n B more than if
             all were of different devices.
    Assumes: devices keep coins of their own, and no device sent more.
    """
    more = times - 1
    return replace(found, variance=found.variance + more * found.standing, tilt=found.tilt + more * found.lean)
