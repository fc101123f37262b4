"""What plans believe of a source, and by what each of it holds: one object for each source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from obverse.catalog.model import Table
from obverse.core.relation import Relation

Held = Literal["public", "stored", "proved", "declared"]
ROWWISE = "each row of table {table} is computed from rows of its own unit alone, as the curator declares (rowwise = true)"
ADDED = (
    "rows of table {table} stay in the partitions that were published until these are retired, none is added to them, and each "
    "`obverse data publish` compares that"
)
OWN = {"public": "public", "stored": "stored rows", "proved": "a view that was proved row-wise", "declared": "rowwise = true"}


@dataclass(frozen=True, slots=True)
class SourceAssumptions:
    """One source. Its relation (columns, types, collations, definitions) is metadata, and is compared again with every
    question, in the transaction that reads the rows. `rows`: by what a row is a function of its own unit's rows."""

    table: str
    relation: Relation
    rows: Held
    base: Relation | None = None  # the stored table whose rows a proved view has
    columns: Mapping[str, str] | None = None  # of a proved view: columns that are the base's own, and their names there

    @property
    def words(self) -> str:
        """For the curator: by what the rows are taken to be those of their units."""
        return OWN[self.rows] if self.base is None else f"{OWN[self.rows]} over {self.base.name}"


def assumed(table: Table) -> tuple[str, ...]:
    """What a claim over the table rests on and nothing checks: declarations alone, never what a probe found."""
    found = [ROWWISE] if table.rowwise else []
    if table.partition is not None and table.partition.counts == "first":
        found.append(ADDED)
    return tuple(words.format(table=table.name) for words in found)
