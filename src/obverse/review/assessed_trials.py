"""Trials of a self-assessment: the usual questions, the samplers and the surveys' protocols, on made-up neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from obverse.attack.lower_bound.trial import Verdict, trial
from obverse.catalog.model import Catalog
from obverse.collect.choose import chosen
from obverse.core.errors import ObverseError
from obverse.curator.usual_questions import usual_questions
from obverse.mechanisms import MECHANISMS, DiscreteLaplace
from obverse.review.assessed import Point
from obverse.review.neighbouring import of_question
from obverse.review.verifying import Inputs, Target, of_example, of_mechanism, of_protocol
from obverse.session.rehearsal import declared

PRICE_MIN = Fraction(1)
Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Effort:
    """Outputs of each neighbour; and the confidence of all trials together."""

    of_questions: int = 20_000
    of_samplers: int = 5_000
    confidence: float = 0.95


QUICK = Effort(2_000, 1_000)


@dataclass(frozen=True, slots=True)
class Wanted:
    """One trial: of what, how it is made ready, and with how many outputs. A control has to be refuted."""

    about: str
    ready: Callable[[], Target]
    samples: int
    control: bool = False


def samplers(effort: Effort) -> list[Wanted]:
    """Each mechanism on the worst neighbours that it names itself; and one with half its noise, to see whether trials bite."""
    half = lambda: replace(of_mechanism(DiscreteLaplace(1, Fraction(1, 2)), Inputs((0.0, 1.0))), epsilon=1.0)  # noqa: E731
    found = [Wanted(kind.name, lambda kind=kind: of_example(kind, Inputs()), effort.of_samplers) for kind in MECHANISMS]  # type: ignore[misc]
    return [*found, Wanted("control: half of the noise", half, effort.of_samplers, control=True)]


def questions(project: Path, effort: Effort) -> list[Wanted]:
    """The usual questions of the declared tables; not below a price at which so few outputs can tell anything."""
    catalog = declared(project, {})[0]
    price, many = max(catalog.epsilon, PRICE_MIN), effort.of_questions
    asked = usual_questions(catalog)
    return [Wanted(sql, lambda sql=sql: of_question(project, sql, price, None), many) for sql in asked]  # type: ignore[misc]


def surveys(catalog: Catalog, effort: Effort) -> list[Wanted]:
    """One report of each question of each survey."""
    found = []
    for survey in catalog.surveys.values():
        for part in survey.parts or (survey,):
            about = f"survey {survey.name}" + (f", {part.name}" if survey.questions else "")
            ready = lambda part=part: of_protocol(chosen(part).protocol, Inputs())  # noqa: E731
            found.append(Wanted(about, ready, effort.of_samplers))
    return found


def tried(wanted: list[Wanted], alpha: float, progress: Progress = lambda share: None) -> Iterator[Point]:
    """Each trial with the false-alarm rate `alpha`; what cannot be tried is said."""
    for place, one in enumerate(wanted):
        try:
            target = one.ready()
            verdict = trial(
                target.draw, target.pairs, one.samples, claimed=target.epsilon, delta=target.delta, alpha=alpha,
                progress=lambda share, place=place: progress((place + share) / len(wanted)),  # type: ignore[misc]
            )  # fmt: skip
        except ObverseError as error:
            yield Point(one.about, "not looked at", f"it could not be tried: {error.message}")
            continue
        yield _control(one, verdict) if one.control else _point(one, verdict)


def _point(one: Wanted, verdict: Verdict) -> Point:
    return Point(one.about, "refuted" if verdict.refuted else "not refuted", verdict.sentence, verdict.as_json())


def _control(one: Wanted, verdict: Verdict) -> Point:
    """The other way round: a claim that is false has to be refuted, or these trials are too small to tell anything."""
    if verdict.refuted:
        said = f"the trial bites: epsilon 1 was claimed of noise for 2, and refuted: at least {verdict.evidence.epsilon:.3g}."
        return Point(one.about, "recomputed", said, verdict.as_json())
    said = "epsilon 1 was claimed of noise for 2, and these trials did not see it: take more outputs before trusting them."
    return Point(one.about, "open", said, verdict.as_json())
