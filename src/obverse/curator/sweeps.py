"""Settings to try, and a question's error under each of them: the values that `obverse explore` is made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from obverse.catalog import parameters
from obverse.core.errors import Refused
from obverse.core.numbers import exact, plain
from obverse.curator.many import TIMES

EPSILONS = tuple(Fraction(text) for text in ("0.01", "0.03", "0.1", "0.3", "1", "3"))
CAPS = (1, 2, 5, 10, 20, 50)
DELTAS = tuple(Fraction(1, 10**n) for n in (12, 10, 8, 6))


@dataclass(frozen=True, slots=True)
class Sought:
    """The settings to try, beside the declared ones."""

    epsilons: tuple[Fraction, ...] = EPSILONS
    caps: tuple[int, ...] = CAPS
    deltas: tuple[Fraction, ...] = DELTAS
    times: tuple[int, ...] = TIMES
    people: int | None = None  # declared as rows_about unless told
    confidence: float = 0.95


@dataclass(frozen=True, slots=True)
class Line:
    """One setting, and half of the noise interval of each number at it; None where it cannot be had."""

    at: Fraction
    widths: tuple[float | None, ...]
    declared: bool = False


@dataclass(frozen=True, slots=True)
class Sweep:
    """One setting changed, all others as declared."""

    over: str
    title: str
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        lines = [{"at": plain(one.at), "widths": list(one.widths), "declared": one.declared} for one in self.lines]
        return {"over": self.over, "title": self.title, "columns": list(self.columns), "lines": lines, "note": self.note}


@dataclass(frozen=True, slots=True)
class Explored:
    """A question under many settings."""

    sql: str
    level: float
    sweeps: tuple[Sweep, ...]
    belief: str  # what the whole declared budget means to one person

    def as_json(self) -> dict[str, Any]:
        return {"sql": self.sql, "level": self.level, "belief": self.belief, "sweeps": [one.as_json() for one in self.sweeps]}


def sought_of(epsilons: str, caps: str, deltas: str, people: int | None, confidence: float) -> Sought:
    """Settings from lists such as 0.1,0.5,1; an empty list leaves the usual ones."""
    found = Sought(people=people, confidence=confidence)
    if epsilons:
        found = replace(found, epsilons=tuple(parameters.epsilon(exact(one)) for one in epsilons.split(",")))
    if caps:
        found = replace(found, caps=tuple(_cap(one) for one in caps.split(",")))
    if deltas:
        found = replace(found, deltas=tuple(parameters.delta(exact(one)) for one in deltas.split(",")))
    return found


def _cap(text: str) -> int:
    number = exact(text)
    if number.denominator != 1 or not 1 <= number <= 10**6:
        raise Refused("bad_parameter", "a cap is a whole number from 1 to a million.", fix="Write --caps 1,5,20.")
    return int(number)
