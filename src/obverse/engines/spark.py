"""Spark, in this process or behind Spark Connect: Parquet, catalog tables, and frames of pandas, Arrow or Spark.

Data frames handed over from Python, as Spark can take them: Arrow tables of types that it knows.

Work of one thread in Spark: marked, so that another thread can stop it, and without a word in Spark's own logs.

Rows of Spark as Arrow tables, one partition after the other, so that neither the driver nor this process holds them
all.

How Spark describes what it reads: tables and views of its catalog, files, and frames, some of which are computed.
"""

from __future__ import annotations

import itertools
import logging
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from obverse.catalog.model import Catalog, Table
from obverse.core.engine import Batches, Columns, PublicRows, Schema
from obverse.core.errors import CatalogError, InvariantBroken, invariant
from obverse.core.relation import COMPUTED, FOREIGN, OTHER, VIEW, Relation, StoredColumn, source_changed
from obverse.core.secret import Exact
from obverse.engines.base import failure, in_time, marks_of, midnight, public_failure, stoppable, unchanged
from obverse.engines.compatibility import of_spark
from obverse.engines.duckdb import PROBE_S, unreadable
from obverse.engines.spark_session import session_for

if TYPE_CHECKING:
    import pyarrow


def is_spark_frame(frame: Any) -> bool:
    return hasattr(frame, "sparkSession") and hasattr(frame, "createOrReplaceGlobalTempView")


def arrow_table(frame: Any) -> pyarrow.Table:
    """The frame in Arrow, each column of a type that Spark has; columns of Python objects are read as text."""
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        table = frame
    elif hasattr(frame, "to_arrow"):
        table = frame.to_arrow()
    else:
        table = pa.table({str(name): _of_pandas(frame[name]) for name in frame.columns})
    columns = [known(column) for column in table.columns]
    return pa.table(columns, names=table.column_names)


def _of_pandas(column: Any) -> pyarrow.Array:
    import pyarrow as pa

    if column.dtype != object:
        return pa.Array.from_pandas(column)
    try:
        found = pa.Array.from_pandas(column)
        if not pa.types.is_floating(found.type) and not pa.types.is_integer(found.type):
            return found
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        pass
    return pa.array([None if value is None or value != value else str(value) for value in column], type=pa.string())


def known(column: pyarrow.ChunkedArray) -> pyarrow.ChunkedArray:
    """The column in a type that Spark has; one of no such type holds no value that could be read."""
    import pyarrow as pa
    import pyarrow.types as kinds

    kind = column.type
    if kinds.is_dictionary(kind):
        return known(column.cast(kind.value_type))
    if kinds.is_unsigned_integer(kind):
        return column.cast(pa.int64() if kind.bit_width < 64 else pa.decimal128(20, 0))
    if kinds.is_timestamp(kind):
        return column.cast(pa.timestamp("us", tz=None if kind.tz is None else "UTC"), safe=False)
    if kinds.is_large_string(kind) or kinds.is_string_view(kind):
        return column.cast(pa.string())
    if kinds.is_date64(kind):
        return column.cast(pa.date32())
    if kinds.is_float16(kind):
        return column.cast(pa.float32())
    plain = (
        kinds.is_integer,
        kinds.is_floating,
        kinds.is_boolean,
        kinds.is_string,
        kinds.is_date32,
        kinds.is_decimal128,
    )
    if any(test(kind) for test in plain):
        return column
    return pa.chunked_array([pa.nulls(len(column), pa.string())])


LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")  # write down what a query failed on, with the value
# write down all that goes to and fro, where an application logs that much
WIRE = ("py4j.clientserver", "py4j.java_gateway")
HERE = threading.local()


def is_remote(session: Any) -> bool:
    return not hasattr(session, "_jsparkSession")


@contextmanager
def marked(session: Any, name: str) -> Iterator[None]:
    """What this thread asks of Spark goes by a name."""
    if is_remote(session):
        session.addTag(name)
        try:
            yield
        finally:
            session.removeTag(name)
    else:  # a tag would not reach the thread that collects; what is set on the context does
        session.sparkContext.setJobGroup(name, "a question", interruptOnCancel=True)
        yield


def stop(session: Any, name: str) -> None:
    if is_remote(session):
        session.interruptTag(name)
    else:
        session.sparkContext.cancelJobGroup(name)


@contextmanager
def quiet() -> Iterator[None]:
    """Nothing of what goes wrong in this thread is written to the logs of pyspark."""
    from pyspark.logger import PySparkLogger

    for name in LOGGERS:
        PySparkLogger.getLogger(name).addFilter(silent)  # once, however often it is said
    for name in WIRE:
        logging.getLogger(name).addFilter(silent)
    HERE.quiet = True
    try:
        yield
    finally:
        HERE.quiet = False


