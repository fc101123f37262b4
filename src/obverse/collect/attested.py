"""Attested batches at the collector, and what shuffling adds for whom."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

from obverse.collect.amplify import amplified
from obverse.collect.batch import opened
from obverse.collect.collecting import Collection
from obverse.collect.shuffling import no_shuffler, signed_by
from obverse.core.errors import Refused
from obverse.core.numbers import plain


@dataclass(frozen=True, slots=True)
class Shuffled:
    """What one report loses among those of the smallest batch."""

    epsilon: str
    delta: float
    reports: int  # of the smallest batch, without those that may be crafted

    def words(self) -> str:
        return (
            f"epsilon {self.epsilon} at delta {self.delta:g} for each report, among {self.reports:,} of the smallest batch;"
            " against the collector and whoever sees what it has, not against the shuffler, while these two keep apart"
        )

    def as_json(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "delta": self.delta, "reports": self.reports, "against": "collector"}


def add_batch(collection: Collection, batch: bytes) -> int:
    """Count a batch that the survey's shuffler attests, once; returns how many reports it has."""
    key = collection.spec.survey.shuffler
    if key is None:
        raise no_shuffler(collection.spec)
    found = opened(collection.spec, collection.epoch, batch, partial(signed_by, key))
    collection.add_attested(found)
    return len(found.payloads)


def shuffling(collection: Collection, delta: float, malice: float) -> Shuffled | None:
    """What shuffling adds; None where nothing is attested, or where it is not proved to add anything."""
    sizes = collection.attested()
    honest = math.floor(min(sizes) * (1 - malice)) if sizes else 0
    if honest < 1:
        return None
    try:
        return Shuffled(plain(amplified(collection.spec.protocol, honest, delta)), delta, honest)
    except Refused as refused:
        if refused.code == "not_amplified":
            return None
        raise
