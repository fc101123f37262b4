"""DuckDB in this process: CSV, Parquet, DuckDB files, pandas, Polars and Arrow; the reference engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from obverse.catalog.model import Catalog, Table
from obverse.core.engine import BATCH_ROWS, Batches, Columns, EngineLimits, PublicRows, Schema
from obverse.core.errors import CatalogError, invariant
from obverse.core.relation import Relation, source_changed
from obverse.core.secret import Exact
from obverse.engines.batching import columns_of, in_time
from obverse.engines.collations import of_duckdb
from obverse.engines.csv import private_csv, public_csv, records, text
from obverse.engines.duckdb_introspection import alias_of, anew, described, quoted
from obverse.engines.failing import failure, public_failure
from obverse.engines.same_files import marks_of, unchanged
from obverse.engines.stopping import stoppable

if TYPE_CHECKING:
    import duckdb as duckdb_module

PROBE_S = 3600.0


class DuckDBEngine:
    """Declared tables as views over their files; no other file, no network, no setting can be reached afterwards."""

    name = "duckdb"
    dialect = "duckdb"
    limits = EngineLimits(sum_bits=127)

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
        import numpy as np

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
        cursor, asked = self._connection.cursor(), False

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
        self._held, self._marks = dict(relations), None
        self.check_sources()

    def check_sources(self) -> None:
        if name := self._redefined():
            raise source_changed(name)

    def _redefined(self) -> str:
        """The first table that is described otherwise than it is held to; looked at again only where a file is another one."""
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
        """A DuckDB file that was attached stays open, so another one in its place is opened to be described. One that was
        written over is not looked at: what is known of it leads to other places in it, and to close it would unlock it."""
        attached, now = self._attached.get(table.name), marks_of(table.source.path)
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
                "source_missing", f"the source of table {table.name} is not there: {source.path.name}", fix="check `source`."
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
            "SET GLOBAL default_collation = 'binary'",  # literals and texts that are computed are compared by their bytes
            "SET disabled_optimizers = 'type_pushdown'",  # it makes a TRY_CAST over CSV drop the row, where NULL is meant
            f"SET allowed_paths = [{listed}]",
            "SET enable_external_access = false",
            "SET lock_configuration = true",
        ):
            self._connection.execute(statement)


def key_values(values: Any) -> Any:
    """Values of a discovered key as Python's own, None for NULL."""

    import numpy as np

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
