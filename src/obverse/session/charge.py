"""The debit: what is charged for, and what may be measured for it.

Claim:   a unit loses no more by what `hold` lets through than was debited, and a unit outside the debited partitions loses
         nothing.
Proof:   the noise of a plan covers its loss for the plan's own unit (plan/verify), and its exact numbers depend on the
         partitions that it carries alone (plan/partitions). Each plan carries both from the catalog that it was made under;
         here they are compared with those of the debit, whose loss is the losses added up, or a tight sum of them.
Assumes: the text that is run was printed from the plan, under the same catalog.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from obverse.accounting.pld import certain
from obverse.core.errors import invariant
from obverse.core.ledger import Caps, Fingerprint, Former, Partitions, Scope
from obverse.core.loss import ApproxLoss, Composed, Loss
from obverse.core.units import PrivacyUnit
from obverse.plan.allocate import CostedPlan
from obverse.plan.emit.overlay import NOTHING, Overlay
from obverse.plan.strategy.graph.pricing import GraphPlan


@dataclass(frozen=True, slots=True)
class Debit:
    """What is charged for, and under which names it can be asked for again."""

    scope: Scope
    loss: Loss
    fingerprint: Fingerprint
    question: str  # what the key is bound to: the plan without the data's version
    key: str
    caps: Caps
    note: str
    about: dict[str, str]
    unit: PrivacyUnit | None
    partitions: Partitions | None = None  # of growing data; None: all of it
    overlay: Callable[[], Overlay] = lambda: NOTHING  # asked for once the debit stands: no act before it is missed
    former: Former | None = None  # how earlier versions named it

    def pays(self, losses: Sequence[Loss]) -> None:
        """Raise unless the loss is that of all of these together."""
        together = Composed(tuple(losses))
        paid = self.loss == together or (len(losses) == 1 and self.loss == losses[0])
        if not paid and isinstance(self.loss, ApproxLoss):
            paid = self.loss == certain(together.losses, self.loss.delta)
        invariant(paid, "the debit is the loss of all that is asked")

    def hold(self, costed: CostedPlan | GraphPlan) -> None:
        """Raise unless the plan's unit and partitions are within what was debited."""
        if isinstance(costed, GraphPlan):
            invariant(self.unit is not None and self.unit.graph == costed.facts.unit, "the unit is the one that was debited")
            return
        limited = costed.annotated.limited
        invariant(limited.unit == self.unit, "the unit is the one that was debited")
        within = self.partitions is None or (
            limited.partitions is not None and self.partitions.joined(limited.partitions) == self.partitions
        )
        invariant(within, "the partitions are among those that were debited")
