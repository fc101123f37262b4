"""Sums over sets of rows, from SQL: `SELECT SUM(secret) FROM table WHERE what is public`, with GROUP BY as several
at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import expressions as exp

from obverse.core.errors import Refused
from obverse.sql.parse import DIALECT, parse, span_of


@dataclass(frozen=True, slots=True)
class Subset:
    """Which rows a question adds up: those where the condition is true, in one set for each value of the keys."""

    table: str
    condition: str  # SQL; TRUE where there is none
    keys: tuple[str, ...]  # SQL


def subset(text: str, secret: str) -> Subset:
    """What a question about the secret column adds up; refuses whatever is not a plain sum over public conditions."""
    tree = parse(text)
    named = {part for part, value in tree.args.items() if value} - {
        "expressions",
        "from_",
        "from",
        "where",
        "group",
        "kind",
    }
    if named:
        raise _refused("it has more than WHERE and GROUP BY", tree, text)
    tables = list(tree.find_all(exp.Table))
    if len(tables) != 1 or tree.find(exp.Subquery) is not None or len(list(tree.find_all(exp.Select))) != 1:
        raise _refused("it is about more than one table", tree, text)
    keys = tree.args["group"].expressions if tree.args.get("group") else []
    outputs = [one.unalias() for one in tree.expressions]
    sums = [one for one in outputs if one not in keys]
    if len(sums) != 1 or not isinstance(sums[0], exp.Sum) or not _is(sums[0].this, secret):
        raise _refused(f"it is not one SUM({secret})", tree, text)
    where = tree.args.get("where")
    for part in (*([where] if where is not None else []), *keys):
        if any(_is(column, secret) for column in part.find_all(exp.Column)) or part.find(exp.AggFunc) is not None:
            raise _refused("its conditions look at the secret, or are no conditions on rows", part, text)
    condition = "TRUE" if where is None else where.this.sql(dialect=DIALECT)
    return Subset(tables[0].name, condition, tuple(key.sql(dialect=DIALECT) for key in keys))


def _is(node: exp.Expression, secret: str) -> bool:
    return isinstance(node, exp.Column) and node.name.lower() == secret.lower()


def _refused(what: str, node: exp.Expression, text: str) -> Refused:
    found = Refused(
        "not_a_subset_sum",
        f"this question cannot be audited: {what}.",
        why="auditing needs to know which rows are added up, from public columns alone.",
        fix="Write SELECT SUM(secret) FROM table WHERE conditions on public columns.",
        span=span_of(node),
    )
    found.located(text)
    return found
