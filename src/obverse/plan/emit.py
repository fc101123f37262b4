"""Plan to engine SQL: the only text that reaches an engine. Clamped, limited, on an integer grid, saturated at 2**62."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from obverse.catalog.model import Catalog, Table
from obverse.core.bounds import Categories
from obverse.core.errors import invariant
from obverse.core.types import Type
from obverse.plan import print as printing
from obverse.plan.dialects.duckdb import DIALECTS, DuckDB
from obverse.plan.expressions import Expr, Ref, refs
from obverse.plan.measure import WEIGHT_BITS, Measure, unit_range
from obverse.plan.nodes import Aggregate, Filter, Key, Relation, Scan, Shape, scan_of
from obverse.plan.rules.scan import column_facts

SATURATED = 2**62
CASE_MAX = 64  # keys printed as a CASE; longer lists are joined


def emit(root: Aggregate, catalog: Catalog, dialect: str) -> str:
    """The SQL text of the whole plan: one row per non-empty cell, its index `k` and one integer per measure."""
    writer = _Writer(root, catalog, DIALECTS[dialect])
    match root.child.child.shape:
        case Shape.ROW | Shape.ONE:
            return writer.added_rows()
        case Shape.TOTAL:
            return writer.added_totals()
        case Shape.WEIGHTED:
            return writer.added_weights()


@dataclass(frozen=True, slots=True)
class _Writer:
    root: Aggregate
    catalog: Catalog
    d: DuckDB

    @property
    def measures(self) -> tuple[Measure, ...]:
        return self.root.child.measures

    @property
    def keys(self) -> tuple[Key, ...]:
        return self.root.child.keys

    @property
    def rows_cap(self) -> int:
        return self.root.child.child.rows

    def added_rows(self) -> str:
        """One row per unit: add the terms up."""
        return self.cells(self.rows(), [f"t{i}" for i in range(len(self.measures))])

    def added_totals(self) -> str:
        """No groups: each unit's own totals, clamped, then added up."""
        kept = ", ".join(f"COUNT(t{i}) AS n{i}, SUM(t{i}) AS s{i}" for i in range(len(self.measures)))
        units = f"(SELECT u, {kept} FROM {self.rows()} AS r GROUP BY u)"
        return self.cells(units, [self.total(i, m) for i, m in enumerate(self.measures)])

    def total(self, i: int, measure: Measure) -> str:
        cap, term = measure.cap, measure.term
        if term.kind == "count" and not measure.paired:
            return f"LEAST(n{i}, {cap})"
        if not measure.paired:
            low, high = unit_range(measure, self.rows_cap)
            return f"CASE WHEN s{i} < {low} THEN {low} WHEN s{i} > {high} THEN {high} ELSE s{i} END"
        scale = 1 << measure.bits
        product = f"{self.d.wide(f's{i}')} * {self.rows_cap * scale}"
        over = self.d.whole_quotient(f"({product})", f"n{i}")
        return f"CASE WHEN n{i} <= {self.rows_cap} THEN {self.d.wide(f's{i}')} * {scale} ELSE {over} END"

    def added_weights(self) -> str:
        """Groups: integer weights per unit, so that its total weight stays under the cap, then added up."""
        count = len(self.measures)
        weights = ", ".join(f"{self.weight(i, m)} AS w{i}" for i, m in enumerate(self.measures))
        rows = self.rows()
        units = f"(SELECT u, {weights} FROM {rows} AS r GROUP BY u)"
        joined = f"(SELECT * FROM {rows} AS r JOIN {units} AS g USING (u))"
        shares = [self.share(i) for i in range(count)]
        return self.cells(joined, shares)

    def weight(self, i: int, measure: Measure) -> str:
        own = not measure.paired and measure.term.kind != "count"
        size = f"SUM(ABS(CAST(t{i} AS BIGINT)))" if own else f"COUNT(t{i})"
        cap = measure.cap if own else self.rows_cap
        whole = 1 << WEIGHT_BITS
        over = self.d.whole_quotient(self.d.wide(str(whole * cap)), size)
        return f"CASE WHEN COALESCE({size}, 0) <= {cap} THEN {whole} ELSE CAST({over} AS BIGINT) END"

    def share(self, i: int) -> str:
        spare = WEIGHT_BITS - self.measures[i].bits
        return self.d.whole_quotient(f"(CAST(t{i} AS BIGINT) * w{i})", str(1 << spare))

    def cells(self, source: str, values: list[str]) -> str:
        """Sum the values per cell; a clamp is a contraction, so saturating keeps every sensitivity."""
        sums = ", ".join(
            f"CAST(LEAST(GREATEST(COALESCE(SUM({v}), 0), -{SATURATED}), {SATURATED}) AS BIGINT) AS m{i}"
            for i, v in enumerate(values)
        )
        if not self.keys:
            return f"SELECT CAST(0 AS BIGINT) AS k, {sums} FROM {source} AS c"
        return f"SELECT k, {sums} FROM {source} AS c GROUP BY k"

    def rows(self) -> str:
        """Rows of unit, cell index and integer terms; rows outside the cells left out."""
        relation, shape = self.root.child.child.child, self.root.child.child.shape
        table = self.catalog.tables[scan_of(relation).table]
        columns = {c: f"c{i}" for i, c in enumerate(scan_of(relation).columns)}
        source = f"(SELECT * FROM {self.scanned(table, columns)} AS s{_where(conditions(relation, table, columns, self.d))})"
        if shape is Shape.ONE:
            merged = ", ".join(f"MIN({columns[c]}) AS {columns[c]}" for c in self.used()) or "1 AS one"
            source = f"(SELECT {merged} FROM {source} AS f GROUP BY u)"
        return self.projected(source, columns, with_unit=shape in (Shape.TOTAL, Shape.WEIGHTED))

    def scanned(self, table: Table, columns: Mapping[str, str]) -> str:
        """The table with every column that the plan reads enforced to its declaration; rows without a unit left out."""
        source, unit = unit_source(table, self.catalog, self.d)
        parts = [f"{unit} AS u"] if unit is not None else []
        bare = self.bare(table)
        parts += [f"{printing.enforced(table.columns[c], self.d)} AS {alias}" for c, alias in columns.items()]
        parts += [f"{printing.raw_column(table.columns[c], self.d)} AS r{columns[c]}" for c in bare]
        there = f" WHERE {unit} IS NOT NULL" if unit is not None else ""
        return f"(SELECT {', '.join(parts) or '1 AS one'} FROM {source}{there})"

    def bare(self, table: Table) -> tuple[str, ...]:
        """Columns that a term clamps by itself, so that it reads them as they lie."""
        if self.root.child.child.shape is Shape.ONE:
            return ()
        found = {
            m.term.expr.name for m in self.measures if clamps_itself(m.term.expr, m, table) and isinstance(m.term.expr, Ref)
        }
        return tuple(sorted(found))

    def projected(self, source: str, columns: Mapping[str, str], *, with_unit: bool) -> str:
        parts = ["u"] if with_unit else []
        if self.keys:
            values = ", ".join(f"{printing.expression(k.expr, columns, self.d)} AS v{n}" for n, k in enumerate(self.keys))
            source = f"(SELECT *, {values} FROM {source} AS v)"
        indices, joins = [], ""
        for n, key in enumerate(self.keys):
            index, joined = key_index(key, f"v{n}", f"d{n}", self.d)
            joins += joined
            indices.append((index, key))
        if indices:
            parts.append(f"{mixed_radix(indices)} AS k")
        table = self.catalog.tables[scan_of(self.root.child.child.child).table]
        parts += [f"{self.term(m, columns, self.bare(table))} AS t{i}" for i, m in enumerate(self.measures)]
        rows = f"(SELECT {', '.join(parts)} FROM {source} AS p{joins})"
        return f"(SELECT * FROM {rows} AS q WHERE k IS NOT NULL)" if indices else rows

    def term(self, measure: Measure, columns: Mapping[str, str], bare: tuple[str, ...]) -> str:
        expr = measure.term.expr
        if expr is None:
            return printing.term(measure.term, None, self.d, is_raw=False)
        raw = isinstance(expr, Ref) and expr.name in bare and measure.term.grid is not None
        if raw:
            assert isinstance(expr, Ref)
            return printing.term(measure.term, f"r{columns[expr.name]}", self.d, is_raw=True)
        return printing.term(measure.term, printing.expression(expr, columns, self.d), self.d, is_raw=False)

    def used(self) -> tuple[str, ...]:
        """Columns that keys and terms read, once rows are chosen."""
        exprs: list[Expr] = [key.expr for key in self.keys]
        exprs += [m.term.expr for m in self.measures if m.term.expr is not None]
        return tuple(sorted({r.name for expr in exprs for r in refs(expr)}))


