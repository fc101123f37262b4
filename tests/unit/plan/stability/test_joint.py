"""The joint norm of a question: never below what one unit can do, and as small as the lectures say."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.catalog.complete import complete
from obverse.catalog.load import loads
from obverse.catalog.model import Catalog
from obverse.core.types import Type
from obverse.core.units import Neighbours
from obverse.plan.expressions import ColumnFacts, Ref, domain, literal
from obverse.plan.functions import call
from obverse.plan.query import Question
from obverse.plan.sensitivity import MeasuredPlan
from obverse.plan.stability.joint import _widest, modelled, value_on
from obverse.session.planning import annotated, read
from obverse.testing.conformance.aggregate import term_of

TOML = """
[project]
name = "survey"
[privacy]
neighbours = "{neighbours}"
[budget]
epsilon = 1
[tables.survey]
source = "python"
unit = "row"
[tables.survey.columns]
read_hp = {{ type = "boolean", nullable = false }}
books = {{ type = "integer", bounds = [0, 7], nullable = false }}
gender = {{ type = "text", values = ["F", "M"] }}
mood = {{ type = "integer", bounds = [-2, 2] }}
"""
READ, MEN, WOMEN = (f"COUNT(*) FILTER (WHERE {p})" for p in ("read_hp", "gender = 'M'", "gender = 'F'"))


@pytest.fixture(scope="module")
def plan() -> Callable[..., MeasuredPlan]:
    schema = {"survey": {"read_hp": "BOOLEAN", "books": "BIGINT", "gender": "VARCHAR", "mood": "BIGINT"}}

    def make(select: str, neighbours: str = "add-remove", rest: str = "") -> MeasuredPlan:
        catalog: Catalog = complete(loads(TOML.format(neighbours=neighbours), Path("/")), schema, {})
        question = read(f"SELECT {select} FROM survey {rest}", catalog, dt.datetime(2024, 1, 1))
        assert isinstance(question, Question)
        return annotated(question, catalog)

    return make


def brute(plan: MeasuredPlan, cells: int) -> tuple[Fraction, Fraction]:
    """The largest joint move over all rows that a unit can be, as the noise counts it; rows may lie in two cells."""
    columns = plan.facts.columns
    names = sorted(columns)
    domains = [(*(domain(columns[n]) or ()), *((None,) if columns[n].nullable else ())) for n in names]
    vectors = {(Fraction(0),) * len(plan.measures)}
    for combination in itertools.product(*domains):
        row = dict(zip(names, combination))
        terms = [1 if m.term.expr is None else term_of(m.term, value_on(m.term.expr, row)) for m in plan.measures]
        vectors.add(tuple(Fraction(t or 0) / m.proven.linf for t, m in zip(terms, plan.measures)))
    moves = list(vectors)
    if plan.setting.neighbours is Neighbours.REPLACE:
        moves = [tuple(x - y for x, y in zip(u, v)) for u, v in itertools.product(vectors, repeat=2)]
        if cells > 1:  # in two cells: one is emptied, another filled
            moves += [(*u, *v) for u, v in itertools.product(vectors, repeat=2)]
    return max(sum(map(abs, m), Fraction(0)) for m in moves), max(sum((x * x for x in m), Fraction(0)) for m in moves)


SELECTS = (
    READ,
    f"{MEN}, {WOMEN}",
    f"{READ}, {MEN}, {WOMEN}",
    f"{READ}, SUM(books)",
    "SUM(books), SUM(mood), SUM(books - mood)",
    f"SUM(CASE WHEN gender = 'F' THEN books END), SUM(CASE WHEN gender = 'M' THEN books END), {READ}",
    "COUNT(*), COUNT(mood), SUM(mood), SUM(-mood)",
    "COUNT(CASE WHEN mood > 1 THEN 1 END), COUNT(CASE WHEN mood < -1 THEN 1 END), COUNT(CASE WHEN mood / 2 = 0.5 THEN "
    "1 END)",
)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("rest", ["", "GROUP BY gender", "WHERE mood IS NOT NULL AND books > 2"])
@pytest.mark.parametrize("select", SELECTS)
def test_no_row_moves_the_stack_further_than_the_joint_norm(
    select: str, rest: str, neighbours: str, plan: Callable[..., MeasuredPlan]
) -> None:
    made = plan(select, neighbours, rest)
    l1, l2 = brute(made, 2 if "GROUP" in rest else 1)
    assert l1 <= made.joint.l1
    assert l2 <= made.joint.l2_squared
    assert 2 * l1 >= made.joint.l1


@pytest.mark.parametrize(
    ("select", "rest", "expected"),
    [
        (READ, "", 1),
        (f"{MEN}, {WOMEN}", "", 1),
        (f"{READ}, {MEN}, {WOMEN}", "", 2),
        ("COUNT(*)", "GROUP BY gender, read_hp", 1),
        ("AVG(books)", "", 2),
    ],
)
def test_the_survey_of_the_lecture(select: str, rest: str, expected: int, plan: Callable[..., MeasuredPlan]) -> None:
    assert plan(select, "add-remove", rest).joint.l1 == expected


def test_what_an_engine_may_compute_otherwise_is_not_enumerated() -> None:
    text = Ref("t", ColumnFacts(Type.TEXT))
    number = Ref("i", ColumnFacts(Type.INTEGER))
    assert not modelled(call("to_integer", text))
    assert not modelled(call("ilike", text, literal("a%")))
    assert not modelled(call("gt", call("multiply", number, number), literal(1)))
    assert modelled(call("like", text, literal("a%")))
    assert modelled(call("gt", number, literal(1)))


@settings(max_examples=200)
@given(
    st.integers(1, 4).flatmap(lambda d: st.lists(st.tuples(*[st.fractions(-3, 3, max_denominator=6)] * d), min_size=1))
)
def test_the_widest_pair_is_the_widest_pair(vectors: list[tuple[Fraction, ...]]) -> None:
    distances = [tuple(abs(x - y) for x, y in zip(u, v)) for u in vectors for v in vectors]
    apart = _widest(vectors)
    assert apart == (max(sum(d) for d in distances), max(sum(x * x for x in d) for d in distances))


def test_among_many_rows_the_bound_stays_a_bound() -> None:
    vectors = [(Fraction(x, 7), Fraction(x * x % 97, 5)) for x in range(1000)]
    l1, l2 = (max(sum(abs(x - y) ** p for x, y in zip(u, v)) for u in vectors for v in vectors[:20]) for p in (1, 2))
    apart = _widest(vectors)
    assert apart is not None
    assert apart[0] >= l1
    assert apart[1] >= l2
    assert _widest([(Fraction(1),) * 20] * 2) is None
