"""What a local protocol is: a frozen value that both sides share. The device makes reports, the server counts and debiases.

A report is a fixed number of bytes. What the server keeps is one array of integers, to which reports add; so shards merge in
any order, and memory does not grow with the number of reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, TypeVar, cast, runtime_checkable

from obverse.collect.randomness.coins import Coins
from obverse.core.rng import Rng

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.uint64]
    Payloads = NDArray[np.uint8]
    Counts = NDArray[np.int64]
    Doubles = NDArray[np.float64]
    Bits = NDArray[np.bool_]

BLOCK = 1 << 15  # reports that are made at a time
TALLIED = 1 << 18  # numbers that are counted at a time
Maker = TypeVar("Maker", bound="Callable[..., Payloads]")
Told = Literal["shares", "mean"]
# an item's number in the list; the 64-bit hash of its text; a place on a numeric grid; a word, a few bits for each letter
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
    coins: tuple[int, float] | None = None  # of support: how many reports, and the chance that one supports what nobody has


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
        """The shares of these items among n reports; or the mean, 0 for the first place of the grid and 1 for the last."""
        ...

    def leverage(self) -> float:
        """By how much of a person one crafted report can move an item's estimated number of people, or the sum of places."""
        ...

    def probability(self, code: int, payload: bytes, seed: int) -> Fraction:
        """That a device with this item sends this payload; exact."""
        ...

    def payloads(self, seed: int) -> Iterator[bytes]:
        """All reports that can be, for small parameters: the law is checked on them one by one."""
        ...


@runtime_checkable
class LastingProtocol(LocalProtocol, Protocol):
    """One whose reports are those of a permanent answer, drawn once and then always the same, randomized once more each time.

    `loss` is that of a report of somebody who sends no other, and `report` is for them: it draws a permanent answer afresh.
    Devices that send many use `memo.lasting_report`. Their `seed` is their own and never changes.
    """

    def lasting(self) -> Fraction:
        """Epsilon of all reports ever of one permanent answer together, rounded up."""
        ...

    def lifetime(self, values: int) -> Fraction:
        """Epsilon of all reports ever of somebody who has at most so many different answers.

        Between people of whose reports the same ones share a label: which reports are of one permanent answer is not hidden,
        as it is not in any protocol that answers the same to the same.
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

    Claim:   unbiased; the variance is that of people fixed and coins fresh, with the estimate, cut to [0, 1], for the share.
    Proof:   E[C] = n (f p + (1 - f) q), which is solved for f; C is a sum of independent coins, so its variance is
             n (f p (1 - p) + (1 - f) q (1 - q)), and the estimate divides it by n**2 (p - q)**2.
    Assumes: p > q.
    """
    import numpy as np

    own, other = float(p), float(q)
    value = (counts / n - other) / (own - other)
    known = np.clip(value, 0.0, 1.0)
    tilt, scale = own * (1 - own) - other * (1 - other), n * (own - other) ** 2
    variance = (other * (1 - other) + known * tilt) / scale
    return Estimated(value, variance, tilt=tilt / scale, grain=1 / (2 * n * (own - other)), coins=(n, other))


def sampled(found: Estimated, n: int, of: int) -> Estimated:
    """Shares of `of` people by the answers of n of them, whom chance picked.

    Claim:   the variance is that of fresh coins and of who was picked.
    Proof:   both add, and a mean of n out of `of` zeros and ones has variance f (1 - f) / n times (of - n) / (of - 1), which
             is at most 1 - (n - 1) / of.
    Assumes: every n of them were as likely.
    """
    import numpy as np

    share = np.clip(found.value, 0.0, 1.0)
    rate = (1 - (n - 1) / of) / n if n < of else 0.0
    variance = found.variance + share * (1 - share) * rate
    return replace(found, variance=variance, tilt=found.tilt + rate, bend=found.bend + rate)


def everyone(payloads: Payloads) -> Bits:
    """All of them."""
    import numpy as np

    return np.ones(len(payloads), dtype=np.bool_)


def in_blocks(make: Maker) -> Maker:
    """`reports`, made in blocks of people whose numbers stay in the cache while they are worked on."""

    @wraps(make)
    def reports(self: LocalProtocol, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
        import numpy as np

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
    import numpy as np

    found = np.empty((len(numbers), length), dtype=np.uint8)
    write_numbers(found, numbers)
    return found


def write_numbers(out: Payloads, numbers: Codes) -> None:
    """The bytes of numbers, least significant first, into rows of up to eight; what is higher is left out."""
    import numpy as np

    place, length = 0, out.shape[1]
    for width in (8, 4, 2, 1):  # as few columns as there are ones in the length
        if length & width:
            column = out[:, place : place + width].view(f"<u{width}")[:, 0]
            column[:] = numbers >> np.uint64(8 * place) if place else numbers
            place += width


def numbers_in(payloads: Payloads) -> Codes:
    """Numbers from up to eight bytes each, least significant first."""
    import numpy as np

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
    import numpy as np

    step = len(payloads) if 8 * values > TALLIED else TALLIED  # numbers stay in the cache, if counts are few beside them
    counts = np.bincount(numbers_in(payloads[:step]).view(np.int64), minlength=values).astype(np.int64, copy=False)
    for start in range(step, len(payloads), TALLIED):
        counts += np.bincount(numbers_in(payloads[start : start + TALLIED]).view(np.int64), minlength=values)
    return counts
