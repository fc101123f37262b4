"""DuckDB in this process: CSV, Parquet, DuckDB files, pandas, Polars and Arrow; the reference engine.

How DuckDB describes the tables and views of a file: its columns, its views' own texts, and what those name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from obverse.catalog.model import Catalog, Table
from obverse.core.engine import BATCH_ROWS, Batches, Columns, PublicRows, Schema
from obverse.core.errors import CatalogError, invariant
from obverse.core.relation import OTHER, TEMPORARY, VIEW, Relation, StoredColumn, source_changed
from obverse.core.secret import Exact
from obverse.engines.base import columns_of, failure, in_time, marks_of, public_failure, stoppable, unchanged
from obverse.engines.compatibility import of_duckdb
from obverse.engines.csv import header_of, private_csv, public_csv, records, text

if TYPE_CHECKING:
    import duckdb
    import duckdb as duckdb_module


DEPTH_MAX = 32  # views of views; a definition that names itself ends here
TABLES = "SELECT schema_name, table_name, 'table', temporary, sql FROM duckdb_tables() WHERE database_name = $file"
VIEWS = (
    "SELECT schema_name, view_name, 'view', temporary, sql FROM duckdb_views() WHERE database_name = $file AND "
    "NOT "
    "internal"
)
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
        """The catalog of the file that is attached by this name; functions are looked up only where they may be
        used.
        """
        about = {"file": alias}
        listed = {}
        for schema, name, kind, temporary, sql in cursor.execute(f"{TABLES} UNION ALL {VIEWS}", about).fetchall():
            listed[schema.lower(), name.lower()] = (f"{schema}.{name}", TEMPORARY if temporary else kind, sql or "")
        columns: dict[tuple[str, str], list[StoredColumn]] = {}
        for schema, name, column, kind, generated in cursor.execute(COLUMNS, about).fetchall():
            columns.setdefault((schema.lower(), name.lower()), []).append(
                StoredColumn(column, kind, generated=generated or "")
            )
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
        """What a view's query names: the tables that DuckDB's own parser finds in it, each once. A name without its
        schema
        leads into the view's own schema; one that is not there might lead out of the file, and is none of its
        relations."""
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


PROBE_S = 3600.0


class DuckDBEngine:
    """Declared tables as views over their files; no other file, no network, no setting can be reached afterwards."""

    name = "duckdb"
    dialect = "duckdb"

    def __init__(self, catalog: Catalog, objects: Mapping[str, Any] | None = None) -> None:
        import duckdb

        self._duckdb: duckdb_module = duckdb
        own = {name: catalog.engine[name] for name in ("memory_limit", "threads") if name in catalog.engine}
        if own:
            own["temp_directory"] = ""  # what does not fit is not written to disk
        self._longest_s = float(catalog.engine.get("limit_s", "inf"))
        self._connection = duckdb.connect(":memory:", config={"autoinstall_known_extensions": "false", **own})
        self._objects = dict(objects or {})
        self._schemas: dict[str, Schema] = {}
        self._tables = {table.name: table for table in catalog.held}
        self._held: dict[str, Relation] = {}
        self._marks: object = None  # of the files, when they were last found to be described as they are held to
        self._attached: dict[str, list[tuple[object, ...]]] = {}  # marks of the DuckDB files that are open
        for table in catalog.held:
            self._declare(table)
        self._lock(catalog)

    def schema(self, table: str) -> Schema:
        if table not in self._schemas:  # not while opening: a process for one question has no use for it
            self._schemas[table] = self._described(self._tables[table])
        return self._schemas[table]

    def run(self, sql: str, *, timeout_s: float) -> Exact[Columns]:
        """Exact integers. Whatever goes wrong gives one constant text: an engine's own message may carry a value."""
        with self._unchanged():
            found = self._fetch(sql, min(timeout_s, self._longest_s))
        columns = {}
        for name, values in found.items():
            if name.startswith("f"):
                columns[name] = key_values(values)
                continue
            invariant(values.dtype.kind == "i" and not np.ma.is_masked(values), "measures are integers without NULL")
            columns[name] = np.asarray(values)
        return Exact(columns)

    def batches(self, sql: str, *, timeout_s: float) -> Batches:
        """As `run`, with rows as DuckDB finds them; that a file changed meanwhile is told after the last of them."""
        cursor = self._connection.cursor()
        asked = False

        def some() -> Any:
            nonlocal asked
            if not asked:
                cursor.execute(sql)
                asked = True
            return cursor.fetchmany(BATCH_ROWS)

        with self._unchanged():
            try:
                for rows in in_time(some, cursor.interrupt, min(timeout_s, self._longest_s)):
                    yield Exact(columns_of([column[0] for column in cursor.description or ()], rows))
            except (self._duckdb.Error, RuntimeError, MemoryError, TimeoutError) as error:
                raise failure(error, self._duckdb.OutOfMemoryException) from None
            finally:
                cursor.close()

    def _fetch(self, sql: str, timeout_s: float) -> dict[str, Any]:
        cursor = self._connection.cursor()
        try:
            fetched: dict[str, Any] = stoppable(lambda: cursor.execute(sql).fetchnumpy(), cursor.interrupt, timeout_s)
            return fetched
        except (self._duckdb.Error, RuntimeError, MemoryError) as error:
            raise failure(error, self._duckdb.OutOfMemoryException) from None
        finally:
            cursor.close()

    @contextmanager
    def _unchanged(self) -> Iterator[None]:
        """Files that stay what they are while they are read, and are described as they are held to."""
        with unchanged(table.source.path for table in self._tables.values()):
            if self._redefined():
                raise failure()
            yield

    def relation(self, table: str) -> Relation:
        cursor = self._connection.cursor()
        try:
            return described(cursor, self._tables[table])
        except self._duckdb.Error:
            raise unreadable(self._tables[table]) from None
        finally:
            cursor.close()

    def hold(self, relations: Mapping[str, Relation]) -> None:
        self._held = dict(relations)
        self._marks = None
        self.check_sources()

    def check_sources(self) -> None:
        if name := self._redefined():
            raise source_changed(name)

    def _redefined(self) -> str:
        """The first table that is described otherwise than it is held to; looked at again only where a file is
        another one.
        """
        marks = [marks_of(self._tables[name].source.path) for name in self._held]
        if marks == self._marks:
            return ""
        for name, relation in self._held.items():
            try:
                if self._now(self._tables[name]) != relation:
                    return name
            except (CatalogError, self._duckdb.Error):
                return name
        self._marks = marks
        return ""

    def _now(self, table: Table) -> Relation:
        """A DuckDB file that was attached stays open, so another one in its place is opened to be described. One that
        was
        written over is not looked at: what is known of it leads to other places in it, and to close it would unlock
        it."""
        attached = self._attached.get(table.name)
        now = marks_of(table.source.path)
        if attached is None or now == attached:
            return self.relation(table.name)
        if now[0][:3] == attached[0][:3]:
            raise source_changed(table.name)
        return anew(table)

    def run_public(self, sql: str, *, timeout_s: float) -> PublicRows:
        if self._redefined():
            raise public_failure()
        cursor = self._connection.cursor()
        try:
            rows = stoppable(lambda: cursor.execute(sql).fetchall(), cursor.interrupt, min(timeout_s, self._longest_s))
            names = tuple(d[0] for d in cursor.description or ())
            return PublicRows(names, tuple(rows))
        except self._duckdb.Error:
            raise public_failure() from None
        finally:
            cursor.close()

    def readable(self, table: str, sql: str) -> bool:
        """Whether the source is well formed and the probe reads it whole; tells nothing else of what it holds."""
        source = self._tables[table].source
        cursor = self._connection.cursor()
        try:
            found = stoppable(lambda: cursor.execute(sql).fetchone(), cursor.interrupt, PROBE_S)
        except (self._duckdb.Error, RuntimeError, MemoryError):
            return False
        finally:
            cursor.close()
        return source.kind != "csv" or records(source) == found[0]

    def known_by(self, table: str) -> tuple[str, str]:
        return "", ""  # files are known by their content, objects by their project

    def collations(self, table: str) -> Mapping[str, str]:
        if self._tables[table].source.kind not in ("duckdb", "object"):
            return {}  # a text file and Parquet have none
        cursor = self._connection.cursor()
        try:
            return of_duckdb(cursor, quoted(table), self.schema(table))
        except self._duckdb.Error:
            raise unreadable(self._tables[table]) from None
        finally:
            cursor.close()

    def powers(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        self._connection.close()

    def _declare(self, table: Table) -> None:
        name = quoted(table.name)
        try:
            if table.source.kind == "object":
                if table.name not in self._objects:
                    raise CatalogError(
                        "source_missing",
                        f"table {table.name} is to be handed over from Python and was not.",
                        fix=f"obverse.open(project, tables={{{table.name!r}: frame}})",
                    )
                self._take(name, self._objects[table.name])
            else:
                self._connection.execute(f"CREATE VIEW {name} AS SELECT * FROM {self._relation(table)}")
        except self._duckdb.Error:
            raise unreadable(table) from None

    def _described(self, table: Table) -> Schema:
        cursor = self._connection.cursor()
        try:
            return {row[0]: row[1] for row in cursor.execute(f"DESCRIBE {quoted(table.name)}").fetchall()}
        except self._duckdb.Error:
            raise unreadable(table) from None
        finally:
            cursor.close()

    def _take(self, name: str, frame: Any) -> None:
        """Copy a data frame in. Columns of Python objects are read as text, whatever one of their values may be."""
        self._connection.execute("SET pandas_analyze_sample = 0")
        self._connection.register("handed over", frame)
        self._connection.execute(f'CREATE TABLE {name} AS SELECT * FROM "handed over"')
        self._connection.unregister("handed over")

    def _relation(self, table: Table) -> str:
        source = table.source
        invariant(source.path is not None, "a file has a path")
        assert source.path is not None
        if not source.path.is_file():
            raise CatalogError(
                "source_missing",
                f"the source of table {table.name} is not there: {source.path.name}",
                fix="check `source`.",
            )
        if any(sign in str(source.path) for sign in "*?["):
            raise CatalogError(
                "bad_source",
                f"the path of table {table.name} holds one of * ? [",
                why="the engine would read it as a pattern of many files.",
                fix="move the project or the file to a path without them.",
            )
        path = text(str(source.path))
        if source.kind == "parquet":
            return f"read_parquet({path}, can_have_nan = true)"
        if source.kind == "csv":
            return public_csv(source, path) if table.public else private_csv(source, path)
        alias = quoted(alias_of(table))
        self._attached[table.name] = marks_of(source.path)
        self._connection.execute(f"ATTACH {path} AS {alias} (READ_ONLY)")
        return f"{alias}.{quoted(source.table or table.name)}"

    def _lock(self, catalog: Catalog) -> None:
        """From here on only the declared files can be read, and nothing can be set."""
        paths = [str(t.source.path) for t in catalog.held if t.source.path is not None]
        listed = ", ".join(text(p) for p in paths)
        for statement in (
            "SET GLOBAL TimeZone = 'UTC'",  # otherwise a time with a zone is read by the clock of the machine
            # literals and texts that are computed are compared by their bytes
            "SET GLOBAL default_collation = 'binary'",
            # it makes a TRY_CAST over CSV drop the row, where NULL is meant
            "SET disabled_optimizers = 'type_pushdown'",
            f"SET allowed_paths = [{listed}]",
            "SET enable_external_access = false",
            "SET lock_configuration = true",
        ):
            self._connection.execute(statement)


def key_values(values: Any) -> Any:
    """Values of a discovered key as Python's own, None for NULL."""

    plain = values.astype("datetime64[us]") if values.dtype.kind == "M" else values
    found = np.ma.getdata(plain).astype(object)
    found[np.ma.getmaskarray(plain)] = None
    return found


def unreadable(table: Table) -> CatalogError:
    csv = "check `source`: UTF-8 text that begins with a line of names, no two of them the same."
    return CatalogError(
        "source_unreadable",
        f"the source of table {table.name} cannot be read as {table.source.kind}.",
        fix=csv if table.source.kind == "csv" else "check `source`.",
    )
