"""What a filter teaches holds for every row that it keeps."""

from __future__ import annotations

import datetime as dt
import random
from fractions import Fraction

import pytest

from obverse.core.bounds import UNBOUNDED, Bounds, Categories, interval
from obverse.core.errors import InvariantBroken
from obverse.core.sensitivity import Stability
from obverse.core.types import Type, Value, days
from obverse.core.units import Neighbours
from obverse.plan.expressions import ColumnFacts, Expr, Ref, literal
from obverse.plan.functions import call
from obverse.plan.relation import Facts
from obverse.plan.stability.filter import conjuncts, keep
from obverse.plan.stability.joint import value_on
from obverse.testing.conformance.function import CONSTANTS, within

YEAR = interval(days(dt.date(2020, 1, 1)), days(dt.date(2020, 12, 31)))
COLUMNS = {
    "i": ColumnFacts(Type.INTEGER, True, interval(-5, 20)),
    "big": ColumnFacts(Type.INTEGER, True, interval(2**53 - 4, 2**53 + 8)),
    "x": ColumnFacts(Type.DOUBLE, True, interval(Fraction(-5, 2), 10)),
    "o": ColumnFacts(Type.TEXT, True, Categories(("x", "y", "z"))),
    "v": ColumnFacts(Type.DOUBLE, True, Categories((0.5, 3.0, 9007199254740992.0))),
    "b": ColumnFacts(Type.BOOLEAN, True, UNBOUNDED),
    "day": ColumnFacts(Type.DATE, True, YEAR),
    "holiday": ColumnFacts(Type.DATE, True, Categories((dt.date(2020, 1, 1), dt.date(2020, 6, 30)))),
}
VALUES: dict[str, tuple[Value, ...]] = {
    "i": (None, *range(-5, 21)),
    "big": (None, *range(2**53 - 4, 2**53 + 9)),
    "x": (None, -2.5, -1.0, 0.0, 0.5, 3.0, 10.0),
    "o": (None, "x", "y", "z"),
    "v": (None, 0.5, 3.0, 9007199254740992.0),
    "b": (None, True, False),
    "day": (None, *(dt.date(2020, 1, 1) + dt.timedelta(n) for n in (0, 1, 181, 182, 365))),
    "holiday": (None, dt.date(2020, 1, 1), dt.date(2020, 6, 30)),
}
FACTS = Facts(COLUMNS, Stability(Neighbours.REPLACE, 1, always_present=True))
MORE: tuple[Value, ...] = (*CONSTANTS, dt.datetime(1970, 1, 1, 0, 0, 0, 18300), "y", 19.5, 9007199254740994.0, None)


def predicates(rng: random.Random) -> Expr:
    """A comparison, list, test or conjunction, of a column with literals of any type that it is compared with."""
    from obverse.core.errors import Refused

    while True:
        name = rng.choice(sorted(COLUMNS))
        ref = Ref(name, COLUMNS[name])
        constants = [literal(rng.choice(MORE)) for _ in range(3)]
        function = rng.choice(("eq", "ne", "lt", "le", "gt", "ge", "in_list", "is_null", "ref", "and", "like"))
        try:
            match function:
                case "is_null":
                    return call("not", call("is_null", ref))
                case "in_list":
                    return call("in_list", ref, *constants)
                case "like":
                    return call("like", ref, literal("%"))
                case "ref":
                    chosen: Expr = Ref("b", COLUMNS["b"])
                    return chosen if rng.random() < 0.5 else call("not", chosen)
                case "and":
                    return call("and", predicates(rng), predicates(rng))
                case _:
                    return call(function, *((ref, constants[0]) if rng.random() < 0.5 else (constants[0], ref)))
        except Refused:
            continue


@pytest.mark.parametrize("seed", range(6))
def test_every_kept_row_lies_within_the_facts_that_the_filter_teaches(seed: int) -> None:
    rng = random.Random(seed)
    learned = 0
    for _ in range(150):
        predicate = predicates(rng)
        facts = keep(FACTS, predicate)
        learned += facts.columns != COLUMNS
        for _ in range(40):
            row = {name: rng.choice(values) for name, values in VALUES.items()}
            if value_on(predicate, row) is True:
                assert all(within(facts.columns[name], value) for name, value in row.items()), (predicate, row)
    assert learned > 50


def after(predicate: Expr, name: str) -> ColumnFacts:
    return keep(FACTS, predicate).columns[name]


def ref(name: str) -> Ref:
    return Ref(name, COLUMNS[name])


@pytest.mark.parametrize(
    ("predicate", "name", "bounds"),
    [
        (call("ge", ref("i"), literal(3)), "i", interval(3, 20)),
        (call("gt", literal(3), ref("i")), "i", interval(-5, 2)),
        (call("gt", ref("i"), literal(3)), "i", interval(4, 20)),
        (call("lt", ref("x"), literal(3)), "x", interval(Fraction(-5, 2), 3)),
        (call("lt", ref("i"), literal(2.5)), "i", interval(-5, 2)),
        (call("eq", ref("o"), literal("y")), "o", Categories(("y",))),
        (call("in_list", ref("i"), literal(7), literal(1), literal(99)), "i", interval(1, 7)),
        (call("in_list", ref("o"), literal("z"), literal("x")), "o", Categories(("x", "z"))),
        (call("eq", ref("x"), literal(3)), "x", interval(3, 3)),
    ],
)
def test_a_comparison_with_a_literal_narrows_its_column_and_rules_out_null(
    predicate: Expr, name: str, bounds: Bounds
) -> None:
    found = after(predicate, name)
    assert found.bounds == bounds
    assert not found.nullable


def test_nothing_is_learned_where_the_engine_compares_something_else() -> None:
    """Large integers beside doubles are rounded, dates beside timestamps become midnights."""
    new_year = literal(dt.datetime(2020, 1, 1))
    odd = literal(dt.datetime(1970, 1, 1, 0, 0, 0, 18300))
    assert after(call("le", ref("big"), literal(9007199254740992.0)), "big").bounds == COLUMNS["big"].bounds
    assert after(call("in_list", ref("big"), literal(2**53 + 1), literal(0.5)), "big").bounds == COLUMNS["big"].bounds
    assert after(call("in_list", ref("day"), odd, new_year), "day").bounds == COLUMNS["day"].bounds
    assert after(call("eq", ref("holiday"), new_year), "holiday").bounds == COLUMNS["holiday"].bounds


def test_a_filter_takes_away_that_every_unit_is_there() -> None:
    stability = keep(FACTS, call("is_null", ref("i"))).stability
    assert stability is not None
    assert not stability.always_present


def test_conjunctions_are_read_as_one_list() -> None:
    terms = [call("ge", ref("i"), literal(n)) for n in range(4)]
    nested = call("and", call("and", terms[0], terms[1]), call("and", terms[2], terms[3]))
    assert conjuncts(nested) == tuple(terms)


def test_a_filter_that_is_no_predicate_is_a_defect() -> None:
    with pytest.raises(InvariantBroken):
        keep(FACTS, ref("i"))
