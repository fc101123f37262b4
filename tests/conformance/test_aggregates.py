"""Every registered aggregate: stated coverage is met by simulated answers, and not by bars that are simply wide.

Each binomial test has a false-alarm rate of 1e-6; seeds are fixed, and nothing is retried.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Literal

import pytest

from obverse.attack.binomial import lower, upper
from obverse.catalog.complete import complete
from obverse.catalog.load import loads
from obverse.catalog.model import Catalog
from obverse.plan.aggregates import AGGREGATES, Aggregate
from obverse.plan.allocate import CostedPlan, allocate
from obverse.plan.annotate import annotate
from obverse.plan.expressions import ColumnFacts, Expr, Ref
from obverse.plan.limit import limit
from obverse.plan.nodes import Key, Scan
from obverse.plan.question import AggregateCall, Output, Question
from obverse.plan.rules.scan import column_facts
from obverse.testing.check_aggregate import Simulated, exact_measures, most_covered, simulate
from obverse.testing.seeded import SeededRng

TRIALS, LEVEL, FALSE_ALARM = 20_000, 0.95, 1e-6
DERIVED_MOST = 0.995
VARIANTS = ("var_samp", "stddev_pop", "stddev_samp")  # of var_pop: fewer cases do
Accounting = Literal["pure", "zcdp"]

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
s = {{ type = "text", values = ["a", "b"] }}
"""
UNITS = {"row": '"row"', "one": '"u"', "total": '"u"\nlimits = { rows = 4 }', "weighted": '"u"\nlimits = { rows = 4 }'}
COLUMNS = {"x": "DOUBLE", "c": "DOUBLE", "n": "BIGINT", "s": "VARCHAR"}
VALUES = {  # shares of the range, and how often; ends: the largest variance; low: all at a bound
    "middle": {0.2: 1, 0.3: 2, 0.45: 1},
    "ends": {0.0: 1, 1.0: 1},
    "low": {0.0: 1},
}
SIZES = ((20, "0.5"), (400, "1"), (2_000, "8"), (60_000, "0.1"))  # units, and epsilon


@functools.cache
def catalog(shape: str, neighbours: str = "add-remove", size: int | None = None) -> Catalog:
    unit = UNITS[shape] + (f"\nsize = {size}" if size is not None else "")
    toml = TOML.format(unit=unit, neighbours=neighbours, nullable="false" if size is not None else "true")
    columns = COLUMNS | ({} if shape == "row" else {"u": "BIGINT"})
    return complete(loads(toml, Path("/")), {"t": columns}, {})


def costed_of(aggregate: Aggregate, column: str, here: Catalog, shape: str, epsilon: str, accounting: Accounting) -> CostedPlan:
    facts = {name: column_facts(one) for name, one in here.tables["t"].columns.items()}
    argument: Expr | None = Ref(column, facts[column]) if aggregate.name != "count" else None
    keys = (Key("s", Ref("s", facts["s"]), ("a", "b"), False),) if shape == "weighted" else ()
    output = Output("a", Ref("agg0", ColumnFacts(aggregate.type(argument), False)))
    columns = (column, *(key.name for key in keys))
    question = Question(Scan("t", columns), keys, (AggregateCall(aggregate.name, argument, aggregate.spoken),), (output,))
    return allocate(annotate(limit(question, here)), Fraction(epsilon), Fraction(1, 10**6), accounting)


