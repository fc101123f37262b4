"""Exact SQL of a question over public tables."""

from __future__ import annotations

from collections.abc import Mapping

from obverse.catalog.model import Catalog
from obverse.core.engine import PublicRows
from obverse.core.errors import Refused
from obverse.plan.dialects import DIALECTS
from obverse.plan.dialects.base import Dialect
from obverse.plan.emit import expressions as printing
from obverse.plan.emit.sources import Sources
from obverse.plan.expressions import Call, Expr
from obverse.plan.functions import BY_NAME
from obverse.plan.query import PublicQuestion

# of one answer
ROWS_MAX = 100_000
VALUES_MAX = 500_000


def emit_public(question: PublicQuestion, catalog: Catalog, dialect: str) -> str:
    """The text: every identifier quoted, every name ours."""
    d = DIALECTS[dialect]
    source = Sources(catalog, d, "")(question.relation)

    def text(expr: Expr) -> str:
        return _text(expr, source.columns, d)

    items = ", ".join(f"{text(o.expr)} AS c{i}" for i, o in enumerate(question.outputs))
    sql = f"SELECT {'DISTINCT ' if question.distinct else ''}{items} FROM {source.sql} AS t"
    if question.groups:
        sql += f" GROUP BY {', '.join(text(g) for g in question.groups)}"
    if question.having is not None:
        sql += f" HAVING {text(question.having)}"
    order = [
        f"{text(o.expr)} {'DESC' if o.descending else 'ASC'} NULLS {'FIRST' if o.nulls_first else 'LAST'}"
        for o in question.order
    ]
    order += [f"c{i} ASC" for i in range(len(question.outputs))]  # the rest of the order is settled too
    one_more = _most(question) + 1  # by which it is seen that there are too many
    limit = one_more if question.limit is None else min(question.limit, one_more)
    return f"{sql} ORDER BY {', '.join(order)} LIMIT {limit} OFFSET {question.offset}"


def whole(question: PublicQuestion, found: PublicRows) -> PublicRows:
    """Refuse what would have to be cut: nobody could tell it from the whole."""
    most = _most(question)
    if len(found.rows) > most:
        raise Refused(
            "too_many_rows",
            f"the answer has more than {most:,} rows.",
            why=f"an answer has at most {ROWS_MAX:,} rows and {VALUES_MAX:,} values.",
            fix=f"write LIMIT {most}, or ask for fewer columns or groups.",
        )
    return found


def _most(question: PublicQuestion) -> int:
    return min(ROWS_MAX, VALUES_MAX // max(1, len(question.outputs)))


def _text(expr: Expr, columns: Mapping[str, str], d: Dialect) -> str:
    if not isinstance(expr, Call):
        return printing.expression(expr, columns, d)
    args = tuple(_text(arg, columns, d) for arg in expr.args)
    if not expr.function.startswith("public_"):
        return BY_NAME[expr.function].sql(args, tuple(arg.facts for arg in expr.args), d)
    name = expr.function.removeprefix("public_")
    if name.endswith("_distinct"):
        return f"{name.removesuffix('_distinct')}(DISTINCT {args[0]})"
    return f"{name}({args[0] if args else '*'})"
