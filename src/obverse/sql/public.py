"""Questions over a public table alone: exact and free, printed from the same typed expressions."""

from __future__ import annotations

from sqlglot import expressions as exp

from obverse.catalog.model import Table
from obverse.core.types import Type
from obverse.plan.expressions import Call, ColumnFacts, Expr, Ref, canonical
from obverse.plan.question import Order, Output, PublicQuestion
from obverse.plan.rules.scan import column_facts
from obverse.sql.names import by_name, folded, output_name, whole_number
from obverse.sql.parse import refuse
from obverse.sql.scalars import Clock, Scalars

AGGREGATES: dict[type[exp.Expression], str] = {
    exp.Count: "count", exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max", exp.Median: "median",
    exp.Variance: "var_samp", exp.VariancePop: "var_pop", exp.Stddev: "stddev_samp", exp.StddevSamp: "stddev_samp",
    exp.StddevPop: "stddev_pop",
}  # fmt: skip


def resolve_public(tree: exp.Select, table: Table, alias: str, clock: Clock) -> PublicQuestion:
    """The exact question that the tree asks of a public table."""
    visible = {c.name: column_facts(c) for c in table.columns.values() if not c.hidden}

    def column(node: exp.Column) -> Expr:
        if node.args.get("table") and folded(node.args["table"]) != alias:
            raise refuse("undeclared_column", node, node.sql(dialect="duckdb"))
        name = by_name(node.this, visible)
        if name is None:
            aliased = aliases.get(folded(node.this)) if isinstance(node.this, exp.Identifier) else None
            if aliased is None:
                raise refuse("undeclared_column", node, node.name)
            return full(aliased)
        return Ref(name, visible[name])

    def aggregate(node: exp.Expression) -> Expr:
        if type(node) not in AGGREGATES:
            raise refuse("aggregate", node, node.key.upper())
        return public_aggregate(node, plain)

    aliases = {folded(e.args["alias"]): e.this for e in tree.expressions if isinstance(e, exp.Alias)}
    plain, full = Scalars(column, clock), Scalars(column, clock, aggregate)
    outputs: list[Output] = []
    for node in tree.expressions:
        inner = node.this if isinstance(node, exp.Alias) else node
        if isinstance(inner, exp.Star) or (isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star)):
            if inner.args.get("except_") or inner.args.get("replace") or inner.args.get("rename"):
                raise refuse("clause", node, "this form of *")
            outputs += [Output(name, Ref(name, facts)) for name, facts in visible.items()]
        else:
            outputs.append(
                Output(folded(node.args["alias"]) if isinstance(node, exp.Alias) else output_name(inner), full(inner))
            )

    def meant(node: exp.Expression) -> Expr:
        if isinstance(node, exp.Literal) and str(node.this).isdigit() and 1 <= int(node.this) <= len(outputs):
            return outputs[int(node.this) - 1].expr
        return full(node)

    group = tree.args.get("group")
    if group is not None and any(group.args.get(c) for c in ("all", "rollup", "cube", "grouping_sets", "totals")):
        raise refuse("clause", group, "this form of GROUP BY")
    groups = tuple(meant(g) for g in group.expressions) if group is not None else ()
    order = tuple(
        Order(meant(o.this), bool(o.args.get("desc")), bool(o.args.get("nulls_first")))
        for o in (tree.args["order"].expressions if tree.args.get("order") else ())
    )
    if group is not None or any(map(aggregates_in, (o.expr for o in outputs))):
        _check_grouped(outputs, groups)
    return PublicQuestion(
        table.name,
        plain(tree.args["where"].this) if tree.args.get("where") else None,
        groups,
        tuple(outputs),
        tuple(o.expr.facts.type for o in outputs),
        full(tree.args["having"].this) if tree.args.get("having") else None,
        order,
        whole_number(tree.args.get("limit")),
        whole_number(tree.args.get("offset")) or 0,
        bool(tree.args.get("distinct")),
    )


def public_aggregate(node: exp.Expression, plain: Scalars) -> Expr:
    name = AGGREGATES[type(node)]
    inner, distinct = node.this, False
    if isinstance(inner, exp.Distinct):
        if len(inner.expressions) != 1 or isinstance(inner.expressions[0], exp.Star):
            raise refuse("expression", node, "this DISTINCT")
        inner, distinct = inner.expressions[0], True
    args = () if inner is None or isinstance(inner, exp.Star) else (plain(inner),)
    kind = Type.INTEGER if name == "count" else Type.DOUBLE
    if name in ("min", "max") and args:
        kind = args[0].facts.type
    return Call(f"public_{name}{'_distinct' if distinct else ''}", args, ColumnFacts(kind))


def aggregates_in(expr: Expr) -> bool:
    return "public_" in canonical(expr)


def _check_grouped(outputs: list[Output], groups: tuple[Expr, ...]) -> None:
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
