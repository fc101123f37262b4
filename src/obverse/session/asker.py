"""Who asks, and what for: names that the catalog declares."""

from __future__ import annotations

from obverse.catalog.model import Catalog
from obverse.core.errors import Refused


def asker(catalog: Catalog, analyst: str, purpose: str) -> tuple[str, str]:
    """Check the names; an analyst with one purpose need not say it."""
    if analyst and analyst not in catalog.analysts:
        raise Refused("analyst_unknown", f"there is no analyst {analyst!r} here.", fix="`obverse analyst add` declares one.")
    allowed = catalog.analysts[analyst].purposes if analyst else ()
    if not purpose and len(allowed) == 1:
        purpose = allowed[0]
    if allowed and purpose not in allowed:
        raise Refused("purpose_not_allowed", f"{analyst} asks for one of: {', '.join(allowed)}.", fix=f"--purpose {allowed[0]}")
    if purpose and purpose not in catalog.purposes:
        raise Refused("purpose_not_allowed", f"there is no purpose {purpose!r} here.", fix="declare [purposes.NAME].")
    return analyst, purpose
