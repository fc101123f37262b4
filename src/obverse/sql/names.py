"""Names in SQL: folding, look-up, and what an output is called."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sqlglot import expressions as exp

from obverse.core.errors import Refused
from obverse.sql.parse import check_parts, refuse

COPIED_MAX = 5_000
SPOKEN = {  # what the parser calls by a word that nobody writes
    "datediff": "date_diff", "timestamp_trunc": "date_trunc", "date_from_parts": "make_date", "time_to_unix": "epoch",
    "unix_to_time": "to_timestamp", "time_to_str": "strftime", "str_position": "strpos", "variance_pop": "var_pop",
}  # fmt: skip


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


class Aliases:
    """What the names of outputs stand for. Each use is a copy, and copies of copies double: their size is bounded."""

    def __init__(self, outputs: Iterable[exp.Expression]) -> None:
        self._meant = {folded(e.args["alias"]): e.this for e in outputs if isinstance(e, exp.Alias)}
        self._copied = 0

    def __call__(self, name: str) -> exp.Expression | None:
        found = self._meant.get(name)
        if found is not None:
            self._copied += sum(1 for _ in found.walk())
            if self._copied > COPIED_MAX:
                raise Refused("too_complex", "names of outputs are used too often.", fix="write the expressions out.")
        return found


def meant(
    node: exp.Expression, outputs: list[exp.Expression], aliases: Aliases, has: Callable[[exp.Column], bool]
) -> exp.Expression:
    """What an ordinal or an alias in GROUP BY stands for; a column of the rows before an alias of the same name."""
    if isinstance(node, exp.Literal) and not node.args.get("is_string"):
        place = int(node.this) if str(node.this).isdigit() else 0
        if not 1 <= place <= len(outputs):
            raise refuse("expression", node, f"position {node.this}")
        chosen = outputs[place - 1]
        return chosen.this if isinstance(chosen, exp.Alias) else chosen
    if isinstance(node, exp.Column) and not node.args.get("table") and not has(node):
        return aliases(folded(node.this)) or node
    return node


def check_apart(names: list[str], node: exp.Expression) -> None:
    """Columns are told apart whatever the case of their names, as DuckDB does."""
    alike = [name.lower() for name in names]
    for name in names:
        if alike.count(name.lower()) > 1:
            raise refuse("ambiguous", node, name)


def output_name(node: exp.Expression) -> str:
    """The name PostgreSQL would give an output without an alias."""
    if isinstance(node, exp.Column):
        return folded(node.this)
    if isinstance(node, exp.Filter | exp.Paren | exp.WithinGroup):
        return output_name(node.this)
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower()
    if not isinstance(node, exp.Func) or isinstance(node, exp.Case | exp.Cast):
        return "column"
    name = str(node.sql_name()).lower()
    return SPOKEN.get(name, name)


def function_name(node: exp.Expression) -> str:
    """A function as it is called, as far as the parser remembers."""
    if isinstance(node, exp.Anonymous):
        return str(node.this)
    return str(node.sql_name()).lower() if isinstance(node, exp.Func) else str(node.key).upper()


def whole_number(node: exp.Expression | None) -> int | None:
    """The literal of a LIMIT or OFFSET."""
    if node is None:
        return None
    inner = node.expression
    if isinstance(inner, exp.Cast) and inner.to.this in exp.DataType.INTEGER_TYPES:  # as drivers write a parameter
        inner = inner.this
    if isinstance(inner, exp.Subquery | exp.Select):
        raise refuse("subquery", inner)
    if not isinstance(inner, exp.Literal) or inner.args.get("is_string") or not str(inner.this).isdigit():
        raise refuse("limit", node)
    check_parts(node)
    return min(int(inner.this), 1 << 40)
