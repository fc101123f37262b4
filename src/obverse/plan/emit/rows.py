"""Rows ready to be added up: unit, cell index, discovered keys and integer terms, each printed from the typed plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from obverse.catalog.model import OTHER, Catalog, Column, Table
from obverse.core.bounds import Categories, Interval
from obverse.core.types import Type
from obverse.plan.dialects.base import Dialect
from obverse.plan.emit import expressions as printing
from obverse.plan.emit.sources import Source, Sources, listed, one_zero
from obverse.plan.expressions import Expr, Ref, domain, refs
from obverse.plan.measures import Measure
from obverse.plan.relation import Aggregate, Filter, Key, Relation, Shape, only_scan
from obverse.plan.stability.derive import facts_of
from obverse.plan.stability.scan import column_facts

CASE_MAX = 64  # keys printed as a CASE; longer lists are joined


@dataclass(frozen=True)
class Rows:
    """The rows below an aggregate. `text` is a subquery with u (where units are limited), k, v0 ..., t0 ..."""

    root: Aggregate
    sources: Sources
    d: Dialect

    @property
    def measures(self) -> tuple[Measure, ...]:
        return self.root.child.measures

    @property
    def shape(self) -> Shape:
        return self.root.child.child.shape

    @property
    def cap(self) -> int:
        return self.root.child.child.rows

    @property
    def reads(self) -> int:
        """How often the rows are read: weights take one reading more, before the rows are added up."""
        once = 1 if self.shape in (Shape.ROW, Shape.ONE) else 2
        if self.root.keyed and once == 1:
            return 1  # votes are counted beside the sums
        sums = 1 if self.shape is Shape.TOTAL else once
        others = [once if m.term.leaves is not None else 1 for m in self.measures if not m.summed]
        return sums * any(m.summed for m in self.measures) + sum(others) + bool(self.root.discovered)

    @cached_property
    def keeping(self) -> bool:
        """Rows are read again where that costs less than to keep them: twice at most, from a table that is no text
        file.
        """
        scan = only_scan(self.root.child.child.child)
        again = scan is not None and self.reads <= 2 and self.shape is not Shape.ONE
        if again and scan is not None:
            table = self.sources.catalog.tables[scan.table]
            again = table.source.kind != "csv" and (table.unit is None or len(table.unit.steps) <= 1)
        return not again and self.reads > 1

    @cached_property
    def late(self) -> bool:
        """Whether keys are looked up after adding up: once for each group, not for each row."""
        added = all(m.summed or m.term.leaves is not None for m in self.measures)
        return added and not self.root.discovered and not self.keeping and bool(self.looked_up)

    def text(self) -> str:
        """Rows of unit, cell (its index k, NULL outside the cells; or its values, where they are looked up late) and
        terms.
        """
        shape = self.shape
        source = self.source(self.root.child.child.child)
        text = source.sql
        if shape is Shape.ONE:
            merged = ", ".join(f"{self.least(c, source)} AS {source.columns[c]}" for c in self.used()) or "1 AS one"
            text = f"(SELECT {merged} FROM {text} AS f GROUP BY u)"
        return self.projected(text, source.columns, with_unit=shape in (Shape.TOTAL, Shape.WEIGHTED))

    def least(self, column: str, source: Source) -> str:
        """The least of a unit's values; of the two zeros of doubles, which are equal, one."""
        kind = facts_of(self.root.child.child.child, self.sources.catalog).columns[column].type
        found = self.d.extreme("MIN", source.columns[column], kind)
        return one_zero(found, self.d) if kind is Type.DOUBLE else found

    def source(self, relation: Relation) -> Source:
        """The relation's rows; a filtered table with the columns that terms clamp by themselves as they lie."""
        scan = only_scan(relation)
        bare = self.bare
        if scan is None or not bare:
            return self.sources(relation)
        inner = self.sources.scanned(scan, bare, frozenset(bare) - self.read_otherwise(relation))
        found = [printing.expression(p, inner.columns, self.d) for p in predicates(relation)]
        found += listed(self.sources.catalog.tables[scan.table], inner.columns, self.looked_up)
        return inner.where(found, self.sources.narrowed(relation, scan), self.d)

    @cached_property
    def bare(self) -> tuple[str, ...]:
        """Columns of a filtered table that a term clamps by itself, so that it reads them as they lie."""
        limit = self.root.child.child
        scan = only_scan(limit.child)
        if limit.shape is Shape.ONE or scan is None:
            return ()
        table = self.sources.catalog.tables[scan.table]
        found = {m.term.expr.name for m in self.measures if clamps_itself(m, table) and isinstance(m.term.expr, Ref)}
        return tuple(sorted(found | self.looked_up))

    def read_otherwise(self, relation: Relation) -> frozenset[str]:
        """Columns that filters, terms and keys read by their enforced value."""
        looked_up = self.looked_up
        scan = only_scan(relation)
        assert scan is not None
        table = self.sources.catalog.tables[scan.table]
        exprs = predicates(relation)
        exprs += [k.expr for k in self.root.child.keys if not (isinstance(k.expr, Ref) and k.expr.name in looked_up)]
        others = [m for m in self.measures if not clamps_itself(m, table)]
        exprs += [e for m in others for e in (m.term.expr, m.term.other) if e is not None]
        return frozenset(ref.name for expr in exprs for ref in refs(expr))

    @cached_property
    def looked_up(self) -> frozenset[str]:
        """Columns that are keys as they lie: their place in the public list is looked up once, and tells if they are
        in it.
        """
        return read_as_they_lie(self.root, self.sources.catalog)

    def projected(self, source: str, columns: Mapping[str, str], *, with_unit: bool) -> str:
        parts = ["u"] if with_unit else []
        public = self.root.public
        if public.keys:
            values = ", ".join(f"{self.key_value(k, columns)} AS v{n}" for n, k in enumerate(public.keys))
            source = f"(SELECT *, {values} FROM {source} AS v)"
        indices = []
        joins = ""
        for n, key in enumerate(public.keys):
            if self.as_it_lies(key):
                index, joined = (f"v{n}", "") if self.late else self.place(key, n)
            else:
                index, joined = key_index(key, f"v{n}", f"d{n}", self.d)
            joins += joined
            indices.append((index, key))
        parts += [f"{index} AS v{n}" for n, (index, _) in enumerate(indices)] if self.late else self.places(indices)
        parts += [f"{self.value(k, columns)} AS f{n}" for n, k in enumerate(self.root.discovered)]
        for i, measure in enumerate(self.measures):
            text, joined = self.term(measure, columns, f"e{i}")
            joins += joined
            parts.append(f"{text} AS t{i}")
        return f"(SELECT {', '.join(parts)} FROM {source} AS p{joins})"

    def as_it_lies(self, key: Key) -> bool:
        return isinstance(key.expr, Ref) and key.expr.name in self.looked_up

    def place(self, key: Key, n: int) -> tuple[str, str]:
        """The index of a key as it lies, and a join where it is looked up by one."""
        place, joined = self.d.place(f"v{n}", key.listed, Type.TEXT, f"d{n}")
        column = self.own_column(key)
        missing = str(len(key.listed))
        if column.other:
            other = str(key.listed.index(OTHER))
            rest = f"CASE WHEN v{n} IS NULL THEN {missing} ELSE {other} END" if key.null_cell else other
            return f"COALESCE({place}, {rest})", joined
        return f"COALESCE({place}, {missing})" if key.null_cell else place, joined

    def shares(self, key: Key) -> bool:
        """Whether several stored values of a key as it lies share one cell: those that are not declared."""
        return key.null_cell or self.own_column(key).other

    def own_column(self, key: Key) -> Column:
        """The column that is the key as it lies."""
        scan = only_scan(self.root.child.child.child)
        assert scan is not None
        assert isinstance(key.expr, Ref)
        return self.sources.catalog.tables[scan.table].columns[key.expr.name]

    def cell_of_values(self) -> tuple[str, str]:
        """The cell index from the values by which rows were added up, and the joins that it is looked up by."""
        keys = self.root.public.keys
        found = [self.place(key, n) if self.as_it_lies(key) else (f"v{n}", "") for n, key in enumerate(keys)]
        return mixed_radix([(place, key) for (place, _), key in zip(found, keys)]), "".join(
            joined for _, joined in found
        )

    def key_value(self, key: Key, columns: Mapping[str, str]) -> str:
        if self.as_it_lies(key):
            assert isinstance(key.expr, Ref)
            return f"r{columns[key.expr.name]}"
        return self.value(key, columns)

    def value(self, key: Key, columns: Mapping[str, str]) -> str:
        return printing.expression(key.expr, columns, self.d)

    def places(self, indices: list[tuple[str, Key]]) -> list[str]:
        """The cell of the row; of each grouping set, where there are several."""
        public = self.root.public
        if len(public.sets) == 1:
            return [f"{mixed_radix(indices)} AS k"] if indices else []
        found = []
        for n, (chosen, offset) in enumerate(zip(public.sets, public.offsets)):
            found.append(f"({offset} + {mixed_radix([indices[i] for i in chosen])}) AS k{n}")
        return found

    def term(self, measure: Measure, columns: Mapping[str, str], alias: str) -> tuple[str, str]:
        """The term's text, and a join where it is the place among a long list."""
        term = measure.term
        if term.kind in ("count", "sum", "squares"):
            return self.added(measure, columns), ""
        assert term.expr is not None or term.kind == "units"
        raw = self.raw(measure, columns)
        value = None if term.expr is None else raw or printing.expression(term.expr, columns, self.d)
        match term.kind:
            case "units":
                return ("1" if value is None else f"CASE WHEN {value} IS NULL THEN NULL ELSE 1 END"), ""
            case "distinct":
                return str(value), ""
            case "tree":
                return printing.leaf(term, str(value), self.d), ""
            case "choice":
                assert term.expr is not None
                place = Key("", term.expr, domain(term.expr.facts), null_cell=False)
                return key_index(place, str(value), alias, self.d)
            case _:
                assert term.other is not None
                return printing.product(term, str(value), printing.expression(term.other, columns, self.d), self.d), ""

    def added(self, measure: Measure, columns: Mapping[str, str]) -> str:
        expr = measure.term.expr
        if expr is None:
            return printing.term(measure.term, None, self.d, is_raw=False)
        raw = self.raw(measure, columns)
        return printing.term(
            measure.term, raw or printing.expression(expr, columns, self.d), self.d, is_raw=raw is not None
        )

    def raw(self, measure: Measure, columns: Mapping[str, str]) -> str | None:
        """The column as it lies, where the measure's term clamps it."""
        limit = self.root.child.child
        expr = measure.term.expr
        scan = only_scan(limit.child)
        if (
            limit.shape is Shape.ONE
            or scan is None
            or not clamps_itself(measure, self.sources.catalog.tables[scan.table])
        ):
            return None
        assert isinstance(expr, Ref)
        return f"r{columns[expr.name]}"

    def used(self) -> tuple[str, ...]:
        """Columns that keys and terms read, once rows are chosen."""
        exprs: list[Expr] = [key.expr for key in self.root.child.keys]
        exprs += [e for m in self.measures for e in (m.term.expr, m.term.other) if e is not None]
        return tuple(sorted({r.name for expr in exprs for r in refs(expr)}))


