"""How DuckDB describes the tables and views of a file: its columns, its views' own texts, and what those name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from obverse.catalog.model import Table
from obverse.core.relation import OTHER, TEMPORARY, VIEW, Relation, StoredColumn
from obverse.engines.csv import header_of, text

if TYPE_CHECKING:
    import duckdb

DEPTH_MAX = 32  # views of views; a definition that names itself ends here
TABLES = "SELECT schema_name, table_name, 'table', temporary, sql FROM duckdb_tables() WHERE database_name = $file"
VIEWS = "SELECT schema_name, view_name, 'view', temporary, sql FROM duckdb_views() WHERE database_name = $file AND NOT internal"
COLUMNS = """
SELECT schema_name, table_name, column_name, data_type, CASE WHEN is_generated THEN generation_expression END
FROM duckdb_columns() WHERE database_name = $file ORDER BY schema_name, table_name, column_index
"""
MACROS = """
SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE function_type LIKE '%macro' AND EXISTS (
SELECT 1 FROM duckdb_functions() WHERE database_name = $file AND NOT internal)
"""
TREE = "SELECT json_serialize_sql($text)"


def described(cursor: duckdb.DuckDBPyConnection, table: Table) -> Relation:
    """The source of a declared table; `cursor` has it as a view by the table's name."""
    source = table.source
    if source.kind == "duckdb":
        return DuckDBFile.opened(cursor, alias_of(table)).relation(source.table or table.name)
    if source.kind == "csv" and not table.public:  # read as text, column by column, by the names of its first line
        return Relation(table.name, "file", tuple(StoredColumn(name, "VARCHAR") for name in header_of(source)))
    columns = tuple(StoredColumn(row[0], row[1]) for row in cursor.execute(f"DESCRIBE {quoted(table.name)}").fetchall())
    return Relation(table.name, "frame" if source.kind == "object" else "file", columns)


def anew(table: Table) -> Relation:
    """The source of a table as the DuckDB file at its path defines it now, where another one was attached."""
    import duckdb

    with duckdb.connect(":memory:", config={"autoinstall_known_extensions": "false", "threads": 1}) as connection:
        connection.execute(f"ATTACH {text(str(table.source.path))} AS {quoted(alias_of(table))} (READ_ONLY)")
        return described(connection.cursor(), table)


def alias_of(table: Table) -> str:
    """The name by which the file of a table is attached."""
    return f"file of {table.name}"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True, slots=True)
class DuckDBFile:
    """Everything that a file's catalog lists, by schema and name in lower case."""

    cursor: duckdb.DuckDBPyConnection
    listed: dict[tuple[str, str], tuple[str, str, str]]  # name as it is written, kind, text
    columns: dict[tuple[str, str], tuple[StoredColumn, ...]]
    macros: frozenset[str]  # of the file, and DuckDB's own, whose bodies may call those; none where the file has none

    @classmethod
    def opened(cls, cursor: duckdb.DuckDBPyConnection, alias: str) -> DuckDBFile:
        """The catalog of the file that is attached by this name; functions are looked up only where they may be used."""
        about = {"file": alias}
        listed = {}
        for schema, name, kind, temporary, sql in cursor.execute(f"{TABLES} UNION ALL {VIEWS}", about).fetchall():
            listed[schema.lower(), name.lower()] = (f"{schema}.{name}", TEMPORARY if temporary else kind, sql or "")
        columns: dict[tuple[str, str], list[StoredColumn]] = {}
        for schema, name, column, kind, generated in cursor.execute(COLUMNS, about).fetchall():
            columns.setdefault((schema.lower(), name.lower()), []).append(StoredColumn(column, kind, generated=generated or ""))
        computed = any(kind == VIEW for _, kind, _ in listed.values())
        computed = computed or any(one.generated for found in columns.values() for one in found)
        macros = cursor.execute(MACROS, about).fetchall() if computed else []
        return cls(cursor, listed, {k: tuple(v) for k, v in columns.items()}, frozenset(name for (name,) in macros))

    def relation(self, name: str, depth: int = 0) -> Relation:
        """A table or view of the schema main, with all that it reads."""
        return self._relation(("main", name.lower()), depth)

    def _relation(self, place: tuple[str, str], depth: int) -> Relation:
        if place not in self.listed or depth > DEPTH_MAX:
            return Relation(".".join(place), OTHER, ())
        name, kind, text = self.listed[place]
        columns = self.columns.get(place, ())
        if kind != VIEW:
            generated = [self._tree(f"SELECT {column.generated}") for column in columns if column.generated]
            return Relation(name, kind, columns, text, (), self._custom(generated))
        tree = self._query(text, (name, *(column.name for column in columns)))
        reads = tuple(self._relation(one, depth + 1) for one in self._read(tree, place[0]))
        return Relation(name, kind, columns, text, reads, self._custom([tree]))

    def _read(self, tree: Any, own: str) -> list[tuple[str, str]]:
        """What a view's query names: the tables that DuckDB's own parser finds in it, each once. A name without its schema
        leads into the view's own schema; one that is not there might lead out of the file, and is none of its relations."""
        found = dict.fromkeys(named(tree))
        return [("?" if catalog else (schema or own).lower(), table.lower()) for catalog, schema, table in found]

    def _custom(self, trees: list[Any]) -> tuple[str, ...]:
        """Macros that these use, by DuckDB's own parser: another one may take their names for something else."""
        if None in trees:
            return tuple(sorted(self.macros))
        return tuple(sorted(self.macros.intersection(name for tree in trees for name in called(tree))))

    def _query(self, text: str, names: tuple[str, ...]) -> Any:
        """The parsed query of CREATE VIEW ... AS query; None where a name might be taken for the beginning of one."""
        _, found, query = text.partition(" AS ")
        return None if not found or any(" AS " in name for name in names) else self._tree(query.rstrip("; "))

    def _tree(self, query: str) -> Any:
        (said,) = self.cursor.execute(TREE, {"text": query}).fetchone() or ("{}",)
        found = json.loads(said)
        return None if found.get("error", True) else found


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


def called(tree: Any) -> Iterator[str]:
    """Functions and operators that a parsed query calls, at whatever depth, in lower case."""
    if isinstance(tree, dict):
        if "function_name" in tree:
            yield str(tree["function_name"]).lower()
        for value in tree.values():
            yield from called(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from called(value)
