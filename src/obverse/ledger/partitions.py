"""What published partitions of growing data held when they were published, as keyed sums: the curator's private state.

Claim:   if `compared` accepts every version of the data, then between two of them no unit's first partition changes,
         but for units that are left out; one that is left out no more has the first partition that it had, or no rows.
Proof:   a published partition's sum is that of its units and rows (plan/emit/partition_sums). The sums of everybody
         else are equal, once what units that were left out since brought is taken from the older one; so everybody else
         has the rows that they had. What each unit that is left out had is kept by its keyed hash. It is let in again
         only with exactly that; where it has no rows at all its hash is kept on, so that rows which come later are
         noticed.
Assumes: rows are not changed and changed back between two versions; what an earlier version of Obverse published, or
         what was published on a machine that has no sums of it, is as it was published when it is first seen.

It lies where datasets are registered, like what is kept of rights: never in the chain, and no analyst's route leads to
it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from obverse.core.errors import Refused
from obverse.ledger.datasets import Datasets

MODULUS = 1 << 128
UNKNOWN = -1  # no sum: of somebody whose rows had gone before anything was kept
Sums = Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Held:
    """Sums of the partitions up to `through`; of units that are or were left out each apart, by their hashes."""

    through: int
    sums: Sums = field(default_factory=dict, repr=False)
    units: Mapping[str, Sums] = field(default_factory=dict, repr=False)

    def between(self, first: int, last: int) -> Held:
        """What is kept of partitions that are neither retired nor still to be published."""
        units = {who: _between(own, first, last) for who, own in self.units.items()}
        return Held(min(self.through, last), _between(self.sums, first, last), units)

    def apart(self, who: str, own: Sums) -> Held:
        """The same, with what one more unit brings taken out of the sums of everybody else."""
        found = {place: (self.sums.get(place, 0) - own.get(place, 0)) % MODULUS for place in {*self.sums, *own}}
        return Held(self.through, _nonzero(found), {**self.units, who: own})


@dataclass(frozen=True, slots=True)
class Seen:
    """What a reading found: sums of everybody else, and of each unit that was asked for."""

    sums: Sums = field(repr=False)
    units: Mapping[str, Sums] = field(repr=False)


class Changed(Exception):
    """Published partitions that are not as they were: `gone` have no rows any more. `back`: units came back
    otherwise.
    """

    def __init__(self, places: Collection[int], gone: Collection[int], back: int) -> None:
        super().__init__("published partitions changed")
        self.places = sorted(places)
        self.gone = sorted(gone)
        self.back = back


def compared(held: Held | None, seen: Seen, first: int, through: int, left_out: Collection[str]) -> Held:
    """What is kept from now on, of partitions from `first` on through the last one; or Changed.

    `held`: of partitions that were published, and are not retired. `seen` tells apart all units that are left out from
    now on and all that `held` tells apart.
    """
    if held is None:
        found = {who: dict(seen.units.get(who, {})) or {through: UNKNOWN} for who in left_out}
        return Held(through, dict(seen.sums), found)
    for who in sorted({*left_out} - {*held.units}):
        held = held.apart(who, _between(seen.units.get(who, {}), first, held.through))
    units = dict(held.units)
    sums = dict(held.sums)
    now = dict(seen.sums)
    back = 0
    for who in sorted({*units} - {*left_out}):
        own = units[who]
        lies = seen.units.get(who, {})
        if own == _between(lies, first, held.through):
            sums = _added(sums, own)
            now = _added(now, lies)
            del units[who]
        elif lies:
            back += 1
    places = {place for place in {*sums, *now} if place <= held.through and sums.get(place, 0) != now.get(place, 0)}
    if places or back:
        raise Changed(places, places - {*now}, back)
    later = {who: _between(seen.units.get(who, {}), held.through + 1, through) for who in left_out}
    return Held(through, now, {who: {**own, **later.get(who, {})} for who, own in units.items()})


def kept(datasets: Datasets, dataset: str) -> Held | None:
    """What was written down; None where nothing was."""
    row = datasets.statements.execute("SELECT content FROM partitions WHERE dataset = ?", (dataset,)).fetchone()
    if row is None:
        return None
    found = json.loads(row[0])
    units = {who: _read(own) for who, own in found["units"].items()}
    return Held(found["through"], _read(found["sums"]), units)


def keep(datasets: Datasets, dataset: str, held: Held) -> None:
    """Write it down in place of what was."""
    units = {who: _written(own) for who, own in held.units.items()}
    content = json.dumps({"through": held.through, "sums": _written(held.sums), "units": units}, sort_keys=True)
    datasets.statements.execute(
        "INSERT INTO partitions VALUES (?, ?) ON CONFLICT (dataset) DO UPDATE SET content = excluded.content",
        (dataset, content),
    )


def partition_changed(table: str, column: str, told: str, back: int) -> Refused:
    """For the curator alone."""
    who = f"{back} {'person who was' if back == 1 else 'people who were'} left out came back with other rows"
    what = f"rows of {table} with {column} {told} are not those that were published" if told else who
    return Refused(
        "partition_changed",
        f"{what}{f'; {who}' if told and back else ''}; nothing was done.",
        why=f"each person counts in the first {column} that they have rows in; rows that went or came late can make "
        "another "
        "one the first, whose budget is not spent.",
        fix="Bring the rows back as they were published; give rows that came late a partition that is not published "
        "yet; leave "
        "out who came back (obverse rights suppress). To delete old partitions, first run "
        "`obverse data retire --through VALUE --reason WHY`; where they cannot be brought back, add --gone.",
    )


def _between(sums: Sums, first: int, last: int) -> dict[int, int]:
    return {place: number for place, number in sums.items() if first <= place <= last}


def _nonzero(sums: Sums) -> dict[int, int]:
    return {place: number for place, number in sums.items() if number}


def _added(one: Sums, other: Sums) -> dict[int, int]:
    return _nonzero({place: (one.get(place, 0) + other.get(place, 0)) % MODULUS for place in {*one, *other}})


def _written(sums: Sums) -> dict[str, str]:
    return {str(place): f"{number:x}" for place, number in sums.items()}


def _read(sums: Mapping[str, str]) -> dict[int, int]:
    return {int(place): int(number, 16) for place, number in sums.items()}
