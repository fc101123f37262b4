"""A release of a network, as the door takes it."""

from __future__ import annotations

from dataclasses import dataclass

from obverse.core.errors import invariant
from obverse.core.loss import Loss
from obverse.plan.graph_plan import GraphPlan
from obverse.plan.overlay import NOTHING, Overlay
from obverse.session.planning import Planned


@dataclass(frozen=True, slots=True)
class PlannedGraph:
    """A release of a network, costed and printed."""

    text: str
    costed: GraphPlan
    sql: str
    now: str | None = None
    partitions: None = None
    first: tuple[Planned, ...] = ()  # nothing is asked before a network

    def emitted(self, overlay: Overlay) -> str:
        invariant(overlay == NOTHING, "nobody of a network can be left out or put right: no table says who is who")
        return self.sql

    @property
    def identity(self) -> list[str]:
        return [self.costed.identity, str(self.costed.epsilon), str(self.costed.delta), self.costed.accounting]

    @property
    def loss(self) -> Loss:
        return self.costed.loss
