"""Relations to engine SQL: rows with their unit `u` (where they have a key) and columns c0, c1 ..., each fact enforced.

Rows of growing data: none past the last published partition, and of a unit only those of its first partition.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from obverse.catalog.model import Catalog, Table
from obverse.core.errors import invariant
from obverse.core.types import Type, Value
from obverse.plan.dialects.base import Dialect
from obverse.plan.emit import expressions as printing
from obverse.plan.emit.overlay import NOTHING, Overlay
from obverse.plan.expressions import ColumnFacts, Expr, key_named
from obverse.plan.measures import bounded
from obverse.plan.partitions import published, value_of
from obverse.plan.relation import Filter, Fold, Join, JoinKind, Listed, Map, Mark, Reduce, Relation, Scan, Trim, Union
from obverse.plan.stability.derive import facts_of, names, own_type, unit_key, unit_type
from obverse.plan.stability.join import equated
from obverse.plan.stability.reduce import fold_range, sum_type


def grown_source(table: Table, source: str, unit: str | None, d: Dialect) -> tuple[str, str | None, list[str]]:
    """FROM text, the unit, and what a row must satisfy.

    Where the unit is one's part of a partition, both make its key. Else each row is joined with the first partition of
    its unit, over all rows of the unit that are published, whatever a question filters.
    """
    if table.partition is None:
        return source, unit, []
    column = table.columns[table.partition.column]
    among = published(table)
    # as it lies: a value moved to a bound would come to another partition with the bound
    at = printing.raw_column(column, d)
    first, last = (d.literal(value_of(end, column.type), column.type) for end in (among.first, among.last))
    inside = f"{at} BETWEEN {first} AND {last}"
    if unit is None:
        return source, unit, [inside]
    assert table.unit is not None
    assert table.unit.column is not None
    if table.partition.counts == "each":
        own = d.canonical(unit, table.columns[table.unit.column].type)
        return source, f"({d.canonical(at, column.type)} || {d.text(':')} || {own})", [inside]
    rows = f"SELECT {unit} AS u, {at} AS p FROM {source} WHERE {unit} IS NOT NULL AND {inside}"
    begun = f"(SELECT u, MIN(p) AS p FROM ({rows}) AS b GROUP BY u)"
    return f"{source} JOIN {begun} AS begun ON {unit} = begun.u AND {at} = begun.p", unit, []


Columns = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Source:
    """A relation's text, a subquery in parentheses; what its columns are called; whether it has the unit `u`."""

    sql: str
    columns: Columns
    keyed: bool

    def where(self, conditions: list[str], narrowed: Mapping[str, ColumnFacts], d: Dialect) -> Source:
        """Its rows that satisfy all of the conditions.

        Above them more is known of the narrowed columns, and some is computed that would raise on rows that are left
        out here. An optimizer may compute it of these too, so such a column is NULL outside what is known of it.
        """
        kept = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        cut = {name: (f"n{self.columns[name]}", facts) for name, facts in narrowed.items()}
        more = [f", {printing.cut(self.columns[name], facts, d)} AS {alias}" for name, (alias, facts) in cut.items()]
        columns = {**self.columns, **{name: alias for name, (alias, _) in cut.items()}}
        return Source(f"(SELECT *{''.join(more)} FROM {self.sql} AS s{kept})", columns, self.keyed)


