"""The folder of a released network: written, opened again and checked by itself. No data, no ledger, no project.

Pictures of a released network: how many connections people have, who is connected with whom, how a rumour goes.

The statement of a released network, for people: which unit is hidden, what it cost, what was promised, what does not
fit.

metadata.json of a released network: what is public of it, what was measured, with which noise. No private counts.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse._version import __version__
from obverse.answers.chart import BAR, WHISKER
from obverse.answers.svg import SQUARES_MAX, STYLE, figure, short, squares
from obverse.catalog.model import Accounting
from obverse.core.errors import InvariantBroken, Refused
from obverse.core.types import Type
from obverse.core.units import Neighbours
from obverse.mechanisms.discrete_gaussian import DiscreteGaussian
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.mechanisms.ladder import Ladder
from obverse.plan.strategy.graph.network import Blocks, GraphFacts
from obverse.plan.strategy.graph.pricing import Noise, Part, part_loss
from obverse.plan.strategy.graph.registry import kernel_of
from obverse.publish.folder.check_text import complete_law, statement_law
from obverse.publish.folder.files import Contents, Save, Sheet, Told, put
from obverse.publish.folder.metadata import FORMAT, NO_INVARIANTS
from obverse.publish.folder.statement import CHECK, Card, Grid, Section, sentence, within_claim
from obverse.publish.graph.method import GraphMethod, Line, errors_sheet, measurement_sheet, summary
from obverse.publish.graph.model import Rumour, spread_table
from obverse.publish.graph.tables import Measured, degree_counts, square
from obverse.publish.method import Law

Floats = NDArray[np.float64]


WIDTH = 560.0
HEIGHT = 260.0
LEFT = 56.0
TOP = 52.0
POINTS_MAX = 600
COLOURS = (WHISKER, "#c2571a", "#2f7d4f", "#7a4fa3", "#8a6d00", "#a32f56")


def pictures(measured: Measured, rumours: Sequence[Rumour]) -> dict[str, tuple[str, str]]:
    """File to title and SVG."""
    found: dict[str, tuple[str, str]] = {}
    kernel = measured.degrees()
    if kernel is not None:
        counts = degree_counts(measured, kernel)
        labels = kernel.blocks(measured.facts).labels
        shown = counts if 1 < len(labels) <= len(COLOURS) else counts.sum(axis=0, keepdims=True)
        names = labels if len(shown) > 1 else ("everybody",)
        shares = np.cumsum(shown, axis=1) / np.maximum(shown.sum(axis=1, keepdims=True), 1)
        title = "Share of people with at most so many connections"
        found["degrees.svg"] = (
            title,
            lines(title, list(zip(names, shares)), "connections", "isotonic, from noisy degrees"),
        )
    for mixing in measured.mixings():
        labels = measured.facts.blocks[mixing.attribute].labels
        if len(labels) <= SQUARES_MAX:
            table = square(measured.of(mixing.text).astype(np.float64)) * 2
            table[np.arange(len(labels)), np.arange(len(labels))] /= 2
            title = f"Connections by {mixing.attribute} of both ends"
            note = f"unbiased, ± {figure(measured.half_width(mixing.text))} (95 %)"
            svg = squares(title, labels, labels, table.tolist(), note)
            found[f"mixing-{len(found)}.svg"] = title, svg
    for one in rumours:
        columns, _ = spread_table(one)
        title = f"How a rumour spreads, on networks drawn by {one.attribute}"
        band = (columns["low"], columns["high"])
        note = (
            "share of connected people who have heard it; nine of ten runs lie in the band; fit of the model: "
            f"{one.verdict}"
        )
        found[f"spread-{len(found)}.svg"] = title, lines(title, [("mean", columns["share"])], "steps", note, band)
    return found


def lines(
    title: str, curves: Sequence[tuple[str, Floats]], under: str, note: str, band: tuple[Floats, Floats] | None = None
) -> str:
    """Shares between 0 and 1 over whole numbers, as curves; a band behind them where there is one."""
    most = -(-max(_reached(values) for _, values in curves) // 4) * 4
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 130:.0f}" height="{TOP + HEIGHT + 44:.0f}" '
        f'style="{STYLE}" role="img">',
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="8" y="20" font-weight="600" font-size="14">{escape(short(title, 80))}</text>',
        f'<text x="8" y="38" fill="#555">{escape(note)}</text>',
    ]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = TOP + HEIGHT * (1 - share)
        parts.append(f'<path d="M{LEFT:.0f} {y:.1f}h{WIDTH:.0f}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 8:.0f}" y="{y + 4:.1f}" text-anchor="end" fill="#555">{share:.0%}</text>')
    for n in range(5):
        x = LEFT + WIDTH * n / 4
        below = f'<text x="{x:.1f}" y="{TOP + HEIGHT + 18:.0f}" text-anchor="middle" fill="#555">'
        parts.append(f"{below}{figure(most * n / 4)}</text>")
    parts.append(
        f'<text x="{LEFT + WIDTH / 2:.0f}" y="{TOP + HEIGHT + 36:.0f}" text-anchor="middle">{escape(under)}</text>'
    )
    if band is not None:
        there = _points(band[1], most)
        back = list(reversed(_points(band[0], most)))
        parts.append(f'<path d="{_path(there + back)}Z" fill="{BAR}" fill-opacity="0.35"/>')
    for n, (name, values) in enumerate(curves):
        points = _points(values, most)
        colour = COLOURS[n % len(COLOURS)]
        parts.append(f'<path d="{_path(points)}" stroke="{colour}" stroke-width="2" fill="none"/>')
        y = TOP + 14 + 18 * n
        parts.append(f'<path d="M{LEFT + WIDTH + 14:.0f} {y - 4:.0f}h16" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{LEFT + WIDTH + 36:.0f}" y="{y:.0f}">{escape(short(name, 14))}</text>')
    return "\n".join([*parts, "</svg>"])


def _reached(values: Floats) -> int:
    """The first place from which on nothing changes that can be seen."""
    below = np.flatnonzero(values < values[-1] - 0.002)
    return max(int(below[-1]) + 2 if len(below) else 1, 4)


def _points(values: Floats, most: int) -> list[tuple[float, float]]:
    places = np.unique(np.linspace(0, most, min(most + 1, POINTS_MAX)).astype(int))
    heights = values[np.minimum(places, len(values) - 1)]
    return [
        (LEFT + WIDTH * float(x) / most, TOP + HEIGHT * (1 - float(min(max(y, 0), 1)))) for x, y in zip(places, heights)
    ]


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


HIDDEN = {
    "edge": "That two people are connected is hidden. That somebody has many connections is not: each of them is "
    "hidden "
    "by itself, and k of them k times less.",
    "node": "That a person is present at all is hidden, with all of their connections.",
}
FILES = (
    "`data/summary` holds the numbers above; `data/degrees` how many people have each number of connections; "
    "`data/mixing` how "
    "many connections there are between the values of an attribute; `data/spread` how a rumour goes, step by step. "
    "Each as CSV "
    "and Parquet.",
    "`measurements/` holds the noisy integers as they were released: all else follows from them. `errors.csv` tells "
    "their "
    "error, `metadata.json` how everything was made, `verify.json` what was checked.",
)


def graph_card(
    fields: dict[str, Any],
    measured: Measured,
    lines: Sequence[Line],
    rumours: Sequence[Rumour],
    plots: Sequence[tuple[str, str]],
) -> Card:
    claim = fields["claim"]
    price = f"epsilon {claim['epsilon']}" + (f" and delta {claim['delta']}" if claim["delta"] != "0" else "")
    facts = measured.facts
    rows = tuple((name, _number(value), _ends(low, high)) for name, value, low, high in lines)
    without = "it" if facts.unit == "edge" else "that person"
    neighbours = (
        f"Networks with and without {without} give every outcome about as likely: for no set of outcomes does the "
        "probability "
        f"change by more than {price} allows (a factor of e to the epsilon, and delta on top where there is one)."
    )
    public = (
        f"Public is who may be in the network: a list of {facts.people:,} people with their attributes, made without "
        "looking "
        "at it. Who of them is in it, and how many, is not: such numbers have noise too."
    )
    sections = [
        Section("Who is protected", (sentence(claim["unit"]), HIDDEN[facts.unit], neighbours, public)),
        Section("What it rests on", (sentence(claim["limits"]),)),
        Section("What was found", ("Estimates, and where the truth lies in 95 of 100 such releases.",),
                Grid(("statistic", "estimate", "95 %"), rows)),
        Section("What it cost", _cost(fields, price)),
        Section("What an attacker still learns", _learned(claim, facts.unit)),
        Section("What was held exact", (fields["invariants"],)),
        Section("How wrong the numbers are", _wrong(fields), _errors(measured)),
        Section("What is in this folder", FILES),
        Section("Receipt", (f"Ledger entry {claim['receipt']}. Made by obverse {fields['version']}.", CHECK)),
    ]  # fmt: skip
    if rumours:
        said = (
            "Simulated on networks drawn from what was released, not on the network itself.",
            *(r.words for r in rumours),
        )
        sections.insert(3, Section("How fast rumours spread", said))
    told = (
        f"No single {facts.unit} decides what stands here: {claim['unit']} could be added or removed, and every outcome"
    )
    return Card(
        fields["title"], f"{told} would be about as likely as before, at {price}.", tuple(sections), tuple(plots)
    )


NOISE = "Noise alone; errors of the data themselves, and edges of people who are not on the public list, come on top."
LADDER = (
    "Where the noise goes up a ladder, its width depends on the network, so it is told from a noisy reach: it may be "
    "too small "
    "in one of forty releases."
)
SIMULATED = (
    "Intervals of assortativity and of shares are simulated; those of rumours tell how runs differ, not how far the "
    "model is "
    "off."
)


def _wrong(fields: dict[str, Any]) -> tuple[str, ...]:
    """What an interval holds and what it does not."""
    bias = fields["claim"]["bias"]
    laddered = "ladder" in fields["claim"]["mechanisms"]
    return (NOISE, *((LADDER,) if laddered else ()), SIMULATED, *((sentence(bias),) if bias else ()))


def _cost(fields: dict[str, Any], price: str) -> tuple[str, ...]:
    counted = f", counted as rho = {fields['loss']['rho']}" if "rho" in fields["loss"] else ""
    kinds = ", ".join(name.replace("_", " ") for name in fields["claim"]["mechanisms"])
    return (
        f"All statistics together cost {price}{counted}: one debit, charged before any edge was read.",
        f"{len(fields['parts'])} statistics were measured, with {kinds} noise, drawn in whole numbers.",
        f"Afterwards: {'; '.join(fields['post_processing'])}. This reads noisy numbers alone, so it costs nothing.",
    )


def _learned(claim: dict[str, Any], unit: str) -> tuple[str, ...]:
    more = (
        "Who has many connections: a hundred of one person's edges are not hidden as one is.",
        "That somebody takes part at all, where that shows in many edges.",
    )
    return (
        "What holds of groups: if people befriend those of their own party, that is learned of somebody who is not in "
        "it too.",
        *(more if unit == "edge" else ()),
        "The public part: who may be in the network, their attributes, caps and promises, and the noise.",
        f"Of everything that the whole budget of the data allows: {claim['belief'][0].lower()}{claim['belief'][1:]}",
    )


def _errors(measured: Measured) -> Grid:
    rows = []
    for one in measured.parts:
        text = one.kernel.text
        entries = f"{one.kernel.entries(measured.facts):,}"
        rows.append((text, entries, one.noise.name.replace("_", " "), f"± {measured.half_width(text):,.4g}"))
    return Grid(("measured", "entries", "noise", "95 %"), tuple(rows))


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.4g}"


def _ends(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{_number(low)} to {_number(high)}"


@dataclass(frozen=True, slots=True)
class Paid:
    """What all parts together cost."""

    accounting: Accounting
    loss: Fraction  # epsilon, or rho


def metadata(
    title: str, method: GraphMethod, measured: Measured, paid: Paid, claim: dict[str, Any], graph: str
) -> dict[str, Any]:
    """Everything but the numbers."""
    return {
        "format": FORMAT,
        "version": __version__,
        "kind": method.name,
        "title": title,
        "terms": {"accounting": paid.accounting, "neighbours": "add-remove"},
        "loss": {"epsilon" if paid.accounting == "pure" else "rho": str(paid.loss)},
        "method": method.as_json(),
        "network": facts_json(measured.facts),
        "parts": [_part_json(one) for one in measured.parts],
        "post_processing": list(method.after),
        "invariants": NO_INVARIANTS,
        "recipe": {"verb": "graph", "graph": graph},
        "claim": claim,
    }


def facts_json(facts: GraphFacts) -> dict[str, Any]:
    """Of attributes the labels, and how many of the public list have each."""
    blocks = {name: {"labels": list(one.labels), "people": one.sizes.tolist()} for name, one in facts.blocks.items()}
    return {
        "unit": facts.unit, "people": facts.people, "degree": facts.degree, "cap": facts.cap, "listed": facts.listed,
        "attributes": blocks,
    }  # fmt: skip


def facts_of(fields: dict[str, Any]) -> GraphFacts:
    """Public facts with people in the order of their blocks, which is all that tables and norms hang on."""
    blocks = {}
    for name, one in fields["attributes"].items():
        sizes = np.array(one["people"], dtype=np.int64)
        if len(sizes) != len(one["labels"]) or int(sizes.min(initial=0)) < 0 or int(sizes.sum()) != fields["people"]:
            raise ValueError("attributes of other people")
        blocks[name] = Blocks(tuple(one["labels"]), np.repeat(np.arange(len(sizes)), sizes))
    return GraphFacts(fields["unit"], fields["people"], fields["degree"], fields["cap"], fields["listed"], blocks)


def _part_json(part: Part) -> dict[str, Any]:
    noise = part.noise
    if isinstance(noise, Ladder):
        told: dict[str, Any] = {"parameter": str(noise.scale), "top": noise.top, "step": noise.step}
    else:
        scale = noise.scale if isinstance(noise, DiscreteLaplace) else getattr(noise, "sigma_squared", None)
        told = {"parameter": str(scale), "stddev": noise.stddev()}
    return {"name": part.kernel.text, "share": str(part.share), "mechanism": noise.name, **told}


def parts_of(fields: dict[str, Any], facts: GraphFacts) -> tuple[Part, ...]:
    found = []
    for one in fields["parts"]:
        kernel = kernel_of(one["name"], tuple(facts.blocks))
        found.append(Part(kernel, Fraction(one["share"]), _noise(one)))
    return tuple(found)


def _noise(one: dict[str, Any]) -> Noise:
    parameter = Fraction(one["parameter"])
    match one["mechanism"]:
        case DiscreteLaplace.name:
            return DiscreteLaplace(Fraction(0), parameter)
        case DiscreteGaussian.name:
            return DiscreteGaussian(Fraction(0), parameter)
        case Ladder.name:
            return Ladder(parameter, int(one["top"]), int(one["step"]))
        case _:
            raise Refused("bad_release", "metadata.json names noise that is not known here.")


def paid_of(fields: dict[str, Any]) -> Paid:
    accounting = fields["terms"]["accounting"]
    return Paid(accounting, Fraction(fields["loss"]["epsilon" if accounting == "pure" else "rho"]))


Array = np.ndarray[Any, Any]


CLOSE = 1e-6


@dataclass(frozen=True, slots=True)
class GraphFolder:
    """All of a released network."""

    method: GraphMethod
    measured: Measured
    rumours: tuple[Rumour, ...]
    metadata: dict[str, Any]

    def sheets(self) -> Iterator[tuple[str, Sheet]]:
        for sheet in self.method.sheets(self.measured, self.rumours):
            yield "data", sheet
        for place in range(len(self.measured.parts)):
            yield "measurements", measurement_sheet(self.measured, place)
        yield "", errors_sheet(self.measured)


def write(made: GraphFolder, out: Path, save: Save, told: Told = lambda share: None) -> None:
    """Everything but verify.json, which is made of what was written."""
    drawn = pictures(made.measured, made.rumours)
    said = statement(made, drawn)
    put(out, Contents(list(made.sheets()), drawn, made.metadata, said), save, told)


def statement(made: GraphFolder, drawn: dict[str, tuple[str, str]]) -> Card:
    listed = [(file, title) for file, (title, _) in drawn.items()]
    return graph_card(made.metadata, made.measured, summary(made.measured, made.rumours), made.rumours, listed)


def graph_laws(out: Path, fields: dict[str, Any]) -> list[Law]:
    """Everything that can be checked of a network's folder without the data; what cannot be read is refused."""
    try:
        method = GraphMethod.from_json(fields["method"])
        measured = measured_in(out, fields)
        paid = paid_of(fields)
        facts = measured.facts
        sized = complete(measured)
        cost = sum((part_loss(part, facts, paid.accounting) for part in measured.parts), Fraction(0))
        found = [Law("sizes", sized, "every measurement has all of its entries"), _price(cost, paid, fields["claim"])]
        if not sized:
            return found
        made = GraphFolder(method, measured, method.rumours(measured), fields)
        sheets = [(place, sheet, _rows(out / place / f"{sheet.name}.csv")) for place, sheet in made.sheets()]
        drawn = pictures(measured, made.rumours)
        said = [statement_law(out, fields, statement(made, drawn)), complete_law(out, made.sheets(), drawn)]
    except OSError as error:
        raise Refused("bad_release", "a file of the release is missing.", place=str(error.filename)) from None
    except (ValueError, KeyError, TypeError, InvariantBroken) as error:
        why = type(error).__name__
        raise Refused("bad_release", "a file of the release cannot be read.", place=str(out), why=why) from None
    same = [sheet.name for _, sheet, rows in sheets if not _same(sheet, rows)]
    words = "tables follow from the measurements" if not same else f"not from the measurements: {', '.join(same)}"
    counted = _counts([rows for place, _, rows in sheets if place == "data"])
    return [*found, Law("tables", not same, words), counted, *said]


