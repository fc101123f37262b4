"""The registry of kernels: what SQL cannot say of exact values. One file each, one line here."""

from __future__ import annotations

from obverse.plan.strategy.base import Kernel
from obverse.plan.strategy.distances import Distances

KERNELS: tuple[type[Kernel], ...] = (Distances,)

__all__ = ["KERNELS", "Distances", "Kernel"]
