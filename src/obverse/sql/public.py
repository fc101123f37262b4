"""Questions over a public table alone: exact and free, printed from the same typed expressions."""

from __future__ import annotations

from sqlglot import expressions as exp

from obverse.core.types import Type
from obverse.plan.expressions import Call, ColumnFacts, Expr, Ref, canonical
from obverse.plan.query import Order, Output, PublicQuestion
from obverse.sql.names import Aliases, Named, folded, output_name, whole_number
from obverse.sql.parse import refuse
from obverse.sql.scalars import Clock, Scalars

AGGREGATES: dict[type[exp.Expression], str] = {
    exp.Count: "count", exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max", exp.Median: "median",
    exp.Variance: "var_samp", exp.VariancePop: "var_pop", exp.Stddev: "stddev_samp", exp.StddevSamp: "stddev_samp",
    exp.StddevPop: "stddev_pop",
}  # fmt: skip


def resolve_public(tree: exp.Select, rows: Named, clock: Clock) -> PublicQuestion:
    """The exact question that the tree asks of public rows."""
    return _Public(tree, rows, clock).question()


class _Public:
    """A question about public rows, resolved clause by clause."""

    def __init__(self, tree: exp.Select, rows: Named, clock: Clock) -> None:
        self.tree = tree
        self.rows = rows
        self.aliases = Aliases(tree.expressions)
        self.plain = Scalars(self.column, clock)
        self.full = Scalars(self.column, clock, self.aggregate)

    def question(self) -> PublicQuestion:
        tree = self.tree
        if tree.args.get("distinct") and tree.args["distinct"].args.get("on"):
            raise refuse("clause", tree.args["distinct"], "DISTINCT ON")
        outputs = tuple(o for node in tree.expressions for o in self.outputs(node))
        groups = self.groups(outputs)
        if tree.args.get("group") or any(aggregates_in(o.expr) for o in outputs):
            _check_grouped(outputs, groups)
        order = tuple(
            Order(self.meant(o.this, outputs), bool(o.args.get("desc")), bool(o.args.get("nulls_first")))
            for o in (tree.args["order"].expressions if tree.args.get("order") else ())
        )
        return PublicQuestion(
            self.rows.relation,
            groups,
            outputs,
            tuple(o.expr.facts.type for o in outputs),
            self.full(tree.args["having"].this) if tree.args.get("having") else None,
            order,
            whole_number(tree.args.get("limit")),
            whole_number(tree.args.get("offset")) or 0,
            bool(tree.args.get("distinct")),
        )

    def column(self, node: exp.Column) -> Expr:
        aliased = None
        if not self.rows.has(node) and not node.args.get("table") and isinstance(node.this, exp.Identifier):
            aliased = self.aliases(folded(node.this))
        return self.rows.column(node) if aliased is None else self.full(aliased)

    def aggregate(self, node: exp.Expression) -> Expr:
        if type(node) not in AGGREGATES:
            raise refuse("aggregate", node, node.key.upper())
        return public_aggregate(node, self.plain)

    def outputs(self, node: exp.Expression) -> list[Output]:
        inner = node.this if isinstance(node, exp.Alias) else node
        if isinstance(inner, exp.Star) or (isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star)):
            star = inner if isinstance(inner, exp.Star) else inner.this
            if any(star.args.get(form) for form in ("except_", "replace", "rename")):
                raise refuse("clause", node, "this form of *")
            table = inner.args.get("table") if isinstance(inner, exp.Column) else None
            return [
                Output(name, expr) for name, expr in self.rows.all_columns(folded(table) if table is not None else None)
            ]
        name = folded(node.args["alias"]) if isinstance(node, exp.Alias) else output_name(inner)
        return [Output(name, self.full(inner))]

    def groups(self, outputs: tuple[Output, ...]) -> tuple[Expr, ...]:
        group = self.tree.args.get("group")
        if group is None:
            return ()
        if any(group.args.get(form) for form in ("all", "rollup", "cube", "grouping_sets", "totals")):
            raise refuse("clause", group, "this form of GROUP BY")
        return tuple(self.meant(g, outputs) for g in group.expressions)

    def meant(self, node: exp.Expression, outputs: tuple[Output, ...]) -> Expr:
        """What an ordinal stands for, or the expression itself."""
        if isinstance(node, exp.Literal) and str(node.this).isdigit() and 1 <= int(node.this) <= len(outputs):
            return outputs[int(node.this) - 1].expr
        return self.full(node)


def public_aggregate(node: exp.Expression, plain: Scalars) -> Expr:
    name = AGGREGATES[type(node)]
    inner = node.this
    distinct = False
    if isinstance(inner, exp.Distinct):
        if len(inner.expressions) != 1 or isinstance(inner.expressions[0], exp.Star):
            raise refuse("expression", node, "this DISTINCT")
        inner = inner.expressions[0]
        distinct = True
    args = () if inner is None or isinstance(inner, exp.Star) else (plain(inner),)
    kind = Type.INTEGER if name == "count" else Type.DOUBLE
    if name in ("min", "max") and args:
        kind = args[0].facts.type
    return Call(f"public_{name}{'_distinct' if distinct else ''}", args, ColumnFacts(kind))


def aggregates_in(expr: Expr) -> bool:
    if not isinstance(expr, Call):
        return False
    return expr.function.startswith("public_") or any(aggregates_in(arg) for arg in expr.args)


def _check_grouped(outputs: tuple[Output, ...], groups: tuple[Expr, ...]) -> None:
    known = {canonical(g) for g in groups}
    for output in outputs:
        if not _grouped(output.expr, known):
            raise refuse("ungrouped", None, output.name)


def _grouped(expr: Expr, known: set[str]) -> bool:
    if canonical(expr) in known or (isinstance(expr, Call) and expr.function.startswith("public_")):
        return True
    if isinstance(expr, Call):
        return all(_grouped(arg, known) for arg in expr.args)
    return not isinstance(expr, Ref)
