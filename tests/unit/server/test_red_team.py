"""The attacks of a trial find the leak where there is one: a service that answers exactly, and one that forgets its
budget.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import pytest

from obverse.attack.attacks.bypass import NOT_SQL
from obverse.attack.targets import Put
from obverse.catalog.load import loads
from obverse.core.errors import Refused
from obverse.review.neighbours import KEY, SECRET, TABLE, Scratch, write_scratch
from obverse.server import red_team
from obverse.server.red_team import ASSAULTS, Arena, Stand

TERMS = """
[project]
name = "real"
[privacy]
neighbours = "{neighbours}"
epsilon = 0.5
[budget]
epsilon = 4
[tables.t]
source = "t.csv"
unit = "id"
{size}
"""


class Leaking:
    """Answers exactly, and to everybody for ever."""

    def __init__(self, scratch: Scratch) -> None:
        self._rows = sqlite3.connect(":memory:", check_same_thread=False)
        self._rows.execute(f"CREATE TABLE {TABLE} ({KEY} INTEGER, age INTEGER, {SECRET} INTEGER)")
        lines = (scratch.folder / "people.csv").read_text().split()[1:]
        self._rows.executemany(
            f"INSERT INTO {TABLE} VALUES (?, ?, ?)",
            [(a, b, c == "true") for a, b, c in (line.split(",") for line in lines)],
        )
        self._asked = 0

    def ask(self, sql: str, epsilon: float) -> float:
        self._asked += 1
        if sql == NOT_SQL:
            raise Refused("parse_error", "this is no question.")
        return float(self._rows.execute(sql).fetchone()[0])

    def put(self, put: Put) -> float:
        return self.ask(put.sql, 0.0) + self._asked / 1000  # fresh each time

    def reply(self, path: str, body: Mapping[str, Any], told: Mapping[str, str]) -> tuple[int, Any]:
        return 200, {"remaining": {"like_this": 10}}


def terms(neighbours: str = "add-remove") -> Any:
    size = "size = 10" if neighbours == "replace" else ""
    return loads(TERMS.format(neighbours=neighbours, size=size), Path("/nowhere"))


@pytest.fixture
def arena(tmp_path: Path) -> Arena:
    made = [write_scratch(tmp_path / name, name, terms(), absent=name == "without") for name in ("with", "without")]
    sides = [cast(Stand, Leaking(one)) for one in made]
    return Arena(sides[0], sides[1], sides[0], Fraction(1), made[0].people, 4.0, 1.0, 0.0, 100)


@pytest.mark.parametrize("name", ["differencing", "reconstruction", "bypass", "lower_bound"])
def test_an_exact_service_is_found_out(arena: Arena, name: str) -> None:
    told: list[float] = []
    assert ASSAULTS[name](arena, told.append)["leaks"]
    assert told[-1] == pytest.approx(1.0, abs=0.3)


def test_every_attack_that_a_reviewer_may_choose_is_there() -> None:
    from typing import get_args

    from obverse.server.http.routes.red_team import Attack

    assert set(get_args(Attack)) == set(ASSAULTS)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_scratch_projects_are_neighbours_under_the_real_terms(tmp_path: Path, neighbours: str) -> None:
    present = write_scratch(tmp_path / "a", "a", terms(neighbours))
    absent = write_scratch(tmp_path / "b", "b", terms(neighbours), absent=True)
    one, other = ((made.folder / "people.csv").read_text().split() for made in (present, absent))
    assert one[:-1] == other[: len(one) - 1]
    assert len(other) == len(one) - (neighbours == "add-remove")
    catalog = loads((present.folder / "obverse.toml").read_text(), present.folder)
    assert (catalog.neighbours, catalog.accounting, catalog.epsilon) == (
        terms(neighbours).neighbours, terms(neighbours).accounting, Fraction(1, 2),
    )  # fmt: skip
    assert sum(person.secret for person in present.people) * 2 == len(present.people)


def test_whoever_attacks_people_spends_what_the_project_may_lose(arena: Arena) -> None:
    prices: list[float] = []
    leaking = cast(Any, arena.present)
    known = leaking.ask
    leaking.ask = lambda sql, epsilon: prices.append(epsilon) or known(sql, epsilon)
    red_team.differencing(arena, lambda share: None)
    assert sum(prices) == pytest.approx(4.0)
