"""What an output of a query is called: where it has no name, PostgreSQL gives it one."""

from __future__ import annotations

from sqlglot import expressions as exp

from obverse.server.pg_catalog.context import WRITTEN


def name_outputs(tree: exp.Expression) -> None:
    """Outputs without a name get the one that PostgreSQL gives them."""
    select = tree
    while isinstance(select, exp.SetOperation | exp.Subquery):
        select = select.this
    if isinstance(select, exp.Select):
        select.set("expressions", [_named(node) for node in select.expressions])


def _named(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.Alias | exp.Star) or node.is_star or (isinstance(node, exp.Column) and not node.find(exp.Dot)):
        return node
    return exp.alias_(node, output_name(node), quoted=True)


def output_name(node: exp.Expression) -> str:
    match node:
        case exp.Column():
            return str(node.name)
        case exp.Dot():
            return output_name(node.expression) if isinstance(node.expression, exp.Func) else str(node.name)
        case exp.Cast():
            inner = output_name(node.this)
            return inner if inner != "?column?" else _type_name(node)
        case exp.Case():
            return "case"
        case exp.Anonymous():
            return str(node.this).lower()
        case exp.CurrentVersion():
            return "version"
        case exp.CurrentTimestamp():
            return "now"
        case exp.Array():
            return "array"
        case exp.Paren() | exp.Filter() | exp.Window():
            return output_name(node.this)
        case exp.Subquery():
            return output_name(node.this.expressions[0]) if isinstance(node.this, exp.Select) else "?column?"
        case exp.Alias():
            return str(node.alias)
        case exp.Func() if not isinstance(node, exp.And | exp.Or | exp.Binary):
            return str(node.sql_name()).lower()
        case exp.Boolean():
            return "bool"
        case _:
            return "?column?"


def _type_name(node: exp.Cast) -> str:
    shown = {"INT": "int4", "BIGINT": "int8", "SMALLINT": "int2", "BOOLEAN": "bool", "DOUBLE": "float8", "DECIMAL": "numeric"}
    name = node.to.sql(dialect=WRITTEN)
    return str(shown.get(name, name.lower()))
