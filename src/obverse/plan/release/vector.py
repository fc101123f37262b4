"""Expressions over whole columns of released values: post-processing, and how noise intervals pass through it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from obverse.core.types import Type, Value
from obverse.plan.expressions import Call, Expr, Literal, Ref
from obverse.plan.functions import meaning

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Column:
    """Values and where they are NULL; numbers as int64 or float64, truth as bool, all else as objects."""

    values: Array
    null: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Ends:
    """The ends of noise intervals, as doubles."""

    low: Array
    high: Array


def evaluate(expr: Expr, columns: Mapping[str, Column], length: int) -> Column:
    """The expression's value on every row at once."""
    import numpy as np

    match expr:
        case Ref(name):
            return columns[name]
        case Literal(value, facts):
            return constant(value, facts.type, length)
        case Call(function, args):
            known = [evaluate(arg, columns, length) for arg in args]
            if function in FAST and all(k.values.dtype != object for k in known):
                return _fast(expr, known)
            return _slow(expr, known, np)


def constant(value: Value, kind: Type, length: int) -> Column:
    import numpy as np

    null = np.full(length, value is None)
    filler: Any = {Type.INTEGER: 0, Type.DOUBLE: 0.0, Type.BOOLEAN: False}.get(kind)
    return Column(np.full(length, filler if value is None else value, dtype=dtype_of(kind)), null)


def dtype_of(kind: Type) -> Any:
    return {Type.INTEGER: "int64", Type.DOUBLE: "float64", Type.BOOLEAN: "bool"}.get(kind, object)


def _fast(expr: Call, args: list[Column]) -> Column:
    import numpy as np

    kind = expr.facts.type
    null = np.logical_or.reduce([a.null for a in args])
    if expr.function == "divide":
        null = null | (args[1].values == 0)
    values = [a.values for a in args]
    if expr.function in ("add", "subtract", "multiply", "negate", "abs", "divide", "to_double"):
        values = [v.astype(dtype_of(kind)) for v in values]
    with np.errstate(all="ignore"):
        found = FAST[expr.function](np, *values)
    if found.dtype.kind == "f":
        null = null | ~np.isfinite(found)
    return Column(found.astype(dtype_of(kind)), null)


FAST: dict[str, Callable[..., Any]] = {
    "add": lambda np, a, b: a + b,
    "subtract": lambda np, a, b: a - b,
    "multiply": lambda np, a, b: a * b,
    "divide": lambda np, a, b: a / np.where(b == 0, 1, b),
    "negate": lambda np, a: -a,
    "abs": lambda np, a: np.abs(a),
    "to_double": lambda np, a: a,
    "eq": lambda np, a, b: a == b,
    "ne": lambda np, a, b: a != b,
    "lt": lambda np, a, b: a < b,
    "le": lambda np, a, b: a <= b,
    "gt": lambda np, a, b: a > b,
    "ge": lambda np, a, b: a >= b,
}


def _slow(expr: Call, args: list[Column], np: Any) -> Column:
    """By the function's reference meaning, once per row: for choices, texts and dates."""
    boxed = [np.where(a.null, None, a.values.astype(object)) for a in args]
    found = np.frompyfunc(lambda *values: meaning(expr, values), len(args), 1)(*boxed)
    null = np.equal(found, None).astype(bool)
    kind = expr.facts.type
    filler: Any = {Type.INTEGER: 0, Type.DOUBLE: 0.0, Type.BOOLEAN: False}.get(kind)
    values = np.where(null, filler, found).astype(dtype_of(kind))
    return Column(values, null | ~np.isfinite(values) if kind is Type.DOUBLE else null)


def ends_of(expr: Expr, columns: Mapping[str, Ends], length: int) -> Ends | None:
    """The interval of the expression over intervals of its parts (interval arithmetic); None where it has none."""
    import numpy as np

    match expr:
        case Ref(name):
            return columns.get(name)
        case Literal(value) if isinstance(value, (int, float)) and not isinstance(value, bool):
            point = np.full(length, float(value))
            return Ends(point, point)
        case Call(function, args) if function in CORNERS:
            known = [ends_of(arg, columns, length) for arg in args]
            present = [k for k in known if k is not None]
            if len(present) < len(known):
                return None
            return _ends(function, present, np)
        case _:
            return None


def _ends(function: str, args: list[Ends], np: Any) -> Ends:
    if function == "divide":
        crosses = (args[1].low <= 0) & (args[1].high >= 0)
        safe = Ends(np.where(crosses, 1.0, args[1].low), np.where(crosses, 1.0, args[1].high))
        inner = _corners(function, [args[0], safe], np)
        return Ends(np.where(crosses, -np.inf, inner.low), np.where(crosses, np.inf, inner.high))
    inner = _corners(function, args, np)
    if function == "abs":
        crosses = (args[0].low <= 0) & (args[0].high >= 0)
        return Ends(np.where(crosses, 0.0, inner.low), inner.high)
    return inner


def _corners(function: str, args: list[Ends], np: Any) -> Ends:
    import itertools

    with np.errstate(all="ignore"):  # an end that is infinite makes others NaN: no interval then
        corners = [CORNERS[function](np, *c) for c in itertools.product(*((a.low, a.high) for a in args))]
        return Ends(np.minimum.reduce(corners), np.maximum.reduce(corners))


def _rounded(np: Any, x: Any, digits: Any = 0.0) -> Any:
    """Halves away from zero, as ROUND does; the digits are one literal for all rows."""
    places = int(np.ravel(digits)[0]) if np.size(digits) else 0
    unit = 10.0 ** abs(places)
    scaled = np.abs(x) * unit if places >= 0 else np.abs(x) / unit
    whole = np.floor(scaled)
    whole = whole + (scaled - whole >= 0.5)
    return np.copysign(whole / unit if places >= 0 else whole * unit, x)


CORNERS: dict[str, Callable[..., Any]] = {
    "add": lambda np, a, b: a + b,
    "subtract": lambda np, a, b: a - b,
    "multiply": lambda np, a, b: a * b,
    "divide": lambda np, a, b: a / b,
    "negate": lambda np, a: -a,
    "abs": lambda np, a: np.abs(a),
    "round": _rounded,
    "floor": lambda np, a: np.floor(a),
    "ceil": lambda np, a: np.ceil(a),
    "to_double": lambda np, a: a,
    "to_integer": lambda np, a: np.rint(a),
    "least": lambda np, *xs: np.minimum.reduce(xs),
    "greatest": lambda np, *xs: np.maximum.reduce(xs),
    "clamp": lambda np, x, lo, hi: np.clip(x, lo, hi),
    "coalesce": lambda np, a, *rest: a,
}
