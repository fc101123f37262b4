"""The report of a release: its claim, what it reaches, what was lost, what is at risk and what still works against it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

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


def checked(recoded: Recoded) -> dict[str, Any]:
    """A table as it is: what it reaches, risk, and what works against it."""
    found = weaknesses(recoded)
    return {
        "version": 1,
        "rows": int(recoded.people.sum()),
        "reaches": measured(recoded),
        "risk": risk(recoded).as_json(),
        "attacks": [one.as_json() for one in found],
        "claim": claim_of(found, []),
        "missing": MISSING,
    }


def report_of(outcome: Outcome, more: Sequence[Weakness] = ()) -> dict[str, Any]:
    """All of a run. `more` is what other attacks found on the very table that was written."""
    recoded = outcome.recoded
    k = outcome.wish.k
    found = [*weaknesses(recoded), *more]
    return {
        "version": 1,
        "claim": claim_of(found, outcome.search["models"]),
        "search": outcome.search,
        "reaches": measured(recoded),
        "utility": utility(recoded, k).as_json(),
        "risk": risk(recoded).as_json(),
        "attacks": [one.as_json() for one in found],
        "missing": MISSING,
        "order": ORDER,
    }


def claim_of(found: list[Weakness], models: list[str]) -> dict[str, Any]:
    """The claim that every output carries; here that there is no such guarantee."""
    working = [one.sentence for one in found if one.works]
    reached = f"{', '.join(models)}. " if models else ""
    still = " ".join(working) if working else "Of the attacks tried here none works; others may."
    return {"epsilon": None, "delta": None, "models": models, "sentence": f"{reached}{NO_PRIVACY} {still}"}