def measured_in(out: Path, fields: dict[str, Any]) -> Measured:
    """What was measured, as the folder tells it; errors of files and of texts are the caller's."""
    facts = facts_of(fields["network"])
    parts = parts_of(fields, facts)
    empty = Measured(facts, parts, tuple(np.empty(0, dtype=np.int64) for _ in parts))
    values = []
    for place in range(len(parts)):
        rows = _rows(out / "measurements" / f"{measurement_sheet(empty, place).name}.csv")
        values.append(np.array([int(row["value"]) for row in rows], dtype=np.int64))
    return Measured(facts, parts, tuple(values))


def complete(measured: Measured) -> bool:
    assert measured.values is not None
    return all(len(one) == part.kernel.entries(measured.facts) for one, part in zip(measured.values, measured.parts))


def opened_graph(out: Path, fields: dict[str, Any]) -> tuple[GraphMethod, Measured]:
    """The method and what was measured; what cannot be read is refused."""
    try:
        method = GraphMethod.from_json(fields["method"])
        measured = measured_in(out, fields)
    except OSError as error:
        raise Refused("bad_release", "a file of the release is missing.", place=str(error.filename)) from None
    except (ValueError, KeyError, TypeError, InvariantBroken) as error:
        why = type(error).__name__
        raise Refused("bad_release", "a file of the release cannot be read.", place=str(out), why=why) from None
    if not complete(measured):
        raise Refused("bad_release", "a measurement of the release is not complete.", place=str(out))
    return method, measured


