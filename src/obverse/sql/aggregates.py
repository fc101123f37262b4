"""Syntax of aggregates to calls of the registry."""

from __future__ import annotations

from sqlglot import expressions as exp

from obverse.core.errors import Refused
from obverse.core.types import Type
from obverse.plan.expressions import Expr, Literal, literal, null_of
from obverse.plan.functions import call
from obverse.plan.query import AggregateCall
from obverse.sql.parse import refuse, span_of
from obverse.sql.scalars import Scalars

NAMES: dict[type[exp.Expression], str] = {
    exp.Sum: "sum", exp.Avg: "avg", exp.Variance: "var_samp", exp.VariancePop: "var_pop", exp.Stddev: "stddev_samp",
    exp.StddevSamp: "stddev_samp", exp.StddevPop: "stddev_pop", exp.Min: "min", exp.Max: "max", exp.Median: "median",
    exp.Mode: "mode",
}  # fmt: skip
PAIRS: dict[type[exp.Expression], str] = {exp.Corr: "corr", exp.CovarPop: "covar_pop", exp.CovarSamp: "covar_samp"}
PAIRS |= {
    kind: name
    for name in ("regr_slope", "regr_intercept", "regr_r2", "regr_count")
    if (kind := getattr(exp, "".join(part.title() for part in name.split("_")), None)) is not None
}
QUANTILES: dict[type[exp.Expression], str] = {
    exp.Quantile: "quantile_cont", exp.PercentileCont: "quantile_cont", exp.PercentileDisc: "percentile_disc",
}  # fmt: skip
ORDERED = ("min", "max", "median", "quantile_cont", "percentile_disc")
ANONYMOUS = {"quantile_cont": "quantile_cont", "quantile_disc": "percentile_disc", "quantile": "percentile_disc"}


def is_aggregate(node: exp.Expression) -> bool:
    """Also those that the parser knows no name for."""
    named = isinstance(node, exp.Anonymous) and str(node.this).lower() in (*ANONYMOUS, *NAMED_PAIRS)
    return named or isinstance(node, exp.AggFunc | exp.Filter | exp.WithinGroup)


NAMED_PAIRS = ("regr_slope", "regr_intercept", "regr_r2", "regr_count", "corr", "covar_pop", "covar_samp")


def aggregate_of(node: exp.Expression, rows: Scalars) -> AggregateCall:
    """The aggregate call that the node is; its argument is resolved over rows."""
    if isinstance(node, exp.Filter):
        return _filtered(node, rows)
    if isinstance(node, exp.WithinGroup):
        return _percentile(node, rows)
    name = node.sql_name().upper() if isinstance(node, exp.Func) else node.key.upper()
    spoken = node.sql(dialect="duckdb")
    if isinstance(node, exp.Anonymous):
        return _named(node, rows, spoken)
    if isinstance(node, exp.Count):
        return _counted(node, rows, spoken)
    if type(node) in PAIRS:
        return _pair(PAIRS[type(node)], [node.this, node.expression], rows, node, spoken)
    if type(node) in QUANTILES:
        function = QUANTILES[type(node)]
        parameter = node.args.get("quantile") if isinstance(node, exp.Quantile) else node.expression
        return _ordered(function, node.this, rows, node, spoken, _share(parameter, rows, node))
    if type(node) not in NAMES or node.args.get("expressions"):
        raise refuse("aggregate", node, name)
    if isinstance(node.this, exp.Distinct):
        raise refuse("distinct_aggregate", node, name)
    function = NAMES[type(node)]
    if function in ORDERED:
        return _ordered(function, node.this, rows, node, spoken)
    argument = rows(node.this)
    if function != "mode":
        _numeric(argument, name, node)
    return AggregateCall(function, argument, spoken, span=span_of(node))


def _numeric(argument: Expr, name: str, node: exp.Expression) -> None:
    if not argument.facts.type.numeric:
        raise Refused(
            "type_error",
            f"{name} takes numbers, not {argument.facts.type.value}.",
            fix="use COUNT.",
            span=span_of(node),
        )


