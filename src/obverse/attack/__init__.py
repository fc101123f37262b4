"""Attacks: on anybody's system, seen only through what it answers. Imports nothing of ours but the vocabulary."""

from obverse.attack.lower_bound.evidence import Evidence, epsilon_lower_bound, evidence_from_counts

__all__ = ["Evidence", "epsilon_lower_bound", "evidence_from_counts"]
