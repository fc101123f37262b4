"""The conformance suite of engines: the emitted SQL gives what the plan means, in exact integers, and says nothing
else.

What a plan means is computed here row by row in Python, from the functions' references and the definition of each
shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from obverse.catalog.model import OTHER, Catalog, Column, Table
from obverse.core.bounds import Categories, Interval
from obverse.core.engine import Engine
from obverse.core.errors import Failed, InvariantBroken
from obverse.core.types import Type, Value
from obverse.plan.emit.emit import emit
from obverse.plan.emit.rows import read_as_they_lie
from obverse.plan.expressions import from_number, refs
from obverse.plan.measures import WEIGHT_BITS, Measure, bits_under, unit_range
from obverse.plan.pricing import Plan, allocate, with_mechanisms
from obverse.plan.relation import Filter, Key, Relation, Shape, only_scan
from obverse.plan.release.noise import randomize
from obverse.plan.sensitivity import MeasuredPlan
from obverse.plan.stability.joint import value_on
from obverse.testing.conformance.aggregate import term_of
from obverse.testing.neighbours import Row, Tables
from obverse.testing.noiseless import Identity, SeededRng

# the engine over these tables, and the catalog as it serves it
Make = Callable[[Catalog, Tables], tuple[Engine, Catalog]]
Kept = list[tuple[Value, dict[str, Value]]]  # unit and enforced columns
Cells = dict[int | None, list[tuple[Value, int]]]  # cell to (unit, term) of its rows; None: outside all cells


def check_engine(make: Make, catalog: Catalog, tables: Tables, plans: Iterable[tuple[str, MeasuredPlan]]) -> None:
    """Compare the engine with the meaning of every plan on one database; AssertionError names the first that
    differs.
    """
    target, served = make(catalog, tables)
    try:
        for name, plan in plans:
            sql = emit(plan.root, served, target.dialect)
            found = exactly(target, sql, allocate(plan, Fraction(1), Fraction(0), "pure"))
            wanted = meant(plan, catalog, tables)
            if found != wanted:
                raise AssertionError(f"{target.name}: {name}: the engine gives {found}, the plan means {wanted}")
    finally:
        target.close()


def check_silence(target: Engine, *, raising: str, slow: str, inexact: str, secret: str) -> None:
    """An error, a timeout or a double gives one constant text, without the value that caused it."""
    said = set()
    whole: Callable[..., object] = target.run
    for way in (whole, lambda sql, timeout_s: list(target.batches(sql, timeout_s=timeout_s))):
        for sql, timeout_s in ((raising, 60.0), (slow, 0.2)):
            try:
                way(sql, timeout_s=timeout_s)
                said.add("no failure at all")
            except Failed as failed:
                said.add(str(failed))
        try:
            way(inexact, timeout_s=60.0)
        except InvariantBroken:
            continue
        raise AssertionError(f"{target.name}: a measure that is no integer was let through")
    if len(said) != 1 or secret in said.pop():
        raise AssertionError(f"{target.name}: failures must be one constant text")


def exactly(target: Engine, sql: str, costed: Plan) -> list[list[int]]:
    """The exact measures over all cells, by the one function that may open the box: with no noise added."""
    bare = with_mechanisms(costed, tuple(Identity() for _ in costed.mechanisms))
    released = randomize(target.run(sql, timeout_s=60.0), bare, SeededRng(0))
    return [released.sums[i].tolist() for i in range(len(costed.mechanisms))]


def meant(plan: MeasuredPlan, catalog: Catalog, tables: Tables) -> list[list[int]]:
    """The measures of a plan over all cells, computed row by row."""
    limited = plan
    project = limited.root.child
    limit = limited.root.child.child
    rows = kept_rows(limit.child, catalog, tables, read_as_they_lie(limited.root, catalog))
    if limit.shape is Shape.ONE:
        used = {r.name for expr in _expressions(project.keys, project.measures) for r in refs(expr)}
        rows = _merged(rows, used)
    found = []
    for measure in project.measures:
        cells: Cells = {}
        for unit, row in rows:
            place = _place(project.keys, row)
            expr = measure.term.expr
            term = 1 if expr is None else term_of(measure.term, value_on(expr, row))
            if term is not None:
                cells.setdefault(place, []).append((unit, term))
        vector = [0] * limited.setting.cells
        for place, total in _limited(cells, measure, limit.shape, limit.rows).items():
            if place is not None:
                vector[place] = total
        found.append(vector)
    return found


def kept_rows(relation: Relation, catalog: Catalog, tables: Tables, keys: frozenset[str]) -> Kept:
    """Rows with a unit that pass the filters, every column as declared; those outside a key's long list are in no
    cell.
    """
    scan = only_scan(relation)
    assert scan is not None, "the model reads one table"
    table = catalog.tables[scan.table]
    predicates = []
    while isinstance(relation, Filter):
        predicates.append(relation.predicate)
        relation = relation.child
    kept: Kept = []
    for number, raw in enumerate(tables[table.name]):
        row = {name: enforced(table.columns[name], raw.get(name)) for name in scan.columns}
        listed = [n for n in row if table.columns[n].drops]
        listed = [name for name in listed if name not in keys]
        if any(row[name] is None for name in listed) or not all(value_on(p, row) is True for p in predicates):
            continue
        units = [number] if table.row_is_unit else owners(table, raw, catalog, tables)
        kept += [(unit, row) for unit in units]
    return kept


def owners(table: Table, raw: Row, catalog: Catalog, tables: Tables) -> Sequence[Value]:
    """The units that a row reaches by its table's path, each once."""
    path = table.unit
    assert path is not None
    assert path.column is not None
    own = raw.get(path.column)
    if own is None or len(path.steps) <= 1:
        return [] if own is None else [own]
    there, key = path.steps[0]
    reached = [
        u for row in tables[there] if row.get(key) == own for u in owners(catalog.tables[there], row, catalog, tables)
    ]
    return list(dict.fromkeys(reached))