@dataclass(frozen=True, slots=True)
class Sources:
    """Prints relations. `key` is the question's own key of the hash that chooses among a unit's rows."""

    catalog: Catalog
    d: Dialect
    key: str
    overlay: Overlay = NOTHING

    def __call__(self, relation: Relation) -> Source:
        match relation:
            case Scan() | Filter():
                return self.filtered(relation)
            case Listed(columns, rows):
                return self.written(columns, rows)
            case Map(child, columns):
                return self.mapped(child, columns)
            case Join():
                return self.joined(relation)
            case Union(children):
                return self.united(children)
            case Reduce():
                return self.reduced(relation)
            case Mark():
                return self.marked(relation)
            case Trim(child, rows):
                return self.trimmed(child, rows)

    def filtered(self, relation: Scan | Filter) -> Source:
        """A table, or rows of any relation, under all filters that stand on it."""
        below: Relation = relation
        predicates = []
        while isinstance(below, Filter):
            predicates.append(below.predicate)
            below = below.child
        inner = self.scanned(below) if isinstance(below, Scan) else self(below)
        found = [printing.expression(p, inner.columns, self.d) for p in predicates]
        if isinstance(below, Scan):
            found += listed(self.catalog.tables[below.table], inner.columns)
        return inner.where(found, self.narrowed(relation, below), self.d)

    def narrowed(self, relation: Relation, below: Relation) -> dict[str, ColumnFacts]:
        """Columns whose bounds the filters between the two tell to be closer."""
        before = facts_of(below, self.catalog).columns
        after = facts_of(relation, self.catalog).columns
        return {name: facts for name, facts in after.items() if facts.bounds != before[name].bounds}

    def scanned(self, scan: Scan, bare: tuple[str, ...] = (), raw_only: frozenset[str] = frozenset()) -> Source:
        """The table with every column that the plan reads enforced to its declaration; rows without a unit left out.

        Columns in `bare` are there once more as they lie, named with an r in front, for terms that clamp by themselves;
        those in `raw_only` are there in that form alone.
        """
        table = self.catalog.tables[scan.table]
        columns = named(scan.columns)
        source = f"{self.d.relation(table)} AS t"
        unit = None
        needed: list[str] = []
        if not table.public:
            source, unit = unit_source(table, self.catalog, self.d, self.overlay)
            table = self.overlay.table(table)
            source, spared = self.overlay.without(source, unit, own_type(self.catalog), self.d)
            source, unit, needed = grown_source(table, source, unit, self.d)
            needed += spared
        parts = [f"{unit} AS u"] if unit is not None else []
        enforced = {c: alias for c, alias in columns.items() if c not in raw_only}
        parts += [f"{printing.enforced(table.columns[c], self.d)} AS {alias}" for c, alias in enforced.items()]
        parts += [f"{printing.raw_column(table.columns[c], self.d)} AS r{columns[c]}" for c in bare]
        needed += [f"{unit} IS NOT NULL"] if unit is not None else []
        there = f" WHERE {' AND '.join(needed)}" if needed else ""
        return Source(f"(SELECT {', '.join(parts) or '1 AS one'} FROM {source}{there})", columns, unit is not None)

    def written(self, columns: tuple[tuple[str, Type], ...], rows: tuple[tuple[Value, ...], ...]) -> Source:
        aliases = named(tuple(name for name, _ in columns))
        values = [", ".join(self.d.literal(v, kind) for v, (_, kind) in zip(row, columns)) or "1" for row in rows]
        heads = ", ".join(aliases.values()) or "one"
        return Source(
            f"(SELECT * FROM (VALUES {', '.join(f'({row})' for row in values)}) AS v({heads}))", aliases, False
        )

    def mapped(self, child: Relation, columns: tuple[tuple[str, Expr], ...]) -> Source:
        inner = self(child)
        aliases = named(tuple(name for name, _ in columns))
        parts = ["u"] if inner.keyed else []
        parts += [f"{printing.expression(expr, inner.columns, self.d)} AS {aliases[name]}" for name, expr in columns]
        return Source(f"(SELECT {', '.join(parts) or '1 AS one'} FROM {inner.sql} AS m)", aliases, inner.keyed)

    def joined(self, join: Join) -> Source:
        left = self(join.left)
        right = self(join.right)
        at = {name: f"l.{alias}" for name, alias in left.columns.items()}
        there = {name: f"r.{alias}" for name, alias in right.columns.items()}
        aliases = named(tuple(at) + tuple(there))
        both = left.keyed and right.keyed
        unit = "COALESCE(l.u, r.u)" if both and join.kind is JoinKind.FULL else "l.u"
        parts = [f"{unit} AS u"] if left.keyed else []
        parts += [f"{text} AS {aliases[name]}" for name, text in {**at, **there}.items()]
        on = ["l.u = r.u"] if both else []
        on += [printing.expression(term, {**at, **there}, self.d) for term in join.on]
        partners = right.sql if join.copies is None else self.few(right, join)
        words = {JoinKind.INNER: "JOIN", JoinKind.LEFT: "LEFT JOIN", JoinKind.FULL: "FULL JOIN"}[join.kind]
        text = (
            f"SELECT {', '.join(parts) or '1 AS one'} FROM {left.sql} AS l {words} {partners} AS r ON "
            f"{' AND '.join(on)}"
        )
        return Source(f"({text})", aliases, left.keyed)

    def few(self, right: Source, join: Join) -> str:
        """A public side with at most the counted number of rows for each value that it is joined on."""
        joined_on = dict.fromkeys(right.columns[ref.name] for ref in equated(join.on, right.columns))
        order = ", ".join(f"{name} NULLS LAST" for name in right.columns.values())
        rank = f"row_number() OVER (PARTITION BY {', '.join(joined_on)} ORDER BY {order})"
        return f"(SELECT * FROM (SELECT *, {rank} AS place FROM {right.sql} AS f) AS p WHERE place <= {join.copies})"

    def united(self, children: tuple[Relation, ...]) -> Source:
        order = tuple(sorted(names(children[0])))
        aliases = named(order)
        texts = []
        keyed = True
        for child in children:
            inner = self(child)
            keyed = inner.keyed
            parts = ["u"] if inner.keyed else []
            parts += [f"{inner.columns[name]} AS {aliases[name]}" for name in order]
            texts.append(f"SELECT {', '.join(parts) or '1 AS one'} FROM {inner.sql} AS s")
        return Source(f"({' UNION ALL '.join(texts)})", aliases, keyed)

    def reduced(self, node: Reduce) -> Source:
        inner = self(node.child)
        aliases = named(tuple(name for name, _ in node.keys) + tuple(fold.name for fold in node.folds))
        unit = ["u"] if inner.keyed else []
        keys = [f"{self.key_value(expr, inner.columns)} AS k{i}" for i, (_, expr) in enumerate(node.keys)]
        source = f"(SELECT *, {', '.join(keys)} FROM {inner.sql} AS i)" if keys else inner.sql
        own = [inner.keyed and key_named(expr) == unit_key(self.catalog) for _, expr in node.keys]
        parts = unit + [
            f"{f'MAX(k{i})' if own[i] else f'k{i}'} AS {aliases[name]}" for i, (name, _) in enumerate(node.keys)
        ]
        parts += [f"{self.fold(fold, inner.columns)} AS {aliases[fold.name]}" for fold in node.folds]
        groups = ", ".join(unit + [f"k{i}" for i in range(len(node.keys)) if not own[i]])
        grouped = f" GROUP BY {groups}" if groups else ""
        return Source(f"(SELECT {', '.join(parts) or '1 AS one'} FROM {source} AS g{grouped})", aliases, inner.keyed)

    def key_value(self, expr: Expr, columns: Columns) -> str:
        """A value to group by: of the two zeros of doubles, which are equal, one."""
        text = printing.expression(expr, columns, self.d)
        return one_zero(text, self.d) if expr.facts.type is Type.DOUBLE else text

    def fold(self, fold: Fold, columns: Columns) -> str:
        """One aggregate within a unit, in integers where it adds up."""
        value = None if fold.expr is None else printing.expression(fold.expr, columns, self.d)
        if fold.kind == "count":
            return f"LEAST(COUNT({value or '*'}), {fold.rows})"
        if fold.kind == "count_distinct":
            return f"LEAST(COUNT(DISTINCT {value}), {fold.rows})"
        assert value is not None
        assert fold.expr is not None
        if fold.kind in ("min", "max"):
            found = self.d.extreme(fold.kind.upper(), value, fold.expr.facts.type)
            return one_zero(found, self.d) if fold.expr.facts.type is Type.DOUBLE else found
        term, low, high = fold_range(fold)
        text = printing.term(term, value, self.d, is_raw=False)
        step = self.d.literal(float(term.unit), Type.DOUBLE)
        total = self.d.total(text, term.magnitude)
        if fold.kind == "sum":
            clamped = f"CAST(LEAST(GREATEST({total}, {low}), {high}) AS BIGINT)"
            clamped = f"CASE WHEN COUNT({text}) = 0 THEN NULL ELSE {clamped} END"
            return (
                clamped
                if sum_type(fold.expr, term) is Type.INTEGER
                else (f"({self.d.cast(clamped, Type.DOUBLE)} * {step})")
            )
        lo, hi = (self.d.literal(float(end), Type.DOUBLE) for end in (bounded(fold.expr).lo, bounded(fold.expr).hi))
        mean = f"{self.d.cast(total, Type.DOUBLE)} * {step} / COUNT({text})"
        return f"CASE WHEN COUNT({text}) = 0 THEN NULL ELSE LEAST(GREATEST({mean}, {lo}), {hi}) END"

    def marked(self, mark: Mark) -> Source:
        left = self(mark.left)
        right = self(mark.right)
        aliases = named((*left.columns, mark.name))
        ours = [printing.expression(a, {n: f"l.{x}" for n, x in left.columns.items()}, self.d) for a, _ in mark.on]
        theirs = [printing.expression(b, right.columns, self.d) for _, b in mark.on]
        both = left.keyed and right.keyed
        parts = (["u"] if both else []) + [f"{text} AS k{i}" for i, text in enumerate(theirs)]
        different = f"(SELECT DISTINCT {', '.join([*parts, 'TRUE AS hit'])} FROM {right.sql} AS d)"
        on = (["l.u = r.u"] if both else []) + [f"{text} = r.k{i}" for i, text in enumerate(ours)]
        told = self.told(mark, right, ours, theirs)
        kept = [f"l.{alias} AS {aliases[name]}" for name, alias in left.columns.items()]
        kept = (["l.u AS u"] if left.keyed else []) + [*kept, f"{told} AS {aliases[mark.name]}"]
        condition = " AND ".join(on) or "TRUE"
        return Source(
            f"(SELECT {', '.join(kept)} FROM {left.sql} AS l LEFT JOIN {different} AS r ON {condition})",
            aliases,
            left.keyed,
        )

    def told(self, mark: Mark, right: Source, ours: list[str], theirs: list[str]) -> str:
        """TRUE where there is a partner; else FALSE, or NULL where IN would not know."""
        doubts = []
        if mark.unknown:
            doubts = [f"{text} IS NULL" for text, (a, _) in zip(ours, mark.on) if a.facts.nullable]
            facts = facts_of(mark.right, self.catalog)
            for text, (_, b) in zip(theirs, mark.on):
                if b.facts.nullable:
                    invariant(facts.stability is None, "a NULL among private values is not looked for")
                    doubts.append(f"(SELECT COUNT(*) FROM {right.sql} AS n WHERE {text} IS NULL) > 0")
        unsure = f" WHEN {' OR '.join(doubts)} THEN NULL" if doubts else ""
        return f"(CASE WHEN r.hit THEN TRUE{unsure} ELSE FALSE END)"

    def trimmed(self, child: Relation, rows: int) -> Source:
        inner = self(child)
        invariant(inner.keyed, "rows of a unit are told by its key")
        facts = facts_of(child, self.catalog).columns
        doubles = [alias for name, alias in inner.columns.items() if facts[name].type is Type.DOUBLE]
        alike = ["u", *(f"{one_zero(a, self.d)} AS {a}" if a in doubles else a for a in inner.columns.values())]
        # rows that are equal are the same, whichever is kept
        same = f"(SELECT {', '.join(alike)} FROM {inner.sql} AS z)"
        values = [("u", unit_type(self.catalog)), *((alias, facts[name].type) for name, alias in inner.columns.items())]
        order = ", ".join(["h", *(f"{alias} NULLS LAST" for alias in inner.columns.values())])
        hashed = f"(SELECT *, {self.d.keyed_hash(self.key, values)} AS h FROM {same} AS a)"
        ranked = f"(SELECT *, row_number() OVER (PARTITION BY u ORDER BY {order}) AS place FROM {hashed} AS b)"
        return Source(f"(SELECT * FROM {ranked} AS t WHERE place <= {rows})", inner.columns, True)


