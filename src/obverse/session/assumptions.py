"""Sources found fit to be planned over: what they are described as, and by what their rows are functions of their
units.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import replace

from obverse.catalog.assumptions import SourceAssumptions
from obverse.catalog.locate import Place
from obverse.catalog.model import Catalog, Table
from obverse.core.engine import Engine, Schema
from obverse.core.errors import CatalogError
from obverse.core.relation import FOREIGN, MATERIALIZED, STORED, TEMPORARY, VIEW, Relation, every, source_changed
from obverse.sql.rowwise import NotRowwise, own_row, rowwise

COLLATED = re.compile(r"\bCOLLATE\b", re.IGNORECASE)
WORDS = {
    FOREIGN: "it is a foreign table",
    TEMPORARY: "it is a temporary relation, which each connection may have its own of",
}


def established(
    catalog: Catalog, engine: Engine, schemas: Mapping[str, Schema], place: Place
) -> dict[str, SourceAssumptions]:
    """What is believed of each source, with the engine held to its description; refused where rows of private tables
    may
    be computed from other people's. Reads metadata alone."""
    relations = {table.name: engine.relation(table.name) for table in catalog.held}
    for name, schema in schemas.items():
        if tuple(schema) != tuple(column.name for column in relations[name].columns):  # it changed while it was opened
            raise source_changed(name)
    found = {
        table.name: assumptions_of(table, relations[table.name], catalog, engine.dialect, place)
        for table in catalog.held
    }
    engine.hold(relations)
    return found


def assumptions_of(table: Table, relation: Relation, catalog: Catalog, dialect: str, place: Place) -> SourceAssumptions:
    if table.public:
        return SourceAssumptions(table, "public", relation)
    try:
        _uncast({*table.columns, *unit_keys(table, catalog)}, relation)
        base, columns = proved(relation, dialect)
        lost = [key for key in unit_keys(table, catalog) if _same(key, columns) is None]
        if lost and base is not relation:
            raise NotRowwise(
                f"its column {lost[0]}, which leads to the unit, is not a column of {base.name} as it lies there"
            )
        if table.partition is not None and not _parts_kept(relation, table.partition.column, columns, dialect):
            raise partitioned_view(table, relation, place(("tables", table.name, "source")))
    except NotRowwise as reason:
        if table.partition is not None and relation.kind in (VIEW, MATERIALIZED):
            raise partitioned_view(table, relation, place(("tables", table.name, "source"))) from None
        if table.rowwise and relation.kind != TEMPORARY:
            return SourceAssumptions(table, "declared", relation)
        edges = table.name not in catalog.tables
        path = ("graphs", table.name, "edges") if edges else ("tables", table.name, "source")
        raise not_rowwise(table, relation, str(reason), place(path), edges=edges) from None
    if base is relation:
        return SourceAssumptions(table, "stored", relation)
    return SourceAssumptions(table, "proved", relation, base, columns)


def _uncast(read: Set[str], relation: Relation) -> None:
    """Plans read each declared column as its declared type, by whatever cast its own type has."""
    names = {name.lower() for name in read}
    for column in relation.columns:
        if column.cast and column.name.lower() in names:
            raise NotRowwise(f"its column {column.name} is read by {column.cast}, which is not the engine's own")


def proved(relation: Relation, dialect: str) -> tuple[Relation, dict[str, str]]:
    """The stored relation whose rows these are, one for one or left out, and which columns are its own; or NotRowwise.

    Claim:   each row of the relation is a function of one row of the base, and no row of the base gives two.
    Proof:   by induction: a stored relation is its own base; a view over one that has the property has it (`rowwise`);
             a generated column is a function of its row (`own_row`); partitions and children are tables of the same
             kind.
    Assumes: the engine describes its relations as they are when they are read: see `Engine.hold`.
    """
    if relation.policies:
        raise NotRowwise(
            f"{_called(relation)}has row security, whose policies may depend on other rows and on the role"
        )
    if relation.kind in (VIEW, MATERIALIZED):
        outer = rowwise(relation, dialect)
        base, inner = proved(relation.reads[0], dialect)
        return base, {name: inner[own] for name, own in outer.columns.items() if own in inner}
    if relation.kind not in STORED:
        raise NotRowwise(WORDS.get(relation.kind, f"{_called(relation)}is a {relation.kind}"))
    for column in relation.columns:
        if column.generated:
            try:
                own_row(column.generated, relation, dialect)
            except NotRowwise as reason:
                raise NotRowwise(f"its generated column {column.name} is not proved: {reason}") from None
    for part in relation.reads:
        proved(part, dialect)
    return relation, {column.name: column.name for column in relation.columns if not column.generated}


