"""The identity of a catalog: a hash of every declared fact that an answer depends on.

Claim:   catalogs of one identity declare the same, as far as answers depend on it: not budgets, analysts or the place
         on disk.
Proof:   canonical JSON of the unit, the accounting and every table and network, each fact under a tag of its own.
Assumes: each new declared fact is added here under a new tag, absent at its default, so that earlier identities hold;
         and `former.former_fingerprint` gives None where it is not at its default.
"""

from __future__ import annotations

from obverse.catalog.model import Catalog, Column, Limits, Network, Partition, Table
from obverse.core.canonical import Json, bounds_json, digest, fields, number_json
from obverse.core.units import KeyPath, PrivacyUnit


def fingerprint(catalog: Catalog) -> str:
    """The catalog's identity, as ledgers and prepared queries hold it."""
    return digest(declarations(catalog))


def declarations(catalog: Catalog) -> Json:
    """All declared facts as canonical JSON."""
    tables = sorted(catalog.tables.values(), key=lambda table: table.name)
    return ["catalog", fields(
        unit=None if catalog.unit is None else _unit(catalog.unit),
        accounting=catalog.accounting,
        tables=[table_json(table) for table in tables],
        networks=[_network(network) for network in catalog.graphs.values()],
    )]  # fmt: skip


def table_json(table: Table) -> Json:
    return fields(
        name=table.name,
        unit=None if table.unit is None else _path(table.unit),
        bounds=_limits(table.limits),
        size=table.size,
        partition=None if table.partition is None else _partition(table.partition),
        rowwise=table.rowwise,
        columns=[column_json(table.columns[name]) for name in sorted(table.columns)],
    )


def column_json(column: Column) -> Json:
    return fields(
        name=column.name,
        type=column.type.value,
        not_null=not column.nullable,
        bounds=bounds_json(column.bounds),
        grid=None if column.grid is None else number_json(column.grid),
        values_from=None if column.values_from is None else list(column.values_from),
        hidden=column.hidden,
        copies=column.copies,
        other=column.other,
    )


def _unit(unit: PrivacyUnit) -> Json:
    return fields(
        table=unit.table,
        key=unit.key,
        paths=[_path(path) for path in unit.paths],
        neighbours=unit.neighbours.value,
        first=unit.first,
        each=unit.each,
    )


def _path(path: KeyPath) -> Json:
    return fields(table=path.table, column=path.column, steps=[list(step) for step in path.steps])


def _limits(limits: Limits | str | None) -> Json:
    if limits is None or isinstance(limits, str):
        return limits
    sums = {name: number_json(cap) for name, cap in limits.sums.items()}
    return fields(rows=limits.rows, groups=limits.groups, sums=sums)


def _partition(partition: Partition) -> Json:
    return fields(
        column=partition.column, counts=partition.counts, through=partition.through, retired=partition.retired
    )


def _network(network: Network) -> Json:
    return fields(
        name=network.name,
        ends=list(network.ends),
        nodes=list(network.nodes),
        unit=network.unit,
        degree=network.degree,
        listed=network.listed,
    )
