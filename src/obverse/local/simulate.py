"""A survey played with made-up people, before anybody is asked. The generator is an ordinary one, and protects nobody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from obverse.catalog.spelling import Spelling
from obverse.core.errors import Refused
from obverse.core.rng import Rng
from obverse.local.protocols import Direct, Unary
from obverse.local.spec import Spec
from obverse.local.tally import Tally, empty, tallied

if TYPE_CHECKING:
    import numpy as np

    from obverse.local.protocols.base import Codes

PLAYED_AT_ONCE = 1 << 18


@dataclass(frozen=True, slots=True)
class Played:
    """A survey played with made-up people."""

    tally: Tally
    truth: dict[str, float]
    how: str


def played(spec: Spec, shares: Sequence[str], people: int) -> Played:
    """So many people with these shares of options: by the exact law where it is known, else report by report."""
    import numpy as np

    options = spec.survey.options
    if spec.survey.spelling is not None:
        return _played_words(spec, spec.survey.spelling, shares, people)
    if not options:
        raise Refused("bad_parameter", "only surveys with options, or with letters of words, are played.", fix="Declare them.")
    wanted = dict(_share(text, options) for text in shares)
    rest = 1 - sum(wanted.values())
    left = [option for option in options if option not in wanted]
    if rest < -1e-9 or (not left and rest > 1e-9):
        raise _not_one()
    each = [wanted.get(option, max(rest, 0.0) / max(len(left), 1)) for option in options]
    generator = np.random.default_rng()
    held = generator.multinomial(people, np.array(each) / sum(each)).tolist()
    truth = {option: n / people for option, n in zip(options, held)}
    tally = simulated(spec, held, generator)
    if tally is not None:
        return Played(tally, truth, "the exact law of the counts")
    return Played(_reported(spec, np.repeat(np.array(spec.codes(), dtype=np.uint64), held)), truth, "as many reports")


def _played_words(spec: Spec, spelling: Spelling, shares: Sequence[str], people: int) -> Played:
    """So many people with these shares of words, and all others with words of their own, at random."""
    import numpy as np

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
    import numpy as np

    held = np.array(people, dtype=np.int64)
    n = int(held.sum())
    protocol = spec.protocol
    if isinstance(protocol, Unary):
        own, other = protocol.own / 2**53, protocol.other / 2**53
        counts = generator.binomial(held, own) + generator.binomial(n - held, other)
    elif isinstance(protocol, Direct):  # the truth, or with what is left an item of all, one's own among them
        truthful = generator.binomial(held, float(protocol.own - protocol.other))
        counts = truthful + generator.multinomial(n - int(truthful.sum()), np.full(len(held), 1 / len(held)))
    else:
        return None
    return Tally(spec.digest, n, counts.astype(np.int64))
