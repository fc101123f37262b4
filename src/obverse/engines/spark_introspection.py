"""How Spark describes what it reads: tables and views of its catalog, files, and frames, some of which are computed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from obverse.core.relation import COMPUTED, FOREIGN, OTHER, VIEW, Relation, StoredColumn
from obverse.engines.spark_work import is_remote

PROVIDERS = {"parquet", "orc", "avro", "csv", "json", "text", "delta", "iceberg", "hudi", "hive"}  # whose rows are stored
DETAILS = "# Detailed Table Information"
AFTER = {"", "# Partition Information", "# Partitioning", "# Clustering Information", "# Metadata Columns", DETAILS}
NOTED = ("Type", "Provider", "Location", "View Text", "View Catalog and Namespace", "Collation")
LEAVES = {"LogicalRelation", "LogicalRDD", "LocalRelation", "DataSourceV2Relation", "Range", "ExternalRDD", "OneRowRelation"}
FILES = {"HadoopFsRelation", "ParquetTable", "OrcTable", "AvroTable", "CSVTable", "JsonTable", "TextTable"}
LAKES = {"DeltaTableV2", "SparkTable", "HoodieInternalV2Table"}  # tables of files, by their formats
REMOTE_LEAVES = {"LocalRelation", "CachedLocalRelation", "ChunkedCachedLocalRelation", "DataSource", "Range"}
AROUND = {"SubqueryAlias", "View", "Project", "Filter"}
OWN_ROW = {
    "AttributeReference", "Alias", "Literal", "Cast", "And", "Or", "Not", "IsNull", "IsNotNull", "EqualTo", "EqualNullSafe",
    "LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual", "In", "CaseWhen", "If", "Coalesce", "Add", "Subtract",
    "Multiply", "Divide", "Remainder", "UnaryMinus", "Abs", "Upper", "Lower", "Substring", "Year", "Month", "DayOfMonth",
}  # fmt: skip


def described(session: Any, name: str, relation: str) -> Relation:
    """A table or view of Spark's catalog, by its qualified and quoted name. By what the catalog says now: to read the table
    would give the columns that the session has kept of it since it read it first."""
    rows = [tuple(row) for row in session.sql(f"DESCRIBE TABLE EXTENDED {relation}").collect()]
    keys = [str(row[0]) for row in rows]
    details = {str(key): str(value) for key, value, *_ in (rows[keys.index(DETAILS) :] if DETAILS in keys else ())}
    definition = "\n".join(f"{key}: {details[key]}" for key in NOTED if key in details)
    listed = itertools.takewhile(lambda row: str(row[0]) not in AFTER, rows)
    columns = tuple(StoredColumn(str(column), str(kind)) for column, kind, *_ in listed)
    return Relation(name, _kind(details), columns, definition)


def _kind(details: dict[str, str]) -> str:
    kind, provider = details.get("Type", ""), details.get("Provider", "").lower()
    if "VIEW" in kind:
        return VIEW
    if kind not in ("MANAGED", "EXTERNAL", ""):
        return OTHER
    return "table" if provider in PROVIDERS else FOREIGN


def columns_of(session: Any, relation: str) -> tuple[StoredColumn, ...]:
    fields = session.sql(f"SELECT * FROM {relation} LIMIT 0").schema.fields
    return tuple(StoredColumn(one.name, one.dataType.simpleString(), str(dict(one.metadata or {}) or "")) for one in fields)


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
    """Whether what a leaf reads lies in files: another source, such as a database or one in Python, may compute its rows."""
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
