"""The registry of release methods: one file each, one line here."""

from __future__ import annotations

from obverse.release.methods.base import Method
from obverse.release.methods.hierarchy import Hierarchy
from obverse.release.methods.quantiles import Quantiles
from obverse.release.methods.synthetic import Synthetic
from obverse.release.methods.tables import Tables

METHODS: tuple[type[Method], ...] = (Tables, Hierarchy, Quantiles, Synthetic)

__all__ = ["METHODS", "Hierarchy", "Method", "Quantiles", "Synthetic", "Tables"]
