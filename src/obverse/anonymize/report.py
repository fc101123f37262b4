"""The report of a release: its claim, what it reaches, what was lost, what is at risk and what still works against it.

What still works against a released table. The seam for attacks: each takes what is released and says what it found.

The report as one HTML page: no script, no network; bars are drawn by the page's own style.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from obverse.anonymize.measures import measured, risk, utility
from obverse.anonymize.persons import Counted, entries_of
from obverse.anonymize.recoding import Recoded
from obverse.anonymize.request import Outcome
from obverse.answers.chart import BAR, WHISKER

UNTRIED = "Not tried: "


@dataclass(frozen=True, slots=True)
class Weakness:
    """An attack, the share of released rows or people that it gets, and one sentence of what that means."""

    attack: str
    column: str
    share: float
    works: bool
    sentence: str
    applies: bool = True  # whether it could be tried; else the sentence says why not

    def as_json(self) -> dict[str, Any]:
        return {field: getattr(self, field) for field in self.__slots__}


def untried(attack: str, why: str) -> Weakness:
    """An attack that a table like this cannot be tried with."""
    return Weakness(attack, "", 0.0, False, f"{UNTRIED}{why}", applies=False)


Probe = Callable[["Recoded"], list[Weakness]]


def uniqueness(recoded: Recoded) -> list[Weakness]:
    """Linkage: rows that look like no other are tied to whoever looks so."""
    if recoded.table.persons is not None:
        return lonely(recoded, "", "whoever knows their quasi-identifiers knows all of these rows.")
    sizes = recoded.classes().sizes
    alone = int((sizes == 1).sum())
    said = f"{alone:,} rows look like no other: whoever knows their quasi-identifiers knows all of the row."
    if not alone:
        said = "No row is alone with its quasi-identifiers, so they alone single nobody out."
    return [Weakness("linkage", "", alone / max(int(sizes.sum()), 1), alone > 0, said)]


def lonely(recoded: Recoded, column: str, means: str) -> list[Weakness]:
    """People who have a class to themselves, with however many rows."""
    classes = recoded.classes()
    alone = entries_of(recoded).among(classes.sizes == 1)
    people = max(recoded.people, 1)
    rows = int(classes.rows[classes.sizes == 1].sum())
    said = f"{alone:,} of {people:,} people have rows that look like nobody else's ({rows:,} rows): {means}"
    if not alone:
        said = "Nobody has rows that look like nobody else's, so their quasi-identifiers alone single nobody out."
    return [Weakness("linkage", column, alone / people, alone > 0, said)]


def homogeneity(recoded: Recoded) -> list[Weakness]:
    """Classes in which everybody has the same sensitive value: it is known of each without finding their row."""
    classes = recoded.classes()
    found = []
    for column, pairs in zip(recoded.table.sensitive, classes.pairs):
        same = np.unique(pairs.classes[pairs.counts == classes.sizes[pairs.classes]])
        people = int(classes.sizes[same].sum())
        rows = max(int(classes.sizes.sum()), 1)
        if recoded.table.persons is not None:
            alike = np.isin(np.arange(len(classes.sizes)), same)
            people = entries_of(recoded).among(alike)
            rows = max(recoded.people, 1)
        common = f"everybody has the same {column.name}", f"No class has one {column.name} alone."
        if recoded.table.persons is not None:
            common = f"one {column.name} is everybody's", f"In no class one {column.name} is everybody's."
        said = (
            f"{people:,} people stand in a class where {common[0]} (such classes: {len(same):,}): it is known of each "
            "of them."
        )
        if not len(same):
            said = common[1]
        found.append(Weakness("homogeneity", column.name, people / rows, len(same) > 0, said))
    return found


PROBES: tuple[Probe, ...] = (uniqueness, homogeneity)


def weaknesses(recoded: Recoded, probes: tuple[Probe, ...] = PROBES) -> list[Weakness]:
    """What each probe finds on this very table."""
    return [one for probe in probes for one in probe(recoded)]


STYLE = f"""
body {{ font: 15px/1.45 system-ui, sans-serif; max-width: 860px; margin: 2em auto; padding: 0 1em; color: #222; }}
h1 {{ font-size: 1.5em; }} h2 {{ font-size: 1.1em; margin-top: 2em; color: {WHISKER}; }}
.claim {{ border-left: 4px solid #b2182b; padding: .6em 1em; background: #fbeeee; }}
table {{ border-collapse: collapse; margin: .6em 0; }}
td, th {{ padding: .2em 1em .2em 0; text-align: left; vertical-align: top; }}
td.n {{ text-align: right; font-variant-numeric: tabular-nums; }} .note {{ color: #555; }}
.bars {{ display: grid; grid-template-columns: max-content 1fr max-content;
  gap: 4px 10px; align-items: center; max-width: 640px; }}
.bars i {{ display: block; background: {BAR}; height: 15px; min-width: 1px; }}
.bars span:nth-child(3n) {{ font-variant-numeric: tabular-nums; }}
.works {{ color: #b2182b; }} .not {{ color: #1a7f37; }} .attacks td:nth-child(-n+2) {{ white-space: nowrap; }}
"""


def page(report: Mapping[str, Any], name: str) -> str:
    how = "Anonymized" if "reaches" in report else "Released as it is"
    parts = [f"<h1>{how}: {escape(name)}</h1>", f"<p class=claim>{escape(report['claim']['sentence'])}</p>"]
    parts.append(f"<p>{escape(report['counted']['sentence'])}</p>")
    if "reaches" in report:
        parts += [*_reached(report), *_lost(report), *_risk(report), *_attacks(report)]
        parts.append(f"<p class=note>{escape(report['missing'])} {escape(report['order'])}</p>")
    else:
        parts += [f"<p>{report['rows']:,} rows were released as they are.</p>", *_attacks(report)]
    if report.get("left_out"):
        parts.append(f"<p class=note>Columns left out: {escape(', '.join(report['left_out']))}.</p>")
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(name)}</title>'
    return (
        f"<!doctype html>\n<html lang=en><head>{head}<style>{STYLE}</style></head><body>\n"
        + "\n".join(parts)
        + "\n</body></html>"
    )


def _reached(report: Mapping[str, Any]) -> list[str]:
    search = report["search"]
    reaches = report["reaches"]
    said = [("k, the least class", f"{reaches['k']:,}"), ("classes", f"{reaches['classes']:,}")]
    for column, found in reaches["sensitive"].items():
        said += [
            (f"{column}: distinct l", str(found["distinct_l"])),
            (f"{column}: entropy l", f"{found['entropy_l']:.3g}"),
            (f"{column}: t, equal distance", f"{found['t_equal']:.3g}"),
            (f"{column}: largest share in a class", f"{found['alpha']:.3g}"),
        ]
    how = "Cut at medians into boxes (Mondrian)."
    if search["kind"] == "optimal":
        looked = f"{search['looked_at']:,} had to be looked at"
        how = f"The least loss by {search['loss']} of {search['nodes']:,} generalisations; {looked}."
    rows = [_table(["measured on what is released", ""], said), f"<p class=note>{escape(how)}</p>"]
    if "node" in search:
        levels = [(name, f"{level} of {search['heights'][name]}") for name, level in search["node"].items()]
        rows.append(_table(["column", "level of its hierarchy"], levels))
    return ["<h2>What it reaches</h2>", *rows]


def _lost(report: Mapping[str, Any]) -> list[str]:
    utility = report["utility"]
    said = [utility["sentences"][name] for name in ("suppressed", "average_class", "columns")]
    facts = [
        ("discernibility", f"{utility['discernibility']:,.0f}"),
        ("average class", f"{utility['average_class']:.4g}"),
    ]
    if utility["average_over_k"] is not None:
        facts.append(("average class / k", f"{utility['average_over_k']:.3g}"))
    losses = {name: (share, f"{100 * share:.3g} %") for name, share in utility["columns"].items()}
    return ["<h2>What was lost</h2>", _words(said), _bars("Loss of each column", losses, 1.0), _table(["", ""], facts)]


def _risk(report: Mapping[str, Any]) -> list[str]:
    risk = report["risk"]
    rows = {f"class of {size}": (float(count), f"{count:,} rows") for size, count in risk["sizes"].items() if count}
    parts = {name: (max(share, 0.0), f"{100 * share:.3g} %") for name, share in risk["contributions"].items()}
    return [
        "<h2>Who could be found</h2>",
        _words([sentence for sentence in risk["sentences"].values() if sentence]),
        _bars(f"Rows by the {report['counted']['what']} of their class", rows),
        _bars("Share of right guesses that each column adds", parts),
    ]


def _attacks(report: Mapping[str, Any]) -> list[str]:
    lines = []
    for one in report["attacks"]:
        word = "<b class=works>works</b>" if one["works"] else "<b class=not>not here</b>"
        word = word if one["applies"] else "<span class=note>not tried</span>"
        name = one["attack"].replace("_", " ")
        lines.append(
            f"<tr><td>{escape(name)}</td><td>{word}</td><td>{escape(one['sentence'].removeprefix(UNTRIED))}</td></tr>"
        )
    return ["<h2>What still works against it</h2>", f"<table class=attacks>{''.join(lines)}</table>"]


def _words(sentences: list[str]) -> str:
    return f"<p>{' '.join(escape(sentence) for sentence in sentences if sentence)}</p>"


def _table(heads: list[str], rows: list[tuple[str, str]]) -> str:
    top = "".join(f"<th>{escape(head)}</th>" for head in heads) if any(heads) else ""
    body = "".join(f"<tr><td>{escape(name)}</td><td class=n>{escape(value)}</td></tr>" for name, value in rows)
    return f"<table><tr>{top}</tr>{body}</table>"


def _bars(title: str, bars: Mapping[str, tuple[float, str]], most: float | None = None) -> str:
    """Bars whose lengths are shares of the longest, or of `most`."""
    top = most or max((value for value, _ in bars.values()), default=0.0) or 1.0
    cells = "".join(
        f'<span>{escape(name)}</span><div><i style="width: '
        f'{100 * value / top:.2f}%"></i></div><span>{escape(said)}</span>'
        for name, (value, said) in bars.items()
    )
    return f"<p><b>{escape(title)}</b></p><div class=bars>{cells}</div>"


NO_PRIVACY = (
    "No differential privacy: nothing bounds what somebody who knows more, or who holds another release of the same "
    "people,"
    " learns from this table."
)
MISSING = (
    "A missing value is a value of its own: it looks like other missing values and like nothing else, except under `*`."
)
ORDER = (
    "Rows stand in the order of their released values, so their order tells nothing; the same input gives the "
    "same "
    "bytes."
)
RAW = {
    "sample": "Everybody in the sample is exposed as they are; being left out is the only protection.",
    "deidentify": "Only the named columns are gone; whoever knows enough of the others finds the row.",
}


def checked(recoded: Recoded, counted: Counted | None = None) -> dict[str, Any]:
    """A table as it is: what it reaches, risk, and what works against it."""
    found = weaknesses(recoded)
    counted = counted or _counted(recoded)
    return {
        "version": 1,
        "rows": int(recoded.rows.sum()),
        "counted": counted.as_json(),
        "reaches": measured(recoded),
        "risk": risk(recoded).as_json(),
        "attacks": [one.as_json() for one in found],
        "claim": claim_of(found, [], counted),
        "missing": MISSING,
    }


def report_of(
    outcome: Outcome, counted: Counted | None = None, attacked: Sequence[Weakness] | None = None
) -> dict[str, Any]:
    """All of a run. `attacked` is what attacks make of the very table that was written; else what its classes tell."""
    recoded = outcome.recoded
    k = outcome.wish.k
    counted = counted or _counted(recoded)
    found = weaknesses(recoded) if attacked is None else attacked
    return {
        "version": 1,
        "counted": counted.as_json(),
        "claim": claim_of(found, outcome.search["models"], counted),
        "search": outcome.search,
        "reaches": measured(recoded),
        "utility": utility(recoded, k).as_json(),
        "risk": risk(recoded).as_json(),
        "attacks": [one.as_json() for one in found],
        "missing": MISSING,
        "order": ORDER,
    }


def _counted(recoded: Recoded) -> Counted:
    table = recoded.table
    return Counted(table.rows, table.people, None if table.persons is None else "person")


def claim_of(found: Sequence[Weakness], models: list[str], counted: Counted) -> dict[str, Any]:
    """The claim that every output carries: here that there is no such guarantee, and which attacks work on this very
    table.
    """
    working = list(dict.fromkeys(one.attack for one in found if one.works))
    failing = list(dict.fromkeys(one.attack for one in found if one.applies and one.attack not in working))
    untried = {one.attack: one.sentence for one in found if not one.applies}
    parts = [*([f"{', '.join(models)}."] if models else []), *([counted.sentence] if counted.by else []), NO_PRIVACY]
    if working:
        parts += [
            f"Attacks that work on this very table: {_listed(working)}.",
            *(one.sentence for one in found if one.works),
        ]
    else:
        parts.append("Of the attacks tried here none works; others may.")
    if failing:
        parts.append(f"Tried without success: {_listed(failing)}.")
    if untried:
        parts.append(f"Not tried, since they need something else: {_listed(untried)}.")
    parts += [] if counted.by else [counted.sentence]
    told = {"attacks": {"work": working, "fail": failing, "not_tried": untried}}
    return {
        "epsilon": None,
        "delta": None,
        "models": models,
        "counted": counted.sentence,
        **told,
        "sentence": " ".join(parts),
    }


def _listed(names: Iterable[str]) -> str:
    return ", ".join(name.replace("_", " ") for name in names)
