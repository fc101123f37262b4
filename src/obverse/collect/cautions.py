"""What the maker of a survey should know before anybody is asked, and what its page cannot do. All of it follows from
the
specification."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from obverse.collect.estimate import dearest, telling
from obverse.collect.planning import variances
from obverse.collect.protocols import OneOfSeveral, WordProtocol
from obverse.collect.protocols.base import MeanProtocol
from obverse.collect.spec import Spec
from obverse.core.numbers import plain

UNTIL_STEPS = 10  # of a retention: reports are deleted together that came within one
SURE = 0.9  # an averaging attacker who is right for so many people is worth a warning
IN_BROWSERS = frozenset(
    {
        "direct",
        "unary",
        "local_hash",
        "pooled_hash",
        "hadamard",
        "subset",
        "projective",
        "count_mean",
        "hadamard_count_mean",
        "rappor",
        "loloha",
        "memoised_unary",
        "one_of_several",
        "all_of_several",
    }
)


@dataclass(frozen=True, slots=True)
class Caution:
    """One thing to think about, and what to do about it."""

    name: str
    message: str
    fix: str

    def words(self) -> str:
        return f"{self.message} {self.fix}"

    def as_json(self) -> dict[str, str]:
        return {"name": self.name, "message": self.message, "fix": self.fix}


def cautions(spec: Spec) -> tuple[Caution, ...]:
    """All of a survey."""
    found = (_averaging(spec), _lifetime(spec), _retention(spec), _page(spec))
    return tuple(one for one in found if one is not None)


def named_by_averaging(spec: Spec) -> float:
    """Of how many people in all an attacker who has all of their reports names the answer rightly, of two that are as
    likely.

    Claim:   about right for reports of fresh coins, and never above what their epsilon allows; 0 for permanent answers,
             of which averaging finds the permanent one.
    Proof:   the sum of T estimates of one item is normal, with T times the variance v of one: of two answers as likely,
             the nearer one is right with chance Phi(sqrt(T / v) / 2). Epsilon T times that of a report bounds it by 1 /
             (1 + exp(-epsilon)).
    Assumes: T large enough for the normal law. Who has one person's reports: for instance who hands out the tokens.
    """
    reports = telling(spec, spec.survey.reports)[0]
    if spec.lasting is not None or reports < 2:
        return 0.0
    if spec.parts:
        times = len(spec.parts) if isinstance(spec.protocol, OneOfSeveral) else 1
        return max(_named(part, reports / times) for part in spec.parts)
    return _named(spec, reports)


def _named(spec: Spec, reports: float) -> float:
    protocol = spec.protocol
    one = float(protocol.spread(0)) if isinstance(protocol, MeanProtocol) else variances(protocol, 1)[0]
    likely = NormalDist().cdf(math.sqrt(reports / one) / 2) if one > 0 else 1.0
    return min(likely, 1 / (1 + math.exp(-min(reports * float(protocol.loss()), 700.0))))


def _averaging(spec: Spec) -> Caution | None:
    sure = named_by_averaging(spec)
    asked = spec.survey
    if sure < SURE:
        return None
    once = bool(asked.options) and not spec.parts
    remember = (
        f"Add `permanent = {plain(2 * asked.epsilon)}` and leave `protocol` out, so that each answer is randomized "
        "once for"
        " ever, or declare fewer reports."
    )
    return Caution(
        "averaging",
        f"{telling(spec, asked.reports)[0]:,} reports of fresh coins hide nobody: who has all of one person's and "
        "averages them"
        f" is right for {math.floor(1000 * sure) / 10:g} of 100 people.",
        remember if once else "Declare fewer reports, or a smaller lifetime.",
    )


def _lifetime(spec: Spec) -> Caution | None:
    asked = spec.survey
    fewest, _ = telling(spec, asked.reports)
    if not 0 < fewest < asked.reports:  # none at all is refused
        return None
    most = 1 - Fraction(fewest, asked.reports)
    share = f"up to {100 * float(most):.3g}% of reports carry no answer, and intervals hold for every share up to that"
    if spec.permanent is None:
        return Caution(
            "lifetime",
            f"the lifetime pays for {fewest:,} of {asked.reports:,} reports: {share}; where everybody sends all "
            "reports, errors"
            f" are {float(1 / (1 - most)):.3g} times as large.",
            f"Declare `reports = {fewest}`, or tell `collect estimate` by --people how many took part.",
        )
    return Caution(
        "lifetime",
        f"a device whose answers change may spend the lifetime after {fewest:,} of {asked.reports:,} reports: {share}.",
        f"Declare `lifetime = {plain(dearest(spec, asked.reports))}`, or tell `collect estimate` the share by "
        "--beyond.",
    )


def _retention(spec: Spec) -> Caution | None:
    """Under a lifetime the first reports carry the answers.

    Deleted a few at a time, before the last come, they leave none.
    """
    asked = spec.survey
    fewest, _ = telling(spec, asked.reports)
    step = max(1, asked.retention_days // UNTIL_STEPS)
    days = math.ceil(asked.reports / asked.per_day)
    together = asked.people * asked.per_day * step
    if not 0 < fewest < asked.reports or asked.retention_days - step + 1 >= days or together >= asked.minimum:
        return None
    return Caution(
        "retention",
        f"reports are deleted from day {asked.retention_days} on, and the schedule takes {days:,} days: about "
        f"{together:,} at a"
        f" time are fewer than {asked.minimum:,}, so that their counts go too, those with answers first.",
        f"Declare `retention_days = {math.ceil(days * UNTIL_STEPS / (UNTIL_STEPS - 1))}`.",
    )


def _page(spec: Spec) -> Caution | None:
    """What keeps the survey from being answered in a browser."""
    parts = spec.parts or (spec,)
    if spec.survey.shuffler is not None:
        why = "its reports go to a shuffler, and the page knows none that it could send them to"
    elif any(part.grid is not None for part in parts):
        why = "it asks for a number, which browsers cannot randomize here"
    elif any(isinstance(part.protocol, WordProtocol) for part in parts):
        why = "it asks for a word that is to be discovered, which browsers cannot randomize here"
    elif any(part.protocol.name not in IN_BROWSERS for part in parts):
        why = "browsers do not know its protocol"
    else:
        return None
    return Caution(
        "page", f"the page of `obverse serve` cannot ask it: {why}.", "People answer by `obverse collect answer`."
    )
