"""Post-processing means what the functions mean, and its intervals hold what it may give."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pytest

from obverse.core.bounds import Categories, interval
from obverse.core.types import Type, Value, days
from obverse.plan.expressions import Call, ColumnFacts, Expr, Ref, canonical, literal
from obverse.plan.functions import call
from obverse.plan.release.postprocess import CORNERS, Column, Ends, dtype_of, ends_of, evaluate
from obverse.plan.stability.joint import modelled, value_on
from obverse.testing.conformance.function import random_expression, same

FACTS = {
    "agg0": ColumnFacts(Type.INTEGER, False, interval(-1000, 1000)),
    "agg1": ColumnFacts(Type.DOUBLE, False, interval(-50, 50)),
    "key0": ColumnFacts(Type.TEXT, True, Categories(("a", "b", "x"))),
    "key1": ColumnFacts(Type.DATE, True, interval(days(dt.date(2020, 1, 1)), days(dt.date(2020, 12, 31)))),
    "key2": ColumnFacts(Type.BOOLEAN, True),
}
VALUES: dict[str, tuple[Value, ...]] = {
    "agg0": (-1000, -3, -1, 0, 1, 2, 7, 999),
    "agg1": (-50.0, -2.5, -0.5, 0.0, 0.1, 0.5, 2.5, 50.0),
    "key0": (None, "a", "b", "x"),
    "key1": (None, dt.date(2020, 1, 1), dt.date(2020, 6, 30)),
    "key2": (None, True, False),
}
NUMBERS = {"agg0": FACTS["agg0"], "agg1": FACTS["agg1"]}


def columns_of(rows: list[dict[str, Value]]) -> dict[str, Column]:
    found = {}
    for name, facts in FACTS.items():
        values = np.empty(len(rows), dtype=dtype_of(facts.type))
        filler = {Type.INTEGER: 0, Type.DOUBLE: 0.0, Type.BOOLEAN: False}.get(facts.type)
        values[:] = [filler if row[name] is None else row[name] for row in rows]
        found[name] = Column(values, np.array([row[name] is None for row in rows]))
    return found


@pytest.mark.parametrize("seed", range(3))
def test_a_column_is_evaluated_as_each_of_its_rows(seed: int) -> None:
    rng = random.Random(seed)
    rows = [{name: rng.choice(values) for name, values in VALUES.items()} for _ in range(40)]
    columns = columns_of(rows)
    checked = 0
    while checked < 150:
        expr = random_expression(FACTS, rng, rng.choice((1, 2, 3)))
        if not isinstance(expr, Call) or not modelled(expr):
            continue
        found = evaluate(expr, columns, len(rows))
        for row, value, null in zip(rows, found.values.tolist(), found.null.tolist()):
            expected = value_on(expr, row)
            assert same(None if null else value, expected), f"{canonical(expr)} on {row}: {value}, not {expected}"
        checked += 1


def arithmetic(rng: random.Random, depth: int) -> Expr:
    """A tree of the functions that intervals pass through."""
    if depth == 0:
        name = rng.choice(sorted(NUMBERS))
        return Ref(name, NUMBERS[name]) if rng.random() < 0.7 else literal(rng.choice((2, -3, 0.5, 10)))
    function = rng.choice(sorted(CORNERS))
    if function == "clamp":
        return call("clamp", arithmetic(rng, depth - 1), literal(-5), literal(7.5))
    if function == "round":
        digits = (literal(rng.choice((-1, 0, 1, 2))),) if rng.random() < 0.7 else ()
        return call("round", arithmetic(rng, depth - 1), *digits)
    one = function in ("negate", "abs", "floor", "ceil", "to_double", "to_integer")
    return call(function, *(arithmetic(rng, depth - 1) for _ in range(1 if one else 2)))


@pytest.mark.parametrize("seed", range(4))
def test_an_interval_holds_the_value_wherever_its_parts_lie_within_theirs(seed: int) -> None:
    rng = random.Random(seed)
    length = 30
    for _ in range(120):
        expr = arithmetic(rng, rng.choice((1, 2, 3)))
        bars, points = _bars_and_points(rng, length)
        ends = ends_of(expr, bars, length)
        if ends is None:
            continue
        shown = np.isfinite(ends.low) & np.isfinite(ends.high)  # others have no interval in an answer
        for point in points:
            found = evaluate(expr, point, length)
            slack = 1e-9 * np.abs(found.values)
            held = (ends.low <= found.values + slack) & (found.values <= ends.high + slack)
            assert bool((held | found.null | ~shown).all()), canonical(expr)


def _bars_and_points(rng: random.Random, length: int) -> tuple[Mapping[str, Ends], list[Mapping[str, Column]]]:
    """Intervals of both numbers, and columns within them: both ends, and some between (halves among them)."""
    never = np.zeros(length, dtype=bool)
    low0 = np.array([rng.randint(-9, 9) for _ in range(length)])
    high0 = low0 + np.array([rng.randint(0, 6) for _ in range(length)])
    low1 = np.array([rng.choice((-2.5, -0.5, 0.0, 0.5, 1.5, 2.25)) for _ in range(length)])
    high1 = low1 + np.array([rng.choice((0.0, 0.5, 1.0, 3.25)) for _ in range(length)])
    bars = {"agg0": Ends(low0.astype(float), high0.astype(float)), "agg1": Ends(low1, high1)}
    points: list[Mapping[str, Column]] = []
    for share in (0.0, 0.25, 0.5, 1.0):
        whole = low0 + ((high0 - low0) * share).astype(np.int64)
        points.append({"agg0": Column(whole, never), "agg1": Column(low1 + (high1 - low1) * share, never)})
    return bars, points


def test_a_quotient_by_what_may_be_zero_has_no_interval() -> None:
    bars = {
        "agg0": Ends(np.array([1.0, 1.0]), np.array([2.0, 2.0])),
        "agg1": Ends(np.array([-1.0, 1.0]), np.array([1.0, 2.0])),
    }
    ends = ends_of(call("divide", Ref("agg0", FACTS["agg0"]), Ref("agg1", FACTS["agg1"])), bars, 2)
    assert ends is not None
    assert np.isinf(ends.low[0])
    assert (ends.low[1], ends.high[1]) == (0.5, 2.0)


def test_a_choice_has_no_interval() -> None:
    chosen = call("case", call("gt", Ref("agg0", FACTS["agg0"]), literal(0)), Ref("agg1", FACTS["agg1"]), literal(0.0))
    assert ends_of(chosen, {"agg0": Ends(np.zeros(1), np.ones(1)), "agg1": Ends(np.zeros(1), np.ones(1))}, 1) is None
    assert chosen.facts.bounds == interval(Fraction(-50), Fraction(50))


def test_what_is_no_finite_number_is_null() -> None:
    texts = np.array(["1.5", "nan", "inf", "x"], dtype=object)
    read = call("to_double", Ref("key0", ColumnFacts(Type.TEXT)))
    told = evaluate(read, {"key0": Column(texts, np.zeros(4, dtype=bool))}, 4)
    assert told.null.tolist() == [False, True, True, True]