def enforced(column: Column, raw: Value) -> Value:
    """A stored value of the declared type as its declaration allows it."""
    if isinstance(raw, float) and (raw != raw or raw in (float("inf"), float("-inf"))):
        raw = None
    match column.bounds:
        case Interval(lo, hi):
            low = from_number(lo, column.type)
            high = from_number(hi, column.type)
            if raw is None:
                return None if column.nullable else low
            return min(max(raw, low), high)  # type: ignore[type-var]
        case Categories(values):
            rest = OTHER if column.other and (raw is not None or not column.nullable) else None
            return raw if raw in values else rest
        case _:
            default: dict[Type, Value] = {Type.INTEGER: 0, Type.DOUBLE: 0.0, Type.TEXT: "", Type.BOOLEAN: False}
            return default.get(column.type) if raw is None and not column.nullable else raw


def _expressions(keys: Sequence[Key], measures: Sequence[Measure]) -> list[Any]:
    return [key.expr for key in keys] + [m.term.expr for m in measures if m.term.expr is not None]


def _merged(rows: Kept, used: Iterable[str]) -> Kept:
    """One row per unit: of each column the least value that is not NULL."""
    units: dict[Value, list[dict[str, Value]]] = {}
    for unit, row in rows:
        units.setdefault(unit, []).append(row)
    merged: Kept = []
    for unit, several in units.items():
        columns = {name: [row[name] for row in several if row[name] is not None] for name in used}
        merged.append((unit, {name: min(values) if values else None for name, values in columns.items()}))  # type: ignore[type-var]
    return merged


def _place(keys: Sequence[Key], row: Mapping[str, Value]) -> int | None:
    place = 0
    for key in keys:
        value = value_on(key.expr, dict(row))
        if value is None:
            index = len(key.listed) if key.null_cell else -1
        else:
            index = key.listed.index(value) if value in key.listed else -1
        if index < 0:
            return None
        place = place * key.cells + index
    return place


def _limited(cells: Cells, measure: Measure, shape: Shape, rows: int) -> dict[int | None, int]:
    """Totals of the cells, each unit's share bounded as the shape says."""
    units: dict[Value, list[int]] = {}
    for place in cells.values():
        for unit, term in place:
            units.setdefault(unit, []).append(term)
    match shape:
        case Shape.ROW | Shape.ONE:
            return {place: sum(term for _, term in several) for place, several in cells.items()}
        case Shape.TOTAL:
            return {0: sum(_total(terms, measure, rows) for terms in units.values())}
        case Shape.WEIGHTED:
            weights = {unit: _weight(terms, measure, rows) for unit, terms in units.items()}
            spare = 1 << (WEIGHT_BITS - measure.bits)
            return {p: sum(_towards_zero(t * weights[u], spare) for u, t in several) for p, several in cells.items()}


def _total(terms: list[int], measure: Measure, rows: int) -> int:
    if measure.paired:
        scale = 1 << measure.bits
        return sum(terms) * scale if len(terms) <= rows else _towards_zero(sum(terms) * rows * scale, len(terms))
    if measure.term.kind == "count":
        return min(len(terms), measure.cap)
    low, high = unit_range(measure, rows)
    return min(max(sum(terms), low), high)


def _weight(terms: list[int], measure: Measure, rows: int) -> int:
    own = not measure.paired and measure.term.kind != "count"
    size, cap = (sum(map(abs, terms)), measure.cap) if own else (len(terms), rows)
    weight = 1 << WEIGHT_BITS if size <= cap else (cap << WEIGHT_BITS) // size
    rough = WEIGHT_BITS - bits_under(rows) if measure.paired else 0  # as the count that it is divided by
    return weight >> rough << rough


def _towards_zero(top: int, bottom: int) -> int:
    return top // bottom if top >= 0 else -(-top // bottom)
