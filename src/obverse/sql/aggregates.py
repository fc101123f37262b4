"""Syntax of aggregates to calls of the registry."""

from __future__ import annotations

from sqlglot import expressions as exp

from obverse.core.errors import Refused
from obverse.core.types import Type
from obverse.plan.expressions import Expr, Literal, literal, null_of
from obverse.plan.functions import call
from obverse.plan.question import AggregateCall
from obverse.sql.parse import refuse, span_of
from obverse.sql.scalars import Scalars

NAMES: dict[type[exp.Expression], str] = {
    exp.Sum: "sum", exp.Avg: "avg", exp.Variance: "var_samp", exp.VariancePop: "var_pop", exp.Stddev: "stddev_samp",
    exp.StddevSamp: "stddev_samp", exp.StddevPop: "stddev_pop", exp.Min: "min", exp.Max: "max", exp.Median: "median",
}  # fmt: skip


def aggregate_of(node: exp.Expression, rows: Scalars) -> AggregateCall:
    """The aggregate call that the node is; its argument is resolved over rows."""
    if isinstance(node, exp.Filter):
        return _filtered(node, rows)
    if isinstance(node, exp.WithinGroup):
        return _percentile(node, rows)
    name = node.sql_name().upper() if isinstance(node, exp.Func) else node.key.upper()
    spoken = node.sql(dialect="duckdb")
    if isinstance(node, exp.Count):
        return AggregateCall("count", _counted(node, rows), spoken, span=span_of(node))
    if type(node) not in NAMES or node.args.get("expressions"):
        raise refuse("aggregate", node, name)
    if isinstance(node.this, exp.Distinct):
        raise refuse("distinct_aggregate", node, name)
    argument = rows(node.this)
    if not argument.facts.type.numeric:
        if NAMES[type(node)] in ("min", "max", "median"):
            raise refuse("aggregate", node, f"{name} of {argument.facts.type.value}")
        raise Refused(
            "type_error", f"{name} takes numbers, not {argument.facts.type.value}.", fix="use COUNT.", span=span_of(node)
        )
    return AggregateCall(NAMES[type(node)], argument, spoken, span=span_of(node))


def _counted(node: exp.Count, rows: Scalars) -> Expr | None:
    if node.args.get("expressions"):
        raise refuse("expression", node, "COUNT of several columns")
    if isinstance(node.this, exp.Distinct):
        if any(isinstance(e, exp.Star) for e in node.this.expressions):
            raise Refused("parse_error", "COUNT(DISTINCT *) has no meaning.", fix="COUNT(*) counts rows.", span=span_of(node))
        raise refuse("distinct_aggregate", node, "COUNT")
    if node.this is None or isinstance(node.this, exp.Star):
        return None
    argument = rows(node.this)
    return None if not argument.facts.nullable else argument


def _filtered(node: exp.Filter, rows: Scalars) -> AggregateCall:
    """AGG(x) FILTER (WHERE p) is AGG(CASE WHEN p THEN x END)."""
    inner = aggregate_of(node.this, rows)
    predicate = rows(node.expression.this)
    if predicate.facts.type is not Type.BOOLEAN:
        raise refuse("where", node)
    value = inner.argument if inner.argument is not None else literal(1)
    chosen = call("case", predicate, value, null_of(value.facts.type))
    return AggregateCall(inner.function, chosen, node.sql(dialect="duckdb"), inner.parameter, span_of(node))


def _percentile(node: exp.WithinGroup, rows: Scalars) -> AggregateCall:
    if not isinstance(node.this, exp.PercentileDisc):
        raise refuse("aggregate", node, node.this.sql_name().upper())
    fraction = rows(node.this.this)
    number = fraction.value if isinstance(fraction, Literal) else None
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 <= number <= 1:
        raise Refused("bad_parameter", "PERCENTILE_DISC takes a literal from 0 to 1.", fix="write 0.5.", span=span_of(node))
    ordered = node.expression.expressions[0].this
    spoken = f"PERCENTILE_DISC({number:g}) WITHIN GROUP (ORDER BY {ordered.sql(dialect='duckdb')})"
    return AggregateCall("percentile_disc", rows(ordered), spoken, float(number), span_of(node))
