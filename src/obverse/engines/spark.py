"""Spark, in this process or behind Spark Connect: Parquet, catalog tables, and frames of pandas, Arrow or Spark."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from obverse.catalog.model import Catalog, Table
from obverse.core.engine import Batches, Columns, EngineLimits, PublicRows, Schema
from obverse.core.errors import CatalogError, InvariantBroken, invariant
from obverse.core.relation import Relation, StoredColumn, source_changed
from obverse.core.secret import Exact
from obverse.engines.batching import in_time, midnight
from obverse.engines.collations import of_spark
from obverse.engines.duckdb import PROBE_S, unreadable
from obverse.engines.failing import failure, public_failure
from obverse.engines.same_files import marks_of, unchanged
from obverse.engines.spark_batches import arrow_batches, check_question
from obverse.engines.spark_introspection import columns_of as described_columns
from obverse.engines.spark_introspection import described, frame_kind
from obverse.engines.spark_objects import arrow_table, is_spark_frame
from obverse.engines.spark_session import session_for
from obverse.engines.spark_work import marked, quiet, stop
from obverse.engines.stopping import stoppable

if TYPE_CHECKING:
    import pyarrow

NAMES = {"string": "VARCHAR", "int": "INTEGER", "timestamp_ntz": "TIMESTAMP", "timestamp": "TIMESTAMP WITH TIME ZONE"}
NOTED = "__CHAR_VARCHAR_TYPE_STRING"  # where Spark notes of which length a text is declared


class SparkEngine:
    """Declared tables as temporary views of a session of its own. Only what a question adds up is fetched."""

    name = "spark"
    dialect = "spark"
    limits = EngineLimits(sum_bits=126)

    def __init__(self, catalog: Catalog, objects: Mapping[str, Any] | None = None) -> None:
        self._objects = dict(objects or {})
        self._sources = {table.name: table.source for table in catalog.tables.values()}
        self._schemas: dict[str, Schema] = {}
        self._held: dict[str, Relation] = {}
        self._marks: object = None  # of the files, when they were last found to be described as they are held to
        self._shared: list[str] = []  # global views, by which frames of other sessions are seen
        self._url = catalog.engine.get("url")
        self._session = session_for(self._url, filter(is_spark_frame, self._objects.values()))
        try:
            with quiet():
                for table in catalog.tables.values():
                    self._declare(table)
        except BaseException:
            self.close()
            raise

    def schema(self, table: str) -> Schema:
        return self._schemas[table]

    def run(self, sql: str, *, timeout_s: float) -> Exact[Columns]:
        """Exact integers. Whatever goes wrong gives one constant text: an engine's own message may carry a value."""
        with self._unchanged():
            try:
                found = self._fetch(sql, timeout_s)
            except Exception as error:
                raise failure(error) from None
        return Exact(columns_of(found))

    def batches(self, sql: str, *, timeout_s: float) -> Batches:
        """As `run`, one partition after the other; that a file changed meanwhile is told after the last of them."""
        name = f"obverse-{uuid.uuid4().hex}"
        found: Iterator[pyarrow.Table] | None = None

        def work() -> Any:
            nonlocal found
            with quiet(), marked(self._session, name):
                found = found or arrow_batches(self._session, sql)
                return next(found, None)

        with self._unchanged():
            try:
                for table in in_time(work, lambda: stop(self._session, name), timeout_s):
                    yield Exact(columns_of(table))
            except InvariantBroken:
                raise
            except Exception as error:
                raise failure(error) from None
            finally:
                with suppress(Exception):  # nothing is left to stop where the server is gone
                    stop(self._session, name)

    def run_public(self, sql: str, *, timeout_s: float) -> PublicRows:
        try:
            found = self._fetch(sql, timeout_s)
        except Exception:
            raise public_failure() from None
        rows = zip(*(column.to_pylist() for column in found.columns))
        return PublicRows(tuple(found.column_names), tuple(rows))

    def readable(self, table: str, sql: str) -> bool:
        """Whether the probe reads the source whole; tells nothing else of what it holds."""
        try:
            self._fetch(sql, PROBE_S)
        except Exception:
            return False
        return True

    def known_by(self, table: str) -> tuple[str, str]:
        """What lies on a cluster is known by the names of both; Spark does not tell when its rows change."""
        source = self._sources[table]
        return f"spark:{self._url or 'local'}/{source.table or source.path}", ""

    def collations(self, table: str) -> Mapping[str, str]:
        described = self._session.sql(f"SELECT * FROM {quoted(table)} LIMIT 0").schema
        return of_spark({field.name: field.dataType.simpleString() for field in described.fields})

    def powers(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        """Forget the views. A local Spark goes on, for others may use it; it ends with the process."""
        try:
            for view in self._shared:
                self._session.catalog.dropGlobalTempView(view)
            for name in self._schemas:
                self._session.sql(f"DROP VIEW IF EXISTS {quoted(name)}")
            if self._url is not None:
                self._session.stop()
        except Exception:  # nothing is left to forget where the server is gone
            return

    def _fetch(self, sql: str, timeout_s: float) -> pyarrow.Table:
        check_question(sql)
        name = f"obverse-{uuid.uuid4().hex}"

        def work() -> Any:
            with quiet(), marked(self._session, name):
                return self._session.sql(sql).toArrow()

        found: pyarrow.Table = stoppable(work, lambda: stop(self._session, name), timeout_s)
        return found

    @contextmanager
    def _unchanged(self) -> Iterator[None]:
        """Files that stay what they are while they are read; and sources that are described as they are held to, before and
        after, since Spark has no transaction that would keep them so."""
        with unchanged(source.path for source in self._sources.values()):
            if self._redefined():
                raise failure()
            yield
            if self._redefined():
                raise failure()

    def relation(self, table: str) -> Relation:
        source = self._sources[table]
        try:
            with quiet():
                if source.kind == "table":
                    relation = ".".join(map(quoted, (source.table or "").split(".")))
                    return described(self._session, source.table or table, relation)
                if source.kind == "parquet":
                    return Relation(table, "file", described_columns(self._session, f"parquet.{quoted(str(source.path))}"))
        except Exception:
            raise source_changed(table) from None
        frame = self._objects.get(table)
        columns = tuple(StoredColumn(name, kind) for name, kind in self._schemas[table].items())
        return Relation(table, frame_kind(frame) if is_spark_frame(frame) else "frame", columns)

    def hold(self, relations: Mapping[str, Relation]) -> None:
        self._held, self._marks = dict(relations), None
        self.check_sources()

    def check_sources(self) -> None:
        if name := self._redefined():
            raise source_changed(name)

    def _redefined(self) -> str:
        """The first table that is described otherwise than it is held to; a file is looked at where it is another one."""
        files = {name: self._sources[name].path for name in self._held if self._url is None}
        marks = {name: marks_of(path) for name, path in files.items()}
        for name, relation in self._held.items():
            kept = self._sources[name].kind == "object" or (name in files and files[name] is not None and marks == self._marks)
            try:
                if not kept and self.relation(name) != relation:
                    return name
            except CatalogError:
                return name
        self._marks = marks
        return ""

    def _declare(self, table: Table) -> None:
        try:
            self._view(table)
            described = self._session.sql(f"SELECT * FROM {quoted(table.name)} LIMIT 0").schema
        except CatalogError:
            raise
        except Exception:
            raise unreadable(table) from None
        self._schemas[table.name] = {
            field.name: type_name(field.dataType.simpleString(), str(field.metadata.get(NOTED, "")))
            for field in described.fields
        }

    def _view(self, table: Table) -> None:
        source = table.source
        if source.kind == "object":
            self._take(table)
            return
        if source.kind == "table":
            invariant(source.table is not None, "a catalog table has a name")
            relation = ".".join(map(quoted, (source.table or "").split(".")))
        elif source.kind == "parquet":
            relation = f"parquet.{quoted(self._path(table))}"
        else:
            raise CatalogError(
                "bad_source",
                f"table {table.name} lies in a source of kind {source.kind}, which the engine spark does not read.",
                fix="name a Parquet file or folder, a table of its catalog, or hand over a frame from Python.",
            )
        self._session.sql(f"CREATE OR REPLACE TEMPORARY VIEW {quoted(table.name)} AS SELECT * FROM {relation}")

    def _take(self, table: Table) -> None:
        if table.name not in self._objects:
            raise CatalogError(
                "source_missing",
                f"table {table.name} is to be handed over from Python and was not.",
                fix=f"obverse.open(project, tables={{{table.name!r}: frame}})",
            )
        frame = self._objects[table.name]
        if not is_spark_frame(frame):
            self._session.createDataFrame(arrow_table(frame)).createOrReplaceTempView(quoted(table.name))
            return
        shared = f"obverse_{uuid.uuid4().hex}"
        frame.createOrReplaceGlobalTempView(shared)
        self._shared.append(shared)
        self._session.sql(f"CREATE OR REPLACE TEMPORARY VIEW {quoted(table.name)} AS SELECT * FROM global_temp.{shared}")

    def _path(self, table: Table) -> str:
        path = table.source.path
        invariant(path is not None, "a file has a path")
        assert path is not None
        if self._url is None and not path.exists():
            raise CatalogError(
                "source_missing", f"the source of table {table.name} is not there: {path.name}", fix="check `source`."
            )
        if any(sign in str(path) for sign in "*?[]{}\\"):
            raise CatalogError(
                "bad_source",
                f"the path of table {table.name} holds one of * ? [ ] {{ }} or a backslash",
                why="the engine would read it as a pattern of many files.",
                fix="move the project or the file to a path without them.",
            )
        return str(path)


def columns_of(found: pyarrow.Table) -> Columns:
    """Measures as 64-bit integers without NULL, values of discovered keys as Python's own."""
    columns = {}
    for name, column in zip(found.column_names, found.columns):
        if name.startswith("f"):
            columns[name] = key_values(column)
            continue
        invariant(str(column.type) == "int64" and column.null_count == 0, "measures are integers without NULL")
        columns[name] = column.to_numpy()
    return columns


def key_values(column: pyarrow.ChunkedArray) -> Any:
    """Values of a discovered key as Python's own, None for NULL; dates as their midnight, as DuckDB gives them."""
    import numpy as np

    found = np.empty(len(column), dtype=object)
    found[:] = [midnight(value) for value in column.to_pylist()]
    return found


def type_name(spark: str, noted: str = "") -> str:
    """A type of Spark by the name that other engines have for it.

    VARCHAR is text that Spark compares as it lies. One of a fixed length it fills up with blanks, and compares without them;
    one of a collation it may compare whatever the case of letters: these have names of their own, and are read otherwise.
    """
    if (noted or spark).startswith("char"):
        return "CHAR"
    if spark.startswith("string collate"):
        return "STRING"
    base = "string" if spark.startswith(("string", "varchar")) else spark
    return NAMES.get(base, base.upper())


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
