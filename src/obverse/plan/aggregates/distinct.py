"""COUNT(DISTINCT x)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from obverse.core.errors import Refused
from obverse.core.types import Type
from obverse.plan.aggregates.base import Estimate, Served, Setting, capped, counted
from obverse.plan.measures import Measure, Term, count_term
from obverse.plan.query import AggregateCall
from obverse.plan.relation import Shape


@dataclass(frozen=True, slots=True)
class CountDistinct:
    """The number of different values.

    Claim:   one noised measure; the interval holds the bounded number with at least the stated level.
    Proof:   each unit brings at most G different values, over all cells: with or without it, the counts differ by at
             most those that it alone brings. A chosen value of one unit never depends on another's.
    Assumes: units choose their values by a hash under the question's own key.
    """

    name: ClassVar[str] = "count_distinct"
    spoken: ClassVar[str] = "COUNT(DISTINCT x)"

    def type(self, call: AggregateCall) -> Type:
        return Type.INTEGER

    def measures(self, call: AggregateCall, setting: Setting) -> tuple[Measure, ...]:
        if setting.shape is Shape.ROW and setting.rows > 1:
            raise Refused(
                "unsupported_construct",
                "different values cannot be counted where rows are units and were multiplied.",
                why="a row's copies have no key by which its values could be limited.",
                fix="count them in the table itself.",
            )
        term = Term("distinct", call.argument, 0, 1, Fraction(1))
        single = setting.shape in (Shape.ROW, Shape.ONE)
        return (Measure("distinct", term, 1 if single else setting.groups),)

    def finish(self, served: tuple[Served, ...], call: AggregateCall, setting: Setting, level: float) -> Estimate:
        return counted(served, level)


@dataclass(frozen=True, slots=True)
class CountUnits:
    """The number of different units: COUNT(DISTINCT the unit's key).

    Claim:   as CountDistinct, with one per unit where there are no groups.
    Proof:   a unit in k cells weighs min(1, G / k) in each, in integers rounded towards zero: at most G together.
    Assumes: the argument is the key that names the unit.
    """

    name: ClassVar[str] = "count_units"
    spoken: ClassVar[str] = "COUNT(DISTINCT unit)"

    def type(self, call: AggregateCall) -> Type:
        return Type.INTEGER

    def measures(self, call: AggregateCall, setting: Setting) -> tuple[Measure, ...]:
        if not setting.alone:
            return (Measure("distinct", Term("distinct", call.argument, 0, 1, Fraction(1)), 1),)
        if setting.shape in (Shape.ROW, Shape.ONE) and setting.rows == 1:
            return (capped("count", count_term(call.argument), setting),)
        if setting.shape is Shape.TOTAL:
            return (Measure("units", count_term(call.argument), 1),)
        term = Term("units", call.argument, 0, 1, Fraction(1))
        return (Measure("units", term, setting.groups, bits=20),)

    def finish(self, served: tuple[Served, ...], call: AggregateCall, setting: Setting, level: float) -> Estimate:
        return counted(served, level)
