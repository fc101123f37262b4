"""A survey played with made-up people, before anybody is asked.

The generator is an ordinary one, and protects nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from obverse.catalog.spelling import Spelling
from obverse.collect.protocols import Direct, MemoisedUnary, OneOfSeveral, Unary
from obverse.collect.protocols.base import Codes
from obverse.collect.randomness.coins import share
from obverse.collect.spec import Spec
from obverse.collect.tally import Tally, empty, tallied
from obverse.core.errors import Refused
from obverse.core.rng import Rng

PLAYED_AT_ONCE = 1 << 18
PLAYED_MAX = 10**7  # people whose reports are made one by one


@dataclass(frozen=True, slots=True)
class Played:
    """A survey played with made-up people."""

    tally: Tally
    truth: dict[str, float]
    how: str


def played(spec: Spec, shares: Sequence[str], people: int) -> Played:
    """So many people with these shares of options: by the exact law where it is known, else report by report."""
    generator = np.random.default_rng()
    if spec.parts:
        return _played_each(spec, shares, people, generator)
    options = spec.survey.options
    if spec.survey.spelling is not None:
        return _played_words(spec, spec.survey.spelling, shares, people)
    if not options:
        raise Refused(
            "bad_parameter", "only surveys with options, or with letters of words, are played.", fix="Declare them."
        )
    held = generator.multinomial(people, _chances(options, shares)).tolist()
    truth = {option: n / people for option, n in zip(options, held)}
    tally, how = _tally(spec, held, generator)
    return Played(tally, truth, how)


def _played_each(spec: Spec, shares: Sequence[str], people: int, generator: np.random.Generator) -> Played:
    """Several questions, independent of each other, by shares such as smokes=yes=0.2; numbers are spread evenly."""
    named = [(text.partition("=")[0], text.partition("=")[2], text) for text in shares]
    unknown = [text for name, _, text in named if name not in {part.survey.name for part in spec.parts}]
    if unknown:
        fix = "Write --share QUESTION=ANSWER=SHARE."
        raise Refused("bad_parameter", f"{unknown[0]!r} names no question.", fix=fix)
    count = len(spec.parts)
    one = isinstance(spec.protocol, OneOfSeveral)
    asked = generator.multinomial(people, np.full(count, 1 / count)) if one else np.full(count, people)
    tallies = []
    truth = dict[str, float]()
    how = ""
    for part, n in zip(spec.parts, asked.tolist()):
        own = [rest for name, rest, _ in named if name == part.survey.name]
        items = part.survey.options or [""] * (part.grid.size if part.grid is not None else 0)
        chances = _chances(items, own) if part.grid is None else np.full(len(items), 1 / len(items))
        own_held, others = (generator.multinomial(many, chances) for many in (n, people - n))
        held = own_held + others  # of all people, of whom only these are asked
        if part.grid is None:
            truth |= {f"{part.survey.name}={item}": int(h) / people for item, h in zip(items, held)}
        else:
            along = float(held @ np.linspace(0, 1, len(held))) / people
            truth[f"{part.survey.name}=mean"] = part.grid.number(along)
        tally, how = _tally(part, own_held.tolist(), generator)
        tallies.append(tally)
    counts = np.concatenate([*(tally.counts.reshape(-1) for tally in tallies), asked.astype(np.int64)])
    return Played(Tally(spec.digest, people, counts), truth, how)


def _chances(options: Sequence[str], shares: Sequence[str]) -> NDArray[np.float64]:
    """The shares that are wanted; what is left goes evenly to the other options."""
    wanted = dict(_share(text, options) for text in shares)
    rest = 1 - sum(wanted.values())
    left = [option for option in options if option not in wanted]
    if rest < -1e-9 or (not left and rest > 1e-9):
        raise _not_one()
    each = [wanted.get(option, max(rest, 0.0) / max(len(left), 1)) for option in options]
    return np.array(each) / sum(each)


def _tally(spec: Spec, held: Sequence[int], generator: np.random.Generator) -> tuple[Tally, str]:
    """Of so many people with each item; and how it was made."""
    tally = simulated(spec, held, generator)
    if tally is not None:
        return tally, "the exact law of the counts"
    _check_played(spec, sum(held))
    codes = np.arange(len(held)) if spec.grid is not None else spec.codes()
    return _reported(spec, np.repeat(np.array(codes, dtype=np.uint64), held)), "as many reports"


def _played_words(spec: Spec, spelling: Spelling, shares: Sequence[str], people: int) -> Played:
    """So many people with these shares of words, and all others with words of their own, at random."""
    _check_played(spec, people)
    wanted = dict(_share(text) for text in shares)
    rest = 1 - sum(wanted.values())
    if rest < -1e-9:
        raise _not_one()
    generator = np.random.default_rng()
    held = generator.multinomial(people, [*wanted.values(), max(rest, 0.0)])
    own = np.zeros(held[-1], dtype=np.uint64)
    for _ in range(spelling.letters):
        own = own << np.uint64(spelling.bits) | generator.integers(1, spelling.symbols, len(own), dtype=np.uint64)
    codes = np.array([spec.code(word) for word in wanted], dtype=np.uint64)
    truth: dict[str, float] = {}
    for code, n in zip(codes, held):
        word = spelling.word(int(code))  # as it will be found
        truth[word] = truth.get(word, 0.0) + int(n) / people
    return Played(_reported(spec, np.concatenate([np.repeat(codes, held[:-1]), own])), truth, "as many reports")


def _reported(spec: Spec, codes: Codes) -> Tally:
    total = empty(spec.digest, spec.protocol)
    for start in range(0, len(codes), PLAYED_AT_ONCE):
        made = spec.protocol.reports(codes[start : start + PLAYED_AT_ONCE], Rng())
        total = total.plus(tallied(spec.digest, spec.protocol, made))
    return total


def _check_played(spec: Spec, people: int) -> None:
    if people > PLAYED_MAX:
        raise Refused(
            "bad_parameter",
            f"{spec.protocol.name} is played report by report, for at most {PLAYED_MAX:,} people.",
            why="the law of its counts has no short form.",
            fix="Play fewer by --people; `obverse collect plan` tells the error of any number.",
        )


def _not_one() -> Refused:
    return Refused("bad_parameter", "the shares do not add up to one.", fix="Give shares that add up to one, or fewer.")


def _share(text: str, options: Sequence[str] = ()) -> tuple[str, float]:
    name, _, share = text.rpartition("=")
    try:
        number = float(share)
    except ValueError:
        number = -1.0
    if not name or (options and name not in options) or not 0 <= number <= 1:
        raise Refused("bad_parameter", f"{text!r} is not ANSWER=SHARE.", fix="Write --share yes=0.2.")
    return name, number


def simulated(spec: Spec, people: Sequence[int], generator: np.random.Generator) -> Tally | None:
    """A tally as so many people with each option would make it, by its exact law and without making any report.

    None where no such law is known.
    """
    held = np.array(people, dtype=np.int64)
    n = int(held.sum())
    protocol = spec.protocol
    if isinstance(protocol, Unary | MemoisedUnary):  # bits are independent coins, for people who send once
        own, other = (float(share(odds) if isinstance(odds, int) else odds) for odds in (protocol.own, protocol.other))
        counts = generator.binomial(held, own) + generator.binomial(n - held, other)
    elif isinstance(protocol, Direct):  # the truth, or with what is left an item of all, one's own among them
        truthful = generator.binomial(held, float(protocol.own - protocol.other))
        counts = truthful + generator.multinomial(n - int(truthful.sum()), np.full(len(held), 1 / len(held)))
    else:
        return None
    return Tally(spec.digest, n, counts.astype(np.int64))
