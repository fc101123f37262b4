"""The scalar functions of SQL that are proved total and bounded; the registry FUNCTIONS."""

from __future__ import annotations

from collections.abc import Sequence

from obverse.core.types import Value
from obverse.plan.expressions import Call, Expr, as_kind
from obverse.plan.functions.arithmetic import ARITHMETIC
from obverse.plan.functions.base import Function
from obverse.plan.functions.casts import CASTS
from obverse.plan.functions.comparison import COMPARISON
from obverse.plan.functions.conditional import CONDITIONAL
from obverse.plan.functions.dates import DATES
from obverse.plan.functions.rounding import ROUNDING

FUNCTIONS: tuple[Function, ...] = (*ARITHMETIC, *ROUNDING, *COMPARISON, *CONDITIONAL, *CASTS, *DATES)
BY_NAME = {function.name: function for function in FUNCTIONS}


def call(name: str, *args: Expr) -> Call:
    """The function over the arguments, with facts derived; refuses what does not fit its types."""
    return Call(name, args, BY_NAME[name].derive(tuple(arg.facts for arg in args)))


PASS_NULLS = frozenset(  # all others are NULL as soon as one argument is
    ("distinct_from", "is_null", "in_list", "and", "or", "case", "coalesce", "nullif", "least", "greatest")
)
OVER_RESULT = frozenset(("add", "subtract", "multiply", "negate", "abs"))  # print their arguments as the result's type


def meaning(call: Call, values: Sequence[Value]) -> Value:
    """The call's value for these values of its arguments: each read as the type its facts say, as the SQL casts them."""
    kinds = [call.facts.type if call.function in OVER_RESULT else arg.facts.type for arg in call.args]
    given = (as_kind(value, kind) for value, kind in zip(values, kinds))
    return as_kind(BY_NAME[call.function].reference(*given), call.facts.type)


__all__ = ["BY_NAME", "FUNCTIONS", "PASS_NULLS", "call", "meaning"]