def clamps_itself(expr: Expr | None, measure: Measure, table: Table) -> bool:
    """A bare nullable column with an interval: the term's own clamp does all that the scan would."""
    if not isinstance(expr, Ref) or measure.term.grid is None:
        return False
    column = table.columns[expr.name]
    same = column_facts(column).bounds == expr.facts.bounds
    return column.nullable and same and not isinstance(column.bounds, Categories)


def conditions(relation: Relation, table: Table, columns: Mapping[str, str], d: DuckDB) -> list[str]:
    """The filters, and the rows left out because a column that may not be NULL is outside its public list."""
    found = []
    while isinstance(relation, Filter):
        found.append(printing.expression(relation.predicate, columns, d))
        relation = relation.child
    assert isinstance(relation, Scan)
    for name in relation.columns:
        column = table.columns[name]
        if not column.nullable and isinstance(column.bounds, Categories):
            found.append(f"{columns[name]} IS NOT NULL")
    return found


def unit_source(table: Table, catalog: Catalog, d: DuckDB) -> tuple[str, str | None]:
    """FROM text and the unit, read as its declared type; longer paths join a map from key to unit.

    A row that reaches several units counts for each of them, within the cap of each, so that what one unit does to a key
    that others share takes nothing from them and gives nothing to them.
    """
    source = f"{d.identifier(table.name)} AS t"
    path = table.unit
    invariant(path is not None, "a private table has a unit")
    assert path is not None
    if path.column is None:
        return source, None
    own = printing.raw_column(table.columns[path.column], d)
    if len(path.steps) <= 1:
        return source, own
    through, key = path.steps[0]
    inner, unit = unit_source(catalog.tables[through], catalog, d)
    there = printing.raw_column(catalog.tables[through].columns[key], d)
    mapping = f"(SELECT DISTINCT {there} AS key, {unit} AS u FROM {inner} WHERE {unit} IS NOT NULL AND {there} IS NOT NULL)"
    return f"{source} JOIN {mapping} AS owner ON {own} = owner.key", "owner.u"


