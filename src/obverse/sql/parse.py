"""Text to syntax tree, dialect always named; refuses whatever is not one SELECT."""

from __future__ import annotations

import logging
import re

import sqlglot
from sqlglot import expressions as exp
from sqlglot.errors import SqlglotError

from obverse.core.errors import Refused, Span
from obverse.sql.screen import DEPTH_MAX, screen
from obverse.sql.support import REFUSALS

DIALECT = "duckdb"
UNDERSTOOD = frozenset(  # parts of syntax nodes that the resolver reads, and those that change nothing here
    "this expression expressions low high ifs default true false to safe decimals unit table is_string quoted negate "
    "desc nulls_first big_int ignore_nulls typed is_nvl is_null input_type_preserved".split()
)
FIRST_WORD = re.compile(r"(?:\s|\(|--[^\n]*|/\*.*?\*/)*([A-Za-z]+)", re.DOTALL)

logging.getLogger("sqlglot").setLevel(logging.ERROR)


def refuse(name: str, node: exp.Expression | None = None, what: str = "", hint: str = "") -> Refused:
    """The refusal of that name in the table of supported SQL, pointing at the node; a hint comes before its fix."""
    row = REFUSALS[name]
    fix = f"{hint} {row.fix}" if hint else row.fix
    return Refused(row.code, row.message.format(what=what), why=row.why, fix=fix, span=span_of(node))


def span_of(node: exp.Expression | None) -> Span | None:
    """The stretch of text that the node was parsed from, as far as the parser remembers."""
    if node is None:
        return None
    ends = [(n.meta["start"], n.meta["end"] + 1) for n in node.walk() if "start" in n.meta and "end" in n.meta]
    return Span(min(e[0] for e in ends), max(e[1] for e in ends)) if ends else None


def check_parts(node: exp.Expression) -> None:
    """Refuse a node that carries a part which nobody reads: what is half understood would be answered wrongly."""
    for part, value in node.args.items():
        if value and part not in UNDERSTOOD:
            raise refuse("expression", node, part.strip("_").replace("_", " ").upper())


def parse(text: str) -> exp.Select:
    """The one SELECT of the text, or a refusal that says where and why not."""
    screen(text)
    if not text.strip(" \t\r\n\f;"):
        raise Refused("parse_error", "the question is empty.", fix="write SELECT COUNT(*) FROM table.")
    try:
        statements = [s for s in sqlglot.parse(text, dialect=DIALECT) if s is not None]
    except SqlglotError as error:
        raise _unparsed(error, text) from None
    except RecursionError:
        raise Refused("too_complex", "the question is too deeply nested.", fix="ask something simpler.") from None
    except IndexError:  # the parser reads on behind the end of SHOW ALL
        raise Refused("parse_error", "this is not SQL that can be read.", fix="check the syntax.") from None
    statements = [s for s in statements if not isinstance(s, exp.Semicolon)]
    if not statements:
        raise Refused("parse_error", "the question is empty.", fix="write SELECT COUNT(*) FROM table.")
    if len(statements) > 1:
        raise refuse("second_statement", statements[1])
    return _select(statements[0], text)


def _select(tree: exp.Expression, text: str) -> exp.Select:
    _check_depth(tree)
    if isinstance(tree, exp.SetOperation):
        raise refuse("set_operation", None, tree.key.upper())
    if isinstance(tree, exp.Subquery) and not tree.args.get("with_"):
        return _select(tree.this, text)
    if not isinstance(tree, exp.Select):
        word = FIRST_WORD.match(text)
        raise refuse("statement", tree, word.group(1).upper() if word else "this")
    for node in list(tree.find_all(exp.EQ, exp.NEQ)):
        _as_membership(node)
    return tree


def _as_membership(node: exp.EQ | exp.NEQ) -> None:
    """x = ANY (...) says IN, x <> ALL (...) says NOT IN; of other comparisons with a list there is no proof here."""
    right = node.expression
    inner: exp.Expression | None = None
    if isinstance(node, exp.EQ) and isinstance(right, exp.Any):
        inner = right.this.unnest()
    elif isinstance(node, exp.NEQ) and isinstance(right, exp.Anonymous) and str(right.this).upper() == "ALL":
        inner = right.expressions[0] if len(right.expressions) == 1 else None
    elif isinstance(node, exp.NEQ) and isinstance(right, exp.All):
        inner = right.this.unnest()
    if isinstance(inner, exp.Array):
        found: exp.Expression = exp.In(this=node.this, expressions=inner.expressions)
    elif isinstance(inner, exp.Subquery | exp.Select):
        found = exp.In(this=node.this, query=inner if isinstance(inner, exp.Subquery) else exp.Subquery(this=inner))
    else:
        return
    node.replace(found if isinstance(node, exp.EQ) else exp.Not(this=found))


def _check_depth(tree: exp.Expression) -> None:
    """Depth without counting chains of AND, OR and arithmetic of one kind, which are read as lists."""
    stack = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > DEPTH_MAX:
            raise Refused("too_complex", "the question is too deeply nested.", fix="ask something simpler.", span=span_of(node))
        for child in node.iter_expressions():
            chained = isinstance(node, exp.And | exp.Or) and type(child) is type(node)
            stack.append((child, depth if chained else depth + 1))


def _unparsed(error: SqlglotError, text: str) -> Refused:
    details = getattr(error, "errors", [])
    span = None
    if details and details[0].get("line"):
        lines = text.split("\n")
        line = min(details[0]["line"], len(lines)) - 1
        offset = sum(len(part) + 1 for part in lines[:line])
        end = offset + details[0].get("col", 1)
        width = max(1, len(details[0].get("highlight") or "x"))
        span = Span(max(0, end - width), min(len(text), max(end, 1)))
    return Refused(
        "parse_error", "this is not SQL that can be read.", why="the parser stopped here.", fix="check the syntax.", span=span
    )
