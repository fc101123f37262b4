"""One declared table: where its rows lie, how they reach the unit, what a unit may contribute.

The one protected entity of a project: where all unit paths end, and whether they agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from obverse.catalog.columns import Residual, column, day_of
from obverse.catalog.keys import suggestion
from obverse.catalog.locate import Document, KeyParts, Place
from obverse.catalog.model import AUTO, Limits, Partition, Source, Table
from obverse.core.errors import CatalogError
from obverse.core.numbers import exact
from obverse.core.units import KeyPath, Neighbours, PrivacyUnit

CSV_ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
PARQUET_ENDINGS = (".parquet", ".pq")
DUCKDB_ENDINGS = (".duckdb", ".ddb", ".db")
ROW = "row"
ARROW = "->"


def table(name: str, raw: dict[str, Any], root: Path, document: Document, engine: str, version: int) -> Table:
    """The table as declared; its keys and their kinds were checked before. `version`: that of the file."""
    path = ("tables", name)
    public = raw.get("public", False)
    for key in ("unit", "limits", "size", "partition", "purposes", "rowwise"):
        if public and key in raw:
            why = "Nobody is protected in a public table."
            fix = f"Remove {key!r} or public = true."
            raise document.error("conflict", (*path, key), f"a public table has no {key}", why=why, fix=fix)
    if not public and "unit" not in raw:
        why = "Privacy is promised to a unit: a person, a household, a row."
        fix = 'Add unit = "a_key_column", or unit = "row", or public = true if nothing here is about anybody.'
        raise document.error("missing_key", (*path, "unit"), f"who is protected in {name!r}?", why=why, fix=fix)
    declared: dict[str, dict[str, Any]] = raw.get("columns", {})
    residual = Residual(nullable=version >= 2, other=version >= 2 and not public)
    return Table(
        name=name,
        source=source_of(raw["source"], raw, root, path, document, engine),
        columns={key: column(key, one, (*path, "columns", key), document, residual) for key, one in declared.items()},
        unit=None if public else unit_path(name, raw["unit"], (*path, "unit"), document),
        limits=_limits(raw.get("limits")),
        size=raw.get("size"),
        partition=Partition(**raw["partition"]) if "partition" in raw else None,
        rows_about=raw.get("rows_about"),
        purposes=tuple(raw.get("purposes", ())),
        basis=raw.get("basis", ""),
        retain_until=day_of(raw.get("retain_until")),
        rowwise=raw.get("rowwise", False),
    )


def unit_path(table_name: str, text: str, path: KeyParts, document: Document) -> KeyPath:
    """`row`, `column`, or `column -> table.key -> table.key`."""
    first, *others = (part.strip() for part in text.split(ARROW))
    steps = tuple((there, key) for there, _, key in (other.partition(".") for other in others))
    if not first or not all(there and key for there, key in steps):
        fix = 'Write "row", "column", "column -> table.key", or more steps of the last kind.'
        raise document.error("bad_unit", path, "the unit cannot be read", fix=fix)
    if first == ROW and not steps:
        return KeyPath(table_name, None)
    return KeyPath(table_name, first, steps)


def unit_text(unit: KeyPath) -> str:
    """The unit as it would be written."""
    return f" {ARROW} ".join([unit.column or ROW, *(f"{table}.{key}" for table, key in unit.steps)])


def _limits(raw: dict[str, Any] | str | None) -> Limits | Literal["auto"] | None:
    if isinstance(raw, dict):
        sums = {name: exact(number) for name, number in sorted(raw.get("sums", {}).items())}
        return Limits(rows=raw["rows"], groups=raw.get("groups"), sums=sums)
    return None if raw is None else AUTO


def source_of(
    text: str, raw: dict[str, Any], root: Path, path: KeyParts, document: Document, engine: str, key: str = "source"
) -> Source:
    where = (*path, key)
    lower = text.lower()
    csv = lower.endswith(CSV_ENDINGS) and engine == "duckdb"
    for key in ("delimiter", "header"):
        if key in raw and not csv:
            raise document.error("conflict", (*path, key), f"{key!r} is for CSV files only", fix=f"Remove {key!r}.")
    if text == "python":
        return Source("object")
    if "://" in text or not text.isprintable() or any(sign in text for sign in "*?["):
        fix = "Name one local file."
        raise document.error("bad_source", where, "a source is one local file, not an address or a pattern", fix=fix)
    if engine == "postgres" or (engine == "spark" and not lower.endswith((*PARQUET_ENDINGS, "/"))):
        return Source("table", table=_on_server(text, where, document, engine))
    if csv:
        default = "\t" if lower.endswith((".tsv", ".tsv.gz")) else ","
        delimiter = _delimiter(raw.get("delimiter", default), (*path, "delimiter"), document)
        return Source("csv", root / text, delimiter=delimiter, header=raw.get("header", True))
    if lower.endswith(PARQUET_ENDINGS) or engine == "spark":
        return Source("parquet", root / text)
    file, colon, inside = text.rpartition(":")
    if colon and inside and file.lower().endswith(DUCKDB_ENDINGS):
        return Source("duckdb", root / file, table=inside)
    fix = 'Name a .csv, .tsv or .parquet file, "file.duckdb:table", or "python" for an object handed over in Python.'
    raise document.error("bad_source", where, "this kind of source is not known", fix=fix)


def _on_server(text: str, where: KeyParts, document: Document, engine: str) -> str:
    """A table with its schema, so that no search path decides which one is read."""
    parts = text.split(".")
    most = {"postgres": 2, "spark": 3}[engine]
    if not 2 <= len(parts) <= most or not all(parts):
        fix = 'Write "schema.table".'
        if engine == "spark":
            fix = (
                'Write "schema.table", "catalog.schema.table", or a file or folder of Parquet: "visits.parquet", '
                '"visits/".'
            )
        raise document.error("bad_source", where, "a table of the engine is named with its schema", fix=fix)
    return text


def _delimiter(text: str, path: KeyParts, document: Document) -> str:
    if len(text) != 1 or not (text == "\t" or " " <= text <= "~") or text in "\"'" or text.isalnum():
        fix = 'Write for example ";" or "\\t".'
        raise document.error("bad_source", path, "a delimiter is one sign of ASCII", fix=fix)
    return text


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
