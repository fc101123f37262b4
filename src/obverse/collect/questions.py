"""A survey of several questions, seen question by question: its tallies, its estimates, and what may be foreseen of
it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from obverse.collect.estimate import EPSILON_DIGITS, LEVEL, MALICE, Estimate, enough, estimate, uninformative
from obverse.collect.planning import Foreseen, chosen, foresee, people_needed
from obverse.collect.protocols import OneOfSeveral, Several
from obverse.collect.spec import Spec
from obverse.collect.tally import Tally
from obverse.core.errors import Refused
from obverse.core.numbers import plain


@dataclass(frozen=True, slots=True)
class Found:
    """What one question found; nothing while it has too few reports."""

    name: str
    n: int
    estimate: Estimate | None

    def as_json(self) -> dict[str, Any]:
        told = {} if self.estimate is None else self.estimate.as_json()
        return {"name": self.name, "reports": self.n, "rows": [], **told}


@dataclass(frozen=True, slots=True)
class Estimates:
    """What a survey of several questions found."""

    survey: str
    n: int
    minimum: int
    epsilon: str  # of a whole report
    questions: tuple[Found, ...]

    def as_json(self) -> dict[str, Any]:
        told = {
            "version": 1,
            "survey": self.survey,
            "reports": self.n,
            "minimum": self.minimum,
            "epsilon": self.epsilon,
        }
        return told | {"questions": [one.as_json() for one in self.questions]}

    def plot(self) -> Any:
        """An altair chart: one below the other, those of all questions that have one."""
        from obverse.answers.frames import extra

        charts = [one.estimate.plot() for one in self.questions if one.estimate is not None]
        return extra("altair", "plot").vconcat(*charts)


@dataclass(frozen=True, slots=True)
class Outlook:
    """What may be foreseen of one question."""

    name: str
    needed: int | None  # people who take part in the survey; None where no number of them is enough
    why: str
    foreseen: Foreseen


def tallies(spec: Spec, tally: Tally) -> Iterator[tuple[Spec, Tally]]:
    """The reports of each question."""
    for place, part in enumerate(spec.parts):
        assert isinstance(spec.protocol, Several)
        counts, n = spec.protocol.counted(tally.counts, place)
        yield part, Tally(part.digest, n, counts)


def estimates(
    spec: Spec,
    tally: Tally,
    *,
    level: float = LEVEL,
    simultaneous: bool = False,
    malice: float = MALICE,
    beyond: float | None = None,
    each: int | None = None,
    people: int | None = None,
) -> Estimates:
    """Each question among all people.

    Intervals that hold at once do so over all questions; tests are within a question.
    """
    enough(spec, tally.n)
    silent = uninformative(spec, tally.n, share=beyond, each=each, people=people, gone=tally.gone)
    wider = 1 - (1 - level) / len(spec.parts) if simultaneous else level
    found = []
    for part, own in tallies(spec, tally):
        if own.n < spec.survey.minimum:
            found.append(Found(part.survey.name, own.n, None))
            continue
        made = estimate(part, own, level=wider, simultaneous=simultaneous, malice=malice, among=tally.n, beyond=silent)
        found.append(Found(part.survey.name, own.n, replace(made, level=level, simultaneous=simultaneous)))
    if all(one.estimate is None for one in found):
        raise Refused(
            "too_few_reports",
            f"nothing is estimated from fewer than {spec.survey.minimum} reports, and no question has as many.",
            fix="Collect more, or ask fewer questions.",
        )
    return Estimates(spec.survey.name, tally.n, spec.survey.minimum, plain(spec.loss, EPSILON_DIGITS), tuple(found))


def outlooks(spec: Spec, people: int, share: float) -> list[Outlook]:
    """What each question will find, among the people who will be asked it."""
    times = len(spec.parts) if isinstance(spec.protocol, OneOfSeveral) else 1
    found = []
    for part in spec.parts:
        needed = people_needed(part, share)
        foreseen = foresee(part, max(people // times, 1))
        found.append(Outlook(part.survey.name, needed and times * needed, chosen(part.survey).why, foreseen))
    return found
