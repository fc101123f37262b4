"""What has to be noised: integer terms per row, added up per cell, with a proven sensitivity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from obverse.core.bounds import Interval
from obverse.core.errors import Refused, invariant
from obverse.core.numbers import log2_ceil
from obverse.core.sensitivity import Sensitivity
from obverse.core.types import Type, Value
from obverse.plan.expressions import Expr, canonical, number_bounds

TERM_BITS = 32  # a term times its row cap stays below 2**32
GRID_BITS = 30  # resolution of values without a declared grid, relative to their magnitude
WIDE_BITS = 62  # in place of TERM_BITS where a unit's own sum is only put into a bucket
EXPONENT_MAX = 960  # a step lies between 2**-960 and 2**960, so that it and its parts are doubles
WEIGHT_BITS = 30  # precision of a unit's weight
# so that sums of squares stay finite doubles
MAGNITUDE_MIN = Fraction(1, 2**300)
MAGNITUDE_MAX = Fraction(2**300)
SPARE_BITS = 36  # a weighted term with its fractional bits stays below 2**36

COUNT_BITS = 20  # fractional bits of a weighted count, at most

LEAF_BITS = 16  # leaves of a tree of counts, at most

TermKind = Literal["count", "sum", "squares", "product", "tree", "choice", "distinct", "units"]
SUMS: tuple[TermKind, ...] = ("count", "sum", "squares", "product")  # added up row by row


@dataclass(frozen=True, slots=True)
class Grid:
    """How a bounded number becomes an integer: clamp to [lo, hi], divide by step, round half to even, subtract
    centre.
    """

    lo: float | int
    hi: float | int
    factor: float  # multiply by it ...
    divisor: float  # ... and divide by it: step = divisor / factor, each monotone in doubles
    step: Fraction
    first: int  # the integers that lo and hi become, before the centre is subtracted
    last: int
    centre: int


@dataclass(frozen=True, slots=True)
class Leaves:
    """A public grid of places: the number n of a value (days of a date, steps of a number) becomes (n - first) >>
    shift.
    """

    first: int
    shift: int
    count: int
    step: Fraction  # what one number is worth, before the shift
    height: int = 1  # of the tree over the leaves
    branching: int = 2  # children of each of its nodes


@dataclass(frozen=True, slots=True)
class Term:
    """An integer per row, NULL where the argument is NULL, surely within [lo, hi].

    count: 1 per row whose argument is not NULL. sum: the argument on its grid, less the centre. squares: the square of
    that, divided by 2**shift and rounded. product: that of two arguments. tree, choice: the argument's leaf, at which
    the row counts as one. distinct: the argument itself, of which each value counts once. units: whether the unit is
    there.
    """

    kind: TermKind
    expr: Expr | None
    lo: int
    hi: int
    unit: Fraction  # what one integer step is worth
    grid: Grid | None = None
    shift: int = 0
    other: Expr | None = None  # the second argument of a product
    other_grid: Grid | None = None
    leaves: Leaves | None = None

    @property
    def magnitude(self) -> int:
        return max(abs(self.lo), abs(self.hi), 1)

    @property
    def identity(self) -> str:
        argument = "*" if self.expr is None else canonical(self.expr)
        argument += "" if self.other is None else f", {canonical(self.other)}"
        return f"{self.kind}({argument}; {self.lo}..{self.hi} x {self.unit})"


@dataclass(frozen=True, slots=True)
class Measure:
    """A term, how a unit's share of it is capped, and how far one unit can move the vector of its cells.

    cap:  largest magnitude of one unit's whole contribution, in integer steps of the term.
    bits: fractional bits kept by weighting; released integers are worth term.unit / 2**bits.
    paired: the term is weighted by its unit's count of non-null arguments (AVG, VAR), not by its own magnitude.
    sensitivity: of the cells' vector, in released integers.
    """

    name: str
    term: Term
    cap: int
    bits: int = 0
    paired: bool = False
    sensitivity: Sensitivity | None = None

    @property
    def unit(self) -> Fraction:
        return self.term.unit / (1 << self.bits)

    @property
    def summed(self) -> bool:
        """Whether the measure is a sum over rows, one integer per cell."""
        return self.term.kind in SUMS

    @property
    def noised(self) -> bool:
        """Whether each cell has one integer that gets additive noise."""
        return self.term.kind not in ("tree", "choice")

    @property
    def proven(self) -> Sensitivity:
        invariant(self.sensitivity is not None, f"measure {self.name} has no sensitivity")
        assert self.sensitivity is not None
        return self.sensitivity


def count_term(expr: Expr | None) -> Term:
    """One for every row whose argument is not NULL."""
    if expr is not None and not expr.facts.nullable:
        expr = None
    return Term("count", expr, 0 if expr is not None else 1, 1, Fraction(1))


def grid_of(expr: Expr, rows: int, *, centred: bool, most: Fraction | None = None, bits: int = TERM_BITS) -> Grid:
    """The finest grid on which a unit's share stays within its bits; the declared one where it fits.

    `most` caps the share; else it is that of so many rows. A value beyond `most` counts as that.

    Claim:   whatever double the engine holds, the integer it becomes lies in [first, last].
    Proof:   the clamp puts it in [lo, hi]; multiplying and dividing by positive constants and rounding are monotone in
             IEEE arithmetic, and first and last are the same operations on lo and hi.
    """
    bounds = bounded(expr)
    if most is not None and bounds.magnitude > 0:
        bounds = Interval(min(max(bounds.lo, -most), most), max(min(bounds.hi, most), -most))
        rows = min(rows, max(1, math.ceil(most / bounds.magnitude))) if bounds.magnitude > 0 else 1
    whole = expr.facts.type is Type.INTEGER
    step = expr.facts.step if expr.facts.step is not None else Fraction(2) ** _default_exponent(bounds, bits)
    step *= Fraction(2) ** max(0, log2_ceil(max(bounds.magnitude / step, Fraction(1)) * rows) - bits + 1)
    if max(step.numerator, step.denominator) > 1 << EXPONENT_MAX:
        step = Fraction(2) ** max(log2_ceil(step), -EXPONENT_MAX)  # the constants that it is printed with are doubles
    if whole:
        lo: float | int = -((-bounds.lo.numerator) // bounds.lo.denominator)
        hi: float | int = bounds.hi.numerator // bounds.hi.denominator
        hi = max(lo, hi)
    else:
        lo = float(bounds.lo)
        hi = float(bounds.hi)
    factor = float(step.denominator)
    divisor = float(step.numerator)
    first = _on_grid(lo, factor, divisor, whole)
    last = _on_grid(hi, factor, divisor, whole)
    centre = (first + last) // 2 if centred else 0
    return Grid(lo, hi, factor, divisor, step, first, last, centre)


def bounded(expr: Expr) -> Interval:
    """The argument's bounds, or a refusal that says how to give them."""
    bounds = number_bounds(expr.facts) if expr.facts.type.numeric else None
    if bounds is None or not (bounds.magnitude == 0 or MAGNITUDE_MIN <= bounds.magnitude <= MAGNITUDE_MAX):
        raise no_bounds()
    return bounds


