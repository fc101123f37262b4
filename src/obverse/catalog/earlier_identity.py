"""The former identity of a catalog: the text that versions up to 0.1 hashed, frozen.

Ledgers written by them hold its hash, so nothing here follows the classes that it prints: names and order are literals.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from obverse.catalog.model import Catalog, Column, Limits, Partition, Table
from obverse.core.bounds import Bounds, Categories, Interval, Unbounded
from obverse.core.types import Type
from obverse.core.units import KeyPath, Neighbours, PrivacyUnit

NEIGHBOURS = {
    Neighbours.ADD_REMOVE: "<Neighbours.ADD_REMOVE: 'add-remove'>",
    Neighbours.REPLACE: "<Neighbours.REPLACE: 'replace'>",
}


def former_fingerprint(catalog: Catalog) -> str | None:
    """The hash that earlier versions gave this catalog; None where it declares what they did not know."""
    if not all(_known(table) for table in catalog.tables.values()):
        return None
    tables = sorted(catalog.tables.values(), key=lambda table: table.name)
    graphs = [repr((g.name, g.ends, g.nodes, g.unit, g.degree, g.listed)) for g in catalog.graphs.values()]
    lines = [_unit(catalog.unit), catalog.accounting, *map(_table, tables), *graphs]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _known(table: Table) -> bool:
    """Whether an earlier version would have understood the declaration, and meant the same by it."""
    residual = any(column.other for column in table.columns.values())
    return not (table.rowwise or table.source.collated or residual)


def _tuple(parts: Iterable[str]) -> str:
    listed = list(parts)
    return f"({listed[0]},)" if len(listed) == 1 else f"({', '.join(listed)})"


def _table(table: Table) -> str:
    columns = ", ".join(_column(table.columns[name]) for name in sorted(table.columns))
    parts = [repr(table.name), _path(table.unit), _limits(table.limits), repr(table.size)]
    if table.partition is not None:
        parts.append(_partition(table.partition))
    return _tuple([*parts, f"[{columns}]"])


def _column(column: Column) -> str:
    return (
        f"Column(name={column.name!r}, type={_type(column.type)}, nullable={column.nullable!r}, "
        f"bounds={_bounds(column.bounds)}, grid={column.grid!r}, "
        f"values_from={column.values_from!r}, hidden={column.hidden!r}, copies={column.copies!r})"
    )


def _type(kind: Type) -> str:
    return f"<Type.{kind.value.upper()}: {kind.value!r}>"


def _bounds(bounds: Bounds) -> str:
    match bounds:
        case Interval(lo, hi):
            return f"Interval(lo={lo!r}, hi={hi!r})"
        case Categories(values):
            return f"Categories(values={values!r})"
        case Unbounded():
            return "Unbounded()"


def _limits(limits: Limits | str | None) -> str:
    if limits is None or isinstance(limits, str):
        return repr(limits)
    return f"Limits(rows={limits.rows!r}, groups={limits.groups!r}, sums={dict(limits.sums)!r})"


def _partition(partition: Partition) -> str:
    return f"Partition(column={partition.column!r}, counts={partition.counts!r}, through={partition.through!r})"


def _path(path: KeyPath | None) -> str:
    if path is None:
        return "None"
    return f"KeyPath(table={path.table!r}, column={path.column!r}, steps={path.steps!r})"


def _unit(unit: PrivacyUnit | None) -> str:
    if unit is None:
        return "None"
    paths = _tuple(map(_path, unit.paths)) if unit.paths else "()"
    return (
        f"PrivacyUnit(table={unit.table!r}, key={unit.key!r}, paths={paths}, neighbours={NEIGHBOURS[unit.neighbours]}, "
        f"first={unit.first!r}, each={unit.each!r})"
    )
