"""The joint norm of all measures of a question, each in multiples of its own sensitivity.

Noise of scale beta times each measure's own sensitivity costs (joint L1) / beta; for Gaussians the joint L2. Where a
unit cannot max out all measures at once (readers, males and females: a person is one of the last two), the joint norm
is below the number of measures, and the noise smaller.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from obverse.core.bounds import Categories, Unbounded
from obverse.core.errors import InvariantBroken, invariant
from obverse.core.types import Type, Value
from obverse.core.units import Neighbours
from obverse.plan.expressions import (
    AggregateRef,
    Call,
    ColumnFacts,
    Expr,
    GroupingRef,
    KeyRef,
    Literal,
    Ref,
    domain,
    refs,
    size,
)
from obverse.plan.functions import INEXACT, meaning
from obverse.plan.measures import Measure, Term

Columns = Mapping[str, ColumnFacts]
COMBINATIONS_MAX = 1024
STEPS_MAX = 1 << 13  # evaluations of expressions' parts: about a fiftieth of a second
SIGNS_MAX = 1 << 15  # numbers added up over all directions
MOVES_MAX = 1 << 14  # numbers compared between pairs of rows


@dataclass(frozen=True, slots=True)
class Joint:
    """Norms of one unit's difference over all measures, each divided by its own linf; l2 is squared, to stay exact."""

    l1: Fraction
    l2_squared: Fraction


def independent(measures: tuple[Measure, ...]) -> Joint:
    """Claim: the joint norms are at most the sums. Proof: the triangle inequality. Assumes: nothing."""
    l1 = sum((m.proven.l1 / m.proven.linf for m in measures), Fraction(0))
    l2 = sum(((m.proven.l2 / m.proven.linf) ** 2 for m in measures), Fraction(0))
    return Joint(l1, l2)


def one_row(measures: tuple[Measure, ...], cells: int, neighbours: Neighbours, columns: Columns) -> Joint:
    """The joint norm where a unit is one row.

    Claim:   one unit moves the stacked vector by at most the returned norms.
    Proof:   the row's contribution is a function of its columns. Those of finite domain are enumerated, NULL included,
             and the terms evaluated by their reference meaning; a term that cannot be enumerated counts in full, as 1.
             Adding or removing a unit moves the stack by one such vector, at most their largest norm. Replacing it in a
             single cell moves the stack by the difference of two of them (or of one and nothing): `_widest`. With
             several cells the two may lie apart: twice the largest norm in L1, twice its square in L2; and in one cell
             (x - y)^2 <= x^2 + y^2 without negative terms, <= 2 x^2 + 2 y^2 with them.
    Assumes: a unit has one row, of which the terms are functions (Limit by ROW or ONE).
    """
    plain = independent(measures)
    listed = tuple(m for m in measures if _enumerable(m.term))
    rows = _rows(listed, columns) if len(measures) > 1 and listed else None
    if rows is None:
        return plain
    rest = Fraction(len(measures) - len(listed))
    vectors = sorted({tuple(_share(m, row) for m in listed) for row in rows} | {(Fraction(0),) * len(listed)})
    apart = _widest(vectors) if neighbours is Neighbours.REPLACE and cells == 1 else None
    if apart is not None:
        l1, l2 = apart
    else:
        l1 = _largest(vectors, 1) + rest
        l2 = _largest(vectors, 2) + rest
        if neighbours is Neighbours.REPLACE:
            signed = any(m.term.lo < 0 for m in measures)
            l1 = 2 * l1
            l2 = (4 if signed else 2) * l2
        rest = Fraction(0)
    one = Fraction(1)
    return Joint(max(one, min(l1 + rest, plain.l1)), max(one, min(l2 + rest, plain.l2_squared)))


def _largest(vectors: Iterable[tuple[Fraction, ...]], power: int) -> Fraction:
    return max((sum((abs(x) ** power for x in v), Fraction(0)) for v in vectors), default=Fraction(0))