def no_bounds() -> Refused:
    return Refused(
        "no_bounds",
        "this needs a number with known bounds, and none can be derived for it.",
        why="noise must be scaled to the largest share that one unit can have.",
        fix="declare bounds for the column in obverse.toml, or write CLAMP(x, lo, hi).",
    )


def _default_exponent(bounds: Interval, bits: int) -> int:
    return log2_ceil(bounds.magnitude) - GRID_BITS - (bits - TERM_BITS) if bounds.magnitude > 0 else 0


def _on_grid(x: float | int, factor: float, divisor: float, whole: bool) -> int:
    if whole and factor == divisor == 1.0:
        return int(x)
    return round(float(x) * factor / divisor)  # halves to even, as engines cast doubles to integers


def sum_term(
    expr: Expr, rows: int, *, centred: bool = False, most: Fraction | None = None, bits: int = TERM_BITS
) -> Term:
    """The argument on its grid; `most` is a cap on the unit's whole sum."""
    grid = grid_of(expr, rows, centred=centred, most=most, bits=bits)
    return Term("sum", expr, grid.first - grid.centre, grid.last - grid.centre, grid.step, grid)


def square_term(expr: Expr, rows: int) -> Term:
    """The square of the centred argument, on a coarser grid."""
    grid = grid_of(expr, rows, centred=True)
    largest = max(abs(grid.first - grid.centre), abs(grid.last - grid.centre), 1)
    shift = max(0, log2_ceil(largest * largest * rows) - TERM_BITS + 1)
    half = (1 << shift) >> 1
    highest = (largest * largest + half) >> shift
    return Term("squares", expr, 0, highest, grid.step**2 * 2**shift, grid, shift)


