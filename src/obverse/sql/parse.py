"""Text to syntax tree, dialect always named; refuses whatever is not one SELECT.

A first look at the text, before any parser: size, tokens, depth, blanks and string forms.
"""

from __future__ import annotations

import logging
import re

import sqlglot
from sqlglot import expressions as exp
from sqlglot.errors import SqlglotError

from obverse.core.errors import Refused, Span
from obverse.sql.support import REFUSALS

BYTES_MAX = 64_000
TOKENS_MAX = 5_000
DEPTH_MAX = 100
DIGITS_MAX = 1_000
CHAIN_MAX = 100  # NOT NOT NOT ..., - - - ...

TOKEN = re.compile(
    r"""(?P<blank>[ \t\r\n\f]+)
      | (?P<comment>--[^\n]*)
      | (?P<block>/\*)
      | (?P<prefixed>(?:[eEbBxXnNrR]|[uU]&)'|\$[A-Za-z_]*\$)
      | (?P<string>'(?:[^']|'')*')
      | (?P<quoted>"(?:[^"]|"")*")
      | (?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
      | (?P<word>[A-Za-z_][A-Za-z_0-9]*)
      | (?P<open>[(\[{])
      | (?P<close>[)\]}])
      | (?P<sign>[!-/:-@\[-`{-~])
    """,
    re.VERBOSE,
)


def screen(text: str) -> None:
    """Refuse what is too long, too deep or strangely written; linear in the text, at most 5,000 tokens."""
    if len(text) > BYTES_MAX or len(text.encode("utf-8", "surrogatepass")) > BYTES_MAX:
        raise Refused("too_long", f"a question has at most {BYTES_MAX} bytes.", fix="ask something shorter.")
    if any("\ud800" <= sign <= "\udfff" for sign in text):
        raise Refused("parse_error", "the text holds half a character.", fix="send it as valid Unicode.")
    place = tokens = depth = chain = 0
    while place < len(text):
        match = TOKEN.match(text, place)
        if match is None:
            raise Refused(
                "parse_error",
                "this character is not understood here.",
                why="outside strings, SQL is written in ASCII.",
                fix="use plain blanks and letters, or quote it.",
                span=Span(place, place + 1),
            )
        kind = match.lastgroup
        end = match.end()
        if kind == "prefixed":
            raise Refused(
                "parse_error", "this form of string is not understood.", fix="write 'text'.", span=Span(place, end)
            )
        if kind == "block":
            end = _comment_end(text, place)
        elif kind == "number" and end - place > DIGITS_MAX:
            raise Refused(
                "bad_parameter", "this number is too long.", fix="write a shorter number.", span=Span(place, end)
            )
        elif kind not in ("blank", "comment"):
            tokens += 1
            depth += (kind == "open") - (kind == "close")
            chained = match.group() in "-+~" or match.group().upper() in ("NOT", "CASE")
            chain = chain + 1 if chained else 0 if kind not in ("open",) else chain
            if tokens > TOKENS_MAX or depth > DEPTH_MAX or chain > CHAIN_MAX:
                raise Refused(
                    "too_complex", "the question is too long or too deeply nested.", fix="ask something simpler."
                )
        place = end


def _comment_end(text: str, start: int) -> int:
    end = text.find("*/", start + 2)
    if end < 0 or "/*" in text[start + 2 : end]:
        raise Refused(
            "parse_error",
            "this comment is not closed, or nested.",
            fix="close it with */.",
            span=Span(start, start + 2),
        )
    return end + 2


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
            raise Refused(
                "too_complex", "the question is too deeply nested.", fix="ask something simpler.", span=span_of(node)
            )
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
        "parse_error",
        "this is not SQL that can be read.",
        why="the parser stopped here.",
        fix="check the syntax.",
        span=span,
    )
