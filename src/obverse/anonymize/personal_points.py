"""Every attack there is, on a table in which people may have several rows: a trial is a person, not a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from obverse.anonymize.grouping import numbered
from obverse.anonymize.guesses import by_several
from obverse.anonymize.persons import held_in
from obverse.anonymize.weak_points import NOT_HERE, RAW_NOT_HERE, attribute, intersection, others, sampling
from obverse.anonymize.weaknesses import Weakness, lonely, weaknesses
from obverse.attack.finding import share

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from obverse.anonymize.recoding import Recoded
    from obverse.anonymize.run import Outcome
    from obverse.anonymize.table import Column

SPARSE = {"fuzzy_linkage": "it needs the rows of a person to be released as one record."}


def personal_points(outcome: Outcome, kept: Sequence[Column], linked: str | None) -> list[Weakness]:
    """Of a released table; `kept` are columns released as they are, `linked` is one that says which rows are of one person."""
    recoded = outcome.recoded
    found = [*weaknesses(recoded), *_kept(recoded, kept), *([_together(recoded, linked)] if linked else [])]
    found += [*_background(recoded), *attribute(recoded), *intersection(outcome), *_several(recoded), *sampling(recoded)]
    return [*found, *others(found, NOT_HERE | SPARSE)]


def raw_people(alone: int, people: int, sampled: bool) -> list[Weakness]:
    """Of rows that are released as they are: `alone` people have one that nobody else has."""
    linked = f"{share(alone, people)} people have a row that nobody else has: whoever knows what it says finds it."
    found = [Weakness("linkage", "", alone / max(people, 1), alone > 0, linked if alone else "Nobody has a row of their own.")]
    if sampled:
        said = f"Each of the {people:,} people in the sample is exposed as they are, with all of their rows."
        found.append(Weakness("sampling", "", 1.0 if people else 0.0, people > 0, said))
    return [*found, *others(found, RAW_NOT_HERE | SPARSE)]


def _kept(recoded: Recoded, kept: Sequence[Column]) -> list[Weakness]:
    """Linkage by what is released as it is beside the quasi-identifiers: k counts nobody who knows that too."""
    if not kept:
        return []
    index, count = numbered(
        [recoded.index.astype(np.int32), *(column.codes for column in kept)], [recoded.count, *(column.size for column in kept)]
    )
    names = ", ".join(column.name for column in kept)
    return lonely(
        replace(recoded, index=index, count=count), names, f"once {names} is known too, which was kept as it is, it finds them."
    )


def _together(recoded: Recoded, linked: str) -> Weakness:
    """People whose rows lie in classes as nobody else's do: a released name of whatever kind ties the rows of a person."""
    persons = recoded.table.persons
    assert persons is not None
    here = recoded.rows > 0
    named, alike = here & (persons.codes > 0), here & (persons.codes == 0)
    codes, classes = np.divmod(np.unique(persons.codes[named] * np.int64(recoded.count) + recoded.index[named]), recoded.count)
    marks = _mixed(np.arange(1, recoded.count + 1, dtype=np.uint64))
    sums = np.zeros(persons.size, dtype=np.uint64)
    np.add.at(sums, codes, marks[classes])  # wraps: the fingerprint of a set of classes
    theirs = np.concatenate((sums[np.unique(codes)], marks[recoded.index[alike]]))
    number = np.concatenate((np.ones(len(theirs) - int(alike.sum()), dtype=np.int64), persons.number[alike]))
    found, where = np.unique(theirs, return_inverse=True)
    alone, people = int((np.bincount(where, weights=number, minlength=len(found)) == 1).sum()), max(recoded.people, 1)
    said = f"{share(alone, people)} people have rows in classes that nobody else's rows lie in together; {linked}, which was"
    said += " released, tells which rows are of one person, so whoever knows these classes finds them all."
    if not alone:
        said = f"By {linked}, which was released, nobody's rows lie in classes that somebody else's do not lie in too."
    return Weakness("linkage", linked, alone / people, alone > 0, said)


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers scattered over a word (the finalizer of splitmix64), so that sums of different sets differ."""
    found = numbers * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        found = (found ^ (found >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(found ^ (found >> np.uint64(31)))


def _background(recoded: Recoded) -> list[Weakness]:
    """A fact about somebody, that they do not have one of the values, leaves one value of the two that their class has."""
    found, people = [], max(recoded.people, 1)
    for place, column in enumerate(recoded.table.sensitive):
        mine, pairs = held_in(recoded, place), recoded.classes().pairs[place]
        values = np.bincount(pairs.classes, minlength=recoded.count)
        everywhere = len(np.unique(pairs.values)) <= 2
        sure = (values[mine.classes] == 1) | ((values[mine.classes] == 2) & (mine.several == 1))
        named = mine.codes > 0
        won = int(mine.number[sure & ~named].sum()) + len(np.unique(mine.codes[sure & named]))
        said = f"By ruling out 1 of the secrets, {column.name} becomes certain for {share(won, people)} people."
        if everywhere:
            said = f"By ruling out 1 of the secrets, one {column.name} is left for anybody, with or without this table."
        elif not won:
            said = f"By ruling out 1 of the secrets, {column.name} becomes certain for nobody whose class is known."
        found.append(Weakness("background", column.name, won / people, won > 0 and not everywhere, said))
    return found


def _several(recoded: Recoded) -> list[Weakness]:
    """Intersection within this one table: whoever has rows in several classes has a secret that all of these hold."""
    found, people = [], max(recoded.people, 1)
    for place, column in enumerate(recoded.table.sensitive):
        won = by_several(recoded, place)
        said = f"{share(won, people)} people have rows in several classes, which have one {column.name} in common,"
        said += " and it is theirs: who knows that it is the same in all of their rows, and which classes these are, knows it."
        if not won:
            said = f"Nobody's {column.name} follows from being in several classes at once."
        found.append(Weakness("intersection", column.name, won / people, won > 0, said))
    return found
