"""`auto`: which protocol errs least for so many people, items and so much loss, and why.

Protocols by the names that obverse.toml gives them, made for a survey's items, numbers or texts and its epsilons.

Before anybody is asked: how many people a share takes to be seen, what a survey will err by, and what it sends.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from statistics import NormalDist
from typing import cast

import numpy as np

from obverse.catalog.model import Survey
from obverse.catalog.spelling import Spelling
from obverse.collect import protocols
from obverse.collect.discovery import MISSED, people_for
from obverse.collect.estimate import MALICE, worst_shift
from obverse.collect.protocols.base import MeanProtocol
from obverse.collect.protocols.several import PARTS_MAX, SIZE_MAX, Part, fits_within
from obverse.collect.spec import Spec
from obverse.core.errors import Refused
from obverse.core.numbers import plain, several

# items, epsilon of all reports of one answer, epsilon of one
Maker = Callable[[int, Fraction, Fraction], protocols.LocalProtocol]
WordMaker = Callable[
    [int, int, Fraction], protocols.WordProtocol
]  # letters of a word, symbols that each may be, epsilon
TIMES_EVER = 2  # all reports of one answer lose this many times what one does, unless told


def once(made: Callable[[int, Fraction], protocols.LocalProtocol]) -> Maker:
    return lambda size, ever, each: made(size, each)


def two_coins(size: int, epsilon: Fraction) -> protocols.LocalProtocol:
    if size != 2:
        raise Refused(
            "bad_parameter", "two coins answer yes or no.", fix="Give two options, or choose another protocol."
        )
    return protocols.Direct.two_coins()


OF_ITEMS: dict[str, Maker] = {
    "two_coins": once(two_coins),
    "direct": once(protocols.Direct.fitted),
    "unary": once(protocols.Unary.fitted),
    "symmetric_unary": once(protocols.Unary.symmetric),
    "local_hash": once(protocols.LocalHash.fitted),
    "pooled_hash": once(protocols.PooledHash.fitted),
    "hadamard": once(protocols.Hadamard.fitted),
    "subset": once(protocols.Subset.fitted),
    "projective": once(protocols.Projective.fitted),
    "loloha": protocols.Loloha.lasting_at,
    "memoised_unary": protocols.MemoisedUnary.optimized,
}
OF_TEXTS: dict[str, Maker] = {
    "count_mean": once(protocols.CountMean.fitted),
    "hadamard_count_mean": once(protocols.HadamardCountMean.fitted),
    "projective_sketch": once(protocols.ProjectiveSketch.fitted),
    "apple_emoji": once(lambda size, epsilon: protocols.CountMean.published()),
    "rappor": once(protocols.Rappor.fitted),
    "rappor_published": once(lambda size, epsilon: protocols.Rappor.published()),
}
OF_WORDS: dict[str, WordMaker] = {"prefixes": protocols.Prefixes.of_words, "fragments": protocols.Fragments.of_words}
OF_NUMBERS: dict[str, Maker] = {
    "one_bit_mean": once(protocols.OneBitMean.fitted),
    "piecewise_mean": once(protocols.PiecewiseMean.fitted),
    "hybrid_mean": once(protocols.HybridMean.fitted),
}

MOST_ITEMS = {
    "direct": 1 << 20,
    "unary": 1 << 16,
    "symmetric_unary": 1 << 16,
    "memoised_unary": 1 << 16,
    "subset": 1 << 12,
    "projective": 1 << 20,
}
ITEMS_MAX = 1 << 24
HASHES = {"pooled_hash": "pool", "count_mean": "rows", "hadamard_count_mean": "rows"}
HASHES_LEAST = 1 << 6
HASHES_MOST = 1 << 16


def roomy(protocol: protocols.LocalProtocol, name: str, people: int) -> protocols.LocalProtocol:
    """With as many public hashes as keep their collisions at a tenth of the variance, or as are kept at the most.

    So many people, of whom a tenth of all pairs answer alike, are expected; what more reports do not lessen is told
    later.
    """
    if name not in HASHES:
        return protocol
    found = protocol.estimate(np.zeros(protocol.shape, dtype=np.int64), people, np.zeros(1, dtype=np.uint64))
    alone = float(found.variance[0]) - found.floor
    wanted = getattr(protocol, HASHES[name]) * found.floor / alone
    power = 1 << max(0, math.ceil(math.log2(wanted)))
    made: protocols.LocalProtocol = replace(protocol, **{HASHES[name]: min(max(power, HASHES_LEAST), HASHES_MOST)})  # type: ignore[type-var]
    return made


def makers_for(survey: Survey) -> dict[str, Maker]:
    """Those that fit what is asked; a list of options may be taken for texts as well."""
    if survey.bounds is not None:
        return OF_NUMBERS
    if survey.spelling is not None:
        letters = survey.spelling.letters
        symbols = survey.spelling.symbols
        return {name: once(partial(_spelled, make, letters, symbols)) for name, make in OF_WORDS.items()}
    return OF_ITEMS | OF_TEXTS if survey.options else OF_TEXTS


def _spelled(make: WordMaker, letters: int, symbols: int, size: int, epsilon: Fraction) -> protocols.LocalProtocol:
    return make(letters, symbols, epsilon)


def size_of(survey: Survey) -> int:
    """How many items or places there are; any number of texts."""
    if survey.bounds is not None and survey.step is not None:
        return int((survey.bounds[1] - survey.bounds[0]) / survey.step) + 1
    return len(survey.options) or 2


def ever(survey: Survey) -> Fraction:
    return survey.permanent if survey.permanent is not None else TIMES_EVER * survey.epsilon


def made(survey: Survey, name: str) -> protocols.LocalProtocol:
    """The protocol of this name; its losses are never above what was declared."""
    makers = makers_for(survey)
    if name not in makers:
        names = ", ".join(["auto", *makers])
        fix = "Declare text = true and letters = 8." if name in OF_WORDS else f"Name one of {names}."
        raise Refused("bad_choice", f"there is no protocol {name!r} for this.", fix=fix)
    if not survey.epsilon <= ever(survey):
        fix = "Declare permanent at least as large as epsilon."
        raise Refused("bad_parameter", "one report cannot lose more than all of them.", fix=fix)
    size = size_of(survey)
    if size > MOST_ITEMS.get(name, ITEMS_MAX):
        fix = "Choose auto or another protocol, or list fewer."
        raise Refused("bad_parameter", f"{name} is not for {size:,} options.", fix=fix)
    protocol = roomy(makers[name](size, ever(survey), survey.epsilon), name, survey.people)
    if protocol.loss() > survey.epsilon:
        raise Refused(
            "bad_parameter",
            f"{name} costs epsilon {plain(protocol.loss())} per report, more than was declared.",
            fix=f"Declare epsilon = {plain(protocol.loss())}, or choose another protocol.",
        )
    if survey.permanent is not None and not (
        isinstance(protocol, protocols.LastingProtocol) and protocol.lasting() <= survey.permanent
    ):
        raise Refused(
            "bad_parameter",
            f"{name} does not keep all reports of one answer within epsilon {plain(survey.permanent)}.",
            fix="Name a protocol that remembers its answer (loloha, memoised_unary, rappor), or remove `permanent`.",
        )
    return protocol


BYTES_MAX = 512  # of one report; a device sends this without noticing
HASHES_MAX = 10**11  # that a server computes for one survey
EVENLY = 1 << 20
NEAR = 1.03  # errors that are as good as equal: then the shorter report counts
ONCE = ("direct", "unary", "local_hash", "projective", "hadamard")
LASTING = ("loloha", "memoised_unary")


@dataclass(frozen=True, slots=True)
class Choice:
    """A protocol, the standard deviation of a rare item's share or of the mean, and the reason in words."""

    protocol: protocols.LocalProtocol
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
        why = (
            "people send again and again, so an answer is drawn once for all"
            if name == "rappor"
            else "any text may be sent"
        )
        return Choice(protocol, deviation(protocol, survey.people), f"{name}: {why}.")
    names = LASTING if survey.permanent is not None else ONCE
    return _best(survey, names, "a rare answer's share is off by {:.3g}")