def read_as_they_lie(root: Aggregate, catalog: Catalog) -> frozenset[str]:
    """Columns that are keys as they lie. A row outside the list is in no cell, yet takes of what its unit may bring."""
    limit = root.child.child
    public = root.public
    scan = only_scan(limit.child)
    if limit.shape is Shape.ONE or scan is None or len(public.sets) > 1:
        return frozenset()
    columns = catalog.tables[scan.table].columns
    return frozenset(key.expr.name for key in public.keys if isinstance(key.expr, Ref) and own_list(key, columns))


def own_list(key: Key, columns: Mapping[str, Column]) -> bool:
    """A text column with a long public list, which is the key's own."""
    assert isinstance(key.expr, Ref)
    column = columns[key.expr.name]
    long = column.type is Type.TEXT and len(key.listed) > printing.FEW
    return long and column.bounds == Categories(key.listed) and column.nullable == key.null_cell


def clamps_itself(measure: Measure, table: Table) -> bool:
    """A bare number with an interval: the term's own clamp does all that the scan would."""
    expr = measure.term.expr
    if not isinstance(expr, Ref) or measure.term.kind not in ("count", "sum", "squares", "tree"):
        return False
    column = table.columns[expr.name]
    same = column_facts(column).bounds == expr.facts.bounds
    return column.type.numeric and same and isinstance(column.bounds, Interval)


