"""FROM to a relation: tables, WITH, subqueries, joins, set operations, and what WHERE looks up in other rows.

IN and EXISTS: rows that look into others, of the same unit or of public tables; each look-up adds one truth.

Rows that the question writes down: VALUES, UNNEST of a list, and a SELECT without FROM. Public, since the question is.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

from sqlglot import expressions as exp

from obverse.catalog.model import Catalog
from obverse.core.types import Type, Value
from obverse.plan.expressions import Expr, Literal, Ref, as_kind, key_named, literal, null_of
from obverse.plan.functions import call, meaning
from obverse.plan.functions.base import common_type
from obverse.plan.relation import Filter, Listed, Map, Mark, Reduce, Relation, Scan, Union
from obverse.plan.stability.derive import facts_of, reads, unit_key, unused
from obverse.sql.joins import Joins, check_join_item
from obverse.sql.names import Named, by_name, check_apart, folded, function_name, instead, output_name, whole_number
from obverse.sql.parse import refuse
from obverse.sql.per_unit import PerUnit
from obverse.sql.scalars import Clock, Scalars

Pairs = Sequence[tuple[Expr, Expr]]


DOUBTS_MAX = 8  # look-ups that one IN may need to tell NULL from FALSE
EQUAL = "equal"
OURS = "NULL outside"
THEIRS = "NULL inside"


def as_type(expr: Expr, kind: Type) -> Expr:
    return expr if expr.facts.type is kind else call(f"to_{kind.value}", expr)


def sure(where: exp.Expression) -> frozenset[int]:
    """Those IN of a WHERE for which NULL is as good as FALSE: nothing but AND and OR stands above them."""
    where = where.unnest()
    if isinstance(where, exp.And | exp.Or):
        return frozenset(found for part in where.flatten() for found in sure(part))
    return frozenset((id(where),)) if isinstance(where, exp.In) else frozenset()


class LookUp:
    """Rows whose expressions may look into others by IN and EXISTS; each look-up adds one truth to the rows.

    `sure` are the IN for which NULL is as good as FALSE.
    """

    def __init__(self, relations: Relations, rows: Named, sure: frozenset[int] = frozenset()) -> None:
        self.relations = relations
        self.rows = rows
        self.sure = sure
        self.scalars = LookUpScalars(self)

    def column(self, node: exp.Column) -> Expr:
        return self.rows.column(node)

    def membership(self, node: exp.In) -> Expr:
        """x IN (SELECT y ...): TRUE where an equal is found, NULL where a NULL on either side may be one, else
        FALSE.
        """
        query = node.args["query"]
        if _reads_outside(query):
            raise refuse("correlated", node)
        inner = self.relations.derived(query.this if isinstance(query, exp.Subquery) else query, "inner")
        columns = list(inner.scopes[0][1].values())
        values = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
        if len(columns) != len(values):
            raise refuse("in_member", node)
        pairs = []
        for value, column in zip(values, columns):
            a = self.scalars(value)
            b = inner.ref(column)
            kind = common_type((a.facts, b.facts), "IN")
            pairs.append((as_type(a, kind), as_type(b, kind)))
        found = self.mark(inner, pairs, node)
        doubts = [] if id(node) in self.sure else self.doubts(inner, pairs, node)
        if not doubts:
            return found
        doubt = call("or", *doubts) if len(doubts) > 1 else doubts[0]
        return call("case", found, literal(True), doubt, null_of(Type.BOOLEAN), literal(False))

    def doubts(self, inner: Named, pairs: Pairs, node: exp.Expression) -> list[Expr]:
        """Each way in which a row inside equals but for NULLs.

        Only rows of the same unit may be asked, or public ones.
        """
        ways = [
            (
                EQUAL,
                *((OURS,) if self.may_be_null(a, self.rows) else ()),
                *((THEIRS,) if self.may_be_null(b, inner) else ()),
            )
            for a, b in pairs
        ]
        linked = any(
            way == (EQUAL,) and key_named(a) and key_named(a) == key_named(b) for way, (a, b) in zip(ways, pairs)
        )
        if math.prod(map(len, ways)) > DOUBTS_MAX or not (linked or inner.public):
            raise refuse("nullable_in", node)
        return [self.doubt(inner, pairs, way, node) for way in list(itertools.product(*ways))[1:]]

    def may_be_null(self, expr: Expr, rows: Named) -> bool:
        return expr.facts.nullable and not (key_named(expr) and rows.there(expr, self.relations.catalog))

    def doubt(self, inner: Named, pairs: Pairs, way: Sequence[str], node: exp.Expression) -> Expr:
        nulls = [call("is_null", b) for (_, b), how in zip(pairs, way) if how == THEIRS]
        if nulls:
            inner = inner.over(Filter(inner.relation, _all(nulls)), self.relations.catalog)
        found = self.mark(inner, [pair for pair, how in zip(pairs, way) if how == EQUAL], node)
        return _all([*(call("is_null", a) for (a, _), how in zip(pairs, way) if how == OURS), found])

    def exists(self, node: exp.Exists) -> Expr:
        """EXISTS (SELECT ... WHERE inner = outer AND ...)."""
        tree = node.this.this if isinstance(node.this, exp.Subquery) else node.this
        if (
            not isinstance(tree, exp.Select)
            or tree.args.get("group")
            or tree.args.get("having")
            or tree.args.get("with_")
        ):
            raise refuse("correlated", node)
        if any(isinstance(e, exp.AggFunc) for output in tree.expressions for e in output.walk()):
            raise refuse("clause", node, "an aggregate in EXISTS")
        if whole_number(tree.args.get("limit")) == 0 or whole_number(tree.args.get("offset")):
            raise refuse("clause", node, "LIMIT 0 or OFFSET in EXISTS")
        own = []
        pairs = []
        inner = self.relations.joined(tree)
        where = tree.args.get("where")
        terms = [] if where is None else list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]
        for term in terms:
            plain = term.unnest()
            if all(inner.has(c) for c in plain.find_all(exp.Column)):
                own.append(plain)
            else:
                pairs.append(self.pair(plain, inner))
        if own:
            inner = self.relations.filtered(inner, exp.and_(*own) if len(own) > 1 else own[0])
        if inner.public and not pairs:
            raise refuse("correlated", node)
        return self.mark(inner, pairs, node)

    def pair(self, term: exp.Expression, inner: Named) -> tuple[Expr, Expr]:
        """An equality between a row outside and a row inside."""
        if not isinstance(term, exp.EQ):
            raise refuse("correlated", term)
        inside = [all(inner.has(c) for c in side.find_all(exp.Column)) for side in (term.this, term.expression)]
        ours, theirs = (term.expression, term.this) if inside[0] else (term.this, term.expression)
        # a name inside hides the same outside
        if sum(inside) != 1 or any(inner.has(c) for c in ours.find_all(exp.Column)):
            raise refuse("correlated", term)
        a = self.scalars(ours)
        b = Scalars(inner.column, self.relations.clock)(theirs)
        kind = common_type((a.facts, b.facts), "=")
        return as_type(a, kind), as_type(b, kind)

    def mark(self, inner: Named, pairs: Pairs, node: exp.Expression) -> Expr:
        """Whether a row inside equals in all pairs; the same look-up twice is one."""
        catalog = self.relations.catalog
        if not inner.public:
            if self.rows.public:
                raise refuse("private_filter", node)
            linked = [(a, b) for a, b in pairs if key_named(a) and key_named(a) == key_named(b)]
            if not linked or not self.rows.stability.keyed or not inner.stability.keyed:
                raise refuse("join_unit", node)
            pairs = [(a, b) for a, b in pairs if not self.of_unit(a, b, inner)]
        known = self.rows.relation
        while isinstance(known, Mark):
            if known.right == inner.relation and known.on == tuple(pairs):
                return self.rows.ref(known.name)
            known = known.left
        name = unused(f"look_up{len(self.rows.facts.columns)}", self.rows.facts.columns)
        self.rows = self.rows.over(Mark(self.rows.relation, inner.relation, tuple(pairs), name, unknown=False), catalog)
        return self.rows.ref(name)

    def of_unit(self, a: Expr, b: Expr, inner: Named) -> bool:
        """Whether the equality says no more than that both rows are of the same unit, which is always asked."""
        catalog = self.relations.catalog
        return (
            key_named(a) == key_named(b) == unit_key(catalog)
            and self.rows.there(a, catalog)
            and inner.there(b, catalog)
        )


class LookUpScalars(Scalars):
    """Expressions in which IN and EXISTS may look into a subquery."""

    def __init__(self, look_up: LookUp) -> None:
        super().__init__(look_up.column, look_up.relations.clock)
        self.look_up = look_up

    def __call__(self, node: exp.Expression) -> Expr:
        match node:
            case exp.In() if node.args.get("query") is not None:
                return self.look_up.membership(node)
            case exp.Exists():
                return self.look_up.exists(node)
            case exp.Subquery() if _reads_outside(node):
                raise refuse("correlated", node)
            case _:
                return super().__call__(node)


def _all(terms: Sequence[Expr]) -> Expr:
    return call("and", *terms) if len(terms) > 1 else terms[0]


def _reads_outside(node: exp.Expression) -> bool:
    """Whether a subquery names a table alias that it does not define itself."""
    own = {t.alias_or_name.lower() for t in node.find_all(exp.Table, exp.Subquery, exp.Values, exp.Unnest)}
    return any(c.table and c.table.lower() not in own for c in node.find_all(exp.Column))


ROWS_MAX = 10_000


def written(node: exp.Values | exp.Unnest, catalog: Catalog, clock: Clock) -> Named:
    """The rows under their alias; columns without a name are col0 ..., that of a list has the list's own."""
    alias = node.args.get("alias")
    table = folded(alias.this) if alias is not None and alias.this is not None else "listed"
    given = [folded(column) for column in alias.args.get("columns") or ()] if alias is not None else []
    rows = _rows(node)
    if not rows:
        raise refuse("clause", node, "an empty list")
    if len(rows) > ROWS_MAX:
        raise refuse("clause", node, f"a list of more than {ROWS_MAX:,} rows")
    if len({len(row) for row in rows}) > 1 or len(given) > len(rows[0]):
        raise refuse("clause", node, "rows of different lengths")
    own = [table] if isinstance(node, exp.Unnest) else [f"col{n}" for n in range(len(rows[0]))]
    names = given + own[len(given) :]
    check_apart(names, node)
    scalars = Scalars(_no_column, clock)
    columns = list(zip(*([scalars(value) for value in row] for row in rows)))
    types = [common_type(tuple(value.facts for value in column), "a column of VALUES") for column in columns]
    values = [[as_kind(_constant(value), kind) for value in column] for column, kind in zip(columns, types)]
    relation = Listed(tuple(zip(names, types)), tuple(zip(*values)))
    return Named(relation, facts_of(relation, catalog), ((table, {name: name for name in names}),))


