"""The statement of a release: what is promised, to whom, what is still learned, how wrong it is. For people.

Whether a loss is within the claim of a release: the epsilon and delta, and the neighbours, that its statement tells.

What synthetic rows tell, and what they do not, in words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import Any

from obverse.accounting.zcdp import epsilon_of
from obverse.answers.chart import WHISKER
from obverse.catalog.model import Accounting
from obverse.core.numbers import exact
from obverse.publish.method import Expected


def within_claim(
    claim: Mapping[str, Any], accounting: Accounting, neighbours: str, amount: Fraction, hidden: Fraction = Fraction(0)
) -> bool:
    """Of this epsilon, or rho, and of a delta that hides rare values; in exact fractions.

    Numbers of a claim are rounded up.
    """
    if claim["neighbours"] != neighbours:
        return False
    epsilon = exact(claim["epsilon"])
    delta = exact(claim["delta"])
    if accounting == "pure":
        return amount <= epsilon and hidden <= delta
    return hidden < delta and epsilon_of(amount, delta - hidden) <= epsilon


def rows_words(metadata: dict[str, Any]) -> tuple[str, ...]:
    """From the metadata of a release of synthetic rows."""
    method = metadata["method"]
    names = [one["name"] for one in method["attributes"]]
    chosen = "; ".join(" with ".join(names[i] for i in part) for part in method["edges"])
    measured = f"Tables that were chosen and measured: {chosen}." if chosen else "No table stood out of the noise."
    given = "; ".join(
        f"{names[int(place)]} is {' or '.join(_label(method, int(place), value) for value in values)}"
        for place, values in method["given"].items()
    )
    kind = f", in which {given}" if given else ""
    beside = f"`data/sample` holds rows drawn beside them{kind}." if method["given"] or method["wanted"] else ""
    found = (
        "`data/synthetic` holds rows that no person stands behind: they are drawn from a model of noisy tables, and "
        "the same "
        "rows follow from the same measurements.",
        f"{measured} What rows tell of any other table follows from these, as if columns were independent given those "
        "between "
        "them; where none are between them, as if they were independent.",
        "Do not look for a person in the rows, and do not take a table that was not measured for a finding.",
        beside,
    )
    return tuple(one for one in found if one)


def _label(method: dict[str, Any], place: int, value: int) -> str:
    told = method["attributes"][place]["values"][value]
    return "missing" if told is None else str(told)


STYLE = f"""
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 860px; margin: 2em auto; padding: 0 1em; color: #222; }}
h1 {{ font-size: 1.5em; }} h2 {{ font-size: 1.1em; margin-top: 2em; color: {WHISKER}; }}
.claim {{ border-left: 4px solid {WHISKER}; padding: .6em 1em; background: #eef3fa; }}
table {{ border-collapse: collapse; margin: .6em 0; }} td, th {{ padding: .2em 1.2em .2em 0; text-align: left; }}
td.n, th.n {{ text-align: right; font-variant-numeric: tabular-nums; }}
img {{ max-width: 100%; margin: .6em 0; display: block; }}
code {{ background: #f3f3f3; padding: 0 .2em; overflow-wrap: anywhere; }}
"""


@dataclass(frozen=True, slots=True)
class Grid:
    """A small table; columns from the second on are numbers."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, sentences, and perhaps a small table."""

    heading: str
    sentences: tuple[str, ...]
    grid: Grid | None = None


@dataclass(frozen=True, slots=True)
class Card:
    """The whole statement."""

    title: str
    claim: str
    sections: tuple[Section, ...]
    plots: tuple[tuple[str, str], ...] = ()  # file and what it shows


def card(title: str, metadata: dict[str, Any], errors: Sequence[Expected], plots: Sequence[tuple[str, str]]) -> Card:
    """From the release's own metadata and its errors; nothing else is known here."""
    claim = metadata["claim"]
    price = f"epsilon {claim['epsilon']}" + (f" and delta {claim['delta']}" if claim["delta"] != "0" else "")
    further = metadata.get("further", {})
    same = " of the same invariant cell" if metadata["method"].get("held") is not None else ""
    rows = tuple((e.title, f"{e.cells:,}", f"{e.stddev:,.3g}", f"± {e.half_width:,.3g}") for e in errors)
    sections = (
        Section(
            "Who is protected",
            (sentence(claim["unit"]), neighbours_words(claim["neighbours"], price, same), sentence(claim["limits"])),
        ),
        Section("What it cost", cost_words(metadata, price)),
        Section("What an attacker still learns", learned_words(claim)),
        Section("What was held exact", (metadata["invariants"],)),
        Section(
            "How wrong the numbers are",
            wrong_words(metadata),
            Grid(("table", "cells", "standard deviation", "95 %"), rows),
        ),
        *((Section("What the rows tell", rows_words(metadata)),) if metadata["kind"] == "synthetic" else ()),
        Section("What is in this folder", (*FILES, *(f"`data/{f}`: {words}" for f, words in further.items()))),
        Section("Receipt", (f"Ledger entry {claim['receipt']}. Made by obverse {metadata['version']}.", CHECK)),
    )
    comma = "," if ", " in claim["unit"] else ""  # it ends what was put in between
    moved = f"{claim['unit']}{comma} could be {_moved(claim['neighbours'])}{same}"
    told = (
        f"No single one decides what stands here: {moved}, and every outcome would be about as likely as before, "
        "at "
        f"{price}."
    )
    return Card(title, told, tuple(sections), tuple(plots))


FILES = (
    "`data/` holds each table as CSV and Parquet: `count` is a whole number, never negative; `estimate` is unbiased, "
    "so it may "
    "be negative or broken; `low` and `high` are the ends of its 95 % interval.",
    "`measurements/` holds the noisy integers as they were released: all else follows from them. `errors.csv` tells "
    "the error "
    "of each table, `metadata.json` how everything was made, `verify.json` what was checked.",
)
KNOWN = dict.fromkeys(("synthetic", "families"), "known from what was chosen to be measured")
HELD = (
    "Totals of each {} are held as given, so they and their sums have no error. The errors are those of the estimates "
    "as "
    "published, which take these totals as known; counts keep them too."
)
CHECK = "Whoever has this folder can check it, without the data: `obverse publish check FOLDER`."


def sentence(words: str) -> str:
    return words[:1].upper() + words[1:] + "."


def _moved(neighbours: str) -> str:
    return "added or removed" if neighbours == "add-remove" else "replaced by another"


def neighbours_words(neighbours: str, price: str, same: str = "") -> str:
    return (
        f"Whether it was {_moved(neighbours)}{same} is hidden: for no set of outcomes does it change the probability "
        "by more "
        f"than {price} allows (a factor of e to the epsilon, and delta on top where there is one)."
    )


def cost_words(metadata: dict[str, Any], price: str) -> tuple[str, ...]:
    before = metadata.get("before", ())
    rho = Fraction(metadata["loss"].get("rho", 0)) + sum(Fraction(one["loss"]) for one in before)
    counted = f", counted as rho = {float(rho):.6g}" if "rho" in metadata["loss"] else ""
    kinds = ", ".join(name.replace("_", " ") for name in metadata["claim"]["mechanisms"])
    many = "One linear map" if len(metadata["blocks"]) == 1 else f"{len(metadata['blocks'])} linear maps"
    return (
        f"All tables together cost {price}{counted}: one debit, however many cells there are.",
        *(f"Found out first, within it: {one['words']}, for {one['share']} of the price." for one in before),
        f"{many} of the counts {'was' if len(metadata['blocks']) == 1 else 'were'} measured, with {kinds} noise, drawn "
        "in "
        "whole numbers.",
        f"Afterwards: {'; '.join(metadata['post_processing'])}. This reads noisy numbers alone, so it costs nothing.",
    )


def learned_words(claim: dict[str, Any]) -> tuple[str, ...]:
    return (
        "What holds of groups: if smokers fall ill more often, that is learned of a smoker who is not in the data too.",
        "The public part: which columns, values and limits there are, and the noise.",
        f"Of everything that the whole budget of the data allows: {claim['belief'][0].lower()}{claim['belief'][1:]}",
        "What other releases of the same data tell adds up with this one; the ledger of its curator counts it.",
    )


def wrong_words(metadata: dict[str, Any]) -> tuple[str, ...]:
    bias = metadata["claim"]["bias"]
    notes = metadata.get("notes", ())
    agree = (
        f"All whole numbers agree with each other on what they share{', but where it is said below' if notes else ''}."
        if metadata["agree"]
        else ("Whole numbers of different tables agree in their totals; the estimates agree in everything.")
    )
    known = KNOWN.get(metadata["kind"], "known before any row was read")
    method = metadata["method"]
    held = method["levels"][method["held"][0]] if method.get("conditional") else ""
    return (
        f"Noise alone, {known}; errors of the data themselves come on top.",
        *((HELD.format(held),) if held else ()),
        "Whole numbers are pushed up where the truth is near zero, so add estimates, not counts.",
        agree,
        *((sentence(bias),) if bias else ()),
        *notes,
    )


def markdown(made: Card) -> str:
    parts = [f"# {made.title}", f"> {made.claim}"]
    for section in made.sections:
        parts += [f"## {section.heading}", *section.sentences]
        if section.grid is not None:
            heads = section.grid.heads
            rows = section.grid.rows
            line = "|" + "|".join("---" if n == 0 else "--:" for n in range(len(heads))) + "|"
            parts.append("\n".join([_row(heads), line, *(_row(row) for row in rows)]))
    parts += [f"![{words}](plots/{file})" for file, words in made.plots]
    return "\n\n".join(parts) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def page(made: Card) -> str:
    """The same as one HTML page."""
    parts = [f"<h1>{escape(made.title)}</h1>", f"<p class=claim>{escape(made.claim)}</p>"]
    for section in made.sections:
        parts += [f"<h2>{escape(section.heading)}</h2>", *(f"<p>{_coded(words)}</p>" for words in section.sentences)]
        if section.grid is not None:
            parts.append(_grid(section.grid))
    if made.plots:
        parts.append("<h2>Pictures</h2>")
    parts += [f'<img src="plots/{escape(file)}" alt="{escape(words)}">' for file, words in made.plots]
    head = (
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(made.title)}</title>'
    )
    body = "\n".join(parts)
    return f"<!doctype html>\n<html lang=en><head>{head}<style>{STYLE}</style></head><body>\n{body}\n</body></html>\n"


def _coded(words: str) -> str:
    """`code` between back ticks."""
    parts = escape(words).split("`")
    return "".join(f"<code>{part}</code>" if n % 2 else part for n, part in enumerate(parts))


def _grid(grid: Grid) -> str:
    heads = "".join(f"<th{'' if n == 0 else ' class=n'}>{escape(head)}</th>" for n, head in enumerate(grid.heads))
    rows = "".join(
        "<tr>"
        + "".join(f"<td{'' if n == 0 else ' class=n'}>{escape(cell)}</td>" for n, cell in enumerate(row))
        + "</tr>"
        for row in grid.rows
    )
    return f"<table><tr>{heads}</tr>{rows}</table>"
