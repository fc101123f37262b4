"""Constants of the text: the values they denote, and how one is read as the other side's type.

The columns that an expression names, for expressions that stand by themselves.
"""

from __future__ import annotations

from sqlglot import expressions as exp

from obverse.core.errors import Refused
from obverse.core.types import INT64_MAX, INT64_MIN, Type, Value
from obverse.plan.expressions import Expr, Literal, literal, null_of
from obverse.plan.functions import BY_NAME
from obverse.sql.names import folded
from obverse.sql.parse import parse, span_of


def columns_in(text: str) -> tuple[str, ...]:
    """In the order in which they are first named. Nothing but one expression over columns of one row is taken."""
    tree = parse(f"SELECT ({text}\n) AS v")
    alone = len(tree.expressions) == 1 and {part for part, value in tree.args.items() if value} <= {
        "expressions",
        "kind",
    }
    inner = [node for node in tree.walk() if isinstance(node, (exp.Select, exp.AggFunc, exp.Window, exp.Star))]
    if not alone or len(inner) > 1:
        raise Refused("bad_condition", "this is not an expression over the columns of one row.", fix="Write age >= 18.")
    return tuple(dict.fromkeys(folded(column.this) for column in tree.find_all(exp.Column)))


def typed_constant(value: Value, kind: Type) -> Expr:
    if value is None or (isinstance(value, float) and value - value != 0):
        return null_of(kind)
    if kind is Type.DOUBLE and isinstance(value, int):
        value = float(value)
    return literal(value)


def constant(node: exp.Expression) -> Literal:
    """A literal of the text as the value it denotes."""
    if isinstance(node, exp.Null):
        return null_of(Type.TEXT)
    if isinstance(node, exp.Boolean):
        return literal(bool(node.this))
    text = str(node.this)
    if node.args.get("is_string"):
        if "\0" in text:
            raise Refused("parse_error", "a text holds no zero byte.", span=span_of(node))
        return literal(text)
    try:
        number: int | float = int(text)
    except ValueError:
        number = _double(text, node)
    if isinstance(number, int) and not INT64_MIN <= number <= INT64_MAX:
        number = float(number) if abs(number) < 10**308 else float("inf")
    if isinstance(number, float) and number - number != 0:
        raise Refused("bad_parameter", "this number is too large.", fix="write a smaller number.", span=span_of(node))
    return literal(number)


def _double(text: str, node: exp.Expression) -> float:
    try:
        return float(text)
    except ValueError:
        fix = "put blanks around + and -."
        raise Refused("parse_error", "this number cannot be read.", fix=fix, span=span_of(node)) from None


def coerce(name: str, a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Read a text constant as the other side's type, and a number beside text as text; one rule for all engines."""
    if isinstance(b, Literal) and b.facts.type is not a.facts.type:
        return a, _read_as(b, a.facts.type)
    if isinstance(a, Literal) and a.facts.type is not b.facts.type:
        return _read_as(a, b.facts.type), b
    return a, b


def _read_as(constant: Literal, kind: Type) -> Expr:
    value = constant.value
    if value is None:
        return null_of(kind)
    numeric = isinstance(value, (int, float)) and not isinstance(value, bool)
    if numeric and kind in (Type.INTEGER, Type.DOUBLE):
        return constant
    if not isinstance(value, str) and not (numeric and kind in (Type.TEXT, Type.BOOLEAN)):
        return constant
    if isinstance(value, str) and kind is Type.INTEGER:
        kind = Type.INTEGER if value.strip().lstrip("+-").isdigit() else Type.DOUBLE
    read = BY_NAME[f"to_{kind.value}"].reference(value)
    if read is None or (isinstance(read, float) and read - read != 0):
        raise Refused("type_error", f"this text cannot be read as {kind.value}.", fix=f"write a {kind.value}.")
    return literal(read)
