"""Random expressions on adversarial rows: none raises, each value lies within its facts and equals its reference
meaning.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from obverse.core.bounds import Categories
from obverse.core.types import Value
from obverse.plan.dialects import DIALECTS
from obverse.plan.emit import expressions as printing
from obverse.plan.expressions import Call, ColumnFacts
from obverse.plan.stability.joint import modelled
from obverse.plan.stability.scan import column_facts
from obverse.testing.conformance.function import check_value, random_expression

D = DIALECTS["duckdb"]


def scanned(here: Any) -> tuple[dict[str, ColumnFacts], str]:
    """Facts of all columns, and the scan that enforces them, as emit prints it."""
    table = here.catalog.tables["t"]
    columns = {name: column_facts(column) for name, column in table.columns.items()}
    listed = ", ".join(f'{printing.enforced(column, D)} AS "{name}"' for name, column in table.columns.items())
    listing = [c.name for c in table.columns.values() if not c.nullable and isinstance(c.bounds, Categories)]
    kept = " AND ".join(f'"{name}" IS NOT NULL' for name in listing)  # rows outside a public list are left out
    return columns, f'(SELECT * FROM (SELECT {listed} FROM "t" AS t) AS e WHERE {kept})'


def check_many(here: Any, seed: int, count: int) -> int:
    """Fill the table with wild rows and check `count` expressions, forty at a time; gives how many are modelled."""
    (one,) = here.families((seed,), units=14)
    here.fill({name: sum((unit[name] for unit in one.units), one.base[name]) for name in one.base})
    columns, source = scanned(here)
    rng = random.Random(seed)
    exprs = [random_expression(columns, rng, rng.choice((1, 2, 3, 4))) for _ in range(count)]
    names = {name: f's."{name}"' for name in columns}
    for start in range(0, count, 40):
        some = exprs[start : start + 40]
        listed = ", ".join(printing.expression(expr, names, D) for expr in some)
        for found in here.engine.execute(f"SELECT s.*, {listed} FROM {source} AS s").fetchall():
            row: dict[str, Value] = dict(zip(columns, found))
            for expr, value in zip(some, found[len(columns) :]):
                check_value(expr, row, value)
    return sum(isinstance(expr, Call) and modelled(expr) for expr in exprs)


@pytest.mark.parametrize("seed", range(4))
def test_a_random_expression_raises_on_no_row_and_means_what_its_facts_and_reference_say(
    seed: int, world: Callable[..., Any]
) -> None:
    assert check_many(world("row", "add-remove", seed % 2 == 1), seed, 400) >= 100


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 130))
def test_ten_thousand_more_expressions(seed: int, world: Callable[..., Any]) -> None:
    check_many(world("row", "add-remove", seed % 2 == 1), seed, 400)
