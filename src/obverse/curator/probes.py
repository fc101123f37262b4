"""Probes of what plans believe of a source and only rows can show: run by acts of the curator, and shown to nobody
else.

Claim:   what is found reaches the curator's terminal, and neither the ledger, nor a claim, nor a message to an analyst.
Proof:   `check --sniff` is the only caller; the record that it makes names the tables and no outcome.
Assumes: who runs the act may read the rows: decision 22.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from obverse.catalog.assumptions import What
from obverse.catalog.model import Catalog, Limits, Table
from obverse.core.bounds import Interval, Unbounded
from obverse.core.engine import Engine
from obverse.core.errors import Refused
from obverse.core.types import Type
from obverse.plan.dialects import DIALECTS
from obverse.plan.dialects.base import Dialect
from obverse.plan.emit.expressions import enforced, raw_column

PROBED_S = 3600.0
BYTES = {
    "duckdb": "encode({})",
    "postgres": "convert_to({}::text, 'UTF8')",
    "spark": "CAST(CAST({} AS STRING) AS BINARY)",
}
MERGED = "some units have several rows, which are merged into one; declare `limits` where they are to count"
SHARED = "some of its keys lead to several units; such a row counts once for each of them, within the cap of each"
SPELLED = "some of its texts are equal to the source and differ in their bytes; here they are different values"
CROWDED = "some units have more rows than `limits` says, and count less than in full"
CLIPPED = "some of its values lie outside the declared bounds, and are clipped to them"
UNLISTED = "some of its values are not among the declared ones"
MISSING = "some of its rows have no value, or none of its type, though it is declared to have one"
OUTSIDE = "some rows lie outside the declared partitions, and are in none of them"


@dataclass(frozen=True, slots=True)
class Probe:
    """One count of rows that contradict a belief; `told` is said where it is not zero."""

    what: What
    about: str
    sql: str
    told: str


def probes(catalog: Catalog, engine: Engine) -> Iterator[Probe]:
    """What can be probed of the private tables."""
    d = DIALECTS[engine.dialect]
    for table in catalog.tables.values():
        if not table.public:
            yield from _texts(table, engine.dialect, d)
            yield from _keys(table, catalog, d)
            yield from _partitions(table, d)
            yield from _values(table, d)


def contradicted(catalog: Catalog, engine: Engine) -> Iterator[Probe]:
    """Those that found something, for the curator alone; a probe that a source does not let through says nothing."""
    for probe in probes(catalog, engine):
        try:
            ((count,),) = engine.run_public(probe.sql, timeout_s=PROBED_S).rows
        except Refused:
            continue
        if count:
            yield probe


def _texts(table: Table, dialect: str, d: Dialect) -> Iterator[Probe]:
    for column in table.columns.values():
        if column.type is Type.TEXT:
            text = f"t.{d.identifier(column.name)}"
            counted = f"COUNT(DISTINCT {BYTES[dialect].format(text)}) - COUNT(DISTINCT {text})"
            yield Probe(
                "equality", f"{table.name}.{column.name}", f"SELECT {counted} FROM {d.relation(table)} AS t", SPELLED
            )


def _keys(table: Table, catalog: Catalog, d: Dialect) -> Iterator[Probe]:
    if table.unit is None or table.unit.column is None:
        return
    own = raw_column(table.columns[table.unit.column], d)
    most = 1 if table.limits is None else table.limits.rows if isinstance(table.limits, Limits) else None
    if most is not None and (table.limits is None or len(table.unit.steps) <= 1):  # on longer paths a key is no unit
        grouped = f"SELECT {own} AS k FROM {d.relation(table)} AS t WHERE {own} IS NOT NULL GROUP BY {own}"
        counted = f"SELECT COUNT(*) FROM ({grouped} HAVING COUNT(*) > {most}) AS r"
        yield Probe("keys", table.name, counted, MERGED if table.limits is None else CROWDED)
    for there, key in table.unit.steps[:-1]:
        other = catalog.tables[there]
        if other.unit is None or other.unit.column is None:
            continue
        pair = f"{raw_column(other.columns[key], d)} AS k, {raw_column(other.columns[other.unit.column], d)} AS u"
        pairs = f"SELECT DISTINCT {pair} FROM {d.relation(other)} AS t"
        grouped = f"SELECT k FROM ({pairs}) AS p WHERE k IS NOT NULL GROUP BY k HAVING COUNT(*) > 1"
        yield Probe("keys", f"{there}.{key}", f"SELECT COUNT(*) FROM ({grouped}) AS r", SHARED)


def _values(table: Table, d: Dialect) -> Iterator[Probe]:
    """What the plan reads otherwise than it lies there."""
    for column in table.columns.values():
        about = f"{table.name}.{column.name}"
        raw = raw_column(column, d)
        read = enforced(replace(column, nullable=True), d)
        counted = f"SELECT COUNT(*) FROM {d.relation(table)} AS t WHERE"
        if not isinstance(column.bounds, Unbounded):
            words = CLIPPED if isinstance(column.bounds, Interval) else UNLISTED
            yield Probe("form", about, f"{counted} {raw} IS NOT NULL AND ({read} IS NULL OR {read} <> {raw})", words)
        if not column.nullable:
            yield Probe("form", about, f"{counted} {raw} IS NULL", MISSING)


def _partitions(table: Table, d: Dialect) -> Iterator[Probe]:
    if table.partition is None:
        return
    column = table.columns[table.partition.column]
    if isinstance(column.bounds, Interval) and column.type is Type.INTEGER:
        value = raw_column(column, d)
        outside = f"{value} IS NULL OR {value} < {int(column.bounds.lo)} OR {value} > {int(column.bounds.hi)}"
        counted = f"SELECT COUNT(*) FROM {d.relation(table)} AS t WHERE {outside}"
        yield Probe("added", f"{table.name}.{column.name}", counted, OUTSIDE)
