"""How DuckDB describes the tables and views of a file: its columns, its views' own texts, and what those name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from obverse.catalog.model import Table
from obverse.core.relation import OTHER, TEMPORARY, VIEW, Relation, StoredColumn
from obverse.engines.csv_source import header_of

if TYPE_CHECKING:
    import duckdb

DEPTH_MAX = 32  # views of views; a definition that names itself ends here
TABLES = "SELECT schema_name, table_name, 'table', temporary, sql FROM duckdb_tables() WHERE database_name = $file"
VIEWS = "SELECT schema_name, view_name, 'view', temporary, sql FROM duckdb_views() WHERE database_name = $file AND NOT internal"
COLUMNS = """
SELECT schema_name, table_name, column_name, data_type, CASE WHEN is_generated THEN generation_expression END
FROM duckdb_columns() WHERE database_name = $file ORDER BY schema_name, table_name, column_index
"""
MACROS = "SELECT function_name FROM duckdb_functions() WHERE database_name = $file AND NOT internal ORDER BY 1"
TREE = "SELECT json_serialize_sql($text)"


def described(cursor: duckdb.DuckDBPyConnection, table: Table) -> Relation:
    """The source of a declared table; `cursor` has it as a view by the table's name."""
    source = table.source
    if source.kind == "duckdb":
        return DuckDBFile.opened(cursor, alias_of(table)).relation(source.table or table.name)
    if source.kind == "csv" and not table.public:  # read as text, column by column, by the names of its first line
        return Relation(table.name, "file", tuple(StoredColumn(name, "VARCHAR") for name in header_of(source)))
    name = '"' + table.name.replace('"', '""') + '"'
    columns = tuple(StoredColumn(row[0], row[1]) for row in cursor.execute(f"DESCRIBE {name}").fetchall())
    return Relation(table.name, "frame" if source.kind == "object" else "file", columns)


def alias_of(table: Table) -> str:
    """The name by which the file of a table is attached."""
    return f"file of {table.name}"


@dataclass(frozen=True, slots=True)
class DuckDBFile:
    """Everything that a file's catalog lists, by schema and name in lower case."""

    cursor: duckdb.DuckDBPyConnection
    listed: dict[tuple[str, str], tuple[str, str, str]]  # name as it is written, kind, text
    columns: dict[tuple[str, str], tuple[StoredColumn, ...]]
    macros: tuple[str, ...]

    @classmethod
    def opened(cls, cursor: duckdb.DuckDBPyConnection, alias: str) -> DuckDBFile:
        """The catalog of the file that is attached by this name; functions are looked up only where they may be used."""
        about = {"file": alias}
        listed = {}
        for schema, name, kind, temporary, text in cursor.execute(f"{TABLES} UNION ALL {VIEWS}", about).fetchall():
            listed[schema.lower(), name.lower()] = (f"{schema}.{name}", TEMPORARY if temporary else kind, text or "")
        columns: dict[tuple[str, str], list[StoredColumn]] = {}
        for schema, name, column, kind, generated in cursor.execute(COLUMNS, about).fetchall():
            columns.setdefault((schema.lower(), name.lower()), []).append(StoredColumn(column, kind, generated=generated or ""))
        computed = any(kind == VIEW for _, kind, _ in listed.values())
        computed = computed or any(one.generated for found in columns.values() for one in found)
        macros = cursor.execute(MACROS, about).fetchall() if computed else []
        return cls(cursor, listed, {k: tuple(v) for k, v in columns.items()}, tuple(name for (name,) in macros))

    def relation(self, name: str, depth: int = 0) -> Relation:
        """A table or view of the schema main, with all that it reads."""
        return self._relation(("main", name.lower()), depth)

    def _relation(self, place: tuple[str, str], depth: int) -> Relation:
        if place not in self.listed or depth > DEPTH_MAX:
            return Relation(".".join(place), OTHER, ())
        name, kind, text = self.listed[place]
        columns = self.columns.get(place, ())
        reads = tuple(self._relation(one, depth + 1) for one in self._read(text, place[0])) if kind == VIEW else ()
        custom = self.macros if kind == VIEW or any(column.generated for column in columns) else ()
        return Relation(name, kind, columns, text, reads, custom)

    def _read(self, text: str, own: str) -> list[tuple[str, str]]:
        """What a view's text names: the tables that DuckDB's own parser finds in it, each once. A name without its schema
        leads into the view's own schema; one that is not there might lead out of the file, and is none of its relations."""
        found = dict.fromkeys(named(self._tree(text)))
        return [("?" if catalog else (schema or own).lower(), table.lower()) for catalog, schema, table in found]

    def _tree(self, text: str) -> Any:
        """The parsed query of CREATE VIEW ... AS query; None where DuckDB's parser cannot say."""
        start = text.find(" AS ")
        while start >= 0:
            (said,) = self.cursor.execute(TREE, {"text": text[start + 4 :].rstrip("; ")}).fetchone() or ("{}",)
            found = json.loads(said)
            if not found.get("error", True):
                return found
            start = text.find(" AS ", start + 1)
        return None


def named(tree: Any) -> Iterator[tuple[str, str, str]]:
    """Catalog, schema and name of each table that a parsed query names, at whatever depth."""
    if isinstance(tree, dict):
        if tree.get("type") == "BASE_TABLE":
            yield str(tree.get("catalog_name", "")), str(tree.get("schema_name", "")), str(tree.get("table_name", ""))
        for value in tree.values():
            yield from named(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from named(value)