def _parts_kept(relation: Relation, column: str, columns: Mapping[str, str], dialect: str) -> bool:
    """Whether a source has all rows of its base, in their partitions; else a unit's first one would be another here.

    A base has one budget under whichever view it is asked, and the terms that hold how units count name the column.
    """
    if relation.kind in STORED:
        return True
    while relation.kind not in STORED:
        if relation.kind == MATERIALIZED or not rowwise(relation, dialect).whole:
            return False
        (relation,) = relation.reads
    return (_same(column, columns) or "").lower() == column.lower()


def check_whole(catalog: Catalog, sources: Mapping[str, SourceAssumptions], place: Place) -> None:
    """Refuse growing data in a table that is itself a part of another, once the places of tables on a server are
    known.
    """
    for table in catalog.held:
        relation = sources[table.name].relation
        if table.partition is None or relation is None:
            continue
        own = {one.place for one in every(relation)}
        if any(there.rpartition("/")[2] not in own for there in table.source.among):
            raise partitioned_view(table, relation, place(("tables", table.name, "source")))


def _called(relation: Relation) -> str:
    return f"{relation.name} "


def _same(key: str, columns: Mapping[str, str]) -> str | None:
    """The base's own name of a column, however the declaration spells it."""
    alike = [own for name, own in columns.items() if name == key] or [
        o for n, o in columns.items() if n.lower() == key.lower()
    ]
    return alike[0] if alike else None


def unit_keys(table: Table, catalog: Catalog) -> list[str]:
    """The columns of a table that lead to the unit, its own and those that others lead through."""
    found = [] if table.unit is None or table.unit.column is None else [table.unit.column]
    for other in catalog.tables.values():
        found += [key for there, key in (() if other.unit is None else other.unit.steps) if there == table.name]
    return list(dict.fromkeys(found))


def with_facts(table: Table, found: SourceAssumptions, dialect: str) -> Table:
    """The table, its source known by the stored table whose rows a proved view has, and by whether it is collated."""
    relations = () if found.relation is None or dialect != "duckdb" else every(found.relation)
    collated = any(COLLATED.search(one.definition) for one in relations)
    return _with_base(replace(table, source=replace(table.source, collated=collated)), found)


def _with_base(table: Table, found: SourceAssumptions) -> Table:
    if found.rows != "proved" or found.base is None or table.unit is None:
        return table
    key = "" if table.unit.column is None else _same(table.unit.column, found.columns or {}) or ""
    return replace(table, source=replace(table.source, base=found.base.place or found.base.name, key=key))


def partitioned_view(table: Table, relation: Relation, where: str) -> CatalogError:
    return CatalogError(
        "partitioned_view",
        f"{relation.name} may lack rows of the table that it reads or belongs to, or have them in other partitions.",
        why="budgets of partitions hold side by side because each unit counts in one, whichever source it is read by.",
        fix=f"Name the stored table as `source` of {table.name}, or a view without WHERE with the partition column as "
        "it is.",
        place=where,
    )


def not_rowwise(table: Table, relation: Relation, reason: str, where: str, *, edges: bool) -> CatalogError:
    kind = "view" if relation.kind in (VIEW, MATERIALIZED) else relation.kind
    fix = "Name the stored table as `source`, or keep the rows in a table of their own: CREATE TABLE ... AS SELECT."
    if relation.kind != TEMPORARY and not edges:
        fix += " Where you know that each row is computed from rows of its own unit alone, write rowwise = true."
    return CatalogError(
        "not_rowwise",
        f"rows of table {table.name} may be computed from other people's rows: {reason}.",
        why=f"its source is a {kind}; a row that follows other rows moves with them, further than noise for one unit "
        "covers.",
        fix=fix,
        place=where,
    )
