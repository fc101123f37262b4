"""The registry of release methods: one file each, one line here."""

from __future__ import annotations

from obverse.publish.hierarchy.method import Hierarchy
from obverse.publish.method import Method
from obverse.publish.quantiles.method import Quantiles
from obverse.publish.synthetic.method import Synthetic
from obverse.publish.tables.method import Tables

METHODS: tuple[type[Method], ...] = (Tables, Hierarchy, Quantiles, Synthetic)

__all__ = ["METHODS", "Hierarchy", "Method", "Quantiles", "Synthetic", "Tables"]
