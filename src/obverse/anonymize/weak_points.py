"""Every attack there is, on a table that was just released: which work on it, which do not, which cannot be tried and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from obverse.anonymize.guesses import by_both, by_class
from obverse.anonymize.mondrian import mondrian
from obverse.anonymize.persons import entries_of
from obverse.anonymize.recipes import built
from obverse.anonymize.recoding import in_boxes
from obverse.anonymize.weaknesses import Weakness, untried, weaknesses
from obverse.anonymize.wish import models_of
from obverse.attack.attacks import ATTACKS, ON_ANSWERS, Background
from obverse.attack.finding import Finding, Rate, judged, share
from obverse.attack.tables.classes import classes
from obverse.core.errors import Refused

if TYPE_CHECKING:
    from obverse.anonymize.recoding import Recoded
    from obverse.anonymize.run import Outcome
    from obverse.attack.targets import Table

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
    found = [*weaknesses(outcome.recoded), *_kept(outcome, released), *_background(outcome, released)]
    found += attribute(outcome.recoded)
    found += [*intersection(outcome), *sampling(outcome.recoded)]
    return [*found, *others(found, NOT_HERE)]


def raw_points(alone: int, rows: int, sampled: bool) -> list[Weakness]:
    """Of rows that are released as they are, `alone` of which are unlike all others."""
    linked = f"{alone:,} of {rows:,} rows are unlike all others: whoever knows what one says, apart from a secret, finds it."
    found = [Weakness("linkage", "", alone / max(rows, 1), alone > 0, linked if alone else "No row is unlike all others.")]
    if sampled:
        said = f"Each of the {rows:,} people in the sample is exposed as they are."
        found.append(Weakness("sampling", "", 1.0 if rows else 0.0, rows > 0, said))
    return [*found, *others(found, RAW_NOT_HERE)]


def others(found: Sequence[Weakness], why: dict[str, str]) -> list[Weakness]:
    """The attacks of the registry that were not tried."""
    tried = {one.attack for one in found}
    reasons = why | {attack.name: SERVING.get(attack.name, ANSWERS) for attack in ON_ANSWERS}
    return [untried(attack.name, reasons[attack.name]) for attack in ATTACKS if attack.name not in tried]


def _kept(outcome: Outcome, released: Table) -> list[Weakness]:
    """Linkage by what is released as it is beside the quasi-identifiers: k counts nobody who knows that too."""
    keep = outcome.wish.keep
    if not keep:
        return []
    sizes = classes(released, (*outcome.wish.quasi, *keep)).sizes
    alone, rows = int((sizes == 1).sum()), int(sizes.sum())
    said = f"{share(alone, rows)} rows look like no other once {', '.join(keep)} is known too, which was kept as it is."
    return [Weakness("linkage", ", ".join(keep), alone / max(rows, 1), alone > 0, said)]


def _background(outcome: Outcome, released: Table) -> list[Weakness]:
    return [_told(secret, Background().run(released, outcome.wish.quasi, secret)) for secret in outcome.wish.sensitive]


def attribute(recoded: Recoded) -> list[Weakness]:
    """The secret that a class holds most often. The control is the same guess if the person's own row were not there."""
    found = []
    for place, column in enumerate(recoded.table.sensitive):
        right, without, people = by_class(recoded, place)
        row = "row" if recoded.table.persons is None else "rows there"
        said = f"The most frequent {column.name} of a class is that of {share(right, people)} people"
        said += "" if recoded.table.persons is None else ", of whom each class counts its own"
        beside = f"of {share(without, people)} if their own {row} were left out"
        leak, quiet = (f"{said}, {beside}: being in the table {word}." for word in ("betrays it", "makes no sure difference"))
        rate, control = Rate(right, people), Rate(without, people)
        found.append(_told(column.name, judged("attribute", "", rate, control, leak=leak, quiet=quiet, figures={})))
    return found


def _told(column: str, one: Finding) -> Weakness:
    return Weakness(one.attack, column, one.rate.value, one.leaks, one.sentence)


def intersection(outcome: Outcome) -> list[Weakness]:
    """With another release of the same people that satisfies the same demands, cut by Mondrian."""
    recoded, wish = outcome.recoded, outcome.wish
    if not recoded.table.sensitive:
        return []
    table, how = recoded.table, "cut by Mondrian under the same demands"
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
    found, people = [], max(recoded.people, 1)
    for place, column in enumerate(recoded.table.sensitive):
        won = by_both(recoded, other, place)
        said = f"Were the same people released once more, {how}, {share(won, people)} would be left with one {column.name}"
        said += ", which neither release leaves alone." if won else ": with that one nobody's becomes certain."
        found.append(Weakness("intersection", column.name, won / people, won > 0, said))
    return found


def sampling(recoded: Recoded) -> list[Weakness]:
    """People of the population whom a released row fits, and nobody else of the population."""
    classes = recoded.classes()
    if classes.population is None:
        return []
    lonely = (classes.sizes == 1) & (classes.population <= 1)
    alone, everybody, what = int(lonely.sum()), max(recoded.people, 1), "rows fit one person"
    if recoded.table.persons is not None:
        alone, what = entries_of(recoded).among(lonely), "people have rows that fit one person"
    said = f"{share(alone, everybody)} {what} of the population and nobody else."
    return [Weakness("sampling", "", alone / everybody, alone > 0, said)]
