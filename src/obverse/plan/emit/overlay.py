"""Overlay: what people's rights change in the rows that are read, without a word written to their source.

Claim:   a relation read under an overlay is the relation of the database in which the units left out have no rows, and
         corrected rows have their corrected values. Every bound on stability and sensitivity stays as it is.
Proof:   rows are told by their unit, and each unit's rows are limited, merged and weighed by themselves: so leaving a
         unit out is removing it. A correction changes rows of one unit, before any declared fact is enforced on them.
         The overlay is fixed while a question runs, so two neighbouring databases are neighbours under it, too.
Assumes: neighbours are add-remove: under replace the number of units is public, and nobody can be left out of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from obverse.catalog.model import Table
from obverse.core.types import Type, Value
from obverse.plan.dialects.base import Dialect
from obverse.plan.emit import expressions as printing

AS_DECLARED = {
    Type.INTEGER: "BIGINT", Type.DOUBLE: "DOUBLE", Type.BOOLEAN: "BOOLEAN", Type.TEXT: "VARCHAR", Type.DATE: "DATE",
    Type.TIMESTAMP: "TIMESTAMP",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Correction:
    """Values of one unit's rows in a table, put right: of all its rows there, or of those that `where` tells."""

    table: str
    unit: Value = field(repr=False)
    values: tuple[tuple[str, Value], ...] = field(repr=False)
    where: tuple[tuple[str, Value], ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Overlay:
    """Units that are left out, and corrections, the later over the earlier."""

    left_out: frozenset[Value] = field(default=frozenset(), repr=False)
    corrections: tuple[Correction, ...] = field(default=(), repr=False)

    def without(self, source: str, unit: str | None, kind: Type, d: Dialect) -> tuple[str, list[str]]:
        """FROM text and what a row must satisfy, so that units left out have no rows in it: an anti-join."""
        if not self.left_out or unit is None:
            return source, []
        return f"{source} LEFT JOIN {self.gone(kind, d)} AS gone ON {unit} = gone.u", ["gone.u IS NULL"]

    def gone(self, kind: Type, d: Dialect) -> str:
        """A subquery of the units left out, in its column `u`."""
        return d.column_of(sorted(self.left_out, key=str), kind)

    def relation(self, table: Table, d: Dialect) -> str:
        """A declared table as the engine knows it; with corrected values, read as `table` below, where there are
        any.
        """
        found = [one for one in self.corrections if one.table == table.name]
        if not found:
            return d.relation(table)
        columns = [f"{_value(table, name, found, d)} AS {d.identifier(name)}" for name in table.columns]
        return f"(SELECT {', '.join(columns)} FROM {d.relation(table)} AS t)"

    def table(self, table: Table) -> Table:
        """The table whose columns have the types that they have in `relation`: corrected ones those that are
        declared.
        """
        found = {name for one in self.corrections if one.table == table.name for name, _ in one.values}
        if not found:
            return table
        read = {
            name: replace(c, stored=AS_DECLARED[c.type]) if name in found else c for name, c in table.columns.items()
        }
        return replace(table, columns=read)

    def corrected(self, table: Table, unit: Value, d: Dialect) -> dict[str, tuple[str, str]]:
        """By column that was put right in rows of this unit: whether a row of `t` is one of those, and its value in
        answers.
        """
        found = [one for one in self.corrections if (one.table, one.unit) == (table.name, unit)]
        texts = {}
        for name in sorted({name for one in found for name, _ in one.values}):
            of_it = [one for one in found if name in dict(one.values)]
            told = " OR ".join(f"({' AND '.join(conditions(table, one, d))})" for one in of_it)
            texts[name] = (f"CASE WHEN {told} THEN 1 ELSE 0 END", _value(table, name, found, d))
        return texts


def _value(table: Table, name: str, found: list[Correction], d: Dialect) -> str:
    column = table.columns[name]
    arms = []
    for one in reversed(found):
        for changed, value in one.values:
            if changed == name:
                arms.append(f"WHEN {' AND '.join(conditions(table, one, d))} THEN {d.literal(value, column.type)}")
    return f"CASE {' '.join(arms)} ELSE {printing.raw_column(column, d)} END" if arms else f"t.{d.identifier(name)}"


NOTHING = Overlay()


def conditions(table: Table, one: Correction, d: Dialect) -> Iterator[str]:
    """What tells the rows of a correction: their unit's key, and the values they have as they lie."""
    assert table.unit is not None
    assert table.unit.column is not None
    for name, value in ((table.unit.column, one.unit), *one.where):
        raw = printing.raw_column(table.columns[name], d)
        kind = table.columns[name].type
        yield f"{raw} IS NULL" if value is None else f"{raw} = {d.literal(value, kind)}"
