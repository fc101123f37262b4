"""A small project for plans: one catalog per unit, accounting and notion of neighbours; no data anywhere."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from obverse.catalog.complete import complete
from obverse.catalog.load import loads
from obverse.catalog.model import Catalog
from obverse.plan.query import Question
from obverse.session.planning import Planned, Wish, plan, read

TOML = """
[project]
name = "clinic"
[privacy]
neighbours = "{neighbours}"
accounting = "{accounting}"
epsilon = 0.5
delta = {delta}
[budget]
epsilon = 100
delta = {delta}
[tables.visits]
source = "python"
unit = {unit}
[tables.visits.columns]
age = {{ type = "integer", bounds = [0, 120] }}
cost = {{ type = "double", bounds = [0, 10000], grid = 0.01 }}
sex = {{ type = "text", values = ["F", "M"] }}
kind = {{ type = "text", values = ["a", "b", "c"], nullable = true }}
smoker = {{ type = "boolean" }}
day = {{ type = "date", bounds = ["2020-01-01", "2020-12-31"] }}
height = {{ type = "integer", bounds = [48, 96], nullable = false }}
note = {{ type = "text" }}
"""
UNITS = {
    "row": '"row"',
    "one": '"person"',
    "many": '"person"\nlimits = { rows = 5 }',
    "capped": '"person"\nlimits = { rows = 5, sums = { cost = 2500 } }',
    "grouped": '"person"\nlimits = { rows = 5, groups = 3 }',
    "auto": '"person"\nlimits = "auto"',
    "sized": '"row"\nsize = 100',
}
COLUMNS = {
    "age": "BIGINT", "cost": "DOUBLE", "sex": "VARCHAR", "kind": "VARCHAR", "smoker": "BOOLEAN", "day": "DATE",
    "height": "BIGINT", "note": "VARCHAR",
}  # fmt: skip


@pytest.fixture(scope="session")
def catalog() -> Callable[..., Catalog]:
    @functools.cache
    def make(unit: str = "row", neighbours: str = "add-remove", accounting: str = "pure") -> Catalog:
        delta = "0" if accounting == "pure" else "1e-6"
        toml = TOML.format(unit=UNITS[unit], neighbours=neighbours, accounting=accounting, delta=delta)
        columns = COLUMNS | ({} if unit in ("row", "sized") else {"person": "BIGINT"})
        return complete(loads(toml, Path("/")), {"visits": columns}, {})

    return make


@pytest.fixture(scope="session")
def planned(catalog: Callable[..., Catalog]) -> Callable[..., Planned]:
    """The costed plan and engine text of a question."""

    def make(
        text: str,
        unit: str = "row",
        neighbours: str = "add-remove",
        accounting: str = "pure",
        delta: float | None = None,
    ) -> Planned:
        here = catalog(unit, neighbours, accounting)
        question = read(text, here, dt.datetime(2024, 2, 29, 12))
        assert isinstance(question, Question)
        return plan(text, question, here, Wish(delta=delta))

    return make
