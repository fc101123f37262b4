"""The attack `bypass` on the services themselves, over sockets: HTTP and the PostgreSQL wire keep to their budget."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from obverse.attack.attacks import Bypass
from obverse.attack.finding import Finding
from obverse.attack.targets import Interface
from obverse.curator import accounts
from obverse.review.interfaces import HttpEndpoint, postgres_interface
from tests import wired
from tests.http_services import listening, write_project
from tests.servers import needed

BUDGET = Fraction(7, 10)
PRICE = Fraction(1, 10)
PAYS = 7
LONG_S = 120.0  # on a machine that does much else
CANCELS = """
import tempfile, threading
from fractions import Fraction
from pathlib import Path
from obverse.attack.targets import Put
from obverse.engines.endpoint import PostgresEndpoint
from obverse.server import queries as desk
from obverse.review.interfaces import postgres_interface
from tests import wired
ticks, asked, leave = iter((5.0, 0.1)), threading.Event(), PostgresEndpoint._leave
def tick(predicted):
    asked.set()
    return next(ticks)  # the first answer leaves long after it was cancelled
desk.first_tick = tick
PostgresEndpoint._leave = lambda self: (asked.wait(60), leave(self))  # a cancel that comes before the question is \
for nothing
with tempfile.TemporaryDirectory() as folder, wired.served(wired.made(Path(folder) / "hospital")) as served:
    at = f"host=127.0.0.1 port={served.port} dbname=hospital user=ana password={served.tokens['ana']}"
    with postgres_interface(at).connect() as door:
        left = door(Put("SELECT COUNT(*) FROM people", Fraction(1, 10), leaves=True))
        print(left, door(Put("SELECT COUNT(*) FROM people WHERE age > 3", Fraction(1, 10))) is not None)
"""


@pytest.fixture
def http(tmp_path: Path) -> Iterator[Interface]:
    folder = write_project(tmp_path / "hospital", epsilon="0.7")
    token = accounts.issue(folder, "ana", "analyst").token
    with listening(folder) as (host, port):
        yield HttpEndpoint(f"http://{host}:{port}/v1/hospital", token).interface()


@pytest.fixture
def wire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Interface]:
    needed("psycopg")
    monkeypatch.setattr(wired, "TOML", wired.TOML.replace("[budget]\nepsilon = 100", "[budget]\nepsilon = 0.7"))
    with wired.served(wired.made(tmp_path / "hospital")) as served:
        at = f"host=127.0.0.1 port={served.port} dbname=hospital user=ana password={served.tokens['ana']}"
        yield postgres_interface(at)


def attacked(interface: Interface, budget: Fraction) -> Finding:
    attack = Bypass(budget, PRICE, at_once=4, parts=2, names=("ben",))
    return attack.run(interface, lambda number: f"SELECT COUNT(*) FROM people WHERE age > {number}")


@pytest.mark.parametrize("kind", ["http", "wire"])
def test_no_answer_is_got_beyond_the_budget(kind: str, request: pytest.FixtureRequest) -> None:
    """What was asked and left is charged, so a fresh answer or two may be missing; more than are paid for there are
    never.
    """
    found = attacked(request.getfixturevalue(kind), BUDGET)
    assert found.rate.wins == 0
    assert PAYS - 2 <= found.rate.trials <= PAYS
    assert found.figures["refused"] > PAYS
    assert found.figures["not_tried"] == ([] if kind == "http" else ["keys"])


@pytest.mark.parametrize("kind", ["http", "wire"])
def test_a_service_whose_budget_is_larger_than_it_says_is_found_out(kind: str, request: pytest.FixtureRequest) -> None:
    found = attacked(request.getfixturevalue(kind), BUDGET / 2)
    assert found.leaks
    assert found.rate.wins >= PAYS - 2 - PAYS // 2


def test_who_cancels_does_not_stop_the_other_threads_of_the_client() -> None:
    """The plain `cancel` of psycopg waits with all threads stopped, so a server in the same process would never hear
    it.
    """
    needed("psycopg")
    done = subprocess.run([sys.executable, "-c", CANCELS], timeout=LONG_S, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "None True"