def _ordered(
    function: str, inner: exp.Expression, rows: Scalars, node: exp.Expression, spoken: str, q: float | None = None
) -> AggregateCall:
    """An order statistic of numbers, dates or timestamps."""
    argument = rows(inner)
    if not (argument.facts.type.numeric or argument.facts.type in (Type.DATE, Type.TIMESTAMP)):
        raise refuse("aggregate", node, f"{function.upper()} of {argument.facts.type.value}")
    return AggregateCall(function, argument, spoken, q, span_of(node))


def _pair(
    function: str, inner: list[exp.Expression], rows: Scalars, node: exp.Expression, spoken: str
) -> AggregateCall:
    if len(inner) != 2 or None in inner:
        raise refuse("aggregate", node, f"{function.upper()} of one argument")
    first, second = (rows(part) for part in inner)
    for argument in (first, second):
        _numeric(argument, function.upper(), node)
    return AggregateCall(function, first, spoken, span=span_of(node), second=second)


def _named(node: exp.Anonymous, rows: Scalars, spoken: str) -> AggregateCall:
    name = str(node.this).lower()
    inner = node.expressions
    if len(inner) != 2:
        raise refuse("aggregate", node, name.upper())
    if name in NAMED_PAIRS:
        return _pair(name, inner, rows, node, spoken)
    return _ordered(ANONYMOUS[name], inner[0], rows, node, spoken, _share(inner[1], rows, node))


def _counted(node: exp.Count, rows: Scalars, spoken: str) -> AggregateCall:
    if node.args.get("expressions"):
        raise refuse("expression", node, "COUNT of several columns")
    inner = node.this
    if isinstance(inner, exp.Distinct):
        if any(isinstance(e, exp.Star) for e in inner.expressions):
            raise Refused(
                "parse_error", "COUNT(DISTINCT *) has no meaning.", fix="COUNT(*) counts rows.", span=span_of(node)
            )
        if len(inner.expressions) != 1:
            raise refuse("expression", node, "COUNT of several columns")
        argument = rows(inner.expressions[0])
        return AggregateCall("count_distinct", argument, spoken, span=span_of(node))
    if inner is None or isinstance(inner, exp.Star):
        return AggregateCall("count", None, spoken, span=span_of(node))
    argument = rows(inner)
    return AggregateCall("count", argument if argument.facts.nullable else None, spoken, span=span_of(node))


def _filtered(node: exp.Filter, rows: Scalars) -> AggregateCall:
    """AGG(x) FILTER (WHERE p) is AGG(CASE WHEN p THEN x END)."""
    inner = aggregate_of(node.this, rows)
    predicate = rows(node.expression.this)
    if predicate.facts.type is not Type.BOOLEAN:
        raise refuse("where", node)
    value = inner.argument if inner.argument is not None else literal(1)
    chosen = call("case", predicate, value, null_of(value.facts.type))
    spoken = node.sql(dialect="duckdb")
    return AggregateCall(inner.function, chosen, spoken, inner.parameter, span_of(node), inner.second)


def _percentile(node: exp.WithinGroup, rows: Scalars) -> AggregateCall:
    inner = node.this
    ordered = node.expression.expressions[0]
    descending = bool(ordered.args.get("desc"))
    if isinstance(inner, exp.Mode):
        return AggregateCall("mode", rows(ordered.this), node.sql(dialect="duckdb"), span=span_of(node))
    if not isinstance(inner, exp.PercentileDisc | exp.PercentileCont):
        raise refuse("aggregate", node, inner.sql_name().upper())
    share = _share(inner.this, rows, node)
    if descending and isinstance(inner, exp.PercentileDisc):
        raise refuse("expression", node, "PERCENTILE_DISC in descending order")
    function = "percentile_disc" if isinstance(inner, exp.PercentileDisc) else "quantile_cont"
    spoken = f"{inner.sql_name().upper()}({share:g}) WITHIN GROUP (ORDER BY {ordered.this.sql(dialect='duckdb')})"
    return _ordered(function, ordered.this, rows, node, spoken, 1 - share if descending else share)


def _share(node: exp.Expression | None, rows: Scalars, where: exp.Expression) -> float:
    if node is None:
        raise refuse("aggregate", where, "a quantile without its share")
    fraction = rows(node)
    number = fraction.value if isinstance(fraction, Literal) else None
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 <= number <= 1:
        raise Refused("bad_parameter", "a quantile takes a literal from 0 to 1.", fix="write 0.5.", span=span_of(where))
    return float(number)
