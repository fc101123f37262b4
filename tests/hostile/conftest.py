"""The corpus's hospital, small, and neighbours of it: eve removed, and mallory planted with all that can go wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import obverse
from obverse import Session
from obverse.core.errors import ObverseError
from obverse.demo.hospital import SampleTable, hospital
from obverse.testing import synthetic
from obverse.testing.spies import Log, diff, spy_on, state

HERE = Path(__file__).parent
EVE = 7
MALLORY = 8
CATALOG = (HERE / "corpus.toml").read_text()
# The corpus's own budget of 4 is for one attacker; here all its lines ask in turn.
ROOMY = CATALOG.replace("[budget]\nepsilon = 4.0", "[budget]\nepsilon = 100")


@pytest.fixture(scope="session")
def corpus() -> dict[str, dict[str, Any]]:
    return {line["id"]: line for line in map(json.loads, (HERE / "corpus.jsonl").read_text().splitlines())}


def _columns(table: SampleTable) -> dict[str, list[Any]]:
    return {name: np.ma.masked_array(values).tolist() for name, values in table.columns.items()}


def hospital_with(*planted: str) -> dict[str, dict[str, list[Any]]]:
    """The sample's tables with 300 people; `planted` may name eve and mallory."""
    people, visits, clinics = (_columns(table) for table in hospital(seed=5, people=300))
    if "eve" in planted:
        _add(people, [EVE, "eve", 42, "99999", "F", 500_000.0, True, people["joined"][0]])
        _add(visits, [900_001, EVE, "Oncology", 10_000.0, visits["at"][0]])
    if "mallory" in planted:
        _add(people, [MALLORY, "{(9e999", 0, None, "?", -1e300, None, people["joined"][0].replace(year=9000)])
        for number in range(500):
            _add(visits, [910_000 + number, MALLORY, "nowhere", float("nan"), visits["at"][0].replace(year=1000)])
    return {"people": people, "visits": visits, "clinics": clinics}


def _add(table: dict[str, list[Any]], row: Sequence[Any]) -> None:
    for column, value in zip(table.values(), row, strict=True):
        column.append(value)


@dataclass(frozen=True)
class Asked:
    """What an analyst can see of a question's outcome, apart from noisy values; and what the spies saw."""

    outcome: str  # answer, or the error's class
    words: str  # the error, whole
    shape: tuple[Any, ...]  # columns, row count, price
    runs: int
    public_runs: int
    reserved: int
    records: tuple[str, ...]
    answer: obverse.Answer | None = None
    about: dict[str, str] | None = None

    @property
    def charges(self) -> tuple[str, ...]:
        """Records of this question alone; the catalog is noted before a first debit."""
        return tuple(kind for kind in self.records if kind != "catalog")

    @property
    def code(self) -> str:
        return self.words.partition("]")[0].lstrip("[")

    @property
    def seen(self) -> tuple[Any, ...]:
        return self.outcome, self.words, self.shape


class Hospital:
    """A session over one database, with spies."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.log: Log = spy_on(session)

    def ask(self, sql: str, **wish: Any) -> Asked:
        self.log.clear()
        before = state(self.session.ledger)
        answer = None
        outcome = "answer"
        words = ""
        shape = ()
        try:
            answer = self.session.ask(sql, **wish)
            shape = (answer.columns, len(answer.rows), answer.price.epsilon, answer.price.delta)
        except ObverseError as error:
            outcome = type(error).__name__
            words = str(error)
        added = diff(before, self.session.ledger)
        about = [dict(entry.fields["about"]) for entry in added.entries if entry.kind == "charge"]
        count = self.log.count
        records = tuple(entry.kind for entry in added.entries)
        return Asked(
            outcome, words, shape, count("run"), count("run_public"), count("reserve"), records, answer,
            about[0] if about else None,
        )  # fmt: skip


@pytest.fixture(scope="session")
def hospitals(home_of_the_run: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Hospital]]:
    """Three neighbouring databases, by what is planted in them."""
    opened = {}
    for name, planted in {"eve": ("eve",), "nobody": (), "mallory": ("eve", "mallory")}.items():
        folder = synthetic(hospital_with(*planted), ROOMY, tmp_path_factory.mktemp(name))
        opened[name] = Hospital(obverse.open(folder))
    yield opened
    for one in opened.values():
        one.session.close()


@pytest.fixture
def with_eve(hospitals: dict[str, Hospital]) -> Hospital:
    return hospitals["eve"]
