"""The master law on questions that nobody wrote: random predicates, keys and arguments, alone and stacked."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from obverse.core.errors import Refused
from obverse.core.types import Type
from obverse.plan.emit.emit import emit
from obverse.plan.expressions import ColumnFacts, Expr, Literal, canonical, domain, null_of, refs
from obverse.plan.functions import call
from obverse.plan.query import AggregateCall, Output, Question
from obverse.plan.relation import Filter, Key, Relation, Scan
from obverse.plan.sensitivity import MeasuredPlan
from obverse.plan.stability.filter import keep
from obverse.plan.stability.scan import scan
from obverse.session.planning import annotated
from obverse.testing.conformance.function import random_expression
from tests.soundness.stacked import moved

AGGREGATES = ("count", "count", "sum", "sum", "avg", "var_pop", "count_distinct", "median", "max", "mode")
NUMBERS = (Type.INTEGER, Type.DOUBLE)
ORDERED = (Type.INTEGER, Type.DOUBLE, Type.DATE, Type.TIMESTAMP)
ARGUMENTS = dict.fromkeys(("sum", "avg", "var_pop"), NUMBERS) | dict.fromkeys(("median", "max"), ORDERED)
SMALL = ("i", "w", "s", "o", "b", "day")  # columns of few values, so that the joint norm is enumerated


def of_type(kinds: tuple[Type, ...], columns: Mapping[str, ColumnFacts], rng: random.Random) -> Expr:
    while True:
        expr = random_expression(columns, rng, rng.choice((1, 2, 3)))
        if expr.facts.type in kinds and not isinstance(expr, Literal):
            return expr


def random_question(here: Any, rng: random.Random) -> tuple[MeasuredPlan, str] | None:
    """A plan and its SQL; None when what was drawn is refused."""
    table = here.catalog.tables["t"]
    names = SMALL if rng.random() < 0.6 else tuple(n for n in table.columns if n not in ("person", "visit"))
    facts = scan(table, here.catalog.neighbours, names)
    predicate = of_type((Type.BOOLEAN,), facts.columns, rng) if rng.random() < 0.5 else None
    facts = facts if predicate is None else keep(facts, predicate)
    keys: tuple[Key, ...] = ()
    if rng.random() < 0.4:
        expr = of_type(tuple(Type), facts.columns, rng)
        values = domain(expr.facts, 40)
        if values or values is None:  # those without a list are discovered
            keys = (Key("k", expr, values, expr.facts.nullable),)
    calls = []
    for _ in range(rng.choice((1, 2, 2, 3, 4))):
        name = rng.choice(AGGREGATES)
        argument = of_type(ARGUMENTS.get(name, tuple(Type)), facts.columns, rng)
        if rng.random() < 0.4:
            argument = call(
                "case", of_type((Type.BOOLEAN,), facts.columns, rng), argument, null_of(argument.facts.type)
            )
        calls.append(AggregateCall(name, argument, name))
    exprs = (
        [c.argument for c in calls if c.argument is not None]
        + [k.expr for k in keys]
        + ([predicate] if predicate else [])
    )
    relation: Relation = Scan("t", tuple(sorted({r.name for expr in exprs for r in refs(expr)})))
    relation = relation if predicate is None else Filter(relation, predicate)
    outputs = tuple(Output(f"a{i}", call_argument) for i, call_argument in enumerate(exprs[:1]))
    try:
        plan = annotated(Question(relation, keys, tuple(calls), outputs), here.catalog)
    except Refused:
        return None
    return plan, emit(plan.root, here.catalog, "duckdb")


def told(plan: MeasuredPlan) -> str:
    question = plan.question
    where = canonical(question.relation.predicate) if isinstance(question.relation, Filter) else "true"
    asked = ", ".join(call.identity for call in question.aggregates)
    return f"{asked} where {where} by {[canonical(key.expr) for key in question.keys]}"


def check_random(here: Any, seed: int, count: int, units: int) -> tuple[int, int]:
    """Check the law on `count` random questions, and on more until two joint norms beat the plain sum, if any do.

    Gives the pairs checked, and how many joint norms do.
    """
    rng = random.Random(seed)
    (one,) = here.families((seed,), units=units)
    plans: list[tuple[MeasuredPlan, str]] = []
    enumerated = 0
    for _ in range(20 * count):
        made = random_question(here, rng)
        beaten = made is not None and beats_the_sum(made[0])
        if made is not None and (len(plans) < count or (enumerated < 2 and beaten)):
            plans.append(made)
            enumerated += beaten
        if len(plans) >= count and enumerated >= 2:
            break
    seen: list[list[Any]] = [[] for _ in plans]
    for place in range(units + 1):
        here.fill(one.database(place))
        for q, (plan, sql) in enumerate(plans):
            seen[q].append(here.vectors(plan, sql))
    pairs = 0
    for (plan, _), vectors in zip(plans, seen):
        for a, b in one.pairs(here.catalog.neighbours):
            pairs += 1
            for claim in moved(plan, vectors[a], vectors[b]):
                assert claim.holds(), f"{here.label}: {told(plan)}: {claim.ratio} times the claimed {claim.norm}"
    return pairs, enumerated


def beats_the_sum(plan: MeasuredPlan) -> bool:
    """Whether the joint norm is below that of measures which one unit could max out all at once."""
    return plan.joint.l1 < sum(m.proven.l1 / m.proven.linf for m in plan.measures)


@pytest.mark.parametrize(
    ("unit", "neighbours"),
    [("row", "add-remove"), ("row", "replace"), ("one", "replace"), ("many", "add-remove"), ("many", "replace")],
)
def test_no_unit_moves_a_random_question_further_than_claimed(
    unit: str, neighbours: str, world: Callable[..., Any]
) -> None:
    pairs, enumerated = check_random(world(unit, neighbours), 7, 16, 11)
    assert pairs >= 170
    assert enumerated >= 2 or unit == "many"


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(50, 70))
def test_no_unit_moves_many_more_random_questions_further_than_claimed(seed: int, world: Callable[..., Any]) -> None:
    for unit in ("row", "one", "many", "path"):
        for neighbours in ("add-remove", "replace"):
            check_random(world(unit, neighbours, seed % 2 == 0), seed, 40, 14)
