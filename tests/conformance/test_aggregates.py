"""Every registered aggregate: stated coverage is met by simulated answers, and not by bars that are simply wide.

Each binomial test has a false-alarm rate of 1e-6; seeds are fixed, and nothing is retried.
"""

from __future__ import annotations

import functools
import itertools
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from obverse.attack.lower_bound.binomial import upper
from obverse.catalog.complete import complete
from obverse.catalog.load import loads
from obverse.catalog.model import Catalog
from obverse.core.rng import Rng
from obverse.core.types import Value
from obverse.mechanisms import DiscreteLaplace, Exponential
from obverse.plan.aggregates import AGGREGATES, BY_NAME, Aggregate
from obverse.plan.aggregates.covariance import Covariance
from obverse.plan.aggregates.quantile import QUANTILES, Quantile
from obverse.plan.expressions import AggregateRef, ColumnFacts, Expr, Ref, from_number, number_bounds
from obverse.plan.pricing import Plan, allocate, with_mechanisms
from obverse.plan.query import AggregateCall, Output, Question
from obverse.plan.relation import Key, Scan
from obverse.plan.sensitivity import annotate, limit
from obverse.plan.stability.scan import column_facts
from obverse.testing.conformance.aggregate import (
    Simulated,
    Table,
    check_coverage,
    exact_measures,
    plainly,
    simulate,
    without_noise,
)
from obverse.testing.noiseless import SeededRng
from obverse.testing.statistics import fits

LEVEL = 0.95
FALSE_ALARM = 1e-6
TRIALS = 20_000
Accounting = Literal["pure", "zcdp"]
Pair = tuple[float | None, float | None]
BOTH: tuple[Accounting, ...] = ("pure", "zcdp")

TOML = """
[project]
name = "coverage"
[privacy]
neighbours = "{neighbours}"
[budget]
epsilon = 100
[tables.t]
source = "python"
unit = {unit}
[tables.t.columns]
x = {{ type = "double", bounds = [0, 100], nullable = {nullable} }}
c = {{ type = "double", bounds = [-20, 80], grid = 0.01 }}
n = {{ type = "integer", bounds = [0, 50] }}
m = {{ type = "integer", bounds = [1000, 500000] }}
z = {{ type = "double", bounds = [0.3, 7.7] }}
w = {{ type = "integer", bounds = [3, 4] }}
d = {{ type = "date", bounds = ["2020-01-01", "2024-12-31"] }}
s = {{ type = "text", values = ["a", "b"] }}
"""
UNITS = {"row": '"row"', "one": '"u"', "total": '"u"\nlimits = { rows = 4 }', "weighted": '"u"\nlimits = { rows = 4 }'}
COLUMNS = dict(zip("xcnmzwds", "DOUBLE DOUBLE BIGINT BIGINT DOUBLE BIGINT DATE VARCHAR".split()))
WEIGHT = Fraction(5, 7)  # of a row, where rows are weighted
VALUES: dict[str, dict[Pair, int]] = {  # shares of the ranges of the argument and of the second one, and how often
    "middle": {(0.2, 0.3): 2, (0.3, 0.1): 3, (0.45, 0.6): 2, (0.3, 0.3): 3},
    "skewed": {(0.001, 0.0): 60, (0.004, 0.03): 30, (0.05, 0.1): 8, (0.95, 0.7): 2, (None, 0.5): 9, (0.5, None): 7},
    "ends": {(0.0, 0.0): 2, (1.0, 1.0): 2, (0.0, 1.0): 1},
    "low": {(0.0, 0.0): 1},
    "near": {(0.7, 0.7): 1, (0.7002, 0.7001): 1},
    "flat": {(0.1, 0.6): 1, (0.9, 0.6): 1},
    "line": {(0.3 + i / 250, 0.9 - i / 200): 1 for i in range(101)},
}
EVEN: dict[Pair, int] = {(0.3 + i / 2500, 0.5): 1 for i in range(1001)}  # for trees
PLAIN = ("middle", "skewed", "ends", "line")  # of which every statistic is known
QS = (0.25, 0.5, 0.9, 1 / 3)
SINGLE = ("count", "count_distinct", "count_units", "sum", "regr_count")  # quickly done
VARIANTS = ("var_samp", "stddev_pop", "stddev_samp", "covar_samp", "regr_r2")  # of others
ADDED_UP = (*SINGLE, "avg", "var_pop", "var_samp", "stddev_pop", "stddev_samp")  # all of TRIALS each
WITH_INTERVAL = tuple(aggregate for aggregate in AGGREGATES if aggregate.name != "mode")
WIDTHS = {  # at epsilon 1 and 20,000 rows, in ranges of 100
    "covar_pop": 8.0, "covar_samp": 8.0, "corr": 0.1, "regr_slope": 0.03, "regr_intercept": 1.0, "regr_r2": 0.12,
    "median": 1.0, "quantile_cont": 1.0, "percentile_disc": 1.0, "min": 1.0, "max": 1.0,
}  # fmt: skip
SIZES = ((3, "1"), (20, "0.5"), (400, "1"), (2_000, "8"), (60_000, "0.1"))  # units, and epsilon


