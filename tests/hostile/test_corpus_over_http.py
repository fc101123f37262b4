"""The corpus's SQL over HTTP: verdicts as in process, nothing spent on what is refused, and neighbours look the
same.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from obverse.testing import synthetic
from tests.hostile.conftest import ROOMY, hospital_with
from tests.hostile.test_corpus import LINES, question
from tests.http_services import Running, running

SERVED = (
    ROOMY.replace("[tables.people]\n", "[tables.people]\nrows_about = 500\n").replace(
        "[tables.visits]\n", "[tables.visits]\nrows_about = 1000\n"
    )
    + "[analysts.ana]\n[analysts.ben]\n[serve]\nrequests_per_minute = 1000000\n"
)
PLANTED = {"eve": ("eve",), "nobody": (), "mallory": ("eve", "mallory")}
REFUSED = {400, 413, 422}


@pytest.fixture
def home_of_the_test() -> None:
    """The services outlive a test, and so does their home."""


@pytest.fixture(scope="module")
def services(home_of_the_run: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Running]]:
    with ExitStack() as stack:
        folders = {
            name: synthetic(hospital_with(*who), SERVED, tmp_path_factory.mktemp(name)) for name, who in PLANTED.items()
        }
        yield {name: stack.enter_context(running(folder)) for name, folder in folders.items()}


def lines(*verdicts: str) -> list[dict[str, Any]]:
    return [line for line in LINES if line["expected"]["verdict"] in verdicts]


def seen(service: Running, line: dict[str, Any]) -> tuple[Any, ...]:
    """All that an analyst sees of an outcome, apart from noisy values and ids."""
    reply = service.ask(question(line))
    told = reply.json()
    if reply.status_code != 200:
        told.pop("request")
        return reply.status_code, told
    return 200, told["columns"], len(told["rows"]), told["price"]["epsilon"], told["price"]["delta"]


def test_hostile_questions_are_refused_and_cost_nothing(services: dict[str, Running]) -> None:
    spent = services["eve"].spent()
    for line in lines("refuse"):
        status, told = seen(services["eve"], line)
        assert status in REFUSED, (line["id"], told)
        assert (told["charged"], bool(told["fix"])) == (False, True), line["id"]
    assert services["eve"].spent() == spent


def test_benign_questions_are_answered(services: dict[str, Running]) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda line: seen(services["eve"], line), lines("answer"))
        for line, one in zip(lines("answer"), found):
            assert one[0] == 200, (line["id"], one)
            assert one[3] == ("0.1" if line["expected"]["spends"] else "0"), line["id"]


def test_outcomes_are_the_same_on_neighbours(services: dict[str, Running]) -> None:
    """Whether one row makes the engine fail, refuse or hurry cannot be told from any of what a reply says."""
    with ThreadPoolExecutor(6) as pool:
        for line in lines("refuse_or_answer"):
            outcomes = list(pool.map(lambda service, line=line: seen(service, line), services.values()))
            assert outcomes[0] == outcomes[1] == outcomes[2], line["id"]
            assert outcomes[0][0] in REFUSED | {200}, line["id"]
