"""What a front end hands over: the relation, its keys and aggregates, and what is done to their noisy values."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from obverse.core.errors import Span
from obverse.core.types import Type, Value
from obverse.plan.expressions import Expr, canonical
from obverse.plan.relation import Key, Relation

if TYPE_CHECKING:
    from obverse.plan.private_bounds import Search


COUNT_MAX = 1 << 40  # no count that is told is taken to be larger


UNITS = "count_units"  # COUNT(DISTINCT the unit's key)


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One aggregate of the question: its registry name, argument, literal parameter, and where it stands in the
    text.
    """

    function: str
    argument: Expr | None
    spoken: str
    parameter: Value = None
    span: Span | None = None
    second: Expr | None = None  # of an aggregate of two arguments

    @property
    def arguments(self) -> tuple[Expr, ...]:
        return tuple(expr for expr in (self.argument, self.second) if expr is not None)

    @property
    def identity(self) -> str:
        argument = ", ".join(canonical(expr) for expr in self.arguments) or "*"
        return f"{self.function}({argument}{'' if self.parameter is None else f', {self.parameter!r}'})"


@dataclass(frozen=True, slots=True)
class Output:
    """One column of the answer: an expression over keys (`key0` ...) and aggregates (`agg0` ...)."""

    name: str
    expr: Expr


@dataclass(frozen=True, slots=True)
class Order:
    """One term of ORDER BY, over the same names as outputs."""

    expr: Expr
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Question:
    """A question about private tables, resolved: post-processing refers to keys and aggregates only."""

    relation: Relation
    keys: tuple[Key, ...]
    aggregates: tuple[AggregateCall, ...]
    outputs: tuple[Output, ...]
    having: Expr | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    now: str | None = None  # the frozen clock, where the question reads it
    sets: tuple[tuple[int, ...], ...] = ()  # grouping sets, as places among the keys; none: one set of all
    distinct: bool = False  # rows of the answer that are alike are told once
    groups: int | None = None  # keys that a unit brings, where the question says fewer than the tables do
    least_units: int = 1  # a discovered key of fewer units is never told
    epsilon: Fraction | None = None  # the price, where the question says it
    delta: Fraction | None = None
    # for bounds that are found first; until then the widest stand here
    searches: tuple[tuple[Search, Question], ...] = ()

    @property
    def listing(self) -> bool:
        """Whether only public keys are asked for: nothing private is read."""
        return not self.aggregates and all(key.domain is not None for key in self.keys)


@dataclass(frozen=True, slots=True)
class PublicQuestion:
    """A question over public tables alone: exact and free."""

    relation: Relation
    groups: tuple[Expr, ...]
    outputs: tuple[Output, ...]  # aggregates stand as calls named `public_...`
    types: tuple[Type, ...]
    having: Expr | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    distinct: bool = False
