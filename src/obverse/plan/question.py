"""What a front end hands over: the relation, its keys and aggregates, and what is done to their noisy values."""

from __future__ import annotations

from dataclasses import dataclass

from obverse.core.errors import Span
from obverse.core.types import Type, Value
from obverse.plan.expressions import Expr, canonical
from obverse.plan.nodes import Key, Relation


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One aggregate of the question: its registry name, argument, literal parameter, and where it stands in the text."""

    function: str
    argument: Expr | None
    spoken: str
    parameter: Value = None
    span: Span | None = None

    @property
    def identity(self) -> str:
        argument = "*" if self.argument is None else canonical(self.argument)
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
