"""The one protected entity of a project: where all unit paths end, and whether they agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from obverse.catalog.locate import Place
from obverse.catalog.model import Table
from obverse.catalog.shape import suggestion
from obverse.catalog.tables import unit_text
from obverse.core.errors import CatalogError
from obverse.core.units import KeyPath, Neighbours, PrivacyUnit


def protected(tables: Mapping[str, Table], neighbours: Neighbours) -> PrivacyUnit | None:
    """The entity that the first path ends at (`entity_problems` tells whether all do); None when all is public."""
    paths = tuple(table.unit for table in tables.values() if table.unit is not None)
    if not paths:
        return None
    table, key = end(paths[0])
    grown = {t.partition.counts: t.partition.column for t in tables.values() if t.partition is not None}
    ordered = tuple(sorted(paths, key=lambda path: path.table))
    return PrivacyUnit(table, key, ordered, neighbours, grown.get("first", ""), grown.get("each", ""))


def end(path: KeyPath) -> tuple[str, str | None]:
    """The table and key that a path ends at."""
    return path.steps[-1] if path.steps else (path.table, path.column)


def entity_problems(tables: Mapping[str, Table], place: Place) -> Iterator[CatalogError]:
    """Paths that lead nowhere; and if all lead somewhere, more than one protected entity."""
    paths = [table.unit for table in tables.values() if table.unit is not None]
    lost = [error for path in paths for error in _lost(path, tables, place)]
    yield from lost
    if lost or not paths:
        return
    first = end(paths[0])
    for path in paths[1:]:
        if end(path) != first or path.column is None:
            yield _second_entity(path, paths[0], place)


def _lost(path: KeyPath, tables: Mapping[str, Table], place: Place) -> Iterator[CatalogError]:
    """Why a path does not arrive; nothing when each step meets a declared private table that goes on the same way."""
    where = place(("tables", path.table, "unit"))
    visited = [path.table, *(table for table, _ in path.steps)]
    if len(set(visited)) < len(visited):
        message = f"the unit of {path.table!r} passes one table twice"
        yield CatalogError("bad_unit", message, fix="Let the path end where the unit is.", place=where)
        return
    for position, (name, key) in enumerate(path.steps):
        target = tables.get(name)
        if target is None or target.unit is None:
            known = [table.name for table in tables.values() if not table.public and table.name != path.table]
            state = "not declared" if target is None else "public"
            message = f"the unit of {path.table!r} goes to {name!r}, which is {state}"
            fix = f"{suggestion(name, known)} If the key ends here, write it alone: unit = {path.column!r}."
            yield CatalogError("bad_unit", message, fix=fix, place=where)
            return
        rest = path.steps[position + 1 :]
        arrives = target.unit.column is not None and target.unit.steps == rest
        if not arrives or (not rest and target.unit.column != key):
            yield _disagrees(path, position, target.unit, where)
            return


def _disagrees(path: KeyPath, position: int, target: KeyPath, where: str) -> CatalogError:
    name, key = path.steps[position]
    message = f"the unit of {path.table!r} goes through {name!r}, whose own unit is {unit_text(target)!r}"
    before = path.steps[:position]
    if target.column is None:
        fix = f"Give {name!r} a key column as its unit."
    elif not target.steps:
        meant = KeyPath(path.table, path.column, (*before, (name, target.column)))
        fix = f"Write unit = {unit_text(meant)!r}."
    else:
        meant = KeyPath(path.table, path.column, (*before, (name, key), *target.steps))
        fix = f"Write unit = {unit_text(meant)!r}."
    return CatalogError("bad_unit", message, why="All rows of a unit are found by one way.", fix=fix, place=where)


def _second_entity(path: KeyPath, first: KeyPath, place: Place) -> CatalogError:
    why = "A project protects one kind of unit; losses of different units do not add up to a statement."
    where = place(("tables", path.table, "unit"))
    table, key = end(first)
    if path.column is None or key is None:
        message = 'a project with unit = "row" has only one private table'
        fix = "Reach both tables' units over a key, or make two projects."
    else:
        message = f"{path.table!r} and {first.table!r} protect different units"
        column = path.column
        fix = f'Write unit = "{column} -> {table}.{key}" if it is the same entity, else make two projects.'
    return CatalogError("two_units", message, why=why, fix=fix, place=where)