def key_index(key: Key, value: str, alias: str, d: DuckDB) -> tuple[str, str]:
    """The key's index in its domain (NULL: the row is left out), and a join where the domain is a long list."""
    kind, size = key.expr.facts.type, len(key.domain)
    null = f" WHEN {value} IS NULL THEN {size}" if key.null_cell else ""
    if not size:
        return f"(CASE{null} END)" if null else "CAST(NULL AS BIGINT)", ""
    if kind is Type.BOOLEAN:
        arms = " ".join(f"WHEN {value if v else f'NOT {value}'} THEN {i}" for i, v in enumerate(key.domain))
        return f"(CASE {arms}{null} END)", ""
    if kind in (Type.INTEGER, Type.DATE) and _consecutive(key):
        number = value if kind is Type.INTEGER else d.days(value)
        first = printing.key_number(key.domain[0])
        arm = f"WHEN {number} BETWEEN {first} AND {first + size - 1} THEN {number} - ({first})"
        return f"(CASE {arm}{null} END)", ""
    if size <= CASE_MAX:
        arms = " ".join(f"WHEN {value} = {d.literal(v, kind)} THEN {i}" for i, v in enumerate(key.domain))
        return f"(CASE {arms}{null} END)", ""
    rows = ", ".join(f"({d.literal(v, kind)}, {i})" for i, v in enumerate(key.domain))
    joined = f" LEFT JOIN (VALUES {rows}) AS {alias}(v, i) ON {alias}.v = {value}"
    return (f"(CASE{null} ELSE {alias}.i END)" if null else f"{alias}.i"), joined


def _consecutive(key: Key) -> bool:
    numbers = [printing.key_number(v) for v in key.domain]
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def mixed_radix(indices: list[tuple[str, Key]]) -> str:
    """One cell number from all keys' indices, the last key running fastest."""
    text = "CAST(0 AS BIGINT)"
    for index, key in indices:
        text = f"({text} * {key.cells} + {index})"
    return text


def _where(found: list[str]) -> str:
    return f" WHERE {' AND '.join(found)}" if found else ""