def simulated(costed: CostedPlan, column: str, here: Catalog, values: str, units: int) -> Simulated:
    bounds = here.tables["t"].columns[column].bounds
    lo, spread = float(bounds.lo), float(bounds.spread)  # type: ignore[union-attr]
    times = sum(VALUES[values].values())
    table = {lo + share * spread: max(1, units * n // times) for share, n in VALUES[values].items()}
    seed = zlib.crc32(f"{column} {values} {units}".encode())
    return simulate(costed, exact_measures(costed.annotated, table), TRIALS, SeededRng(seed))


def informative(costed: CostedPlan, units: int) -> bool:
    """Whether the count's noise is a small part of the count, and not a matter of one or two atoms."""
    noise = float(costed.mechanisms[0].interval(LEVEL)) * float(costed.measures[0].unit)
    return noise < units / 15 and costed.mechanisms[0].stddev() * float(costed.measures[0].unit) >= 2


def check(costed: CostedPlan, found: Simulated, units: int, where: str) -> None:
    share = found.covered / TRIALS
    assert found.inside, f"{where}: an answer lies outside its own interval"
    assert upper(found.covered, TRIALS, FALSE_ALARM) >= LEVEL, f"{where}: covers only {share}"
    if len(costed.measures) == 1:
        most = most_covered(costed)
        assert lower(found.covered, TRIALS, FALSE_ALARM) <= most, f"{where}: covers {share}, at most {most} is needed"
    elif informative(costed, units):
        assert lower(found.covered, TRIALS, FALSE_ALARM) <= DERIVED_MOST, f"{where}: covers {share}, its bars are too wide"


def cases(aggregate: Aggregate) -> Iterator[tuple[str, str, int, str]]:
    """Columns, values, units and epsilons: all for one column, a few for the others; a count has no values."""
    for units, epsilon in SIZES:
        if aggregate.name == "count":
            yield "x", "middle", units, epsilon
            continue
        for values in VALUES:
            yield "x", values, units, epsilon
    if aggregate.name != "count":
        yield from (
            ("n", "middle", 60_000, "0.1"),
            ("n", "ends", 400, "1"),
            ("c", "middle", 60_000, "1"),
            ("c", "low", 400, "1"),
        )


@pytest.mark.parametrize("shape", UNITS)
@pytest.mark.parametrize("aggregate", AGGREGATES, ids=lambda aggregate: aggregate.name)
def test_intervals_cover_the_truth_as_often_as_they_say_and_not_much_more(aggregate: Aggregate, shape: str) -> None:
    here = catalog(shape)
    both: tuple[Accounting, ...] = ("pure", "zcdp")
    for accounting in both:
        listed = list(cases(aggregate))
        thinner = (1 if shape in ("row", "weighted") else 3) * (3 if aggregate.name in VARIANTS else 1)
        for column, values, units, epsilon in listed[::thinner]:
            costed = costed_of(aggregate, column, here, shape, epsilon, accounting)
            found = simulated(costed, column, here, values, units)
            check(costed, found, units, f"{accounting} {shape} {aggregate.name}({column}) of {units} {values} at {epsilon}")


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
def test_an_average_over_a_public_size_is_one_measure_and_covers_as_often_as_it_says(accounting: Accounting) -> None:
    here = catalog("one", "replace", 500)
    average = next(aggregate for aggregate in AGGREGATES if aggregate.name == "avg")
    costed = costed_of(average, "x", here, "one", "1", accounting)
    assert len(costed.measures) == 1
    check(costed, simulated(costed, "x", here, "middle", 500), 500, f"{accounting} avg over a public size")


def test_bars_of_an_average_of_integers_shrink_with_the_group() -> None:
    """Integers lie on their grid, so nothing but noise widens the bars."""
    here = catalog("row")
    average = next(aggregate for aggregate in AGGREGATES if aggregate.name == "avg")
    costed = costed_of(average, "n", here, "row", "1", "pure")
    found = simulated(costed, "n", here, "middle", 60_000)
    assert float((found.high - found.low).max()) < 0.02


def test_bars_that_are_a_tenth_too_short_are_noticed() -> None:
    here = catalog("row")
    for aggregate in AGGREGATES:
        costed = costed_of(aggregate, "x", here, "row", "0.1", "pure")
        found = simulated(costed, "x", here, "middle", 60_000)
        middle, half = (found.low + found.high) / 2, (found.high - found.low) / 2
        short = Simulated(found.truth, found.value, middle - 0.8 * half, middle + 0.8 * half)
        assert upper(short.covered, TRIALS, FALSE_ALARM) < LEVEL, aggregate.name


def test_names_are_unique() -> None:
    assert len({aggregate.name for aggregate in AGGREGATES}) == len(AGGREGATES)