def _each(survey: Survey) -> Choice:
    """For each question the best protocol at the epsilon and for the people that it really has; the largest error of
    all.
    """
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
    protocol = protocols.AllOfSeveral(parts) if survey.split == "budget" else protocols.OneOfSeveral(parts)
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
    why = (
        f"{best}: among {survey.people:,} people a word of share {share} found; shares of others, in times of that: "
        f"{beside}."
    )
    protocol = made(survey, best)
    return Choice(protocol, deviation(protocol, survey.people), why)


def _best(survey: Survey, names: tuple[str, ...], told: str) -> Choice:
    """The least error, or hardly more and the shortest reports, where reports and counting are small enough."""
    size = size_of(survey)
    people = survey.people
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
    return Choice(
        small[best], errors[best], why + (f"; errors of others, in times of that: {beside}." if beside else ".")
    )


def deviation(protocol: protocols.LocalProtocol, people: int) -> float:
    """The standard error of the share of an item that nobody has, all else evenly spread; of a mean, people in the
    middle.
    """
    return math.sqrt(sum(variances(protocol, people)))


def variances(protocol: protocols.LocalProtocol, people: int) -> tuple[float, float]:
    """That of the coins of so many people, and the one that hashes leave, which more people do not lessen.

    An empty table stands for everybody, except where the item's block counts as well: there one that holds each word as
    often.
    """
    if isinstance(protocol, MeanProtocol):
        return float(protocol.spread(protocol.size // 2) / people), 0.0
    each = EVENLY if isinstance(protocol, protocols.Hadamard) else 0
    counts = np.full(protocol.shape, each, dtype=np.int64)
    n = int(counts.sum()) or people
    found = protocol.estimate(counts, n, np.zeros(1, dtype=np.uint64))
    return float(found.variance[0] - found.floor) * n / people, found.floor


SEEN = 0.95  # chance of seeing it


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What `obverse collect plan` prints."""

    people: int
    deviation: float  # of a rare item's share
    visible: float  # the least share that such a survey sees nearly always
    bytes: int
    leverage: float
    worst_shift: float
    central: float  # deviation of the same share if one trusted curator added the noise, at the same epsilon


def foresee(spec: Spec, people: int) -> Foreseen:
    found = deviation(spec.protocol, people)
    visible = sigmas() * found
    if isinstance(spec.protocol, protocols.WordProtocol):
        visible = spec.protocol.visible(people, 1 - SEEN, MISSED)
    frame = spec.frame.length
    leverage = spec.protocol.leverage()
    central = math.sqrt(2) / (float(spec.protocol.loss()) * people)
    return Foreseen(
        people=people,
        deviation=found,
        visible=visible,
        bytes=frame,
        leverage=leverage,
        worst_shift=worst_shift(spec, MALICE),
        central=central,
    )


def people_needed(spec: Spec, share: float) -> int | None:
    """How many people it takes to tell a share from none, with one chance in twenty of missing it, or of seeing too
    much.

    None where no number does: what hashes leave is larger than that, however many there are.
    """
    if not 0 < share <= 1:
        raise Refused("bad_parameter", "a share lies between 0 and 1.", fix="Write a share such as 0.01.")
    if isinstance(spec.protocol, protocols.WordProtocol):
        return people_for(spec.protocol, share)
    alone, floor = variances(spec.protocol, 1)
    left = (share / sigmas()) ** 2 - floor
    return math.ceil(alone / left) if left > 0 else None


def needed_words(needed: int | None, what: str) -> str:
    """The same for people."""
    if needed is None:
        return f"no number of them sees a {what}: what shares a hash hides it. Name another protocol, or more people"
    return f"{needed:,} are needed to see a {what}"


def sigmas() -> float:
    return 2 * NormalDist().inv_cdf(SEEN)