def silent(record: logging.LogRecord) -> bool:
    return not getattr(HERE, "quiet", False)


LARGE = "spark.sql.execution.arrow.useLargeVarTypes"


def check_question(sql: str) -> None:
    invariant(sql.startswith(("SELECT ", "WITH ")), "only questions are run")


def arrow_batches(session: Any, sql: str) -> Iterator[pyarrow.Table]:
    """Tables with a row or more. What is asked of Spark goes out with the first of them."""
    check_question(sql)
    frame = session.sql(sql)
    found = _sent(frame) if is_remote(session) else _served(session, frame)
    return (table for table in found if table.num_rows)


def _sent(frame: Any) -> Iterator[pyarrow.Table]:
    """Spark Connect: tables as the server sends them, which is how the frame's own toLocalIterator reads them."""
    import pyarrow

    client = frame.sparkSession.client
    plan = frame._plan
    for sent in client.to_table_as_iterator(plan.to_proto(client), plan.observations):
        if isinstance(sent, pyarrow.Table):  # else the schema
            yield sent


def _served(session: Any, frame: Any) -> Iterator[pyarrow.Table]:
    """This process: a job for each partition when it is its turn; its own toLocalIterator does so with a pickle per
    row.
    """
    import pyarrow
    from pyspark.serializers import NoOpSerializer
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.util import _local_iterator_from_socket

    large = str(session.conf.get(LARGE, "false")).lower() == "true"
    schema = to_arrow_schema(frame.schema, timezone="UTC", prefers_large_types=large)
    served = session.sparkContext._jvm.PythonRDD.toLocalIteratorAndServe(frame._jdf.toArrowBatchRdd(), False)
    for message in _local_iterator_from_socket(served, NoOpSerializer()):
        batch = pyarrow.ipc.read_record_batch(pyarrow.py_buffer(message), schema)
        yield pyarrow.Table.from_batches([batch])


# whose rows are stored
PROVIDERS = {"parquet", "orc", "avro", "csv", "json", "text", "delta", "iceberg", "hudi", "hive"}
DETAILS = "# Detailed Table Information"
AFTER = {"", "# Partition Information", "# Partitioning", "# Clustering Information", "# Metadata Columns", DETAILS}
DEFINITION_KEYS = ("Type", "Provider", "Location", "View Text", "View Catalog and Namespace", "Collation")
LEAVES = {
    "LogicalRelation",
    "LogicalRDD",
    "LocalRelation",
    "DataSourceV2Relation",
    "Range",
    "ExternalRDD",
    "OneRowRelation",
}
FILES = {"HadoopFsRelation", "ParquetTable", "OrcTable", "AvroTable", "CSVTable", "JsonTable", "TextTable"}
LAKES = {"DeltaTableV2", "SparkTable", "HoodieInternalV2Table"}  # tables of files, by their formats
REMOTE_LEAVES = {"LocalRelation", "CachedLocalRelation", "ChunkedCachedLocalRelation", "DataSource", "Range"}
AROUND = {"SubqueryAlias", "View", "Project", "Filter"}
OWN_ROW = {
    "AttributeReference",
    "Alias",
    "Literal",
    "Cast",
    "And",
    "Or",
    "Not",
    "IsNull",
    "IsNotNull",
    "EqualTo",
    "EqualNullSafe",
    "LessThan",
    "LessThanOrEqual",
    "GreaterThan",
    "GreaterThanOrEqual",
    "In",
    "CaseWhen",
    "If",
    "Coalesce",
    "Add",
    "Subtract",
    "Multiply",
    "Divide",
    "Remainder",
    "UnaryMinus",
    "Abs",
    "Upper",
    "Lower",
    "Substring",
    "Year",
    "Month",
    "DayOfMonth",
}


def described(session: Any, name: str, relation: str) -> Relation:
    """A table or view of Spark's catalog, by its qualified and quoted name. By what the catalog says now: to read the
    table
    would give the columns that the session has kept of it since it read it first."""
    rows = [tuple(row) for row in session.sql(f"DESCRIBE TABLE EXTENDED {relation}").collect()]
    keys = [str(row[0]) for row in rows]
    details = {str(key): str(value) for key, value, *_ in (rows[keys.index(DETAILS) :] if DETAILS in keys else ())}
    definition = "\n".join(f"{key}: {details[key]}" for key in DEFINITION_KEYS if key in details)
    listed = itertools.takewhile(lambda row: str(row[0]) not in AFTER, rows)
    columns = tuple(StoredColumn(str(column), str(kind)) for column, kind, *_ in listed)
    return Relation(name, _kind(details), columns, definition)


