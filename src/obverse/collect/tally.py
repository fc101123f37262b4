"""What is kept of reports: integer counts, which add up. Shards merge in any order, and so do days."""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from obverse.collect.protocols import HadamardCountMean, LocalProtocol
from obverse.collect.protocols.base import Counts, Payloads
from obverse.core.errors import Refused, invariant

MAGIC = b"obverse tally 1\n"
MOST = 1 << 53  # of anything
COLLECTOR = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """The counts of n reports of one survey. A commutative monoid: `empty` is nothing, `plus` is together."""

    survey: bytes  # the spec's digest
    n: int
    counts: Counts
    rejected: Mapping[str, int] = field(default_factory=dict)  # by reason
    odd: int = 0  # counted, though an honest device hardly ever sends them
    collectors: frozenset[str] = frozenset()  # whose whole counts these are; the counts of a part have none
    gone: int = 0  # reports that were counted once, and were deleted with their counts

    def plus(self, other: Tally) -> Tally:
        if other.survey != self.survey:
            raise _other_survey()
        if self.collectors & other.collectors:
            raise _same_collector()
        reasons = sorted({*self.rejected, *other.rejected})
        rejected = {reason: self.rejected.get(reason, 0) + other.rejected.get(reason, 0) for reason in reasons}
        n = self.n + other.n
        counts = self.counts + other.counts
        odd = self.odd + other.odd
        return Tally(self.survey, n, counts, rejected, odd, self.collectors | other.collectors, self.gone + other.gone)

    def packed(self) -> bytes:
        """The counts as bytes, to be kept or sent; `unpacked` reads them."""
        return zlib.compress(self.counts.astype("<i8").tobytes(), 1)

    def saved(self) -> bytes:
        """All of it, for another collector of the same survey; `loaded` reads it."""
        told = {"survey": self.survey.hex(), "n": self.n, "rejected": dict(self.rejected), "odd": self.odd}
        told |= {"collectors": sorted(self.collectors)} | ({"gone": self.gone} if self.gone else {})
        return MAGIC + json.dumps(told, sort_keys=True).encode() + b"\n" + self.packed()

    def same(self, other: Tally) -> bool:
        told, others = (
            (each.survey, each.n, dict(each.rejected), each.odd, each.collectors, each.gone) for each in (self, other)
        )
        return told == others and bool(np.array_equal(self.counts, other.counts))


def empty(survey: bytes, protocol: LocalProtocol) -> Tally:
    return Tally(survey, 0, np.zeros(protocol.shape, dtype=np.int64))


def tallied(survey: bytes, protocol: LocalProtocol, payloads: Payloads) -> Tally:
    """The tally of payloads that were accepted."""
    invariant(bool(protocol.valid(payloads).all()), "only reports that some device could have sent are counted")
    return Tally(survey, len(payloads), protocol.fold(payloads))


def unpacked(survey: bytes, protocol: LocalProtocol, n: int, packed: bytes) -> Tally:
    """The tally of n reports whose counts were packed."""
    counts = np.frombuffer(zlib.decompress(packed), dtype="<i8").astype(np.int64)
    return Tally(survey, n, counts.reshape(protocol.shape))


def loaded(survey: bytes, protocol: LocalProtocol, saved: bytes) -> Tally:
    """A tally that was saved, which may come from anywhere: whatever does not fit is refused."""
    try:
        if not saved.startswith(MAGIC):
            raise ValueError
        head, packed = saved[len(MAGIC) :].split(b"\n", 1)
        told = json.loads(head)
        if told["survey"] != survey.hex():
            raise _other_survey()
        opened = zlib.decompressobj()
        counts = opened.decompress(packed, 8 * math.prod(protocol.shape) + 1)  # not more, whatever it says
        found = unpacked(survey, protocol, told["n"], zlib.compress(counts, 1))
        rejected = {str(reason): count for reason, count in told["rejected"].items()}
        counted = (found.n, told["odd"], told.get("gone", 0), *rejected.values())
        whole = all(type(count) is int and 0 <= count <= MOST for count in counted)
        if not whole or told["odd"] > found.n or not opened.eof:
            raise ValueError
        collectors = told["collectors"]
        if type(collectors) is not list or not all(type(one) is str and COLLECTOR.fullmatch(one) for one in collectors):
            raise ValueError
        least = -found.n if isinstance(protocol, HadamardCountMean) else 0  # there signs are summed
        if (found.counts > found.n).any() or (found.counts < least).any():
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError, zlib.error):
        fix = "Save it by `obverse collect tally`."
        raise Refused("not_a_tally", "this is not a tally, or it is damaged.", fix=fix) from None
    return Tally(survey, found.n, found.counts, rejected, told["odd"], frozenset(collectors), told.get("gone", 0))


def _other_survey() -> Refused:
    return Refused(
        "other_survey",
        "these are reports of two surveys.",
        why="whatever changes in a specification, its reports mean something else.",
        fix="Merge reports of one survey id.",
    )


def _same_collector() -> Refused:
    return Refused(
        "same_collector",
        "these are counts of one collector twice.",
        why="its reports would count twice, and intervals would be too narrow.",
        fix="Merge the last counts of each collector, once, and not those of this one.",
    )
