"""The corpus's catalog, and ways to spoil it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from obverse.catalog.load import loads
from obverse.core.errors import CatalogError

CORPUS = """\
# The catalog against which every verdict of hostile.jsonl holds. Sources are made by the tests.
[project]
name = "hospital"
[engine]
kind = "duckdb"
[privacy]
neighbours = "add-remove"
accounting = "pure"
epsilon = 0.1
delta = 1e-8
[budget]
epsilon = 4.0
delta = 1e-6
[tables.people]
source = "people.parquet"
unit = "person_id"
[tables.people.columns]
name = { type = "text" }
age = { type = "integer", bounds = [0, 120] }
zip = { type = "text" }
sex = { type = "text", values = ["F", "M", "X"] }
salary = { type = "double", bounds = [0, 500000], grid = 0.01 }
hiv = { type = "boolean" }
joined = { type = "date", bounds = ["2010-01-01", "2030-12-31"] }
[tables.visits]
source = "visits.parquet"
unit = "person_id -> people.person_id"
limits = { rows = 20, groups = 5 }
[tables.visits.columns]
visit_id = { type = "integer" }
clinic = { type = "text", values = "clinics.clinic" }
cost = { type = "double", bounds = [0, 10000], grid = 0.01 }
at = { type = "timestamp", bounds = ["2015-01-01", "2030-12-31"] }
[tables.clinics]
source = "clinics.csv"
public = true
"""


@pytest.fixture(scope="session")
def corpus() -> str:
    return CORPUS


@pytest.fixture(scope="session")
def edited() -> Callable[..., str]:
    """The corpus's text with pieces replaced; each piece must be there."""

    def edit(*changes: tuple[str, str]) -> str:
        text = CORPUS
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new, 1)
        return text

    return edit


@pytest.fixture(scope="session")
def refusal() -> Callable[[str], CatalogError]:
    """The error that loading a text ends in."""

    def refused(text: str) -> CatalogError:
        with pytest.raises(CatalogError) as caught:
            loads(text, Path("/project"))
        return caught.value

    return refused
