"""The statement of a released network, for people: which unit is hidden, what it cost, what was promised, what does not fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from obverse.publish.folder.card import CHECK, Card, Grid, Section, sentence
from obverse.publish.graph.graph_spread import Rumour
from obverse.publish.graph.graph_tables import Measured
from obverse.publish.graph.method import Line

HIDDEN = {
    "edge": "That two people are connected is hidden. That somebody has many connections is not: each of them is hidden "
    "by itself, and k of them k times less.",
    "node": "That a person is present at all is hidden, with all of their connections.",
}
FILES = (
    "`data/summary` holds the numbers above; `data/degrees` how many people have each number of connections; `data/mixing` how "
    "many connections there are between the values of an attribute; `data/spread` how a rumour goes, step by step. Each as CSV "
    "and Parquet.",
    "`measurements/` holds the noisy integers as they were released: all else follows from them. `errors.csv` tells their "
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
        f"Networks with and without {without} give every outcome about as likely: for no set of outcomes does the probability "
        f"change by more than {price} allows (a factor of e to the epsilon, and delta on top where there is one)."
    )
    public = (
        f"Public is who may be in the network: a list of {facts.people:,} people with their attributes, made without looking "
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
        said = ("Simulated on networks drawn from what was released, not on the network itself.", *(r.words for r in rumours))
        sections.insert(3, Section("How fast rumours spread", said))
    told = f"No single {facts.unit} decides what stands here: {claim['unit']} could be added or removed, and every outcome"
    return Card(fields["title"], f"{told} would be about as likely as before, at {price}.", tuple(sections), tuple(plots))


NOISE = "Noise alone; errors of the data themselves, and edges of people who are not on the public list, come on top."
LADDER = (
    "Where the noise goes up a ladder, its width depends on the network, so it is told from a noisy reach: it may be too small "
    "in one of forty releases."
)
SIMULATED = (
    "Intervals of assortativity and of shares are simulated; those of rumours tell how runs differ, not how far the model is "
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
        "What holds of groups: if people befriend those of their own party, that is learned of somebody who is not in it too.",
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
