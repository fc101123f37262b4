"""What an analyst may spend for a purpose, what is left of it, and what a loss is worth in its terms."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

from obverse.accounting import budget as budgets
from obverse.accounting.directed import digits_down
from obverse.answers.answer import Price, Remaining
from obverse.catalog.model import Analyst, Catalog
from obverse.core.errors import LedgerError, Refused
from obverse.core.ledger import Budget, Cap, Caps, Ledger, Partitions, Spent
from obverse.core.loss import Loss
from obverse.core.numbers import plain


@dataclass(frozen=True, slots=True)
class Purse:
    """Caps that bind one analyst and purpose: those of all together, and their own."""

    catalog: Catalog
    ledger: Ledger
    analyst: str
    purpose: str

    def cap(self) -> Cap:
        """The cap that binds everybody: the ledger's own and the declared one, whichever is tighter."""
        return budgets.tighter(self.ledger.cap(), budgets.cap_of(self.catalog.budget, self.catalog.accounting))

    def remaining(self, loss: Loss, partitions: Partitions | None = None) -> Remaining:
        """What is left for this analyst and purpose, in the partitions that were touched: of the cap that is
        nearest.
        """
        charge = budgets.count(loss, self.catalog.accounting)
        with self.ledger.at_once():
            binding = self.binding(partitions)
        left = min(budgets.remaining(cap, spent).amount for cap, spent in binding)
        counts = [budgets.like_this(charge, s, c) for c, s in binding]
        known = [n for n in counts if n is not None]
        whole = binding[0][0].amount
        epsilon = plain(digits_down(left, 6)) if self.catalog.accounting == "pure" else None
        return Remaining(float(left / whole) if whole else 0.0, epsilon, min(known) if known else None)

    def after(self, loss: Loss, partitions: Partitions | None = None) -> Remaining:
        """What is left once the loss was charged: a ledger that cannot tell it any more says that it was."""
        try:
            return self.remaining(loss, partitions)
        except LedgerError as error:
            error.charged = True
            raise

    def priced(
        self, costed_loss: Loss, epsilon: Fraction, delta: Fraction, partitions: Partitions | None = None
    ) -> tuple[Price, Remaining]:
        charge = budgets.count(costed_loss, self.catalog.accounting)
        with self.ledger.at_once():
            share = float(budgets.share(charge, self.cap()))
            return Price(plain(epsilon), plain(delta), share, False), self.remaining(costed_loss, partitions)

    def binding(self, partitions: Partitions | None = None) -> list[tuple[Cap, Spent]]:
        """Every cap that holds here with what was spent of it; first that of everybody."""
        caps = self.caps()
        spent = self.ledger.spent
        found = [(self.cap(), spent(partitions=partitions))]
        if caps.analyst is not None:
            found.append((caps.analyst, spent(analyst=self.analyst, partitions=partitions)))
        if caps.purpose is not None:
            found.append((caps.purpose, spent(purpose=self.purpose, partitions=partitions)))
        return found

    def caps(self) -> Caps:
        whole = self.catalog.budget
        accounting = self.catalog.accounting
        analyst = self.catalog.analysts.get(self.analyst, Analyst(""))
        purpose = self.catalog.purposes.get(self.purpose)
        return Caps(
            budgets.cap_of(whole, accounting),
            None if analyst.budget is None else budgets.cap_within(analyst.budget, whole, accounting),
            None if purpose is None else budgets.cap_within(purpose, whole, accounting),
        )

    def whole(self) -> Budget:
        """The declared budget, or the ledger's where that is tighter; under zcdp the pair whose rho binds."""
        granted = self.ledger.budget()
        declared = self.catalog.budget
        if self.catalog.accounting == "zcdp":
            return min((declared, granted), key=lambda pair: budgets.cap_of(pair, "zcdp").amount)
        return Budget(min(granted.epsilon, declared.epsilon), min(granted.delta, declared.delta))


def closed_session() -> NoReturn:
    raise Refused(
        "closed", "this session is closed.", why="it has let go of engine and ledger.", fix="open the project again."
    )


def no_private_table() -> Refused:
    return Refused("no_private_table", "this project has no private table, so it has no budget.")
