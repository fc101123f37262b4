"""Every attack there is, on a table that was just released: which work on it, which do not, which cannot be tried and
why.

Every attack there is, on a table in which people may have several rows: a trial is a person, not a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from obverse.anonymize.grouping import numbered
from obverse.anonymize.hierarchies import built
from obverse.anonymize.measures import by_both, by_class, by_several
from obverse.anonymize.mondrian import mondrian
from obverse.anonymize.persons import entries_of, held_in
from obverse.anonymize.recoding import Recoded, in_boxes
from obverse.anonymize.report import Weakness, lonely, untried, weaknesses
from obverse.anonymize.request import Outcome, models_of
from obverse.anonymize.table import Column
from obverse.attack.attacks import ATTACKS, ON_ANSWERS, Background
from obverse.attack.finding import Finding, Rate, judged, share
from obverse.attack.tables.classes import classes
from obverse.attack.targets import Table
from obverse.core.errors import Refused

NO_SECRET = "no sensitive column was named, so there is no secret to be guessed."
NOT_HERE = {
    "fuzzy_linkage": "it needs many dated values of one person; here a person has one row.",
    "homogeneity": NO_SECRET,
    "background": NO_SECRET,
    "attribute": NO_SECRET,
    "intersection": NO_SECRET,
    "sampling": "it needs everybody from whom these people were drawn: give them as --population.",
}
RAW = "no quasi-identifiers were named; whoever is linked is known with all of the row."
RAW_NOT_HERE = dict.fromkeys(NOT_HERE, RAW) | {"fuzzy_linkage": NOT_HERE["fuzzy_linkage"]}
ANSWERS = "it is about answers or published numbers, and this is a table of rows."
SERVING = {
    "timing": "it is about how long an interface takes to reply; a table that is released is there whole.",
    "bypass": "it is about an interface with a budget; a table that is released is paid for once, or not at all.",
}


def weak_points(outcome: Outcome, released: Table) -> list[Weakness]:
    """Of a table made from `outcome` and read again as `released`; every attack of the registry is named."""
    found = [
        *weaknesses(outcome.recoded),
        *_published_unchanged(outcome, released),
        *_background_knowledge(outcome, released),
    ]
    found += attribute(outcome.recoded)
    found += [*intersection(outcome), *sampling(outcome.recoded)]
    return [*found, *others(found, NOT_HERE)]


def raw_points(alone: int, rows: int, sampled: bool) -> list[Weakness]:
    """Of rows that are released as they are, `alone` of which are unlike all others."""
    linked = (
        f"{alone:,} of {rows:,} rows are unlike all others: whoever knows what one says, apart from a secret, finds it."
    )
    found = [
        Weakness("linkage", "", alone / max(rows, 1), alone > 0, linked if alone else "No row is unlike all others.")
    ]
    if sampled:
        said = f"Each of the {rows:,} people in the sample is exposed as they are."
        found.append(Weakness("sampling", "", 1.0 if rows else 0.0, rows > 0, said))
    return [*found, *others(found, RAW_NOT_HERE)]


def others(found: Sequence[Weakness], why: dict[str, str]) -> list[Weakness]:
    """The attacks of the registry that were not tried."""
    tried = {one.attack for one in found}
    reasons = why | {attack.name: SERVING.get(attack.name, ANSWERS) for attack in ON_ANSWERS}
    return [untried(attack.name, reasons[attack.name]) for attack in ATTACKS if attack.name not in tried]


def _published_unchanged(outcome: Outcome, released: Table) -> list[Weakness]:
    """Linkage by what is released as it is beside the quasi-identifiers: k counts nobody who knows that too."""
    keep = outcome.wish.keep
    if not keep:
        return []
    sizes = classes(released, (*outcome.wish.quasi, *keep)).sizes
    alone = int((sizes == 1).sum())
    rows = int(sizes.sum())
    said = f"{share(alone, rows)} rows look like no other once {', '.join(keep)} is known too, which was kept as it is."
    return [Weakness("linkage", ", ".join(keep), alone / max(rows, 1), alone > 0, said)]


def _background_knowledge(outcome: Outcome, released: Table) -> list[Weakness]:
    return [_told(secret, Background().run(released, outcome.wish.quasi, secret)) for secret in outcome.wish.sensitive]


def attribute(recoded: Recoded) -> list[Weakness]:
    """The secret that a class holds most often.

    The control is the same guess if the person's own row were not there.
    """
    found = []
    for place, column in enumerate(recoded.table.sensitive):
        right, without, people = by_class(recoded, place)
        row = "row" if recoded.table.persons is None else "rows there"
        said = f"The most frequent {column.name} of a class is that of {share(right, people)} people"
        said += "" if recoded.table.persons is None else ", of whom each class counts its own"
        beside = f"of {share(without, people)} if their own {row} were left out"
        leak, quiet = (
            f"{said}, {beside}: being in the table {word}." for word in ("betrays it", "makes no sure difference")
        )
        rate = Rate(right, people)
        control = Rate(without, people)
        found.append(_told(column.name, judged("attribute", "", rate, control, leak=leak, quiet=quiet, figures={})))
    return found


def _told(column: str, one: Finding) -> Weakness:
    return Weakness(one.attack, column, one.rate.value, one.leaks, one.sentence)


def intersection(outcome: Outcome) -> list[Weakness]:
    """With another release of the same people that satisfies the same demands, cut by Mondrian."""
    recoded = outcome.recoded
    wish = outcome.wish
    if not recoded.table.sensitive:
        return []
    table = recoded.table
    how = "cut by Mondrian under the same demands"
    if wish.search == "mondrian":  # cuts at the same medians are nested, and so tell nothing: other columns are needed
        finest = max(recoded.columns, key=lambda column: len(column.labels)).name
        table = replace(table, quasi=tuple(column for column in table.quasi if column.name != finest))
        how = f"without {finest} under the same demands"
    if not table.quasi:
        return [untried("intersection", "a second release by the same one column would be cut at the same places.")]
    hierarchies = [built(wish.hierarchies[c.name], c.name, c.values) for c in table.quasi]
    try:
        other = in_boxes(table, hierarchies, mondrian(table, hierarchies, models_of(wish, table)))
    except Refused:
        return [untried("intersection", "no second release of these people satisfies the demands.")]
    found = []
    people = max(recoded.people, 1)
    for place, column in enumerate(recoded.table.sensitive):
        won = by_both(recoded, other, place)
        said = (
            f"Were the same people released once more, {how}, {share(won, people)} would be left with one {column.name}"
        )
        said += ", which neither release leaves alone." if won else ": with that one nobody's becomes certain."
        found.append(Weakness("intersection", column.name, won / people, won > 0, said))
    return found


def sampling(recoded: Recoded) -> list[Weakness]:
    """People of the population whom a released row fits, and nobody else of the population."""
    classes = recoded.classes()
    if classes.population is None:
        return []
    lonely = (classes.sizes == 1) & (classes.population <= 1)
    alone = int(lonely.sum())
    everybody = max(recoded.people, 1)
    what = "rows fit one person"
    if recoded.table.persons is not None:
        alone = entries_of(recoded).among(lonely)
        what = "people have rows that fit one person"
    said = f"{share(alone, everybody)} {what} of the population and nobody else."
    return [Weakness("sampling", "", alone / everybody, alone > 0, said)]


SPARSE = {"fuzzy_linkage": "it needs the rows of a person to be released as one record."}


def personal_points(outcome: Outcome, kept: Sequence[Column], linked: str | None) -> list[Weakness]:
    """Of a released table; `kept` are columns released as they are, `linked` is one that says which rows are of one
    person.
    """
    recoded = outcome.recoded
    found = [*weaknesses(recoded), *_kept(recoded, kept), *([_together(recoded, linked)] if linked else [])]
    found += [
        *_background(recoded),
        *attribute(recoded),
        *intersection(outcome),
        *_several(recoded),
        *sampling(recoded),
    ]
    return [*found, *others(found, NOT_HERE | SPARSE)]


def raw_people(alone: int, people: int, sampled: bool) -> list[Weakness]:
    """Of rows that are released as they are: `alone` people have one that nobody else has."""
    linked = f"{share(alone, people)} people have a row that nobody else has: whoever knows what it says finds it."
    found = [
        Weakness(
            "linkage", "", alone / max(people, 1), alone > 0, linked if alone else "Nobody has a row of their own."
        )
    ]
    if sampled:
        said = f"Each of the {people:,} people in the sample is exposed as they are, with all of their rows."
        found.append(Weakness("sampling", "", 1.0 if people else 0.0, people > 0, said))
    return [*found, *others(found, RAW_NOT_HERE | SPARSE)]


def _kept(recoded: Recoded, kept: Sequence[Column]) -> list[Weakness]:
    """Linkage by what is released as it is beside the quasi-identifiers: k counts nobody who knows that too."""
    if not kept:
        return []
    index, count = numbered(
        [recoded.index.astype(np.int32), *(column.codes for column in kept)],
        [recoded.count, *(column.size for column in kept)],
    )
    names = ", ".join(column.name for column in kept)
    return lonely(
        replace(recoded, index=index, count=count),
        names,
        f"once {names} is known too, which was kept as it is, it finds them.",
    )


def _together(recoded: Recoded, linked: str) -> Weakness:
    """People whose rows lie in classes as nobody else's do: a released name of whatever kind ties the rows of a
    person.
    """
    persons = recoded.table.persons
    assert persons is not None
    here = recoded.rows > 0
    named = here & (persons.codes > 0)
    alike = here & (persons.codes == 0)
    codes, classes = np.divmod(
        np.unique(persons.codes[named] * np.int64(recoded.count) + recoded.index[named]), recoded.count
    )
    marks = _mixed(np.arange(1, recoded.count + 1, dtype=np.uint64))
    sums = np.zeros(persons.size, dtype=np.uint64)
    np.add.at(sums, codes, marks[classes])  # wraps: the fingerprint of a set of classes
    theirs = np.concatenate((sums[np.unique(codes)], marks[recoded.index[alike]]))
    number = np.concatenate((np.ones(len(theirs) - int(alike.sum()), dtype=np.int64), persons.number[alike]))
    found, where = np.unique(theirs, return_inverse=True)
    alone = int((np.bincount(where, weights=number, minlength=len(found)) == 1).sum())
    people = max(recoded.people, 1)
    said = (
        f"{share(alone, people)} people have rows in classes that nobody else's rows lie in together; {linked}, "
        "which was"
    )
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
    """A fact about somebody, that they do not have one of the values, leaves one value of the two that their class
    has.
    """
    found = []
    people = max(recoded.people, 1)
    for place, column in enumerate(recoded.table.sensitive):
        mine = held_in(recoded, place)
        pairs = recoded.classes().pairs[place]
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
    found = []
    people = max(recoded.people, 1)
    for place, column in enumerate(recoded.table.sensitive):
        won = by_several(recoded, place)
        said = f"{share(won, people)} people have rows in several classes, which have one {column.name} in common,"
        said += (
            " and it is theirs: who knows that it is the same in all of their rows, and which classes these are, "
            "knows it."
        )
        if not won:
            said = f"Nobody's {column.name} follows from being in several classes at once."
        found.append(Weakness("intersection", column.name, won / people, won > 0, said))
    return found
