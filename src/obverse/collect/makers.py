"""Protocols by the names that obverse.toml gives them, made for a survey's items, numbers or texts and its epsilons."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

from obverse.catalog.model import Survey
from obverse.collect.protocols import (
    CountMean,
    Direct,
    Fragments,
    Hadamard,
    HadamardCountMean,
    HybridMean,
    LastingProtocol,
    LocalHash,
    LocalProtocol,
    Loloha,
    MemoisedUnary,
    OneBitMean,
    PiecewiseMean,
    PooledHash,
    Prefixes,
    Projective,
    ProjectiveSketch,
    Rappor,
    Subset,
    Unary,
    WordProtocol,
)
from obverse.core.errors import Refused
from obverse.core.numbers import plain

Maker = Callable[[int, Fraction, Fraction], LocalProtocol]  # items, epsilon of all reports of one answer, epsilon of one
WordMaker = Callable[[int, int, Fraction], WordProtocol]  # letters of a word, symbols that each may be, epsilon
TIMES_EVER = 2  # all reports of one answer lose this many times what one does, unless told


def once(made: Callable[[int, Fraction], LocalProtocol]) -> Maker:
    return lambda size, ever, each: made(size, each)


def two_coins(size: int, epsilon: Fraction) -> LocalProtocol:
    if size != 2:
        raise Refused("bad_parameter", "two coins answer yes or no.", fix="Give two options, or choose another protocol.")
    return Direct.two_coins()


OF_ITEMS: dict[str, Maker] = {
    "two_coins": once(two_coins),
    "direct": once(Direct.fitted),
    "unary": once(Unary.fitted),
    "symmetric_unary": once(Unary.symmetric),
    "local_hash": once(LocalHash.fitted),
    "pooled_hash": once(PooledHash.fitted),
    "hadamard": once(Hadamard.fitted),
    "subset": once(Subset.fitted),
    "projective": once(Projective.fitted),
    "loloha": Loloha.lasting_at,
    "memoised_unary": MemoisedUnary.optimized,
}
OF_TEXTS: dict[str, Maker] = {
    "count_mean": once(CountMean.fitted),
    "hadamard_count_mean": once(HadamardCountMean.fitted),
    "projective_sketch": once(ProjectiveSketch.fitted),
    "apple_emoji": once(lambda size, epsilon: CountMean.published()),
    "rappor": once(Rappor.fitted),
    "rappor_published": once(lambda size, epsilon: Rappor.published()),
}
OF_WORDS: dict[str, WordMaker] = {
    "prefixes": Prefixes.of_words,
    "fragments": Fragments.of_words,
}
OF_NUMBERS: dict[str, Maker] = {
    "one_bit_mean": once(OneBitMean.fitted),
    "piecewise_mean": once(PiecewiseMean.fitted),
    "hybrid_mean": once(HybridMean.fitted),
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
HASHES_LEAST, HASHES_MOST = 1 << 6, 1 << 16


def roomy(protocol: LocalProtocol, name: str, people: int) -> LocalProtocol:
    """With as many public hashes as keep their collisions at a tenth of the variance, or as are kept at the most.

    So many people, of whom a tenth of all pairs answer alike, are expected; what more reports do not lessen is told later.
    """
    import numpy as np

    if name not in HASHES:
        return protocol
    found = protocol.estimate(np.zeros(protocol.shape, dtype=np.int64), people, np.zeros(1, dtype=np.uint64))
    alone = float(found.variance[0]) - found.floor
    wanted = getattr(protocol, HASHES[name]) * found.floor / alone
    power = 1 << max(0, math.ceil(math.log2(wanted)))
    made: LocalProtocol = replace(protocol, **{HASHES[name]: min(max(power, HASHES_LEAST), HASHES_MOST)})  # type: ignore[type-var]
    return made


def makers_for(survey: Survey) -> dict[str, Maker]:
    """Those that fit what is asked; a list of options may be taken for texts as well."""
    if survey.bounds is not None:
        return OF_NUMBERS
    if survey.spelling is not None:
        letters, symbols = survey.spelling.letters, survey.spelling.symbols
        return {name: once(partial(_spelled, make, letters, symbols)) for name, make in OF_WORDS.items()}
    return OF_ITEMS | OF_TEXTS if survey.options else OF_TEXTS


def _spelled(make: WordMaker, letters: int, symbols: int, size: int, epsilon: Fraction) -> LocalProtocol:
    return make(letters, symbols, epsilon)


def size_of(survey: Survey) -> int:
    """How many items or places there are; any number of texts."""
    if survey.bounds is not None and survey.step is not None:
        return int((survey.bounds[1] - survey.bounds[0]) / survey.step) + 1
    return len(survey.options) or 2


def ever(survey: Survey) -> Fraction:
    return survey.permanent if survey.permanent is not None else TIMES_EVER * survey.epsilon


def made(survey: Survey, name: str) -> LocalProtocol:
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
    if survey.permanent is not None and not (isinstance(protocol, LastingProtocol) and protocol.lasting() <= survey.permanent):
        raise Refused(
            "bad_parameter",
            f"{name} does not keep all reports of one answer within epsilon {plain(survey.permanent)}.",
            fix="Name a protocol that remembers its answer (loloha, memoised_unary, rappor), or remove `permanent`.",
        )
    return protocol
