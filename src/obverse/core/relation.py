"""What an engine's own catalog says of a source: its columns, its collations, and the definition that a view has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from obverse.core.errors import CatalogError

STORED = ("file", "frame", "table")  # whose rows lie there as they were written
VIEW = "view"
MATERIALIZED = "materialized view"
FOREIGN = "foreign table"
TEMPORARY = "temporary relation"
COMPUTED = "frame that is computed"  # a lazy one: its rows are computed anew whenever it is read
OTHER = "relation of another kind"


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column as its engine describes it; `generated` is the expression of a generated column, `cast` a function of
    users that
    reads its values as another type."""

    name: str
    type: str
    collation: str = ""
    generated: str = ""
    cast: str = ""


@dataclass(frozen=True, slots=True)
class Relation:
    """One relation, and those that it reads or consists of. Metadata alone: no row decides anything in it."""

    name: str  # qualified as far as its engine qualifies it
    kind: str
    columns: tuple[StoredColumn, ...]
    definition: str = ""  # of a view, in the engine's own words
    reads: tuple[Relation, ...] = ()  # what a view reads; the partitions and children of a table
    custom: tuple[str, ...] = ()  # functions, operators and types of users that expressions of it may use
    policies: tuple[str, ...] = ()  # row security
    place: str = ""  # what tells it from every other on its server

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": self.kind,
            "columns": [[c.name, c.type, c.collation, c.generated, c.cast] for c in self.columns],
            "definition": self.definition,
            "reads": [one.as_json() for one in self.reads],
            "custom": list(self.custom),
            "policies": list(self.policies),
            "place": self.place,
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Relation:
        return cls(
            name=str(fields["name"]),
            kind=str(fields["kind"]),
            columns=tuple(StoredColumn(*map(str, column)) for column in fields["columns"]),
            definition=str(fields["definition"]),
            reads=tuple(cls.from_json(one) for one in fields["reads"]),
            custom=tuple(map(str, fields["custom"])),
            policies=tuple(map(str, fields["policies"])),
            place=str(fields["place"]),
        )


def every(relation: Relation) -> Iterator[Relation]:
    """The relation and all below it."""
    yield relation
    for one in relation.reads:
        yield from every(one)


def source_changed(table: str) -> CatalogError:
    """The source is described otherwise than when the project was opened: metadata, so the refusal depends on no
    row.
    """
    return CatalogError(
        "source_changed",
        f"the source of table {table} is defined otherwise than when the project was opened.",
        why="a column, its type or collation, or the definition of a view changed; plans were proved for the earlier "
        "ones.",
        fix="open the project again; nothing was spent.",
    )
