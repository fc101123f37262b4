"""Tables and ledger on PostgreSQL: rows are read in cages there too, and two servers share one budget to the last
question.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from obverse.core.errors import BudgetExceeded, ObverseError
from obverse.curator import accounts
from obverse.server.project import Host
from obverse.server.queries import Desk, Wanted
from obverse.session.planning import Wish
from tests import served
from tests.servers import postgres_address

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a cage needs Linux")
TOML = """
[project]
name = "clinic"
dataset = "clinic of {folder}"
[engine]
kind = "postgres"
dsn_env = "CLINIC_DSN"
[ledger]
kind = "postgres"
dsn_env = "LEDGER_DSN"
[budget]
epsilon = 1
[analysts.ana]
[tables.visits]
source = "clinic.visits"
unit = "person"
limits = {{ rows = 3 }}
rows_about = 3000
[tables.visits.columns]
ward = {{ type = "text", values = ["a", "b"] }}
"""
MADE = """
CREATE SCHEMA clinic;
CREATE TABLE clinic.visits (person BIGINT, ward TEXT);
INSERT INTO clinic.visits SELECT n % 500, (ARRAY['a', 'b'])[1 + n % 2] FROM generate_series(1, 3000) AS n;
GRANT USAGE ON SCHEMA clinic TO served_reader;
GRANT SELECT ON clinic.visits TO served_reader;
"""
TENTH = Wish(epsilon=0.1)


@pytest.fixture
def owner(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    import psycopg

    address = postgres_address()
    with psycopg.connect(address, autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'served_reader'").fetchone():
            connection.execute("CREATE ROLE served_reader LOGIN")
        connection.execute(f"REVOKE TEMPORARY ON DATABASE {connection.info.dbname} FROM PUBLIC")
        connection.execute(MADE)
        monkeypatch.setenv("CLINIC_DSN", address.replace("postgres:@", "served_reader@"))
        monkeypatch.setenv("LEDGER_DSN", postgres_address())
        yield connection


@pytest.fixture
def servers(owner: object, tmp_path: Path) -> Iterator[tuple[Host, Host]]:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
        (folder / "obverse.toml").write_text(TOML.format(folder=tmp_path.name))
    made = Host(folders[0]), Host(folders[1])
    yield made
    for host in made:
        host.close()


def asked(host: Host, token: str, questions: list[str]) -> list[str]:
    """What a server makes of questions that all come at once: answer, or the code of the error."""

    async def main() -> list[str]:
        desk = Desk([host])

        async def one(sql: str) -> str:
            try:
                answer = await desk.ask(await desk.sign_in("clinic", token), Wanted(sql, TENTH))
                return "stored" if answer.price.stored else "answer"
            except ObverseError as error:
                return error.code

        return list(await asyncio.gather(*(one(sql) for sql in questions)))

    return asyncio.run(main())


def test_two_servers_give_exactly_what_one_budget_pays(servers: tuple[Host, Host]) -> None:
    issued = accounts.issue(servers[0].path, "ana", "analyst")  # on one machine, good on both
    questions = [f"SELECT COUNT(*) AS n FROM visits WHERE ward <> 'x{number}'" for number in range(14)]
    import threading

    outcomes: list[list[str]] = [[], []]

    def run(place: int) -> None:
        outcomes[place] = asked(servers[place], issued.token, questions[7 * place : 7 * place + 7])

    threads = [threading.Thread(target=run, args=(place,)) for place in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told = outcomes[0] + outcomes[1]
    assert told.count("answer") == 10
    assert told.count("budget_exhausted") == 4
    answered = questions[told.index("answer")]
    assert asked(servers[1], issued.token, [answered]) == ["stored"]
    accounts.revoke(servers[1].path, "ana")
    assert asked(servers[0], issued.token, [answered]) == ["not_signed_in"]


def test_a_database_that_is_gone_costs_nothing(
    servers: tuple[Host, Host], owner: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a thread that begins meanwhile does not keep the others waiting
    monkeypatch.setattr("obverse.server.project.AGAIN_S", 0.0)
    issued = accounts.issue(servers[0].path, "ana", "analyst")
    assert asked(servers[0], issued.token, ["SELECT COUNT(*) AS n FROM visits"]) == ["answer"]
    owner.execute("ALTER ROLE served_reader NOLOGIN")  # type: ignore[attr-defined]
    try:
        owner.execute(  # type: ignore[attr-defined]
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'served_reader'"
        )
        (told,) = asked(servers[0], issued.token, ["SELECT COUNT(*) AS n FROM visits WHERE ward = 'a'"])
        assert told == "project_unavailable"
    finally:
        owner.execute("ALTER ROLE served_reader LOGIN")  # type: ignore[attr-defined]
    assert float(servers[0].clerk().ledger.spent().amount) == pytest.approx(0.1)
    assert asked(servers[0], issued.token, ["SELECT COUNT(*) AS n FROM visits WHERE ward = 'a'"]) == ["answer"]


def test_several_processes_share_one_budget_in_a_file(tmp_path: Path) -> None:
    import os

    folder = served.project(tmp_path / "p", served.TOML.replace("epsilon = 50", "epsilon = 1").replace("= 40", "= 1"))
    token = served.tokens(folder)["ana"]
    pipes = []
    pids = []
    for place in range(2):
        reading, writing = os.pipe()
        pids.append(os.fork())
        if pids[-1] == 0:
            try:
                host = Host(folder)
                questions = [f"SELECT COUNT(*) AS n FROM people WHERE age <> {7 * place + i}" for i in range(7)]

                async def main(host: Host = host, questions: list[str] = questions) -> list[str]:
                    desk = Desk([host])
                    caller = await desk.sign_in("hospital", token)
                    told = []
                    for sql in questions:
                        try:
                            await desk.ask(caller, Wanted(sql, TENTH))
                            told.append("answer")
                        except BudgetExceeded:
                            told.append("over")
                    return told

                os.write(writing, " ".join(asyncio.run(main())).encode())
            finally:
                os._exit(0)
        os.close(writing)
        pipes.append(reading)
    told = []
    for reading in pipes:
        with os.fdopen(reading) as pipe:
            told += pipe.read().split()
    for pid in pids:
        os.waitpid(pid, 0)
    assert (told.count("answer"), told.count("over")) == (10, 4)