def one_row(catalog: Catalog) -> Named:
    """What a SELECT without FROM reads."""
    relation = Listed((), ((),))
    return Named(relation, facts_of(relation, catalog), (("", {}),))


def settled(relation: Relation) -> Relation:
    """Rows that hold nothing but constants, however they are written, as a list."""
    match relation:
        case Map(Listed((), rows), outputs) if not reads(*(expr for _, expr in outputs)):
            values = tuple(_constant(expr) for _, expr in outputs)
            return Listed(tuple((name, expr.facts.type) for name, expr in outputs), (values,) * len(rows))
        case Map(Listed(columns, rows), outputs) if all(isinstance(expr, Ref) for _, expr in outputs):
            places = [[name for name, _ in columns].index(expr.name) for _, expr in outputs]  # type: ignore[union-attr]
            named = tuple((name, columns[n][1]) for (name, _), n in zip(outputs, places))
            return Listed(named, tuple(tuple(row[n] for n in places) for row in rows))
        case Union((Listed(columns, rows), Listed(others, more))) if columns == others:
            return Listed(columns, rows + more)
        case _:
            return relation


def _rows(node: exp.Values | exp.Unnest) -> list[list[exp.Expression]]:
    if isinstance(node, exp.Values):
        return [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
    lists = node.expressions
    if len(lists) != 1 or not isinstance(lists[0], exp.Array) or node.args.get("offset"):
        raise refuse("fanout", node, function_name(node))
    return [[value] for value in lists[0].expressions]


def _no_column(node: exp.Column) -> NoReturn:
    raise refuse("fanout", node, "a list of a row's own values")


def _constant(expr: Expr) -> Value:
    """The value of an expression without columns, by the functions' own references."""
    if isinstance(expr, Literal):
        return expr.value
    return meaning(expr, [_constant(arg) for arg in expr.args])  # type: ignore[union-attr,arg-type]


FILLERS: dict[Type, Value] = {
    Type.INTEGER: 0, Type.DOUBLE: 0.0, Type.BOOLEAN: False, Type.TEXT: "", Type.DATE: dt.date(1970, 1, 1),
    Type.TIMESTAMP: dt.datetime(1970, 1, 1),
}  # fmt: skip
BLOCKS_MAX = 64  # subqueries and joins of one question, each use of a WITH counted
ALLOWED_CLAUSES = frozenset(
    ("expressions", "from_", "where", "group", "having", "order", "limit", "offset", "distinct")
)


@dataclass(slots=True)
class Relations:
    """Resolves what stands in FROM. Names of WITH are known by their text, resolved anew at each use."""

    catalog: Catalog
    clock: Clock
    known: Mapping[str, tuple[exp.Expression, tuple[str, ...], Relations]] = field(default_factory=dict)
    blocks: list[int] = field(default_factory=lambda: [0])

    def within(self, tree: exp.Expression) -> Relations:
        """What is known inside a SELECT that begins with WITH."""
        with_ = tree.args.get("with_")
        if with_ is None:
            return self
        if with_.args.get("recursive"):
            raise refuse("recursive", with_)
        inner = self
        for cte in with_.expressions:
            if not isinstance(cte.this, exp.Query):
                raise refuse("statement", cte, cte.this.key.upper())
            columns = tuple(folded(c) for c in cte.args["alias"].args.get("columns") or ())
            name = folded(cte.args["alias"].this)
            inner = Relations(self.catalog, self.clock, {**inner.known, name: (cte.this, columns, inner)}, self.blocks)
        return inner

    def rows(self, tree: exp.Select, *, public_groups: bool = False) -> Named:
        """The rows that the SELECT reads: FROM, its joins, and WHERE."""
        found = self.joined(tree, public_groups=public_groups)
        return self.filtered(found, tree.args["where"].this) if tree.args.get("where") else found

    def joined(self, tree: exp.Select, *, public_groups: bool = False) -> Named:
        """FROM and its joins, before WHERE, of which a comma takes its equalities."""
        check_clauses(tree)
        source = tree.args.get("from_")
        where = tree.args["where"].this if tree.args.get("where") else None
        if source is None and any(isinstance(node, exp.Star) for node in tree.expressions):
            raise refuse("clause", tree, "* without FROM")
        found = one_row(self.catalog) if source is None else self.item(source.this)
        joins = tree.args.get("joins") or []
        self.blocks[0] += len(joins)
        if self.blocks[0] > BLOCKS_MAX:
            raise refuse("key_size", tree, f"{BLOCKS_MAX} subqueries and joins")
        if tree.args.get("laterals"):
            raise refuse("fanout", tree.args["laterals"][0], "LATERAL")
        if joins:
            found = found.qualified(self.catalog)
        join = Joins(self.catalog, self.clock, where, public_groups=public_groups)
        for node in joins:
            check_join_item(node)
            found = join(found, self.item(node.this).qualified(self.catalog), node)
        return found

    def filtered(self, rows: Named, where: exp.Expression) -> Named:
        look_up = LookUp(self, rows, sure(where))
        predicate = look_up.scalars(where)
        if predicate.facts.type is not Type.BOOLEAN:
            raise refuse("where", where)
        if isinstance(predicate, Literal):
            predicate = call("and", call("is_null", null_of(Type.BOOLEAN)), predicate)
        return look_up.rows.over(Filter(look_up.rows.relation, predicate), self.catalog)

    def item(self, node: exp.Expression) -> Named:
        """One item of FROM under its alias."""
        if isinstance(node, exp.Subquery):
            if node.args.get("pivots") or node.args.get("sample"):
                raise refuse("clause", node, "this form of FROM")
            alias = folded(node.args["alias"].this) if node.args.get("alias") else "subquery"
            renamed = (
                tuple(folded(c) for c in node.args["alias"].args.get("columns") or ()) if node.args.get("alias") else ()
            )
            return self.derived(node.this, alias, renamed)
        if isinstance(node, exp.Values | exp.Unnest):
            return written(node, self.catalog, self.clock)
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            raise refuse("table_function", node, function_name(node.this if isinstance(node, exp.Table) else node))
        return self.table(node)

    def table(self, node: exp.Table) -> Named:
        if node.args.get("sample"):
            raise refuse("sample", node)
        unknown = [k for k, v in node.args.items() if v and k not in ("this", "alias", "db", "catalog", "joins")]
        renamed = (
            tuple(folded(c) for c in node.args["alias"].args.get("columns") or ()) if node.args.get("alias") else ()
        )
        if unknown or node.args.get("joins"):
            raise refuse("clause", node, "this form of FROM")
        if node.args.get("db") or node.args.get("catalog"):
            raise refuse("undeclared_table", node, node.sql(dialect="duckdb"))
        alias = folded(node.args["alias"].this) if node.args.get("alias") else None
        known = by_name(node.this, self.known)
        if known is not None:
            tree, columns, relations = self.known[known]
            found = relations.derived(tree, alias or known, columns)
            return _renamed(found, renamed, node)
        name = by_name(node.this, self.catalog.tables)
        if name is None:
            raise refuse("undeclared_table", node, node.name, instead(node.name, [*self.catalog.tables, *self.known]))
        if renamed:
            raise refuse("clause", node, "this form of FROM")
        visible = tuple(c.name for c in self.catalog.tables[name].columns.values() if not c.hidden)
        scan = Scan(name, visible)
        return Named(scan, facts_of(scan, self.catalog), ((alias or name, {c: c for c in visible}),))

    def derived(self, tree: exp.Expression, alias: str, renamed: tuple[str, ...] = ()) -> Named:
        """A subquery as a relation whose rows keep their unit."""
        self.blocks[0] += 1
        if self.blocks[0] > BLOCKS_MAX:
            raise refuse("key_size", tree, f"{BLOCKS_MAX} subqueries and joins")
        found = self.query(tree)
        ((_, columns),) = found.scopes
        return _renamed(replace(found, scopes=((alias, columns),), merged={}), renamed, tree)

    def query(self, tree: exp.Expression) -> Named:
        inner = self.within(tree)
        match tree:
            case exp.Subquery():
                return inner.query(tree.this)
            case exp.Select():
                return inner.selected(tree)
            case exp.SetOperation():
                return inner.combined(tree)
            case _:
                raise refuse("statement", tree, tree.key.upper())

    def selected(self, tree: exp.Select) -> Named:
        """SELECT without a unit of its own: each row, or each unit's own aggregates."""
        for clause in ("limit", "offset"):
            if tree.args.get(clause):
                raise refuse("clause", tree.args[clause], f"{clause.upper()} in a subquery")
        rows = self.rows(tree)
        aggregated = tree.args.get("group") is not None or any(
            isinstance(n, exp.AggFunc) and n.find_ancestor(exp.Select) is tree and not isinstance(n.parent, exp.Window)
            for e in [*tree.expressions, *([tree.args["having"]] if tree.args.get("having") else [])]
            for n in e.find_all(exp.AggFunc)
        )
        if aggregated:
            found = PerUnit(tree, rows, self.catalog, self.clock).relation()
        else:
            found = self.mapped(tree, rows)
        if tree.args.get("distinct") and tree.args["distinct"].args.get("on"):
            raise refuse("clause", tree.args["distinct"], "DISTINCT ON")
        return self.distinct(found, tree) if tree.args.get("distinct") else found

    def mapped(self, tree: exp.Select, rows: Named) -> Named:
        if tree.args.get("having"):
            raise refuse("where", tree.args["having"])
        look_up = LookUp(self, rows)
        outputs: list[tuple[str, Expr]] = []
        for node in tree.expressions:
            inner = node.this if isinstance(node, exp.Alias) else node
            star = inner if isinstance(inner, exp.Star) else inner.this if isinstance(inner, exp.Column) else None
            if isinstance(star, exp.Star):
                if any(star.args.get(form) for form in ("except_", "replace", "rename")):
                    raise refuse("clause", node, "this form of *")
                table = inner.args.get("table") if isinstance(inner, exp.Column) else None
                outputs += rows.all_columns(folded(table) if table is not None else None)
            else:
                name = folded(node.args["alias"]) if isinstance(node, exp.Alias) else output_name(inner)
                if not isinstance(node, exp.Alias | exp.Column):  # nobody named it, so that any name will do
                    name = unused(name, [other for other, _ in outputs])
                outputs.append((name, look_up.scalars(inner)))
        return self.outputs(look_up.rows.relation, outputs, tree)

    def outputs(self, relation: Relation, outputs: list[tuple[str, Expr]], tree: exp.Expression) -> Named:
        """The relation of the named outputs; a name that stands twice cannot be asked for."""
        places = [name for name, _ in outputs]
        check_apart(places, tree)
        made = settled(Map(relation, tuple(outputs)))
        return Named(made, facts_of(made, self.catalog), (("", {name: name for name in places}),))

    def distinct(self, rows: Named, tree: exp.Expression) -> Named:
        """Different rows of each unit: the unit is among them, or they belong to nobody."""
        (scope,) = rows.scopes
        keys = tuple((name, rows.ref(column)) for name, column in scope[1].items())
        if not rows.public and not any(key_named(expr) for _, expr in keys):
            raise refuse("unit_lost", tree, "DISTINCT")
        if not rows.public and not any(key_named(expr) and rows.there(expr, self.catalog) for _, expr in keys):
            raise refuse("unit_nulled", tree, "the unit's key")
        made = Reduce(rows.relation, tuple((name, rows.own_value(expr, self.catalog)) for name, expr in keys), ())
        return Named(made, facts_of(made, self.catalog), (("", {name: name for name, _ in keys}),))

    def combined(self, tree: exp.SetOperation) -> Named:
        """UNION [ALL], INTERSECT, EXCEPT."""
        if tree.args.get("limit") or tree.args.get("offset") or tree.args.get("by_name"):
            raise refuse("clause", tree, "LIMIT or BY NAME in a set operation")
        left = self.query(tree.this)
        right = self.query(tree.expression)
        if left.public != right.public:
            raise refuse("unit_lost", tree, f"{tree.key.upper()} of private and public rows")
        left, right = self.aligned(left, right, tree)
        if isinstance(tree, exp.Union):
            made = settled(Union((left.relation, right.relation)))
            both = Named(made, facts_of(made, self.catalog), left.scopes)
            return self.distinct(both, tree) if tree.args.get("distinct") else both
        if not tree.args.get("distinct"):
            raise refuse("clause", tree, f"{tree.key.upper()} ALL")
        return self.matched(left, right, tree)

    def matched(self, left: Named, right: Named, tree: exp.SetOperation) -> Named:
        """INTERSECT and EXCEPT: different rows of the left that have, or have not, an equal among the right."""
        left = self.distinct(left, tree)
        order = list(left.scopes[0][1])
        if not right.public and not any(key_named(right.ref(name)) for name in order):
            raise refuse("unit_lost", tree, tree.key.upper())
        pairs: list[tuple[Expr, Expr]] = []
        for name in order:
            a = left.ref(name)
            b = right.ref(name)
            if unit_key(self.catalog) and key_named(a) == key_named(b) == unit_key(self.catalog) and not left.public:
                if right.there(b, self.catalog) and left.there(a, self.catalog):
                    continue
            if a.facts.nullable or b.facts.nullable:
                pairs.append((call("is_null", a), call("is_null", b)))
                a, b = (call("coalesce", x, filler(x)) for x in (a, b))  # type: ignore[assignment]
            pairs.append((a, b))
        name = unused("matched", left.facts.columns)
        made = Mark(left.relation, right.relation, tuple(pairs), name, unknown=False)
        found: Expr = Ref(name, facts_of(made, self.catalog).columns[name])
        if isinstance(tree, exp.Except):
            found = call("not", found)
        kept = Filter(made, found)
        return self.outputs(kept, [(name, left.ref(name)) for name in order], tree)

    def aligned(self, left: Named, right: Named, tree: exp.Expression) -> tuple[Named, Named]:
        """Both sides with the left's names and common types, by position."""
        a = list(left.scopes[0][1].items())
        b = list(right.scopes[0][1].items())
        if len(a) != len(b):
            raise refuse("clause", tree, "sides with different numbers of columns")
        ours = []
        theirs = []
        for (name, x), (_, y) in zip(a, b):
            one = left.ref(x)
            other = right.ref(y)
            kind = common_type((one.facts, other.facts), "a set operation")
            ours.append((name, as_type(one, kind)))
            theirs.append((name, as_type(other, kind)))
        return self.outputs(left.relation, ours, tree), self.outputs(right.relation, theirs, tree)


def _renamed(rows: Named, renamed: tuple[str, ...], node: exp.Expression) -> Named:
    """Rows under an alias with names of its columns, the first ones or all."""
    ((alias, columns),) = rows.scopes
    if len(renamed) > len(columns):
        raise refuse("clause", node, "more names than columns")
    names = [*renamed, *list(columns)[len(renamed) :]]
    check_apart(names, node)
    return replace(rows, scopes=((alias, dict(zip(names, columns.values()))),))


def filler(expr: Expr) -> Expr:
    """Any constant of the type: NULLs are compared apart."""
    return literal(FILLERS[expr.facts.type])


def check_clauses(tree: exp.Select) -> None:
    for clause, value in tree.args.items():
        if value and clause not in ALLOWED_CLAUSES and clause not in ("joins", "laterals", "with_"):
            spoken = {"locks": "FOR UPDATE"}.get(clause, clause.strip("_").upper())
            raise refuse("window" if clause in ("windows", "qualify") else "clause", None, spoken)
