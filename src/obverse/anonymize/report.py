"""The report of a release: its claim, what it reaches, what was lost, what is at risk and what still works against it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from obverse.anonymize.counted import Counted
from obverse.anonymize.measured import measured
from obverse.anonymize.risk import risk
from obverse.anonymize.utility import utility
from obverse.anonymize.weaknesses import Weakness, weaknesses

if TYPE_CHECKING:
    from obverse.anonymize.recoding import Recoded
    from obverse.anonymize.run import Outcome

NO_PRIVACY = (
    "No differential privacy: nothing bounds what somebody who knows more, or who holds another release of the same people,"
    " learns from this table."
)
MISSING = "A missing value is a value of its own: it looks like other missing values and like nothing else, except under `*`."
ORDER = "Rows stand in the order of their released values, so their order tells nothing; the same input gives the same bytes."
RAW = {
    "sample": "Everybody in the sample is exposed as they are; being left out is the only protection.",
    "deidentify": "Only the named columns are gone; whoever knows enough of the others finds the row.",
}


def checked(recoded: Recoded, counted: Counted | None = None) -> dict[str, Any]:
    """A table as it is: what it reaches, risk, and what works against it."""
    found, counted = weaknesses(recoded), counted or _counted(recoded)
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


def report_of(outcome: Outcome, counted: Counted | None = None, attacked: Sequence[Weakness] | None = None) -> dict[str, Any]:
    """All of a run. `attacked` is what attacks make of the very table that was written; else what its classes tell."""
    recoded = outcome.recoded
    k, counted = outcome.wish.k, counted or _counted(recoded)
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
    """The claim that every output carries: here that there is no such guarantee, and which attacks work on this very table."""
    working = list(dict.fromkeys(one.attack for one in found if one.works))
    failing = list(dict.fromkeys(one.attack for one in found if one.applies and one.attack not in working))
    untried = {one.attack: one.sentence for one in found if not one.applies}
    parts = [*([f"{', '.join(models)}."] if models else []), *([counted.sentence] if counted.by else []), NO_PRIVACY]
    if working:
        parts += [f"Attacks that work on this very table: {_listed(working)}.", *(one.sentence for one in found if one.works)]
    else:
        parts.append("Of the attacks tried here none works; others may.")
    if failing:
        parts.append(f"Tried without success: {_listed(failing)}.")
    if untried:
        parts.append(f"Not tried, since they need something else: {_listed(untried)}.")
    parts += [] if counted.by else [counted.sentence]
    told = {"attacks": {"work": working, "fail": failing, "not_tried": untried}}
    return {"epsilon": None, "delta": None, "models": models, "counted": counted.sentence, **told, "sentence": " ".join(parts)}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(name.replace("_", " ") for name in names)
