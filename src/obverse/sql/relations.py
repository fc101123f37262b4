"""FROM to a relation: tables, WITH, subqueries, joins, set operations, and what WHERE looks up in other rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import expressions as exp

from obverse.catalog.model import Catalog
from obverse.core.types import Type, Value
from obverse.plan.expressions import Expr, Literal, Ref, key_named, literal, null_of
from obverse.plan.functions import call
from obverse.plan.functions.base import common_type
from obverse.plan.nodes import Filter, Map, Mark, Reduce, Relation, Scan, Union
from obverse.plan.stability.derive import facts_of, unit_key, unused
from obverse.sql.joins import Joins, check_join_item
from obverse.sql.look_up import LookUp, as_type, sure
from obverse.sql.meant import instead
from obverse.sql.named import Named
from obverse.sql.names import by_name, check_apart, folded, function_name, output_name
from obverse.sql.parse import refuse
from obverse.sql.per_unit import PerUnit
from obverse.sql.scalars import Clock
from obverse.sql.written import one_row, settled, written

FILLERS: dict[Type, Value] = {
    Type.INTEGER: 0, Type.DOUBLE: 0.0, Type.BOOLEAN: False, Type.TEXT: "", Type.DATE: dt.date(1970, 1, 1),
    Type.TIMESTAMP: dt.datetime(1970, 1, 1),
}  # fmt: skip
BLOCKS_MAX = 64  # subqueries and joins of one question, each use of a WITH counted
ALLOWED_CLAUSES = frozenset(("expressions", "from_", "where", "group", "having", "order", "limit", "offset", "distinct"))


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
            renamed = tuple(folded(c) for c in node.args["alias"].args.get("columns") or ()) if node.args.get("alias") else ()
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
        renamed = tuple(folded(c) for c in node.args["alias"].args.get("columns") or ()) if node.args.get("alias") else ()
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
        left, right = self.query(tree.this), self.query(tree.expression)
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
            a, b = left.ref(name), right.ref(name)
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
        a, b = list(left.scopes[0][1].items()), list(right.scopes[0][1].items())
        if len(a) != len(b):
            raise refuse("clause", tree, "sides with different numbers of columns")
        ours, theirs = [], []
        for (name, x), (_, y) in zip(a, b):
            one, other = left.ref(x), right.ref(y)
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
