"""A release of a network, as the door takes it."""

from __future__ import annotations

from dataclasses import dataclass

from obverse.core.canonical import Json
from obverse.core.errors import invariant
from obverse.core.loss import Loss
from obverse.plan.emit.overlay import NOTHING, Overlay
from obverse.plan.former import former_network_lines
from obverse.plan.identity import network_measurement
from obverse.plan.strategy.graph.pricing import GraphPlan
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
    def measurement(self) -> Json:
        return network_measurement(self.costed)

    @property
    def presentation(self) -> Json:
        return None

    @property
    def former_lines(self) -> list[str]:
        return former_network_lines(self.costed)

    @property
    def loss(self) -> Loss:
        return self.costed.loss
