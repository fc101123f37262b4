"""The scalar functions of SQL that are proved total and bounded; the registry FUNCTIONS."""

from __future__ import annotations

from collections.abc import Sequence

from obverse.core.types import Value
from obverse.plan.expressions import Call, Expr, as_kind
from obverse.plan.functions.arithmetic import ARITHMETIC
from obverse.plan.functions.base import Function, mismatch
from obverse.plan.functions.casts import CASTS
from obverse.plan.functions.comparison import COMPARISON
from obverse.plan.functions.conditional import CONDITIONAL
from obverse.plan.functions.date_arithmetic import DIFFERENCES, SHIFTS
from obverse.plan.functions.date_parts import CALENDARS, DATES
from obverse.plan.functions.numeric import ANALYTIC, NUMERIC
from obverse.plan.functions.rounding import ROUNDING
from obverse.plan.functions.text import GROWING, SEARCH, TEXTS

FUNCTIONS: tuple[Function, ...] = (
    *(*ARITHMETIC, *ROUNDING, *NUMERIC, *ANALYTIC, *COMPARISON, *CONDITIONAL, *CASTS),
    *(*TEXTS, *SEARCH, *GROWING, *DATES, *SHIFTS, *DIFFERENCES, *CALENDARS),
)
BY_NAME = {function.name: function for function in FUNCTIONS}


def call(name: str, *args: Expr) -> Call:
    """The function over the arguments, with facts derived; refuses what does not fit its types."""
    function = BY_NAME[name]
    if not function.fits(len(args)):
        raise mismatch(f"{name} does not take {len(args)} arguments", f"Write {function.spoken}.")
    return Call(name, args, function.derive(tuple(arg.facts for arg in args)))


PASS_NULLS = frozenset(  # all others are NULL as soon as one argument is
    ("distinct_from", "is_null", "in_list", "and", "or", "case", "coalesce", "nullif", "least", "greatest")
    + ("concat", "concat_ws")
)
INEXACT = frozenset(  # an engine may differ from the reference in a letter's case, or in the last bit of a double
    ("ilike", "lower", "upper", "reverse", "power", "epoch", *(f.name for f in ANALYTIC if f.name != "sqrt"))
)
OVER_RESULT = frozenset(("add", "subtract", "multiply", "negate", "abs"))  # print their arguments as the result's type


def meaning(call: Call, values: Sequence[Value]) -> Value:
    """The call's value for these values of its arguments: each read as the type its facts say, as the SQL casts
    them.
    """
    kinds = [call.facts.type if call.function in OVER_RESULT else arg.facts.type for arg in call.args]
    given = (as_kind(value, kind) for value, kind in zip(values, kinds))
    return as_kind(BY_NAME[call.function].reference(*given), call.facts.type)


__all__ = ["BY_NAME", "FUNCTIONS", "INEXACT", "PASS_NULLS", "call", "meaning"]
