"""Advisories of SECURITY.md: which past charges and stored answers of a ledger each of them touches.

A charge is touched if a version before the fix wrote it, and its query or release names a table that the advisory is about.
The query's text is the curator's own note; a charge without one counts as touched.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from obverse.catalog.model import Catalog
from obverse.catalog.policy import read_with
from obverse.core.ledger import Entry
from obverse.ledger.opened import Opened

COLLATION, GROWING, VIEWS = "OBV-2026-01", "OBV-2026-02", "OBV-2026-03"
SHOWN_MAX = 12  # record numbers in one line


@dataclass(frozen=True, slots=True)
class Touched:
    """Past charges that one advisory touches, by the numbers of their records."""

    advisory: str
    tables: tuple[str, ...]
    charges: tuple[int, ...]
    answers: int  # of them, those whose answer is stored

    @property
    def words(self) -> str:
        shown = ", ".join(map(str, self.charges[:SHOWN_MAX]))
        more = f" and {len(self.charges) - SHOWN_MAX} more" if len(self.charges) > SHOWN_MAX else ""
        return (
            f"earlier versions charged {len(self.charges)} times over {', '.join(self.tables)} (records {shown}{more}) "
            f"and stored {self.answers} of the answers. Their claims may not hold. "
            "SECURITY.md says what could be learned, and what to do"
        )


def touched(opened: Opened, about: Mapping[str, Collection[str]]) -> Iterator[Touched]:
    """`about`: for each advisory, the tables of the project that it is about."""
    entries = [entry for entry in opened.ledger.entries() if entry.kind in ("charge", "settle")]
    earlier = [entry for entry in entries if entry.kind == "charge" and _before_the_fix(entry)]
    settled = {entry.fields["charge"] for entry in entries if entry.kind == "settle"}
    notes = {entry.number: opened.ledger.note(entry.number) for entry in earlier} if any(about.values()) else {}
    for advisory, tables in about.items():
        found = tuple(number for number, text in notes.items() if _names(text, tables))
        if found:
            yield Touched(advisory, tuple(sorted(tables)), found, len(settled & {*found}))


def reached(catalog: Catalog, sources: Collection[str]) -> frozenset[str]:
    """The tables whose queries read one of these sources: by name, on the path to the unit, or as a list of values."""
    found = {*sources}
    for table in catalog.tables.values():
        lists = {column.values_from[0] for column in table.columns.values() if column.values_from is not None}
        if not lists.union(read_with(catalog, table.name)).isdisjoint(sources):
            found.add(table.name)
    return frozenset(found)


def _before_the_fix(entry: Entry) -> bool:
    """Whether a version up to 0.1 wrote the charge: later ones name a plan by two hashes."""
    return "identity" not in entry.fields and "." not in entry.fields["plan"]


def _names(text: str, tables: Collection[str]) -> bool:
    patterns = (rf"(?<!\w){re.escape(name)}(?!\w)" for name in tables)
    return bool(tables) and (not text or any(re.search(pattern, text, re.IGNORECASE) for pattern in patterns))