def named(order: tuple[str, ...]) -> dict[str, str]:
    invariant(len(set(order)) == len(order), "columns have different names")
    return {name: f"c{i}" for i, name in enumerate(order)}


def one_zero(text: str, d: Dialect) -> str:
    """A double with its zero unsigned: which of two equal values stands for a group must not depend on the rows'
    order.
    """
    return f"(CASE WHEN {text} = 0 THEN {d.literal(0.0, Type.DOUBLE)} ELSE {text} END)"


def listed(table: Table, columns: Columns, looked_up: frozenset[str] = frozenset()) -> list[str]:
    """Rows are left out where a column that may not be NULL is outside its public list; keys that are looked up tell
    so.
    """
    return [
        f"{alias} IS NOT NULL" for name, alias in columns.items() if name not in looked_up and table.columns[name].drops
    ]


def unit_source(table: Table, catalog: Catalog, d: Dialect, overlay: Overlay = NOTHING) -> tuple[str, str | None]:
    """FROM text and the unit, read as its declared type; longer paths join a map from key to unit.

    A row that reaches several units counts for each of them, within the cap of each, so that what one unit does to a
    key that others share takes nothing from them and gives nothing to them.
    """
    source = f"{overlay.relation(table, d)} AS t"
    path = table.unit
    invariant(path is not None, "a private table has a unit")
    assert path is not None
    if path.column is None:
        return source, None
    own = printing.raw_column(overlay.table(table).columns[path.column], d)
    if len(path.steps) <= 1:
        return source, own
    through, key = path.steps[0]
    inner, unit = unit_source(catalog.tables[through], catalog, d, overlay)
    there = printing.raw_column(overlay.table(catalog.tables[through]).columns[key], d)
    mapping = (
        f"(SELECT DISTINCT {there} AS key, {unit} AS u FROM {inner} WHERE {unit} IS NOT NULL AND {there} IS NOT NULL)"
    )
    return f"{source} JOIN {mapping} AS owner ON {own} = owner.key", "owner.u"
