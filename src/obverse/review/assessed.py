"""A self-assessment in the order of NIST SP 800-226: points, each with how much is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

State = Literal["recomputed", "declared", "by design", "not refuted", "refuted", "broken", "open", "not looked at"]
MEANING: Mapping[State, str] = {
    "recomputed": "computed again just now, from the ledger's records or from obverse.toml, and found so",
    "declared": "said by the curator; the plan enforces it on every row, nobody has looked whether it is wise",
    "by design": "what the code does; its proofs and tests say so, this command did not look",
    "not refuted": "tried just now on made-up neighbours, and no contradiction was found at the stated confidence",
    "refuted": "tried just now, and contradicted at the stated confidence",
    "broken": "computed again just now, and found otherwise",
    "open": "left open by this project, or not promised by anybody",
    "not looked at": "cannot be told from here",
}
NOT_TRUE = "What is not refuted is not thereby true."
BAD: tuple[State, ...] = ("refuted", "broken")


@dataclass(frozen=True, slots=True)
class Point:
    """One line: what it is about, how much is known of it, and a sentence."""

    about: str
    state: State
    said: str
    figures: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        told = {"about": self.about, "state": self.state, "said": self.said}
        return told | ({"figures": dict(self.figures)} if self.figures else {})


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Assessment:
    """The whole report of one project."""

    project: str
    made: str  # when, to the second
    version: str
    confidence: float  # of all trials together
    sections: tuple[Section, ...]

    @property
    def bad(self) -> tuple[Point, ...]:
        """What was refuted or found broken."""
        return tuple(point for section in self.sections for point in section.points if point.state in BAD)

    def count(self, state: State) -> int:
        return sum(point.state == state for section in self.sections for point in section.points)

    @property
    def sentence(self) -> str:
        """What may be said of the whole: never that it is private."""
        told = [f"{self.count(state)} {state}" for state in MEANING if self.count(state)]
        first = f"{len(self.bad)} points speak against this project." if self.bad else "Nothing was refuted or found broken."
        sure = f"All trials together speak with confidence {self.confidence:g}."
        return f"{first} {sure} Points by what is known of them: {', '.join(told)}. {NOT_TRUE}"

    def as_json(self) -> dict[str, Any]:
        return {
            "version": 1,
            "project": self.project,
            "made": self.made,
            "obverse": self.version,
            "confidence": self.confidence,
            "sentence": self.sentence,
            "states": dict(MEANING),
            "sections": [{"title": one.title, "points": [point.as_json() for point in one.points]} for one in self.sections],
        }
