"""A catalog without files: the front end reads declarations alone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import pytest

from obverse.catalog.complete import complete
from obverse.catalog.load import loads
from obverse.catalog.model import Catalog
from obverse.core.errors import Refused
from obverse.plan.query import PublicQuestion, Question
from obverse.sql.resolve import resolve

TOML = """\
[project]
name = "front"
[budget]
epsilon = 1
[tables.people]
source = "people.parquet"
unit = "person_id"
[tables.people.columns]
name = { type = "text" }
age = { type = "integer", bounds = [0, 120] }
sex = { type = "text", values = ["F", "M", "X"] }
salary = { type = "double", bounds = [0, 500000], grid = 0.01 }
hiv = { type = "boolean" }
joined = { type = "date", bounds = ["2010-01-01", "2030-12-31"] }
seen = { type = "timestamp", bounds = ["2010-01-01", "2030-12-31"] }
Odd = { type = "integer", bounds = [0, 1] }
note = { type = "text", hidden = true }
[tables.visits]
source = "visits.parquet"
unit = "person_id -> people.person_id"
limits = { rows = 20, groups = 5 }
[tables.visits.columns]
clinic = { type = "text", values = ["a", "b"] }
cost = { type = "double", bounds = [0, 1000], grid = 0.01 }
[tables.clinics]
source = "clinics.parquet"
public = true
"""
SCHEMAS = {
    "people": {
        "person_id": "BIGINT",
        "name": "VARCHAR",
        "age": "BIGINT",
        "sex": "VARCHAR",
        "salary": "DOUBLE",
        "hiv": "BOOLEAN",
        "joined": "DATE",
        "seen": "TIMESTAMP",
        "Odd": "BIGINT",
        "note": "VARCHAR",
    },
    "visits": {"person_id": "BIGINT", "clinic": "VARCHAR", "cost": "DOUBLE"},
    "clinics": {"clinic": "VARCHAR", "city": "VARCHAR", "beds": "BIGINT"},
}
NOW = dt.datetime(2026, 3, 4, 5, 6, 7, 890)

Read = Callable[[str], Question]


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return complete(loads(TOML, Path("/nowhere")), SCHEMAS, {})


@pytest.fixture
def read(catalog: Catalog) -> Read:
    def resolved(sql: str) -> Question:
        question = resolve(sql, catalog, NOW)
        assert isinstance(question, Question)
        return question

    return resolved


@pytest.fixture
def read_public(catalog: Catalog) -> Callable[[str], PublicQuestion]:
    def resolved(sql: str) -> PublicQuestion:
        question = resolve(sql, catalog, NOW)
        assert isinstance(question, PublicQuestion)
        return question

    return resolved


@pytest.fixture
def refusal(catalog: Catalog) -> Callable[[str], Refused]:
    """The refusal of a question."""

    def refused(sql: str) -> Refused:
        with pytest.raises(Refused) as caught:
            resolve(sql, catalog, NOW)
        return caught.value

    return refused


@pytest.fixture
def underlined(refusal: Callable[[str], Refused]) -> Callable[[str], str]:
    """The part of a refused question that is underlined."""

    def part(sql: str) -> str:
        error = refusal(sql)
        assert error.text == sql
        return "" if error.span is None else sql[error.span.start : error.span.end]

    return part