@functools.cache
def catalog(shape: str, neighbours: str = "add-remove", size: int | None = None) -> Catalog:
    unit = UNITS[shape] + (f"\nsize = {size}" if size is not None else "")
    toml = TOML.format(unit=unit, neighbours=neighbours, nullable="false" if size is not None else "true")
    columns = COLUMNS | ({} if shape == "row" else {"u": "BIGINT"})
    return complete(loads(toml, Path("/")), {"t": columns}, {})


def facts_of(here: Catalog) -> dict[str, ColumnFacts]:
    return {name: column_facts(one) for name, one in here.tables["t"].columns.items()}


def call_of(aggregate: Aggregate, column: str, here: Catalog, q: float = 0.5) -> AggregateCall:
    """The aggregate of a column, of x beside it where it takes two, and of the unit's key where it counts units."""
    facts = facts_of(here)
    unit = "u" if aggregate.name == "count_units" and "u" in facts else column
    argument: Expr | None = Ref(unit, facts[unit]) if aggregate.name != "count" else None
    second = Ref("x", facts["x"]) if isinstance(aggregate, Covariance) else None
    parameter = q if aggregate.name in ("quantile_cont", "percentile_disc") else None
    return AggregateCall(aggregate.name, argument, aggregate.spoken, parameter, second=second)


def costed_of(call: AggregateCall, here: Catalog, shape: str, epsilon: str, accounting: Accounting) -> Plan:
    facts = facts_of(here)
    keys = (Key("s", Ref("s", facts["s"]), ("a", "b"), False),) if shape == "weighted" else ()
    output = Output("a", AggregateRef(0, ColumnFacts(BY_NAME[call.function].type(call), False)))
    columns = dict.fromkeys(
        [*(ref.name for ref in call.arguments if isinstance(ref, Ref)), *(key.name for key in keys)]
    )
    question = Question(Scan("t", tuple(columns) or ("x",)), keys, (call,), (output,))
    return allocate(annotate(limit(question, here)), Fraction(epsilon), Fraction(1, 10**6), accounting)


def at(share: float | None, facts: ColumnFacts) -> Value:
    """The value at a share of the range."""
    bounds = number_bounds(facts)
    assert bounds is not None
    return None if share is None else from_number(bounds.lo + Fraction(share) * bounds.spread, facts.type)


