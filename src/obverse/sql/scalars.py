"""Syntax of scalar expressions to typed ones: an allow-list of nodes, each mapped to a proved function."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot import expressions as exp

from obverse.core.errors import Refused
from obverse.core.types import Type
from obverse.plan.expressions import Expr, Literal, literal, null_of
from obverse.plan.functions import BY_NAME, call
from obverse.sql import temporal
from obverse.sql.functions import READ_WHOLE, read_function, read_named
from obverse.sql.literals import coerce, constant, typed_constant
from obverse.sql.names import function_instead
from obverse.sql.parse import check_parts, refuse, span_of
from obverse.sql.support import AGGREGATE_NAMES, RANDOM_NAMES

WILDCARDS_MAX = 100


@dataclass(slots=True)
class Clock:
    """One moment for the whole question; remembers whether it was read."""

    moment: dt.datetime
    read: bool = field(default=False)

    def now(self) -> dt.datetime:
        self.read = True
        return self.moment


TYPES: dict[str, Type] = {
    "TINYINT": Type.INTEGER, "SMALLINT": Type.INTEGER, "INT": Type.INTEGER, "BIGINT": Type.INTEGER,
    "FLOAT": Type.DOUBLE, "DOUBLE": Type.DOUBLE, "DECIMAL": Type.DOUBLE,
    "BOOLEAN": Type.BOOLEAN, "TEXT": Type.TEXT, "VARCHAR": Type.TEXT, "CHAR": Type.TEXT,
    "DATE": Type.DATE, "TIMESTAMP": Type.TIMESTAMP, "TIMESTAMPNTZ": Type.TIMESTAMP, "DATETIME": Type.TIMESTAMP,
}  # fmt: skip

BINARY: dict[type[exp.Expression], str] = {
    exp.Add: "add", exp.Sub: "subtract", exp.Mul: "multiply", exp.Div: "divide", exp.IntDiv: "integer_divide",
    exp.Mod: "modulo", exp.EQ: "eq", exp.NEQ: "ne", exp.LT: "lt", exp.LTE: "le", exp.GT: "gt", exp.GTE: "ge",
    exp.NullSafeNEQ: "distinct_from",
}  # fmt: skip
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "distinct_from")
UNARY: dict[type[exp.Expression], str] = {
    exp.Neg: "negate",
    exp.Not: "not",
    exp.Abs: "abs",
    exp.Floor: "floor",
    exp.Ceil: "ceil",
}


class Scalars:
    """Resolves one expression; `column` and `aggregate` say what those mean at this place."""

    def __init__(
        self,
        column: Callable[[exp.Column], Expr],
        clock: Clock,
        aggregate: Callable[[exp.Expression], Expr] | None = None,
        known: Callable[[exp.Expression], Expr | None] | None = None,
    ) -> None:
        self.column = column
        self.clock = clock
        self.aggregate = aggregate
        self.known = known

    def __call__(self, node: exp.Expression) -> Expr:
        try:
            found = self.known(node) if self.known is not None else None
            if found is None:
                found = self.resolve(node)
                if type(node) not in READ_WHOLE and type(node) is not exp.DateDiff:
                    check_parts(node)
            return found
        except Refused as refused:
            refused.span = refused.span or span_of(node)
            raise

    def resolve(self, node: exp.Expression) -> Expr:
        match node:
            case exp.Paren():
                return self(node.this)
            case exp.Column():
                return self.column(node)
            case exp.Literal() | exp.Boolean() | exp.Null():
                return constant(node)
            case exp.And() | exp.Or():
                name = "and" if isinstance(node, exp.And) else "or"
                return self.make(name, *(self(part) for part in node.flatten()))
            case exp.Tuple() if len(node.expressions) == 1:
                return self(node.expressions[0])
            case _ if type(node) in BINARY:
                return self.binary(node, BINARY[type(node)])
            case _ if type(node) in UNARY:
                return self.unary(node, UNARY[type(node)])
            case _:
                return self.other(node)

    def unary(self, node: exp.Expression, name: str) -> Expr:
        if name in ("floor", "ceil") and (node.args.get("decimals") or node.args.get("to")):
            raise refuse("expression", node, name.upper() + " with digits")
        return self.make(name, self(node.this))

    def other(self, node: exp.Expression) -> Expr:
        match node:
            case exp.Window():
                raise refuse("window", node)
            case exp.Subquery() | exp.Select() | exp.Exists():
                raise refuse("subquery", node)
            case exp.Placeholder() | exp.Parameter():
                written = node.sql(dialect="duckdb", comments=False)
                raise refuse("parameter", node, f":{written[1:]}" if written[1:] else written)
            case exp.Filter() | exp.WithinGroup() | exp.AggFunc():
                return self.aggregated(node)
            case exp.IgnoreNulls() | exp.RespectNulls():
                raise refuse("aggregate", node, node.this.sql_name())
            case exp.Between():
                value = self(node.this)
                low = coerce("ge", value, self(node.args["low"]))
                high = coerce("le", value, self(node.args["high"]))
                return self.make("and", self.make("ge", *low), self.make("le", *high))
            case exp.In():
                return self.membership(node)
            case exp.Is():
                return self.truth(node)
            case exp.NullSafeEQ():
                return self.make("not", self.binary(node, "distinct_from"))
            case exp.Like() | exp.ILike() | exp.Escape():
                return self.like(node)
            case exp.Case() | exp.If():
                return self.case(node)
            case exp.Cast() | exp.TryCast():
                return self.cast(node)
            case _ if type(node) in READ_WHOLE:
                return read_function(node, self)
            case exp.DateDiff():
                return temporal.date_diff(node, self)
            case exp.Func():
                return self.function(node)
            case exp.Star():
                raise refuse("rows", node, "a table")
            case _:
                raise refuse("expression", node, type(node).__name__.upper())

    def aggregated(self, node: exp.Expression) -> Expr:
        if self.aggregate is None:
            raise refuse("nested_aggregate", node, "WHERE, GROUP BY or another aggregate")
        return self.aggregate(node)

    def binary(self, node: exp.Expression, name: str) -> Expr:
        left = node.this
        right = node.expression
        if isinstance(left, exp.Tuple) or isinstance(right, exp.Tuple):
            return self.tuples(node, name)
        if name in ("add", "subtract"):
            return temporal.sum_of(node, name, self)
        a = self(left)
        b = self(right)
        return self.make(name, *(coerce(name, a, b) if name in COMPARISONS else (a, b)))

    def tuples(self, node: exp.Expression, name: str) -> Expr:
        left = node.this
        right = node.expression
        both = (
            isinstance(left, exp.Tuple)
            and isinstance(right, exp.Tuple)
            and len(left.expressions) == len(right.expressions)
        )
        if not both or name != "eq":
            raise refuse("expression", node, "this comparison of rows")
        pairs = zip(left.expressions, right.expressions)
        return self.make("and", *(self.make("eq", *coerce("eq", self(a), self(b))) for a, b in pairs))

    def membership(self, node: exp.In) -> Expr:
        if node.args.get("query") or node.args.get("unnest") or node.args.get("field"):
            raise refuse("subquery", node)
        value = self(node.this)
        members = []
        for part in node.expressions:
            member = coerce("eq", value, self(part))[1]
            if not isinstance(member, Literal):
                raise refuse("in_member", part)
            members.append(member)
        if not members:
            raise refuse("in_member", node)
        return self.make("in_list", value, *members)

    def truth(self, node: exp.Is) -> Expr:
        value = self(node.this)
        other = node.expression
        negated = isinstance(other, exp.Not) or bool(node.args.get("negate"))
        other = other.this if isinstance(other, exp.Not) else other
        if isinstance(other, exp.Null):
            found: Expr = self.make("is_null", value)
        elif isinstance(other, exp.Boolean):
            found = self.make("not", self.make("distinct_from", value, literal(bool(other.this))))
        else:
            raise refuse("expression", node, "IS")
        return self.make("not", found) if negated else found

    def like(self, node: exp.Expression) -> Expr:
        escape = None
        if isinstance(node, exp.Escape):
            escape = self(node.expression)
            node = node.this
        pattern = self(node.expression)
        if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
            raise refuse("pattern", node.expression)
        if pattern.value.count("%") + pattern.value.count("_") > WILDCARDS_MAX:
            raise Refused(
                "too_complex", f"a pattern has at most {WILDCARDS_MAX} wildcards.", fix="use a shorter pattern."
            )
        if escape is not None and not (
            isinstance(escape, Literal) and isinstance(escape.value, str) and len(escape.value) == 1
        ):
            raise refuse("pattern", node)
        name = "ilike" if isinstance(node, exp.ILike) else "like"
        found = self.make(name, self(node.this), pattern, *(() if escape is None else (escape,)))
        return self.make("not", found) if node.args.get("negate") else found

    def case(self, node: exp.Expression) -> Expr:
        if isinstance(node, exp.If):
            arms = [node]
            default = node.args.get("false")
            subject = None
        else:
            arms = node.args["ifs"]
            default = node.args.get("default")
            subject = node.this
        parts: list[Expr] = []
        for arm in arms:
            condition = self(arm.this)
            if subject is not None:
                condition = self.make("eq", *coerce("eq", self(subject), condition))
            parts += [condition, self(arm.args["true"])]
        otherwise = self(default) if default is not None else null_of(parts[1].facts.type)
        return self.make("case", *parts, otherwise)

    def cast(self, node: exp.Expression) -> Expr:
        name = node.args["to"].this
        kind = TYPES.get(getattr(name, "value", str(name)).upper())
        if kind is None or node.args["to"].args.get("nested"):
            raise refuse("expression", node, f"a cast to {node.args['to'].sql(dialect='duckdb')}")
        return self.make(f"to_{kind.value}", self(node.this))

    def function(self, node: exp.Func) -> Expr:
        if type(node) in temporal.PART_NODES:
            return self.make(temporal.PART_NODES[type(node)], self(node.this))
        match node:
            case exp.Coalesce():
                return self.make("coalesce", self(node.this), *(self(e) for e in node.expressions))
            case exp.Nullif():
                return self.make("nullif", *coerce("eq", self(node.this), self(node.expression)))
            case exp.Round():
                digits = node.args.get("decimals")
                return self.make("round", self(node.this), *(() if digits is None else (self(digits),)))
            case exp.Least() | exp.Greatest():
                name = "least" if isinstance(node, exp.Least) else "greatest"
                return self.make(name, self(node.this), *(self(e) for e in node.expressions))
            case exp.Extract():
                return temporal.part(node.this.name, node.expression, node, self)
            case exp.TimestampTrunc() | exp.DateTrunc():
                return temporal.trunc(node.args["unit"].name, node.this, node, self)
            case exp.DateAdd() if isinstance(node.expression, exp.Interval) and not node.args.get("unit"):
                return temporal.shifted(self(node.this), node.expression, 1, self)
            case exp.CurrentDate() | exp.CurrentTimestamp() if node.this is not None:
                raise refuse("expression", node, "a zone or precision of the clock")
            case exp.CurrentDate():
                return literal(self.now().date())
            case exp.CurrentTimestamp():
                return literal(self.now())
            case _:
                return self.named(node)

    def named(self, node: exp.Func) -> Expr:
        anonymous = isinstance(node, exp.Anonymous)
        name = (str(node.this) if anonymous else node.sql_name()).lower()
        arguments = node.expressions if anonymous else []
        if name in AGGREGATE_NAMES:
            raise refuse("aggregate", node, name.upper())
        if name in RANDOM_NAMES:
            raise refuse("random", node, f"{name}()")
        if name in ("date_part", "datepart") and len(arguments) == 2 and isinstance(arguments[0], exp.Literal):
            return temporal.part(str(arguments[0].this), arguments[1], node, self)
        if name in ("now", "current_localtimestamp") and not arguments:
            return literal(self.now())
        if name == "today" and not arguments:
            return literal(self.now().date())
        made = read_named(name, arguments, self)
        if made is None:
            raise refuse("function", node, f"{name}()", function_instead(name))
        return made

    def now(self) -> dt.datetime:
        return self.clock.now()

    def make(self, name: str, *args: Expr) -> Expr:
        """The call, folded where all its arguments are constants."""
        made = call(name, *args)
        if all(isinstance(a, Literal) for a in args):
            value = BY_NAME[name].reference(*(a.value for a in args if isinstance(a, Literal)))
            return typed_constant(value, made.facts.type)
        return made
