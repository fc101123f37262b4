"""The courses' databases as small projects: each is a toml and a few rows that nobody's answer depends on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import obverse
from obverse.testing import synthetic

Open = Callable[[str, dict[str, dict[str, list[Any]]]], obverse.Session]

HEIGHTS = """\
[project]
name = "heights"
[privacy]
neighbours = "replace"
[budget]
epsilon = 10
[tables.heights]
source = "heights.parquet"
unit = "row"
size = 100
[tables.heights.columns]
height = { type = "integer", bounds = [48, 96], nullable = false }
socks = { type = "boolean", nullable = false }
"""
SURVEY = """\
[project]
name = "survey"
[budget]
epsilon = 1
[tables.survey]
source = "survey.parquet"
unit = "row"
[tables.survey.columns]
read_hp = { type = "boolean", nullable = false }
owned_hp_books = { type = "integer", bounds = [0, 7] }
gender = { type = "text", values = ["Male", "Female"] }
"""
STAFF = """\
[project]
name = "staff"
[budget]
epsilon = 1
[tables.staff]
source = "staff.parquet"
unit = "employee"
[tables.staff.columns]
salary = { type = "integer", bounds = [0, 250000] }
points = { type = "integer" }
department = { type = "text", values = ["CS", "Econ", "Bio"] }
"""


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Open a project that the test writes down; all are closed at its end."""
    sessions: list[obverse.Session] = []

    def open_(toml: str, tables: dict[str, dict[str, list[Any]]]) -> obverse.Session:
        folder = synthetic(tables, toml, tmp_path / str(len(sessions)))
        sessions.append(obverse.open(folder))
        return sessions[-1]

    yield open_
    for session in sessions:
        session.close()


@pytest.fixture
def heights(opened: Open) -> obverse.Session:
    """A hundred heights between 48 and 96 inches, and who wears socks; people are replaced, never added."""
    rows = {"height": [48 + i % 49 for i in range(100)], "socks": [i % 3 > 0 for i in range(100)]}
    return opened(HEIGHTS, {"heights": rows})


@pytest.fixture
def survey(opened: Open) -> obverse.Session:
    """The book survey: read one, own how many, gender; people are added or removed."""
    rows = {"read_hp": [True, False, True], "owned_hp_books": [3, 1, 5], "gender": ["Male", "Female", "Female"]}
    return opened(SURVEY, {"survey": rows})


@pytest.fixture
def staff(opened: Open) -> obverse.Session:
    """Employees with a salary of at most 250,000, points without any bounds, and a department."""
    rows = {
        "employee": [43, 33, 53],
        "salary": [90_000, 120_000, 150_000],
        "points": [4, 16, 3],
        "department": ["CS", "Econ", "Bio"],
    }
    return opened(STAFF, {"staff": rows})
