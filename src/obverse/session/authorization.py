"""Who asks, and what for: names that the catalog declares."""

from __future__ import annotations

import datetime as dt

from obverse.catalog.check import read_with, within_policy
from obverse.catalog.model import Catalog
from obverse.core.errors import Refused
from obverse.plan.query import PublicQuestion, Question
from obverse.plan.relation import scans


def asker(catalog: Catalog, analyst: str, purpose: str) -> tuple[str, str]:
    """Check the names; an analyst with one purpose need not say it."""
    if analyst and analyst not in catalog.analysts:
        raise Refused(
            "analyst_unknown", f"there is no analyst {analyst!r} here.", fix="`obverse analyst add` declares one."
        )
    allowed = catalog.analysts[analyst].purposes if analyst else ()
    if not purpose and len(allowed) == 1:
        purpose = allowed[0]
    if allowed and purpose not in allowed:
        raise Refused(
            "purpose_not_allowed", f"{analyst} asks for one of: {', '.join(allowed)}.", fix=f"--purpose {allowed[0]}"
        )
    if purpose and purpose not in catalog.purposes:
        raise Refused("purpose_not_allowed", f"there is no purpose {purpose!r} here.", fix="declare [purposes.NAME].")
    return analyst, purpose


def today() -> dt.date:
    return dt.date.today()


def allowed_for(question: Question | PublicQuestion, catalog: Catalog, purpose: str) -> None:
    """Refuse a question over a table that is kept for other purposes, or is past its day, or apart from another."""
    tables = sorted({scan.table for scan in scans(question.relation)})
    within_policy(tables, catalog, today())
    for table in sorted({there for name in tables for there in read_with(catalog, name)}):
        purposes = catalog.tables[table].purposes
        if purposes and purpose not in purposes:
            asked = f"for {purpose}" if purpose else "without a purpose"
            raise Refused(
                "purpose_not_allowed",
                f"table {table} is not asked {asked}.",
                why=f"its owner allows: {', '.join(purposes)}.",
                fix=f"ask for one of them, such as --purpose {purposes[0]}.",
            )
