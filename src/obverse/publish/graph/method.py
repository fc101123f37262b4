"""Statistics of a social network: what is measured for what is asked, and the tables that follow from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from obverse.core.errors import Refused
from obverse.core.types import Type
from obverse.mechanisms.ladder import Ladder
from obverse.plan.strategy.graph.counts import Mixing
from obverse.plan.strategy.graph.degrees import Degrees
from obverse.plan.strategy.graph.network import GraphFacts, GraphKernel
from obverse.plan.strategy.graph.registry import bad_statistic, kernel_of
from obverse.plan.strategy.graph.triangles import Triangles
from obverse.publish.folder.files import Sheet
from obverse.publish.graph.model import Rumour, rumour, spread_table
from obverse.publish.graph.tables import Measured, alike_intervals, degree_counts, degree_table, mixing_table

Array = np.ndarray[Any, Any]


SPREAD = "spread"
TELL = Fraction(1, 10)
Line = tuple[str, float, float | None, float | None]  # what, estimate, ends of its 95 % interval


@dataclass(frozen=True, slots=True)
class GraphMethod:
    """Counts, degrees, mixing, triangles and stars of a network, and rumours on a model of it.

    Claim:   one loss for all that is measured, as the door charges it; estimates of counts are unbiased.
    Proof:   each kernel has its own (plan/strategy/graph), and they add up (plan/strategy/graph/pricing). Everything
             here
    reads noisy integers
             alone: isotonic degrees, assortativity, networks drawn from a model and rumours on them cost nothing.
    Assumes: attributes and the list of people are public; under a degree promise, that it holds.
    """

    asked: tuple[str, ...]
    tell: Fraction = TELL
    name: ClassVar[str] = "graph"
    after: ClassVar[tuple[str, ...]] = (
        "degrees are made to rise again by least squares (isotonic), then whole",
        "assortativity follows from the noisy mixing matrix; its interval is simulated with as much noise again",
        "rumours are simulated on networks drawn from the released degrees and numbers between blocks",
    )

    def __post_init__(self) -> None:
        if not self.asked or len(set(self.asked)) < len(self.asked):
            raise Refused("bad_statistic", "a release holds one statistic or more, each once.", fix="Name each once.")
        if not 0 < self.tell <= 1:
            raise Refused(
                "bad_parameter", "a rumour is told with a probability above 0, up to 1.", fix="Give --tell 0.1."
            )

    def attributes(self) -> tuple[str, ...]:
        """Public attributes that are asked by, in order."""
        named = [
            text.partition(":")[2] for text in self.asked if text.partition(":")[0] in ("mixing", "degrees", SPREAD)
        ]
        return tuple(dict.fromkeys(name for name in named if name))

    def weights(self, told: Mapping[str, Fraction] | None = None) -> dict[GraphKernel, Fraction]:
        """What is measured, each with as many shares of the price as were told, or one.

        A spread takes three kernels.
        """
        names = self.attributes()
        found = dict[GraphKernel, Fraction]()
        for text in self.asked:
            kind, _, attribute = text.partition(":")
            if kind == SPREAD and attribute not in names:
                raise bad_statistic(text)
            kernels = (
                [Mixing(attribute), Degrees(attribute), Triangles()] if kind == SPREAD else [kernel_of(text, names)]
            )
            for kernel in kernels:
                found.setdefault(kernel, Fraction(1))
        if Degrees() in found and len([one for one in found if isinstance(one, Degrees)]) > 1:
            del found[Degrees()]  # those within blocks tell all
        for text, weight in (told or {}).items():
            named = [one for one in found if one.text == text]
            if not named or weight <= 0:
                message = f"{text!r} is not measured here, or its share is not above 0."
                raise Refused("bad_shares", message, fix=f"Measured are {', '.join(one.text for one in found)}.")
            found[named[0]] = weight
        return found

    def rumours(self, measured: Measured) -> tuple[Rumour, ...]:
        asked = [text.partition(":")[2] for text in self.asked if text.partition(":")[0] == SPREAD]
        return tuple(rumour(measured, attribute, float(self.tell)) for attribute in asked)

    def sheets(self, measured: Measured, rumours: Sequence[Rumour]) -> tuple[Sheet, ...]:
        """All tables, the summary first."""
        found = [_summary(summary(measured, rumours))]
        for part in measured.parts:
            if isinstance(part.kernel, Degrees):
                found.append(Sheet(_file(part.kernel.text), *degree_table(measured, part.kernel)))
            elif isinstance(part.kernel, Mixing):
                found.append(Sheet(_file(part.kernel.text), *mixing_table(measured, part.kernel)))
        found += [Sheet(_file(f"{SPREAD}-{one.attribute}"), *spread_table(one)) for one in rumours]
        return tuple(found)

    def as_json(self) -> dict[str, Any]:
        return {"asked": list(self.asked), "tell": str(self.tell)}

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> GraphMethod:
        return cls(tuple(fields["asked"]), Fraction(fields["tell"]))


def _file(text: str) -> str:
    return "".join(c if c.isalnum() and c.isascii() else "-" for c in text)[:80]


def summary(measured: Measured, rumours: Sequence[Rumour]) -> list[Line]:
    """One line for each number that a reader looks for first."""
    found: list[Line] = []
    for part in measured.parts:
        text = part.kernel.text
        if part.kernel.entries(measured.facts) == 1 and part.kernel.name not in ("most_shared", "most_connected"):
            value = float(measured.of(text)[0])
            half = measured.half_width(text)
            found.append((_title(text, measured.facts), value, max(value - half, 0.0), max(value + half, 0.0)))
    kernel = measured.degrees()
    if kernel is not None and measured.facts.unit == "node":
        counts = degree_counts(measured, kernel)
        for name, many in (("in the network", counts.sum()), ("with a connection", counts[:, 1:].sum())):
            if measured.facts.listed or name == "with a connection":
                found.append((f"people {name}, by their degrees", float(many), None, None))
    stars = measured.part("stars:2")
    closed = measured.part("triangles")
    if stars is not None and closed is not None and measured.of("stars:2")[0] > 0:
        found.append(
            ("transitivity", 3 * float(measured.of("triangles")[0]) / float(measured.of("stars:2")[0]), None, None)
        )
    for mixing in measured.mixings():
        for name, line in alike_intervals(measured, mixing).items():
            found.append((f"{WORDS[name]} {mixing.attribute}", *line))
    for one in rumours:
        half_way = one.run.half()
        if len(half_way):
            low = sorted(half_way)[len(half_way) // 20]
            high = sorted(half_way)[-1 - len(half_way) // 20]
            found.append((f"steps until a rumour reaches half, by {one.attribute}", float(half_way.mean()), low, high))
    return found


WORDS = {
    "within": "share of connections within the same",
    "chance": "the same share by chance,",
    "assortativity": "assortativity by",
}


def _title(text: str, facts: GraphFacts) -> str:
    if text == "edges":
        return "connections" if facts.unit == "edge" else f"connections, at most {facts.cap} of one person counted"
    if text == "people":
        return "people in the network" if facts.listed else "people with a connection"
    return text.replace("stars:", "stars of ") + (" ends" if text.startswith("stars") else "")


def _summary(lines: Sequence[Line]) -> Sheet:
    columns: dict[str, Any] = {"statistic": np.array([line[0] for line in lines], dtype=object)}
    for name, place in (("estimate", 1), ("low", 2), ("high", 3)):
        values = [line[place] for line in lines]
        mask = [value is None for value in values]
        columns[name] = np.ma.array([0.0 if value is None else value for value in values], mask=mask)
    return Sheet("summary", columns, {name: Type.TEXT if name == "statistic" else Type.DOUBLE for name in columns})


def measurement_sheet(measured: Measured, place: int) -> Sheet:
    """A measured part: the released integers as they are, and the standard deviation of their noise where it is
    fixed.
    """
    assert measured.values is not None
    part = measured.parts[place]
    values = measured.values[place]
    ladder = isinstance(part.noise, Ladder)
    spread = 0.0 if isinstance(part.noise, Ladder) else part.noise.stddev()
    columns: dict[str, Any] = {
        "entry": np.arange(len(values)),
        "value": values,
        "stddev": np.ma.array(np.full(len(values), spread), mask=np.full(len(values), ladder)),
    }
    kinds = (Type.INTEGER, Type.INTEGER, Type.DOUBLE)
    return Sheet(f"{place + 1:02d}-{_file(part.kernel.text)}", columns, dict(zip(columns, kinds)))


def errors_sheet(measured: Measured) -> Sheet:
    """How far a measured entry is from the truth; of a ladder, as its noisy reach tells."""
    texts = [one.kernel.text for one in measured.parts]
    ladder = [isinstance(one.noise, Ladder) for one in measured.parts]
    columns: dict[str, Any] = {
        "measured": np.array(texts, dtype=object),
        "entries": np.array([one.kernel.entries(measured.facts) for one in measured.parts], dtype=np.int64),
        "mechanism": np.array([one.noise.name for one in measured.parts], dtype=object),
        "stddev": np.ma.array([measured.stddev(text) for text in texts], mask=ladder),
        "half_width": np.array([measured.half_width(text) for text in texts]),
        "level": np.full(len(texts), 0.95),
    }
    kinds = (Type.TEXT, Type.INTEGER, Type.TEXT, Type.DOUBLE, Type.DOUBLE, Type.DOUBLE)
    return Sheet("errors", columns, dict(zip(columns, kinds)))
