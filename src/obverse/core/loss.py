"""Privacy losses as append-only data; the accountant alone composes and counts. Kinds are never changed or removed."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from obverse.core.errors import invariant


@dataclass(frozen=True, slots=True)
class PureLoss:
    """epsilon-differential privacy."""

    kind: ClassVar[str] = "pure"
    epsilon: Fraction

    def __post_init__(self) -> None:
        invariant(self.epsilon >= 0, "a loss is never negative")


@dataclass(frozen=True, slots=True)
class ZcdpLoss:
    """rho-zero-concentrated differential privacy."""

    kind: ClassVar[str] = "zcdp"
    rho: Fraction

    def __post_init__(self) -> None:
        invariant(self.rho >= 0, "a loss is never negative")


@dataclass(frozen=True, slots=True)
class BoundedRangeLoss:
    """epsilon-bounded range (the exponential mechanism): epsilon-DP and epsilon**2/8-zCDP."""

    kind: ClassVar[str] = "bounded_range"
    epsilon: Fraction

    def __post_init__(self) -> None:
        invariant(self.epsilon >= 0, "a loss is never negative")


@dataclass(frozen=True, slots=True)
class ApproxLoss:
    """(epsilon, delta)-differential privacy."""

    kind: ClassVar[str] = "approx"
    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        invariant(self.epsilon >= 0 and 0 <= self.delta < 1, "a loss is never negative and delta is below one")


@dataclass(frozen=True, slots=True)
class Repeated:
    """The same loss, `times` times, chosen adaptively."""

    kind: ClassVar[str] = "repeated"
    loss: Loss
    times: int

    def __post_init__(self) -> None:
        invariant(self.times >= 0, "a loss is repeated a whole number of times")


@dataclass(frozen=True, slots=True)
class Composed:
    """All of these losses, one after the other."""

    kind: ClassVar[str] = "composed"
    losses: tuple[Loss, ...]


Loss = PureLoss | ZcdpLoss | BoundedRangeLoss | ApproxLoss | Repeated | Composed
NO_LOSS = Composed(())
