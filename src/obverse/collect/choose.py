"""`auto`: which protocol errs least for so many people, items and so much loss, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

from obverse.catalog.model import Survey
from obverse.catalog.spelling import Spelling
from obverse.collect.discover import MISSED
from obverse.collect.makers import ITEMS_MAX, MOST_ITEMS, OF_NUMBERS, OF_WORDS, made, size_of
from obverse.collect.protocols import AllOfSeveral, Hadamard, LocalProtocol, OneOfSeveral
from obverse.collect.protocols.base import MeanProtocol
from obverse.collect.protocols.several import PARTS_MAX, SIZE_MAX, Part, fits_within
from obverse.core.errors import Refused
from obverse.core.numbers import several

BYTES_MAX = 512  # of one report; a device sends this without noticing
HASHES_MAX = 10**11  # that a server computes for one survey
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
    """The protocol that a survey names, or the best one; for several questions, one for each of them."""
    if survey.questions:
        return _each(survey)
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


def _each(survey: Survey) -> Choice:
    """For each question the best protocol at the epsilon and for the people that it really has; the largest error of all."""
    asked = survey.parts
    if len(asked) > PARTS_MAX or math.prod(size_of(one) for one in asked) > SIZE_MAX:
        fix = "Ask fewer questions in one survey."
        raise Refused("too_many_answers", "all answers of a person are more than 64 bits.", fix=fix)
    choices = [chosen(one) for one in asked]
    for one, choice in zip(asked, choices):
        if not fits_within(choice.protocol):
            raise Refused(
                "bad_parameter",
                f"{choice.protocol.name} cannot answer {one.name}, which is one of several questions.",
                why="what is sent for texts, and permanent answers, take a survey of their own.",
                fix="Name another protocol, or auto.",
            )
    parts = cast("tuple[Part, ...]", tuple(choice.protocol for choice in choices))
    protocol = AllOfSeveral(parts) if survey.split == "budget" else OneOfSeveral(parts)
    why = " ".join(f"{one.name}: {choice.why}" for one, choice in zip(asked, choices))
    return Choice(protocol, max(choice.deviation for choice in choices), why)


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
    few = [name for name in names if size <= MOST_ITEMS.get(name, ITEMS_MAX)]
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
    """The standard error of the share of an item that nobody has, all else evenly spread; of a mean, people in the middle."""
    return math.sqrt(sum(variances(protocol, people)))


def variances(protocol: LocalProtocol, people: int) -> tuple[float, float]:
    """That of the coins of so many people, and the one that hashes leave, which more people do not lessen.

    An empty table stands for everybody, except where the item's block counts as well: there one that holds each word as often.
    """
    import numpy as np

    if isinstance(protocol, MeanProtocol):
        return float(protocol.spread(protocol.size // 2) / people), 0.0
    each = EVENLY if isinstance(protocol, Hadamard) else 0
    counts = np.full(protocol.shape, each, dtype=np.int64)
    n = int(counts.sum()) or people
    found = protocol.estimate(counts, n, np.zeros(1, dtype=np.uint64))
    return float(found.variance[0] - found.floor) * n / people, found.floor