def product_term(x: Expr, y: Expr, rows: int) -> Term:
    """The product of two centred arguments, on a coarser grid; NULL where either is."""
    a = grid_of(x, rows, centred=True)
    b = grid_of(y, rows, centred=True)
    largest = _reach(a) * _reach(b)
    shift = max(0, log2_ceil(largest * rows) - TERM_BITS + 1)
    half = (1 << shift) >> 1
    highest = (largest + half) >> shift
    return Term("product", x, -highest, highest, a.step * b.step * 2**shift, a, shift, y, b)


def _reach(grid: Grid) -> int:
    return max(abs(grid.first - grid.centre), abs(grid.last - grid.centre), 1)


def tree_term(expr: Expr) -> Term:
    """The argument's leaf on a grid of at most 2**16 places: the declared grid where it has no more."""
    bounds = ordered_bounds(expr)
    step = expr.facts.step if expr.facts.type.numeric else Fraction(1)
    if step is None or step == 0:
        step = bounds.spread / (1 << LEAF_BITS) if bounds.spread else Fraction(1)
        step = Fraction(2) ** log2_ceil(step)
    if expr.facts.type.numeric:  # dates and timestamps are integers already, and the shift alone makes leaves of them
        step *= Fraction(2) ** max(0, log2_ceil(max(bounds.magnitude / step, Fraction(1))) - TERM_BITS + 1)
    first = math.floor(bounds.lo / step)
    last = math.ceil(bounds.hi / step)
    shift = max(0, (last - first).bit_length() - LEAF_BITS)
    count = ((last - first) >> shift) + 1
    return Term("tree", expr, 0, 1, Fraction(1), leaves=Leaves(first, shift, count, step, *tree_over(count)))


def tree_over(leaves: int) -> tuple[int, int]:
    """Height and branching of the tree with the least error of a rank.

    The noise of a node grows with the height h, and a rank is the sum of about h b / 2 of them: h sqrt(h b).
    """
    shapes = []
    for height in range(1, LEAF_BITS + 1):
        branching = max(2, round(leaves ** (1 / height)))
        branching += branching**height < leaves
        shapes.append((height**3 * branching, height, branching))
    return min(shapes)[1:]


def place_of(leaves: Leaves, x: Value) -> int:
    """The place of a number on the grid of leaves, from the first one on, by the operations that engines do."""
    whole = isinstance(x, int) and leaves.step == 1
    assert isinstance(x, (int, float))
    number = _on_grid(x, float(leaves.step.denominator), float(leaves.step.numerator), whole)
    return (number - leaves.first) >> leaves.shift


def choice_term(expr: Expr, values: int) -> Term:
    """The place of the argument among public values."""
    return Term("choice", expr, 0, 1, Fraction(1), leaves=Leaves(0, 0, values, Fraction(1)))


def ordered_bounds(expr: Expr) -> Interval:
    """Bounds of a number, or of a date or timestamp as its integer."""
    if expr.facts.type.numeric:
        return bounded(expr)
    bounds = number_bounds(expr.facts)
    if bounds is None:
        raise no_bounds()
    return bounds


def bits_under(cap: int) -> int:
    """Fractional bits that leave a unit's share below its size."""
    return min(COUNT_BITS, SPARE_BITS - log2_ceil(cap))


def unit_range(measure: Measure, rows: int) -> tuple[int, int]:
    """The range of one unit's total of a term that is capped by itself."""
    low = max(-measure.cap, min(0, rows * measure.term.lo))
    return low, min(measure.cap, max(0, rows * measure.term.hi))