def table_of(call: AggregateCall, here: Catalog, values: str, units: int) -> Table:
    """About so many rows, all of different units."""
    facts = facts_of(here)
    column = call.argument.name if isinstance(call.argument, Ref) else "x"
    listed = EVEN if values == "even" else VALUES[values]
    total = sum(listed.values())
    found: list[tuple[Mapping[str, Value], int]] = []
    for (share, other), times in listed.items():
        row = {"u": 1, "x": at(share if call.second is None else other, facts["x"])}
        share = share if facts[column].nullable or share is not None else 0.5
        row |= {column: row[column] if column in row else at(share, facts[column])}
        found.append((row, max(1, units * times // total)))
    return found


def simulated(
    costed: Plan, here: Catalog, values: str, units: int, trials: int = TRIALS, weight: Fraction = Fraction(1)
) -> Simulated:
    call = costed.question.aggregates[0]
    exact = exact_measures(costed, table_of(call, here, values, units), weight)
    return simulate(costed, exact, trials, SeededRng(zlib.crc32(f"{call.identity} {values} {units}".encode())))


def cases(aggregate: Aggregate, shape: str, accounting: Accounting) -> Iterator[tuple[str, str, int, str, float]]:
    """Columns, values, units, epsilons and shares: most of them for sums by row and by weight, for others a few that
    meet
    all of each, others for each shape and accounting."""
    columns = ("x", "n", "m", "d", "c") if isinstance(aggregate, Quantile) else ("c", "x", "n", "m")
    stride = 12 if aggregate.name in VARIANTS else 6
    if aggregate.name in ADDED_UP:
        stride = (2 if shape in ("row", "weighted") else 3) * (3 if aggregate.name in VARIANTS else 1)
    start = (2 * list(UNITS).index(shape) + 5 * BOTH.index(accounting)) % stride
    for place, (values, (units, epsilon)) in enumerate(itertools.product(VALUES, SIZES)):
        if place % stride == start:
            yield columns[place % len(columns)], values, units, epsilon, QS[place % len(QS)]


@pytest.mark.parametrize("shape", UNITS)
@pytest.mark.parametrize("aggregate", WITH_INTERVAL, ids=lambda aggregate: aggregate.name)
def test_intervals_cover_the_truth_as_often_as_they_say_and_not_much_more(aggregate: Aggregate, shape: str) -> None:
    here = catalog(shape)
    weight = WEIGHT if shape == "weighted" else Fraction(1)
    trials = TRIALS if aggregate.name in ADDED_UP else 1_000 if isinstance(aggregate, Quantile) else 4_000
    for accounting in BOTH:
        for column, values, units, epsilon, q in cases(aggregate, shape, accounting):
            costed = costed_of(call_of(aggregate, column, here, q), here, shape, epsilon, accounting)
            found = simulated(costed, here, values, units, trials, weight)
            check_coverage(costed, found, units, f"{shape}, {units} {values} of {column}")


@pytest.mark.parametrize("accounting", BOTH)
def test_an_average_over_a_public_size_is_one_measure_and_covers_as_often_as_it_says(accounting: Accounting) -> None:
    here = catalog("one", "replace", 500)
    costed = costed_of(call_of(BY_NAME["avg"], "x", here), here, "one", "1", accounting)
    assert len(costed.measures) == 1
    check_coverage(costed, simulated(costed, here, "middle", 500), 500, "over a public size")


@pytest.mark.parametrize("accounting", BOTH)
@pytest.mark.parametrize("name", ["covar_pop", "corr"])
def test_one_noise_that_serves_both_arguments_is_not_taken_for_two(name: str, accounting: Accounting) -> None:
    here = catalog("row")
    costed = costed_of(call_of(BY_NAME[name], "x", here), here, "row", "1", accounting)
    (serves,) = costed.serves
    assert len(set(serves)) < len(serves)
    for values, units in (("low", 60_000), ("ends", 2_000)):
        check_coverage(costed, simulated(costed, here, values, units, 8_000), units, f"{values} of (x, x)")


def test_bars_of_an_average_of_integers_shrink_with_the_group() -> None:
    """Integers lie on their grid, so nothing but noise widens the bars."""
    here = catalog("row")
    costed = costed_of(call_of(BY_NAME["avg"], "n", here), here, "row", "1", "pure")
    assert simulated(costed, here, "middle", 60_000, 400).width < 0.02


@pytest.mark.parametrize("accounting", BOTH)
@pytest.mark.parametrize("name", WIDTHS)
def test_bars_of_many_rows_are_short_and_shrink_as_epsilon_grows(name: str, accounting: Accounting) -> None:
    """The far side of an extreme's interval is the end of the domain: no noise tells that nothing lies beyond."""
    here = catalog("row")
    values = "even" if isinstance(BY_NAME[name], Quantile) else "middle"
    widths = []
    for epsilon in ("0.25", "1", "4"):
        costed = costed_of(call_of(BY_NAME[name], "c", here), here, "row", epsilon, accounting)
        found = simulated(costed, here, values, 20_000, 400)
        beyond = {"min": found.truth + 20, "max": 80 - found.truth}.get(name, 0.0)
        widths.append(found.width - beyond)
    assert widths[1] < WIDTHS[name], widths
    assert all(more > 1.5 * less for more, less in itertools.pairwise(widths)), widths


def test_bars_that_are_a_tenth_too_short_are_noticed() -> None:
    """A fifth, where a part of the error pays for what is of second order."""
    here = catalog("row")
    for aggregate in (a for a in WITH_INTERVAL if not isinstance(a, Quantile)):
        costed = costed_of(call_of(aggregate, "c", here), here, "row", "0.1", "pure")
        part, trials = (0.9, TRIALS) if len(costed.measures) == 1 else (0.8, 10_000)
        found = simulated(costed, here, "ends", 60_000, trials)
        middle = (found.low + found.high) / 2
        half = (found.high - found.low) / 2
        short = replace(found, low=middle - part * half, high=middle + part * half)
        assert upper(short.covered, trials, FALSE_ALARM) < LEVEL, aggregate.name


class Loud(DiscreteLaplace):
    """Twice the noise that it owns up to."""

    def noise(self, n: int, rng: Rng) -> NDArray[np.int64]:
        return 2 * super().noise(n, rng)


@pytest.mark.parametrize("aggregate", QUANTILES, ids=lambda aggregate: aggregate.name)
def test_bars_of_a_tree_with_twice_the_noise_are_noticed(aggregate: Aggregate) -> None:
    """A tree's bars allow for each of its levels apart, so that smaller faults cannot be seen in them."""
    here = catalog("row")
    costed = costed_of(call_of(aggregate, "x", here), here, "row", "0.2", "pure")
    (mechanism,) = costed.mechanisms
    assert isinstance(mechanism, DiscreteLaplace)
    loud = with_mechanisms(costed, (Loud(mechanism.sensitivity, mechanism.scale),))
    found = simulated(loud, here, "even", 20_000, 1_200)
    assert upper(found.covered, 1_200, FALSE_ALARM) < LEVEL, found.covered


@pytest.mark.parametrize("shape", UNITS)
@pytest.mark.parametrize("aggregate", AGGREGATES, ids=lambda aggregate: aggregate.name)
def test_without_noise_answers_are_those_of_plain_formulas(aggregate: Aggregate, shape: str) -> None:
    here = catalog(shape)
    for (place, values), q in itertools.product(enumerate(PLAIN), QS):
        column = "n" if aggregate.name == "mode" else "nc"[(place + list(UNITS).index(shape)) % 2]
        call = call_of(aggregate, column, here, q)
        if call.parameter is None and q != QS[0]:
            continue
        found = simulated(without_noise(costed_of(call, here, shape, "1", "pure")), here, values, 1_000, 1)
        needed = [ref.name for ref in call.arguments if isinstance(ref, Ref)]
        table = [one for one in table_of(call, here, values, 1_000) if all(one[0][name] is not None for name in needed)]
        numbers = [(row[needed[0]] if needed else 0.0, row["x"]) for row, times in table for _ in range(times)]
        y, x = np.array(numbers, dtype=float).round(2 if column == "c" else 9).T
        assert found.truth == pytest.approx(plainly(aggregate.name, y, x, q), rel=1e-5, abs=1e-5), (column, values)


def test_quantiles_hold_the_values_themselves_and_stay_within_bounds() -> None:
    """Values between two points of the tree's grid, leaves that are wider than a value, bounds off the grid."""
    here = catalog("row")
    for aggregate, (column, truth) in itertools.product(
        QUANTILES, {"x": 33.3333, "m": 77_777, "z": 7.69, "w": 4}.items()
    ):
        costed = costed_of(call_of(aggregate, column, here), here, "row", "1", "pure")
        found = simulate(costed, exact_measures(costed, [({column: truth}, 500)]), 500, SeededRng(7))
        bounds = number_bounds(facts_of(here)[column])
        assert bounds is not None
        assert bounds.lo <= found.low.min() <= found.value.min()
        assert found.value.max() <= found.high.max() <= bounds.hi
        held = int(((found.low <= truth) & (truth <= found.high)).sum())
        assert upper(held, 500, FALSE_ALARM) >= LEVEL, (aggregate.name, column)


@pytest.mark.parametrize("accounting", BOTH)
@pytest.mark.parametrize("shape", UNITS)
def test_a_mode_has_no_bars_and_the_law_of_the_exponential_mechanism(shape: str, accounting: Accounting) -> None:
    """The best value nearly always at a large epsilon; at a small one, goodness of fit with false alarm 1e-9."""
    here = catalog(shape)
    weight = WEIGHT if shape == "weighted" else Fraction(1)
    call = call_of(BY_NAME["mode"], "n", here)
    for epsilon, units in (("4", 1_000), ("0.05", 40), ("0.01", 200)):
        costed = costed_of(call, here, shape, epsilon, accounting)
        (mechanism,) = costed.mechanisms
        assert isinstance(mechanism, Exponential)
        found = simulated(costed, here, "skewed", units, 4_000, weight)
        assert np.isnan([found.low, found.high]).all()
        (content,) = exact_measures(costed, table_of(call, here, "skewed", units), weight)
        scores = [content.get(value, 0) for value in range(51)]
        assert scores[int(found.truth)] == max(scores)
        assert fits(found.value.astype(np.int64), 0, [float(mechanism.probability(scores, i)[0]) for i in range(51)])
        assert epsilon != "4" or np.mean(found.value == found.truth) > 0.99


def test_names_are_unique() -> None:
    assert len({aggregate.name for aggregate in AGGREGATES}) == len(AGGREGATES)