def predicates(relation: Relation) -> list[Expr]:
    """The filters over a table."""
    found = []
    while isinstance(relation, Filter):
        found.append(relation.predicate)
        relation = relation.child
    return found


def key_index(key: Key, value: str, alias: str, d: Dialect) -> tuple[str, str]:
    """The key's index in its domain (NULL: the row is left out), and a join where the domain is a long list."""
    kind = key.expr.facts.type
    size = len(key.listed)
    null = f" WHEN {value} IS NULL THEN {size}" if key.null_cell else ""
    if not size:
        return f"(CASE{null} END)" if null else "CAST(NULL AS BIGINT)", ""
    if kind is Type.BOOLEAN:
        arms = " ".join(f"WHEN {value if v else f'NOT {value}'} THEN {i}" for i, v in enumerate(key.listed))
        return f"(CASE {arms}{null} END)", ""
    if kind in (Type.INTEGER, Type.DATE) and _consecutive(key):
        number = value if kind is Type.INTEGER else d.days(value)
        first = printing.key_number(key.listed[0])
        arm = f"WHEN {number} BETWEEN {first} AND {first + size - 1} THEN {number} - ({first})"
        return f"(CASE {arm}{null} END)", ""
    if size <= (printing.FEW if kind is Type.TEXT else CASE_MAX):
        arms = " ".join(f"WHEN {value} = {d.literal(v, kind)} THEN {i}" for i, v in enumerate(key.listed))
        return f"(CASE {arms}{null} END)", ""
    place, joined = d.place(value, key.listed, kind, alias)
    return (f"COALESCE({place}, CASE{null} END)" if null else place), joined


def _consecutive(key: Key) -> bool:
    numbers = [printing.key_number(v) for v in key.listed]
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def mixed_radix(indices: list[tuple[str, Key]]) -> str:
    """One cell number from all keys' indices, the last key running fastest."""
    text = "CAST(0 AS BIGINT)"
    for index, key in indices:
        text = f"({text} * {key.cells} + {index})"
    return text
