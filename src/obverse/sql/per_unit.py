"""SELECT ... GROUP BY the unit, in a subquery: each unit's own aggregates, as rows that keep their unit.

A unit's own value in a group, and the bounds that it is clamped to.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sqlglot import expressions as exp

from obverse.catalog.model import Catalog
from obverse.core.bounds import Interval
from obverse.core.errors import Refused
from obverse.core.types import INT64_MAX, Type
from obverse.plan.expressions import Expr, Ref, canonical, key_named, literal, null_of, number_bounds
from obverse.plan.functions import call
from obverse.plan.measures import TERM_BITS, bounded
from obverse.plan.relation import Filter, Fold, Map, Reduce, Relation
from obverse.plan.stability.derive import facts_of
from obverse.plan.stability.reduce import LEARNING_ROWS, PUBLIC_ROWS, fold_facts
from obverse.sql.google.parse import Contribution
from obverse.sql.names import Aliases, Named, check_apart, folded, meant, output_name
from obverse.sql.parse import check_parts, refuse
from obverse.sql.scalars import Clock, Scalars

WIDE = 256  # times the larger bound of a group: a row further out counts as that


def far_out(bounds: Contribution) -> int | float:
    """Beyond it a row is clamped before it is added up, so that the grid of sums stays fine."""
    far = WIDE * max(abs(bounds.lo), abs(bounds.hi)) or WIDE
    return min(far, INT64_MAX) if isinstance(far, int) else far


def clamped(value: Expr, bounds: Contribution) -> Expr:
    return call("clamp", value, literal(bounds.lo), literal(bounds.hi))


def known_bounds(value: Expr) -> Interval | None:
    try:
        return bounded(value)
    except Refused:
        return None


def rows_to_reach(value: Interval, bounds: Contribution) -> int:
    """The least number of rows whose sum reaches both bounds, where any does; more would only coarsen the grid."""
    up = Fraction(bounds.hi)
    down = -Fraction(bounds.lo)
    needed = [Fraction(1)]
    if value.hi > 0:
        needed.append(up / value.hi)
    if value.lo < 0:
        needed.append(down / -value.lo)
    most = max(needed)
    return -(-most.numerator // most.denominator)


def alone(kind: str, value: Expr | None) -> Expr:
    """The own aggregate of a unit that is one row."""
    if kind != "count":
        assert value is not None
        return value
    if value is None:
        return literal(1)
    there = call("is_null", value)
    return call("case", there, literal(0), literal(1))


KINDS: dict[type[exp.Expression], str] = {exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max"}


class PerUnit:
    """One grouped subquery, resolved clause by clause."""

    def __init__(self, tree: exp.Select, rows: Named, catalog: Catalog, clock: Clock) -> None:
        self.tree = tree
        self.rows = rows
        self.catalog = catalog
        self.plain = Scalars(rows.column, clock)
        self.post = Scalars(self.post_column, clock, self.aggregate, self.key_of)
        self.aliases = Aliases(tree.expressions)
        self.keys: list[tuple[str, Expr]] = []
        self.folds: list[Fold] = []

    def relation(self) -> Named:
        self.group_by()
        outputs: list[tuple[str, Expr]] = []
        for node in self.tree.expressions:
            inner = node.this if isinstance(node, exp.Alias) else node
            name = folded(node.args["alias"]) if isinstance(node, exp.Alias) else output_name(inner)
            outputs.append((name, self.post(inner)))
        check_apart([name for name, _ in outputs], self.tree)
        having = self.tree.args.get("having")
        condition = None if having is None else self.post(having.this)
        if condition is not None and condition.facts.type is not Type.BOOLEAN:
            raise refuse("where", having)
        keys = tuple((name, self.rows.own_value(expr, self.catalog)) for name, expr in self.keys)
        made: Relation = Reduce(self.rows.relation, keys, tuple(self.folds))
        if condition is not None:
            made = Filter(made, condition)
        made = Map(made, tuple(outputs))
        return Named(made, facts_of(made, self.catalog), (("", {name: name for name, _ in outputs}),))

    def group_by(self) -> None:
        group = self.tree.args.get("group")
        forms = ("all", "rollup", "cube", "grouping_sets", "totals")
        if group is not None and any(group.args.get(form) for form in forms):
            raise refuse("clause", group, "this form of GROUP BY in a subquery")
        for n, node in enumerate(group.expressions if group is not None else ()):
            self.keys.append((f"key{n}", self.plain(meant(node, self.tree.expressions, self.aliases, self.rows.has))))
        if self.rows.public:
            return
        units = [expr for _, expr in self.keys if key_named(expr)]
        if not units or not self.rows.stability.keyed:
            raise refuse("unit_lost", group or self.tree, "GROUP BY" if group is not None else "an aggregate")
        if not any(self.rows.there(expr, self.catalog) for expr in units):
            raise refuse("unit_nulled", group, "the unit's key")

    def post_column(self, node: exp.Column) -> Expr:
        self.rows.column(node)
        raise refuse("ungrouped", node, node.sql(dialect="duckdb"))

    def key_of(self, node: exp.Expression) -> Expr | None:
        if isinstance(node, exp.Literal) or node.find(exp.AggFunc):
            return None
        try:
            text = canonical(self.plain(node))
        except Refused:
            return None
        for name, expr in self.keys:
            if canonical(expr) == text:
                copies = 1 if self.rows.public and len(self.keys) == 1 else None
                told = self.rows.own_value(expr, self.catalog)
                return Ref(name, replace(told.facts, names=key_named(told), copies=copies))
        return None

    def aggregate(self, node: exp.Expression) -> Expr:
        """One aggregate of the unit's rows; the same one twice is one column."""
        kind, argument = self.folded(node)
        for known in self.folds:
            same = known.expr is argument is None or (
                known.expr is not None and argument is not None and canonical(known.expr) == canonical(argument)
            )
            if known.kind == kind and same:
                return Ref(known.name, fold_facts(known, always_there=bool(self.keys)))
        fold = Fold(f"fold{len(self.folds)}", kind, argument, self.rows_of(argument))
        self.folds.append(fold)
        return Ref(fold.name, fold_facts(fold, always_there=bool(self.keys)))

    def rows_of(self, argument: Expr | None) -> int:
        """Rows of one group, at most. The grid of a sum has room for them: of public ones as many as leave it fine."""
        if not self.rows.public:
            return self.rows.stability.cap or LEARNING_ROWS
        copies = [expr.facts.copies for _, expr in self.keys if isinstance(expr, Ref) and not expr.facts.nullable]
        known = [rows for rows in copies if rows is not None]
        if known:
            return max(1, min(known))
        bounds = None if argument is None else number_bounds(argument.facts)
        if argument is None or bounds is None or not argument.facts.type.numeric:
            return PUBLIC_ROWS
        room = (1 << TERM_BITS - 1) * (argument.facts.step or Fraction(0)) / max(bounds.magnitude, Fraction(1))
        return max(LEARNING_ROWS, min(PUBLIC_ROWS, int(room)))

    def folded(self, node: exp.Expression) -> tuple[str, Expr | None]:
        if isinstance(node, exp.Filter):
            kind, argument = self.folded(node.this)
            predicate = self.plain(node.expression.this)
            if predicate.facts.type is not Type.BOOLEAN:
                raise refuse("where", node)
            value = argument if argument is not None else literal(1)
            return kind, call("case", predicate, value, null_of(value.facts.type))
        check_parts(node)
        inner = node.this
        if isinstance(node, exp.Count):
            if node.args.get("expressions"):
                raise refuse("expression", node, "COUNT of several columns")
            if isinstance(inner, exp.Distinct) and len(inner.expressions) > 1:
                raise refuse("expression", node, "COUNT of several columns")
            if isinstance(inner, exp.Distinct):
                return "count_distinct", self.plain(inner.expressions[0])
            return "count", None if inner is None or isinstance(inner, exp.Star) else self.plain(inner)
        if type(node) not in KINDS or isinstance(inner, exp.Distinct):
            raise refuse("aggregate", node, f"{node.key.upper()} in a subquery")
        argument = self.plain(inner)
        if KINDS[type(node)] in ("sum", "avg"):
            bounded(argument)
        return KINDS[type(node)], argument
