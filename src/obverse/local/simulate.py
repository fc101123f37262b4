"""A survey played with made-up people, before anybody is asked. The generator is an ordinary one, and protects nobody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from obverse.core.errors import Refused
from obverse.core.rng import Rng
from obverse.local.protocols import Direct, Unary
from obverse.local.spec import Spec
from obverse.local.tally import Tally, empty, tallied

if TYPE_CHECKING:
    import numpy as np

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
    if not options:
        raise Refused("bad_parameter", "only surveys with options are played.", fix="Declare options.")
    wanted = dict(_share(text, options) for text in shares)
    rest = 1 - sum(wanted.values())
    left = [option for option in options if option not in wanted]
    if rest < -1e-9 or (not left and rest > 1e-9):
        raise Refused("bad_parameter", "the shares do not add up to one.", fix="Give shares that add up to one, or fewer.")
    each = [wanted.get(option, max(rest, 0.0) / max(len(left), 1)) for option in options]
    generator = np.random.default_rng()
    held = generator.multinomial(people, np.array(each) / sum(each)).tolist()
    truth = {option: n / people for option, n in zip(options, held)}
    tally = simulated(spec, held, generator)
    if tally is not None:
        return Played(tally, truth, "the exact law of the counts")
    total, codes = empty(spec.digest, spec.protocol), np.array(spec.codes(), dtype=np.uint64)
    for start in range(0, people, PLAYED_AT_ONCE):
        some = np.repeat(codes, held)[start : start + PLAYED_AT_ONCE]
        total = total.plus(tallied(spec.digest, spec.protocol, spec.protocol.reports(some, Rng())))
    return Played(total, truth, "as many reports")


def _share(text: str, options: Sequence[str]) -> tuple[str, float]:
    name, _, share = text.rpartition("=")
    try:
        number = float(share)
    except ValueError:
        number = -1.0
    if name not in options or not 0 <= number <= 1:
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