def _widest(vectors: list[tuple[Fraction, ...]]) -> tuple[Fraction, Fraction] | None:
    """The largest L1 distance between two of the vectors, and a bound of the largest squared L2 distance.

    Claim:   no two are further apart. None when there are too many to look at.
    Proof:   |u - v|_1 is the largest of s.(u - v) over all s of signs, so the largest over pairs is the largest over s
             of (max s.u - min s.v). Squared L2 is compared pair by pair, or else at most Linf times L1.
    Assumes: nothing; whole numbers over one denominator, so it is exact.
    """
    width = len(vectors[0])
    if (len(vectors) * width) << (width - 1) > SIGNS_MAX:
        return None
    scale = math.lcm(*(x.denominator for v in vectors for x in v))
    whole = [tuple(x.numerator * (scale // x.denominator) for x in v) for v in vectors]
    l1 = 0
    for signs in itertools.product((1, -1), repeat=width - 1):  # s and -s give the same
        along = [v[0] + sum(s * x for s, x in zip(signs, v[1:])) for v in whole]
        l1 = max(l1, max(along) - min(along))
    if len(vectors) ** 2 * width <= MOVES_MAX:
        l2 = max((sum((x - y) ** 2 for x, y in zip(u, v)) for u, v in itertools.combinations(whole, 2)), default=0)
    else:
        l2 = l1 * max(max(column) - min(column) for column in zip(*whole))
    return Fraction(l1, scale), Fraction(l2, scale**2)


def _rows(listed: tuple[Measure, ...], columns: Columns) -> list[dict[str, Value]] | None:
    """Every combination of the values of the columns that the listed terms read; None when there are too many."""
    names = sorted({r.name for m in listed for r in refs(_argument(m.term))})
    domains: list[tuple[Value, ...]] = []
    for name in names:
        values = domain(columns[name], COMBINATIONS_MAX)
        if values is None:
            return None
        domains.append(values + ((None,) if columns[name].nullable else ()))
    combinations = math.prod(len(d) for d in domains)
    if combinations > COMBINATIONS_MAX or combinations * sum(size(_argument(m.term)) for m in listed) > STEPS_MAX:
        return None
    return [dict(zip(names, combination)) for combination in itertools.product(*domains)]


def _argument(term: Term) -> Expr:
    invariant(term.expr is not None, "a term without an argument is not enumerated")
    assert term.expr is not None
    return term.expr


def _enumerable(term: Term) -> bool:
    if term.expr is None or term.kind not in ("count", "sum") or not modelled(term.expr):
        return False
    return term.kind == "count" or (term.expr.facts.type is Type.INTEGER and term.unit == 1)


def _share(measure: Measure, row: dict[str, Value]) -> Fraction:
    """The row's contribution in multiples of the measure's own sensitivity."""
    term = measure.term
    value = value_on(_argument(term), row)
    if value is None:
        return Fraction(0)
    if term.kind == "count" or term.grid is None:
        return 1 / measure.proven.linf
    invariant(isinstance(value, int), "an integer term reads integers")
    assert isinstance(value, int)
    whole = min(max(value, term.grid.first), term.grid.last) - term.grid.centre
    return Fraction(whole) / measure.proven.linf


def value_on(expr: Expr, row: dict[str, Value]) -> Value:
    """The value of an expression on one row, by the functions' reference meaning."""
    match expr:
        case Ref(name):
            return row[name]
        case Literal(value):
            return value
        case Call(_, args):
            return meaning(expr, [value_on(arg, row) for arg in args])
        case KeyRef() | AggregateRef() | GroupingRef():
            raise InvariantBroken("what is released stands on no row")


def modelled(expr: Expr) -> bool:
    """Whether the reference meaning is the engine's to the last bit: no number that may be infinite or NaN, none from a
    library of functions, and no text that an engine would have to read or fold, unless it is of a list on which all
    agree."""
    if not isinstance(expr, Call):
        return expr.facts.type is not Type.DOUBLE or not isinstance(expr.facts.bounds, Unbounded)
    if expr.facts.type is Type.DOUBLE and isinstance(expr.facts.bounds, Unbounded):
        return False
    reads_text = expr.function.startswith("to_") and expr.args[0].facts.type is Type.TEXT
    inexact = expr.function in INEXACT and not isinstance(expr.facts.bounds, Categories)
    return not inexact and not reads_text and all(modelled(arg) for arg in expr.args)
