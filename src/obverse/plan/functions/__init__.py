"""The scalar functions of SQL that are proved total and bounded; the registry FUNCTIONS."""

from __future__ import annotations

from obverse.plan.expressions import Call, Expr
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


__all__ = ["FUNCTIONS", "BY_NAME", "call"]
