"""The columns that an expression names, for expressions that stand by themselves."""

from __future__ import annotations

from sqlglot import expressions as exp

from obverse.core.errors import Refused
from obverse.sql.names import folded
from obverse.sql.parse import parse


def columns_in(text: str) -> tuple[str, ...]:
    """In the order in which they are first named. Nothing but one expression over columns of one row is taken."""
    tree = parse(f"SELECT ({text}\n) AS v")
    alone = len(tree.expressions) == 1 and {part for part, value in tree.args.items() if value} <= {"expressions", "kind"}
    inner = [node for node in tree.walk() if isinstance(node, (exp.Select, exp.AggFunc, exp.Window, exp.Star))]
    if not alone or len(inner) > 1:
        raise Refused("bad_condition", "this is not an expression over the columns of one row.", fix="Write age >= 18.")
    return tuple(dict.fromkeys(folded(column.this) for column in tree.find_all(exp.Column)))
