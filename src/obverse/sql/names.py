"""Names in SQL: folding, look-up, and what an output is called."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import expressions as exp

from obverse.sql.parse import check_parts, refuse


def folded(identifier: exp.Identifier) -> str:
    name = str(identifier.name)
    return name if identifier.args.get("quoted") else name.lower()


def by_name(identifier: exp.Identifier, declared: Iterable[str]) -> str | None:
    """The declared name that is meant: quoted exactly, unquoted whatever its case."""
    names, written = list(declared), str(identifier.name)
    if identifier.args.get("quoted"):
        return written if written in names else None
    matches = [n for n in names if n.lower() == written.lower()]
    if written.lower() in matches:
        return written.lower()
    return matches[0] if len(matches) == 1 else None


def output_name(node: exp.Expression) -> str:
    """The name PostgreSQL would give an output without an alias."""
    if isinstance(node, exp.Column):
        return folded(node.this)
    if isinstance(node, exp.Filter | exp.Paren | exp.WithinGroup):
        return output_name(node.this)
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower()
    return node.sql_name().lower() if isinstance(node, exp.Func) and not isinstance(node, exp.Case | exp.Cast) else "column"


def function_name(node: exp.Expression) -> str:
    """A function as it is called, as far as the parser remembers."""
    if isinstance(node, exp.Anonymous):
        return str(node.this)
    return node.sql_name().lower() if isinstance(node, exp.Func) else node.key.upper()


def whole_number(node: exp.Expression | None) -> int | None:
    """The literal of a LIMIT or OFFSET."""
    if node is None:
        return None
    inner = node.expression
    if isinstance(inner, exp.Subquery | exp.Select):
        raise refuse("subquery", inner)
    if not isinstance(inner, exp.Literal) or inner.args.get("is_string") or not str(inner.this).isdigit():
        raise refuse("limit", node)
    check_parts(node)
    return min(int(inner.this), 1 << 40)
