"""From a planned question to one that is ready for the door: how its rows become the bytes that are stored and sent."""

from __future__ import annotations

from dataclasses import dataclass, replace

from obverse.accounting import budget as budgets
from obverse.accounting import zcdp
from obverse.answers.answer import Answer
from obverse.catalog.model import Budget, Catalog
from obverse.core.ledger import Ledger, Receipt
from obverse.core.loss import Loss
from obverse.plan.explain import plan_text
from obverse.plan.release.finish import Finished
from obverse.session.budget import Purse
from obverse.session.claims import IN_PROCESS, claim_of
from obverse.session.execution import Asked, Earlier
from obverse.session.narrowing import bounds_from
from obverse.session.planning import Planned


@dataclass(frozen=True, slots=True)
class Sealing:
    """`batch`: the loss of several questions that are charged as one; `boundary`: what keeps the asker from the rows."""

    catalog: Catalog
    ledger: Ledger
    purse: Purse
    batch: Loss | None = None
    boundary: str = IN_PROCESS

    def asked(self, planned: Planned, sealed: list[tuple[Answer, bytes]] | None = None) -> Asked:
        """The question ready for the door. `sealed` gets what was made."""
        asked = self._sealed(planned, planned, sealed)
        if planned.narrowed is None:
            return asked
        first = tuple(self._sealed(one, planned) for one in planned.first)
        narrowed = planned.narrowed

        def then(found: Earlier) -> Asked:
            return self._sealed(narrowed(bounds_from(planned, found)), planned, sealed)

        return replace(asked, first=first, then=then)

    def _sealed(self, planned: Planned, whole: Planned, sealed: list[tuple[Answer, bytes]] | None = None) -> Asked:
        costed = planned.costed

        def seal(finished: Finished, receipt: Receipt) -> bytes:
            loss, charged, what = whole.loss, Budget(costed.epsilon, costed.delta), "this question"
            if self.batch is not None:
                charge = budgets.count(self.batch, self.catalog.accounting)
                loss, what = self.batch, "the batch"
                concentrated = self.catalog.accounting == "zcdp"
                epsilon = zcdp.epsilon_of(charge.amount, costed.delta) if concentrated else charge.amount
                charged = Budget(epsilon, charge.delta + (costed.delta if concentrated else 0))
            price, remaining = self.purse.priced(loss, charged.epsilon, charged.delta, whole.partitions)
            whole_budget, person = self.purse.whole(), self.person_words()
            claim = claim_of(costed, self.catalog, whole_budget, receipt.id, charged, what, person, self.boundary)
            text = plan_text(costed.annotated)
            answer = Answer(finished.columns, finished.rows, finished.intervals, costed.level, claim, price, remaining, text)
            stored = answer.to_bytes()
            if sealed is not None:
                sealed.append((answer, stored))
            return stored

        return Asked(costed, planned.emitted, seal)

    def person_words(self) -> str:
        """Where the unit is one's part of a partition: what all answers so far may tell of somebody who is in all of them."""
        unit = self.catalog.unit
        if unit is None or not unit.each:
            return ""
        spent = self.ledger.person()
        return f"A {unit.key} who is in every {unit.each} has lost {budgets.words(spent)} so far, over all of them together."
