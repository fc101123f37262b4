"""Rows that the question writes down: VALUES, UNNEST of a list, and a SELECT without FROM. Public, since the question is."""

from __future__ import annotations

from typing import NoReturn

from sqlglot import expressions as exp

from obverse.catalog.model import Catalog
from obverse.core.types import Value
from obverse.plan.expressions import Expr, Literal, Ref, as_kind
from obverse.plan.functions import meaning
from obverse.plan.functions.base import common_type
from obverse.plan.nodes import Listed, Map, Relation, Union
from obverse.plan.stability.derive import facts_of, reads
from obverse.sql.named import Named
from obverse.sql.names import check_apart, folded, function_name
from obverse.sql.parse import refuse
from obverse.sql.scalars import Clock, Scalars

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
