"""What still works against a released table. The seam for attacks: each takes what is released and says what it found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from obverse.anonymize.recoding import Recoded


UNTRIED = "Not tried: "


@dataclass(frozen=True, slots=True)
class Weakness:
    """An attack, the share of released rows that it gets, and one sentence of what that means."""

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
    sizes = recoded.classes().sizes
    alone = int((sizes == 1).sum())
    said = f"{alone:,} rows look like no other: whoever knows their quasi-identifiers knows all of the row."
    if not alone:
        said = "No row is alone with its quasi-identifiers, so they alone single nobody out."
    return [Weakness("linkage", "", alone / max(int(sizes.sum()), 1), alone > 0, said)]


def homogeneity(recoded: Recoded) -> list[Weakness]:
    """Classes in which everybody has the same sensitive value: it is known of each without finding their row."""
    classes, found = recoded.classes(), []
    for column, pairs in zip(recoded.table.sensitive, classes.pairs):
        lengths = np.diff(np.append(pairs.starts, len(pairs.classes)))
        same = pairs.of[lengths == 1]
        people, rows = int(classes.sizes[same].sum()), max(int(classes.sizes.sum()), 1)
        said = (
            f"{people:,} people stand in a class where everybody has the same {column.name} (such classes: {len(same):,}):"
            " it is known of each of them."
        )
        if not len(same):
            said = f"No class has one {column.name} alone."
        found.append(Weakness("homogeneity", column.name, people / rows, len(same) > 0, said))
    return found


PROBES: tuple[Probe, ...] = (uniqueness, homogeneity)


def weaknesses(recoded: Recoded, probes: tuple[Probe, ...] = PROBES) -> list[Weakness]:
    """What each probe finds on this very table."""
    return [one for probe in probes for one in probe(recoded)]
