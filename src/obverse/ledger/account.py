"""One account's counted loss: what touched everything, and what touched only some partitions of growing data.

Claim:   `most(r)` is at least the loss about any one unit whose rows lie in one partition of the range r.
Proof:   such a unit is touched by the debits on everything and by those whose range holds its partition; losses add
         (accounting/budget), and the largest sum over the range's partitions is at least that unit's.
         Once partitions are retired, a unit of theirs lies in some later partition, or in none: each later sum is at least the
         largest retired one from then on, so the unit's loss is below it wherever it comes again; and so on, if that one is
         retired too. A unit that lay in a later partition already stays there.
         Where rows went before their partitions were retired, a unit may have been in any partition at any debit: then each
         later sum is at least that of all debits together.
Assumes: a unit's rows lie in one partition (the emitted SQL sees to it), and a question touches no partition outside the range
         that its debit names (plan/partitions). Which partition is a unit's changes only where partitions are retired.
"""

from __future__ import annotations

import bisect
import functools
from dataclasses import dataclass, field

from obverse.core.ledger import Partitions, Spent


@dataclass(slots=True)
class Account:
    """Sums by stretches of partitions: stretch i goes from its start to the next one's."""

    whole: Spent
    starts: list[int] = field(default_factory=list)
    sums: list[Spent] = field(default_factory=list)
    parted: Spent | None = None  # all debits on partitions, each counted once

    def add(self, charge: Spent, partitions: Partitions | None) -> None:
        if partitions is None:
            self.whole = self.whole.plus(charge)
            return
        self.parted = charge if self.parted is None else self.parted.plus(charge)
        first, last = self._cut(partitions.first), self._cut(partitions.last + 1)
        for place in range(first, last):
            self.sums[place] = self.sums[place].plus(charge)

    def most(self, partitions: Partitions | None = None) -> Spent:
        """The largest sum of any one partition: of all, or of a range."""
        first, last = 0, len(self.starts)
        if partitions is not None:
            first = max(bisect.bisect_right(self.starts, partitions.first) - 1, 0)
            last = bisect.bisect_right(self.starts, partitions.last)
        return self.whole.plus(functools.reduce(_larger, self.sums[first:last], Spent(self.whole.accounting)))

    def base(self, through: int, *, gone: bool = False) -> Spent:
        """What each partition after that one counts as spent at least, once those up to it are retired.

        `gone`: their rows went earlier, nobody knows when.
        """
        if gone:
            return Spent(self.whole.accounting) if self.parted is None else self.parted
        retired = self.sums[: bisect.bisect_right(self.starts, through)]
        return functools.reduce(_larger, retired, Spent(self.whole.accounting))

    def retire(self, through: int, *, gone: bool = False) -> None:
        """Charge what was spent on partitions up to that one to each that remains or comes."""
        base, first = self.base(through, gone=gone), self._cut(through + 1)
        self.sums[first:] = [_larger(spent, base) for spent in self.sums[first:]]

    def after(self, charge: Spent, partitions: Partitions | None) -> Spent:
        """What `most` would be, had the charge been added."""
        tried = Account(self.whole, list(self.starts), list(self.sums), self.parted)
        tried.add(charge, partitions)
        return tried.most()

    def _cut(self, start: int) -> int:
        """The place of the stretch that begins there, made where there is none."""
        place = bisect.bisect_left(self.starts, start)
        if place == len(self.starts) or self.starts[place] != start:
            before = self.sums[place - 1] if place else Spent(self.whole.accounting)
            self.starts.insert(place, start)
            self.sums.insert(place, before)
        return place


def _larger(one: Spent, other: Spent) -> Spent:
    return Spent(one.accounting, max(one.amount, other.amount), max(one.delta, other.delta))