def _kind(details: dict[str, str]) -> str:
    kind = details.get("Type", "")
    provider = details.get("Provider", "").lower()
    if "VIEW" in kind:
        return VIEW
    if kind not in ("MANAGED", "EXTERNAL", ""):
        return OTHER
    return "table" if provider in PROVIDERS else FOREIGN


def described_columns(session: Any, relation: str) -> tuple[StoredColumn, ...]:
    fields = session.sql(f"SELECT * FROM {relation} LIMIT 0").schema.fields
    return tuple(
        StoredColumn(one.name, one.dataType.simpleString(), str(dict(one.metadata or {}) or "")) for one in fields
    )


def frame_kind(frame: Any) -> str:
    """Whether a frame of Spark has rows as they lie, each for itself; one that is computed may read others for each."""
    try:
        session = frame.sparkSession
        plain = _remotely_plain(frame._plan) if is_remote(session) else _plain(frame._jdf.queryExecution().analyzed())
    except Exception:  # a version whose plans look otherwise: nothing is known of it
        plain = False
    return "frame" if plain else COMPUTED


def _plain(plan: Any) -> bool:
    name = str(plan.nodeName())
    children = list(_sequence(plan.children()))
    if name.partition(" ")[0] in LEAVES:
        return not children and _stored(plan, name)
    if name not in AROUND:
        return False
    reads = name in ("SubqueryAlias", "View") or all(_own_row(one) for one in _sequence(plan.expressions()))
    return reads and all(_plain(child) for child in children)


def _stored(plan: Any, name: str) -> bool:
    """Whether what a leaf reads lies in files: another source, such as a database or one in Python, may compute its
    rows.
    """
    if name.startswith("LogicalRelation"):
        return str(plan.relation().getClass().getSimpleName()) in FILES
    if name.startswith("DataSourceV2Relation"):
        return str(plan.table().getClass().getSimpleName()) in FILES | LAKES
    return True


def _own_row(expression: Any) -> bool:
    known = str(expression.getClass().getSimpleName()) in OWN_ROW
    return known and all(_own_row(one) for one in _sequence(expression.children()))


def _sequence(found: Any) -> Iterator[Any]:
    return (found.apply(n) for n in range(found.size()))


def _remotely_plain(plan: Any) -> bool:
    name = type(plan).__name__
    return name in REMOTE_LEAVES and (name != "DataSource" or str(plan._format or "parquet").lower() in PROVIDERS)


NAMES = {"string": "VARCHAR", "int": "INTEGER", "timestamp_ntz": "TIMESTAMP", "timestamp": "TIMESTAMP WITH TIME ZONE"}
NOTED = "__CHAR_VARCHAR_TYPE_STRING"  # where Spark notes of which length a text is declared


class SparkEngine:
    """Declared tables as temporary views of a session of its own. Only what a question adds up is fetched."""

    name = "spark"
    dialect = "spark"

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
        """Files that stay what they are while they are read; and sources that are described as they are held to, before
        and
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
                    return Relation(
                        table, "file", described_columns(self._session, f"parquet.{quoted(str(source.path))}")
                    )
        except Exception:
            raise source_changed(table) from None
        frame = self._objects.get(table)
        columns = tuple(StoredColumn(name, kind) for name, kind in self._schemas[table].items())
        return Relation(table, frame_kind(frame) if is_spark_frame(frame) else "frame", columns)

    def hold(self, relations: Mapping[str, Relation]) -> None:
        self._held = dict(relations)
        self._marks = None
        self.check_sources()

    def check_sources(self) -> None:
        if name := self._redefined():
            raise source_changed(name)

    def _redefined(self) -> str:
        """The first table that is described otherwise than it is held to; a file is looked at where it is another
        one.
        """
        files = {name: self._sources[name].path for name in self._held if self._url is None}
        marks = {name: marks_of(path) for name, path in files.items()}
        for name, relation in self._held.items():
            kept = self._sources[name].kind == "object" or (
                name in files and files[name] is not None and marks == self._marks
            )
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
        self._session.sql(
            f"CREATE OR REPLACE TEMPORARY VIEW {quoted(table.name)} AS SELECT * FROM global_temp.{shared}"
        )

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
    found = np.empty(len(column), dtype=object)
    found[:] = [midnight(value) for value in column.to_pylist()]
    return found


def type_name(spark: str, noted: str = "") -> str:
    """A type of Spark by the name that other engines have for it.

    VARCHAR is text that Spark compares as it lies. One of a fixed length it fills up with blanks, and compares without
    them; one of a collation it may compare whatever the case of letters: these have names of their own, and are read
    otherwise.
    """
    if (noted or spark).startswith("char"):
        return "CHAR"
    if spark.startswith("string collate"):
        return "STRING"
    base = "string" if spark.startswith(("string", "varchar")) else spark
    return NAMES.get(base, base.upper())


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
