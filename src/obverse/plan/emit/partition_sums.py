"""Partition sums: a keyed hash of the units and rows of each partition, added up by the engine in one pass.

Claim:   two readings of a partition have one sum only if each unit has as many rows in it, but for probability 2**-128.
Proof:   a row adds the first 128 bits of SHA-256 over a key and its unit: numbers that nobody without the key tells
         from uniform ones. Multisets that differ have sums that differ by a fixed combination of them, not all of its
         factors 0 modulo 2**128, which is 0 for one key in 2**128 (times the power of two that divides all factors).
         Words of 32 bits are summed as exact integers: DuckDB's HUGEINT, PostgreSQL's numeric and Spark's DECIMAL(30)
         hold the sums of 2**60 rows.
Assumes: whoever writes the rows does not have the key, which is made of the secret of the place where datasets are
         registered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from obverse.catalog.model import Catalog, Table
from obverse.core.engine import Engine
from obverse.core.errors import invariant
from obverse.core.ledger import Partitions
from obverse.core.types import Type, Value
from obverse.plan.dialects import DIALECTS
from obverse.plan.dialects.base import Dialect
from obverse.plan.emit import expressions as printing
from obverse.plan.emit.sources import unit_source
from obverse.plan.partitions import value_of
from obverse.plan.stability.derive import own_type

WORDS = 4
DIGITS = 8
MODULUS = 1 << 128
Sums = Mapping[int, int]  # by partition; one without rows is not among them


@dataclass(frozen=True, slots=True)
class PartitionSums:
    """What a reading found: the sums of everybody else, and those of the units that were named, by their hashes."""

    others: Sums = field(repr=False)
    named: Mapping[str, Sums] = field(repr=False)


def unit_hash(key: str, unit: Value) -> str:
    """What a unit adds, as the engine computes it; for units that are integers or texts, as those of people with
    rights are.
    """
    return hashlib.sha256(f"{key}:{unit}".encode()).hexdigest()[: WORDS * DIGITS]


def read_sums(
    engine: Engine,
    catalog: Catalog,
    table: Table,
    among: Partitions,
    key: str,
    named: Collection[str],
    timeout_s: float,
) -> PartitionSums:
    """The sums of the partitions of that range. Exact values of private rows: for the curator's acts alone."""
    sql = sums_sql(catalog, table, among, key, named, DIALECTS[engine.dialect])
    others: dict[int, int] = {}
    found: dict[str, dict[int, int]] = {}
    for place, who, *words in engine.run_public(sql, timeout_s=timeout_s).rows:
        total = sum(int(str(word)) << 32 * (WORDS - 1 - n) for n, word in enumerate(words))
        (found.setdefault(str(who), {}) if who else others)[int(str(place))] = total % MODULUS
    return PartitionSums(others, found)


def sums_sql(catalog: Catalog, table: Table, among: Partitions, key: str, named: Collection[str], d: Dialect) -> str:
    invariant(table.partition is not None, "only partitions are summed")
    assert table.partition is not None
    column = table.columns[table.partition.column]
    source, unit = unit_source(table, catalog, d)
    assert unit is not None
    at = printing.raw_column(column, d)
    first, last = (d.literal(value_of(end, column.type), column.type) for end in (among.first, among.last))
    place = d.days(at) if column.type is Type.DATE else at
    digest = d.sha256(f"({d.text(key + ':')} || {d.canonical(unit, own_type(catalog))})")
    rows = (
        f"SELECT {place} AS p, {digest} AS h FROM {source} WHERE {unit} IS NOT NULL AND {at} BETWEEN {first} AND {last}"
    )
    short = f"SELECT p, substr(h, 1, {WORDS * DIGITS}) AS h FROM ({rows}) AS r"
    members = ", ".join(d.text(one) for one in sorted(named))
    who = f"CASE WHEN h IN ({members}) THEN h ELSE '' END" if named else "''"
    split = ", ".join(f"{d.hex_word('h', 1 + n * DIGITS)} AS w{n}" for n in range(WORDS))
    parts = f"SELECT p, {who} AS who, {split} FROM ({short}) AS s"
    totals = ", ".join(d.cast(f"SUM(w{n})", Type.TEXT) for n in range(WORDS))
    return f"SELECT p, who, {totals} FROM ({parts}) AS q GROUP BY p, who"
