"""What still works against a released table. The seam for attacks: each takes what is released and says what it found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from obverse.anonymize.persons import entries_of

if TYPE_CHECKING:
    from obverse.anonymize.recoding import Recoded


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
    alone, people = entries_of(recoded).among(classes.sizes == 1), max(recoded.people, 1)
    rows = int(classes.rows[classes.sizes == 1].sum())
    said = f"{alone:,} of {people:,} people have rows that look like nobody else's ({rows:,} rows): {means}"
    if not alone:
        said = "Nobody has rows that look like nobody else's, so their quasi-identifiers alone single nobody out."
    return [Weakness("linkage", column, alone / people, alone > 0, said)]


def homogeneity(recoded: Recoded) -> list[Weakness]:
    """Classes in which everybody has the same sensitive value: it is known of each without finding their row."""
    classes, found = recoded.classes(), []
    for column, pairs in zip(recoded.table.sensitive, classes.pairs):
        same = np.unique(pairs.classes[pairs.counts == classes.sizes[pairs.classes]])
        people, rows = int(classes.sizes[same].sum()), max(int(classes.sizes.sum()), 1)
        if recoded.table.persons is not None:
            alike = np.isin(np.arange(len(classes.sizes)), same)
            people, rows = entries_of(recoded).among(alike), max(recoded.people, 1)
        common = f"everybody has the same {column.name}", f"No class has one {column.name} alone."
        if recoded.table.persons is not None:
            common = f"one {column.name} is everybody's", f"In no class one {column.name} is everybody's."
        said = (
            f"{people:,} people stand in a class where {common[0]} (such classes: {len(same):,}): it is known of each of them."
        )
        if not len(same):
            said = common[1]
        found.append(Weakness("homogeneity", column.name, people / rows, len(same) > 0, said))
    return found


PROBES: tuple[Probe, ...] = (uniqueness, homogeneity)


def weaknesses(recoded: Recoded, probes: tuple[Probe, ...] = PROBES) -> list[Weakness]:
    """What each probe finds on this very table."""
    return [one for probe in probes for one in probe(recoded)]