def _price(cost: Fraction, paid: Paid, claim: dict[str, Any]) -> Law:
    name = "epsilon" if paid.accounting == "pure" else "rho"
    claimed = within_claim(claim, paid.accounting, Neighbours.ADD_REMOVE.value, paid.loss)
    told = f"the noise costs {name} {float(cost):.6g}, at most {float(paid.loss):.6g} is claimed"
    return Law("price", cost <= paid.loss and claimed, told if claimed else f"{told} here, and less in the statement")


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _same(sheet: Sheet, rows: list[dict[str, str]]) -> bool:
    """Whether the file holds what its columns say; numbers to a part in a million."""
    many = len(next(iter(sheet.columns.values())))
    if len(rows) != many or (rows and list(rows[0]) != list(sheet.columns)):
        return False
    for name, column in sheet.columns.items():
        missing = np.ma.getmaskarray(column)
        for row, value, gone in zip(rows, np.ma.getdata(column), missing):
            if gone or sheet.types[name] is Type.TEXT:
                if row[name] != ("" if gone else str(value)):
                    return False
            elif not math.isclose(float(row[name]), float(value), rel_tol=CLOSE, abs_tol=CLOSE):
                return False
    return True


def _counts(tables: list[list[dict[str, str]]]) -> Law:
    """Counts are whole and not negative; shares that add up over degrees never fall."""
    counts = [row["count"] for rows in tables for row in rows if "count" in row]
    holds = all(text.isascii() and text.isdigit() for text in counts)
    for rows in tables:
        shares = [(row["degree"], float(row["share_at_most"])) for row in rows if "share_at_most" in row]
        holds &= all(b[0] == "0" or a[1] <= b[1] + CLOSE for a, b in pairwise(shares))
    return Law("counts", holds, "counts are whole numbers without negatives, and cumulative shares never fall")
