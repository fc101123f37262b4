"""Plan to engine SQL: the only text that reaches an engine. Clamped, limited, on an integer grid, saturated at 2**62."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from obverse.catalog.model import Catalog, Table
from obverse.core.bounds import Categories
from obverse.core.types import Type
from obverse.plan import print as printing
from obverse.plan.dialects.duckdb import DIALECTS, DuckDB
from obverse.plan.expressions import Expr, Ref, refs
from obverse.plan.measure import WEIGHT_BITS, Measure, unit_range
from obverse.plan.nodes import Aggregate, Filter, Key, Relation, Shape, only_scan
from obverse.plan.rules.scan import column_facts
from obverse.plan.sources import Source, Sources, listed

SATURATED = 2**62
CASE_MAX = 64  # keys printed as a CASE; longer lists are joined


def emit(root: Aggregate, catalog: Catalog, dialect: str, key: str = "") -> str:
    """The SQL text of the whole plan: one row per non-empty cell, its index `k` and one integer per measure.

    `key` is drawn for each question: it chooses among rows and values of a unit that has more than its cap.
    """
    writer = _Writer(root, Sources(catalog, DIALECTS[dialect], key), DIALECTS[dialect])
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
    sources: Sources
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
        shares = [self.share(i) for i in range(count)]
        if only_scan(self.root.child.child.child) is not None:  # a table is read twice at less cost than it is kept
            units = f"(SELECT u, {weights} FROM {rows} AS r GROUP BY u)"
            return self.cells(f"(SELECT * FROM {rows} AS r JOIN {units} AS g USING (u))", shares)
        units = f"(SELECT u, {weights} FROM kept AS r GROUP BY u)"
        summed = self.cells(f"(SELECT * FROM kept AS r JOIN {units} AS g USING (u))", shares)
        return f"WITH kept AS MATERIALIZED {rows} {summed}"

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
        source = self.source(relation)
        text = source.sql
        if shape is Shape.ONE:
            merged = ", ".join(f"MIN({source.columns[c]}) AS {source.columns[c]}" for c in self.used()) or "1 AS one"
            text = f"(SELECT {merged} FROM {text} AS f GROUP BY u)"
        return self.projected(text, source.columns, with_unit=shape in (Shape.TOTAL, Shape.WEIGHTED))

    def source(self, relation: Relation) -> Source:
        """The relation's rows; a filtered table with the columns that terms clamp by themselves as they lie."""
        scan = only_scan(relation)
        bare = self.bare()
        if scan is None or not bare:
            return self.sources(relation)
        inner = self.sources.scanned(scan, bare)
        found = [printing.expression(p, inner.columns, self.d) for p in predicates(relation)]
        found += listed(self.sources.catalog.tables[scan.table], inner.columns)
        where = f" WHERE {' AND '.join(found)}" if found else ""
        return Source(f"(SELECT * FROM {inner.sql} AS s{where})", inner.columns, inner.keyed)

    def bare(self) -> tuple[str, ...]:
        """Columns of a filtered table that a term clamps by itself, so that it reads them as they lie."""
        limit = self.root.child.child
        scan = only_scan(limit.child)
        if limit.shape is Shape.ONE or scan is None:
            return ()
        table = self.sources.catalog.tables[scan.table]
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
        bare = self.bare()
        parts += [f"{self.term(m, columns, bare)} AS t{i}" for i, m in enumerate(self.measures)]
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


def predicates(relation: Relation) -> list[Expr]:
    """The filters over a table."""
    found = []
    while isinstance(relation, Filter):
        found.append(relation.predicate)
        relation = relation.child
    return found


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

