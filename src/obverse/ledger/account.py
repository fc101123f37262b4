"""One account's counted loss: what touched everything, and what touched only some partitions of growing data.

Claim:   `most(r)` is at least the loss about any one unit whose rows lie in one partition of the range r.
Proof:   such a unit is touched by the debits on everything and by those whose range holds its partition; losses add
         (accounting/budget), and the largest sum over the range's partitions is at least that unit's.
Assumes: a unit's rows lie in one partition (the emitted SQL sees to it), and a question touches no partition outside the range
         that its debit names (plan/partitions).
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field

from obverse.core.ledger import Partitions, Spent


@dataclass(slots=True)
class Account:
    """Sums by stretches of partitions: stretch i goes from its start to the next one's."""

    whole: Spent
    starts: list[int] = field(default_factory=list)
    sums: list[Spent] = field(default_factory=list)

    def add(self, charge: Spent, partitions: Partitions | None) -> None:
        if partitions is None:
            self.whole = self.whole.plus(charge)
            return
        first, last = self._cut(partitions.first), self._cut(partitions.last + 1)
        for place in range(first, last):
            self.sums[place] = self.sums[place].plus(charge)

    def most(self, partitions: Partitions | None = None) -> Spent:
        """The largest sum of any one partition: of all, or of a range."""
        first, last = 0, len(self.starts)
        if partitions is not None:
            first = max(bisect.bisect_right(self.starts, partitions.first) - 1, 0)
            last = bisect.bisect_right(self.starts, partitions.last)
        found = self.sums[first:last]
        amount = max((spent.amount for spent in found), default=self.whole.amount * 0)
        delta = max((spent.delta for spent in found), default=self.whole.delta * 0)
        return self.whole.plus(Spent(self.whole.accounting, amount, delta))

    def after(self, charge: Spent, partitions: Partitions | None) -> Spent:
        """What `most` would be, had the charge been added."""
        tried = Account(self.whole, list(self.starts), list(self.sums))
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
