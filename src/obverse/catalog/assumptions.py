"""What plans believe of a source, and by what each of it holds: one object for each source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from obverse.catalog.model import Table
from obverse.core.relation import Relation

Held = Literal["public", "stored", "proved", "declared"]
What = Literal["equality", "rows", "added", "keys", "form", "schema"]
By = Literal["plan", "catalog", "proof", "rows", "declaration", "nothing"]
ROWWISE = (
    "each row of table {table} is computed from rows of its own unit alone, as the curator declares (rowwise = true)"
)
ADDED = (
    "between two publications of the data no row of table {table} is added to a published partition, and none leaves "
    "one that "
    "is not retired"
)
OWN = {
    "public": "public",
    "stored": "stored rows",
    "proved": "a view that was proved row-wise",
    "declared": "rowwise = true",
}
ROWS: Mapping[Held, By] = {"public": "nothing", "stored": "catalog", "proved": "proof", "declared": "declaration"}


@dataclass(frozen=True, slots=True)
class Belief:
    """One thing that plans take to be so, and by what it is.

    `by`: "plan": what is asked makes it so, whatever the rows are; "catalog": the engine's catalog says it, and is
    compared in each question's transaction; "proof": of the catalog's definition; "rows": they were read when the
    project was opened; "declaration": the curator's word alone, which claims name; "nothing": nothing rests on it.
    """

    what: What
    by: By
    words: str


@dataclass(frozen=True, slots=True)
class SourceAssumptions:
    """One source. Its relation (columns, types, collations, definitions) is metadata, and is compared again with every
    question, in the transaction that reads the rows. `rows`: by what a row is a function of its own unit's rows."""

    table: Table
    rows: Held
    relation: Relation | None = None  # None: as it is declared, without its engine
    base: Relation | None = None  # the stored table whose rows a proved view has
    columns: Mapping[str, str] | None = None  # of a proved view: columns that are the base's own, and their names there

    @property
    def words(self) -> str:
        """For the curator: by what the rows are taken to be those of their units."""
        return OWN[self.rows] if self.base is None else f"{OWN[self.rows]} over {self.base.name}"

    @property
    def beliefs(self) -> tuple[Belief, ...]:
        """All six, whatever the source is."""
        table = self.table
        first = self.table.partition is not None and self.table.partition.counts == "first"
        own: By = "nothing" if table.public else "plan"
        return (
            Belief("equality", "plan", "two texts are equal where their bytes are"),
            Belief(
                "rows", ROWS[self.rows], ROWWISE.format(table=table.name) if self.rows == "declared" else self.words
            ),
            Belief("added", "declaration" if first else "nothing", ADDED.format(table=table.name)),
            Belief("keys", own, "a unit has one row, or as many as its limits say, and a key leads to one unit"),
            Belief(
                "form", "nothing" if table.public else "rows", "every row can be read, as what its column is declared"
            ),
            Belief(
                "schema", "catalog", "columns, types, collations and definitions are those that the plan was made for"
            ),
        )

    @property
    def assumes(self) -> tuple[str, ...]:
        """What a claim over the source rests on and nothing checks: declarations alone, never what a probe found."""
        return tuple(belief.words for belief in self.beliefs if belief.by == "declaration")


def as_declared(table: Table) -> SourceAssumptions:
    """The same from the declarations alone: what a claim names is the same, whatever the engine says."""
    return SourceAssumptions(table, "public" if table.public else "declared" if table.rowwise else "stored")
