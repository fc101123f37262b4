"""A small project with analysts and purposes, for one test each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import obverse
from obverse.testing import synthetic

TOML = """\
[project]
name = "clinic"
[privacy]
neighbours = "add-remove"
accounting = "{accounting}"
epsilon = 0.1
delta = 1e-8
[budget]
epsilon = 1
delta = 1e-6
[purposes.quality]
epsilon = 0.5
[purposes.research]
epsilon = 1
[analysts.ana]
epsilon = 0.3
[analysts.ben]
purposes = ["quality"]
[analysts.cyd]
purposes = ["quality", "research"]
[tables.people]
source = "people.parquet"
unit = "person_id"
[tables.people.columns]
age = {{ type = "integer", bounds = [0, 100] }}
sex = {{ type = "text", values = ["F", "M"] }}
[tables.visits]
source = "visits.parquet"
unit = "person_id -> people.person_id"
limits = {{ rows = 3 }}
[tables.visits.columns]
cost = {{ type = "double", bounds = [0, 1000], grid = 0.01 }}
[tables.rooms]
source = "rooms.csv"
public = true
"""
TABLES = {
    "people": {"person_id": list(range(50)), "age": [i % 100 for i in range(50)], "sex": ["F", "M"] * 25},
    "visits": {"person_id": [0, 0, 0, 0, 1], "cost": [10.0, 20.0, 30.0, 40.0, 50.0]},
    "rooms": {"room": ["a", "b"], "floor": [1, 2]},
}

Open = Callable[..., obverse.Session]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return synthetic(TABLES, TOML.format(accounting="pure"), tmp_path / "clinic")


@pytest.fixture
def opened(folder: Path) -> Iterator[Open]:
    """Open the project as somebody; all sessions are closed at the end."""
    sessions = []

    def open_(analyst: str = "", purpose: str = "") -> obverse.Session:
        sessions.append(obverse.open(folder, analyst=analyst, purpose=purpose))
        return sessions[-1]

    yield open_
    for session in sessions:
        session.close()


@pytest.fixture
def session(opened: Open) -> obverse.Session:
    return opened()


@pytest.fixture
def zcdp(tmp_path: Path) -> Iterator[obverse.Session]:
    with obverse.open(synthetic(TABLES, TOML.format(accounting="zcdp"), tmp_path / "zcdp")) as session:
        yield session
