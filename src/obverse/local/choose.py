"""`auto`: which protocol errs least for so many people, items and so much loss, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass

from obverse.catalog.model import Survey
from obverse.catalog.spelling import Spelling
from obverse.core.numbers import several
from obverse.local.discover import MISSED
from obverse.local.makers import OF_NUMBERS, OF_WORDS, made, size_of
from obverse.local.protocols import Hadamard, LocalProtocol
from obverse.local.protocols.base import MeanProtocol

BYTES_MAX = 512  # of one report; a device sends this without noticing
HASHES_MAX = 10**11  # that a server computes for one survey
LARGEST = {"direct": 1 << 20, "unary": 1 << 16, "memoised_unary": 1 << 16}  # items
EVENLY = 1 << 20
NEAR = 1.03  # errors that are as good as equal: then the shorter report counts
ONCE = ("direct", "unary", "local_hash", "projective", "hadamard")
LASTING = ("loloha", "memoised_unary")


@dataclass(frozen=True, slots=True)
class Choice:
    """A protocol, the standard deviation of a rare item's share or of the mean, and the reason in words."""

    protocol: LocalProtocol
    deviation: float
    why: str


def chosen(survey: Survey) -> Choice:
    """The protocol that a survey names, or the best one."""
    if survey.protocol != "auto":
        protocol = made(survey, survey.protocol)
        return Choice(protocol, deviation(protocol, survey.people), f"{survey.protocol}, as declared.")
    if survey.bounds is not None:
        return _best(survey, tuple(OF_NUMBERS), "the mean of people in the middle is off by {:.3g} of the range")
    if survey.spelling is not None:
        return _for_words(survey, survey.spelling)
    if not survey.options:
        name = "rappor" if survey.permanent is not None else "count_mean"
        protocol = made(survey, name)
        why = "people send again and again, so an answer is drawn once for all" if name == "rappor" else "any text may be sent"
        return Choice(protocol, deviation(protocol, survey.people), f"{name}: {why}.")
    names = LASTING if survey.permanent is not None else ONCE
    return _best(survey, names, "a rare answer's share is off by {:.3g}")


def _for_words(survey: Survey, spelling: Spelling) -> Choice:
    """The one that finds the rarest words."""
    seen = {
        name: make(spelling.letters, spelling.symbols, survey.epsilon).visible(survey.people, MISSED, MISSED)
        for name, make in OF_WORDS.items()
    }
    best, *others = sorted(seen, key=lambda name: seen[name])
    share = f"{seen[best]:.2g}, at the least, is" if seen[best] < 1 else "1 is not yet"
    beside = ", ".join(f"{name} {seen[name] / seen[best]:.3g}" for name in others)
    why = f"{best}: among {survey.people:,} people a word of share {share} found; shares of others, in times of that: {beside}."
    protocol = made(survey, best)
    return Choice(protocol, deviation(protocol, survey.people), why)


def _best(survey: Survey, names: tuple[str, ...], told: str) -> Choice:
    """The least error, or hardly more and the shortest reports, where reports and counting are small enough."""
    size, people = size_of(survey), survey.people
    few = [name for name in names if size <= LARGEST.get(name, size)]
    if people * size > HASHES_MAX and len(few) > 1:
        few = [name for name in few if name != "local_hash"]  # which is hashed against each item
    candidates = {name: made(survey, name) for name in few}
    small = {name: protocol for name, protocol in candidates.items() if protocol.length <= BYTES_MAX} or candidates
    errors = {name: deviation(protocol, people) for name, protocol in small.items()}
    near = [name for name in small if errors[name] <= NEAR * min(errors.values())]
    best = min(near, key=lambda name: (small[name].length, errors[name]))
    others = sorted((error / errors[best], name) for name, error in errors.items() if name != best)
    why = f"{best}: reports of {several(small[best].length, 'byte')}, and {told.format(errors[best])}"
    beside = ", ".join(f"{name} {ratio:.3g}" for ratio, name in others)
    return Choice(small[best], errors[best], why + (f"; errors of others, in times of that: {beside}." if beside else "."))


def deviation(protocol: LocalProtocol, people: int) -> float:
    """The standard deviation of the share of an item that nobody has, all else evenly spread; of a mean, people in the middle.

    An empty table stands for it, except where the item's block counts as well: there one that holds each word as often.
    """
    import numpy as np

    if isinstance(protocol, MeanProtocol):
        return math.sqrt(protocol.spread(protocol.size // 2) / people)
    each = EVENLY if isinstance(protocol, Hadamard) else 0
    counts = np.full(protocol.shape, each, dtype=np.int64)
    n = int(counts.sum()) or people
    found = protocol.estimate(counts, n, np.zeros(1, dtype=np.uint64))
    return math.sqrt(float(found.variance[0] - found.floor) * n / people + found.floor)
