"""The wire to PostgreSQL is cut at every request: a debit is made once, or not at all, or reported as charged."""

import tempfile
import threading
import time
from fractions import Fraction
from pathlib import Path

import pytest

from obverse.core.errors import BudgetExceeded, LedgerError
from obverse.core.ledger import Receipt, Stored
from obverse.curator.accounts import issue_in, rotate_in
from obverse.ledger.postgres import ledger as postgres
from obverse.ledger.postgres import server
from tests.crash.wire import Wire
from tests.servers import needed

psycopg = needed("psycopg")
TENTH = Fraction(1, 10)


@pytest.fixture
def wired(in_postgres, monkeypatch):
    """A project whose ledger is reached over a wire; and the same, past it."""
    past = in_postgres()
    with tempfile.TemporaryDirectory(prefix="obverse-wire-") as folder:
        wire = Wire(past.address, Path(folder))
        monkeypatch.setenv("OBVERSE_WIRE", wire.address)
        yield wire, past.over("OBVERSE_WIRE"), past
        wire.close()


@pytest.fixture
def hasty(monkeypatch):
    for module in (postgres, server):
        monkeypatch.setattr(module, "PAUSES_S", (0.0, 0.0, 0.0, 0.0))


def charges(past) -> dict[str, list[str]]:
    """The ids of the debits that are in the ledger, by their question."""
    home, opened = past.open()
    found: dict[str, list[str]] = {}
    for entry in opened.ledger.entries():
        if entry.kind == "charge":
            found.setdefault(entry.fields["plan"], []).append(entry.fields["id"])
    assert opened.ledger.verify() == opened.ledger.head()
    opened.ledger.close()
    home.close()
    return found


@pytest.mark.parametrize("how", ["before", "after", "late"])
def test_a_question_survives_a_cut_at_every_request_and_is_charged_once(wired, how):
    wire, project, past = wired
    _, opened = project.open()
    wire.mend()
    receipt = project.reserve(opened, "uncut", TENTH)
    opened.ledger.settle(receipt, b"answer")
    requests = len(wire.requests)
    assert sum(b"COMMIT\0" in request for request in wire.requests) == 2
    for at in range(requests):
        name = f"cut {at}"
        wire.cut(at, how)
        receipt = project.reserve(opened, name, TENTH)
        opened.ledger.settle(receipt, b"answer to " + name.encode())
        wire.mend()
        assert isinstance(receipt, Receipt)
        assert project.reserve(opened, name, TENTH) == Stored(b"answer to " + name.encode(), receipt)
        assert charges(past)[name] == [receipt.id]
    assert opened.ledger.spent().amount == TENTH * (1 + requests)


@pytest.mark.parametrize("how", ["before", "after", "late"])
def test_tokens_that_are_exchanged_survive_a_cut_at_every_request(wired, how):
    wire, project, past = wired
    _, opened = project.open()
    for _ in range(2):
        issue_in(opened.ledger, "rita", "reviewer", 1, "curator")
    wire.mend()
    rotate_in(opened.ledger, "rita", 1, "curator")
    for at in range(len(wire.requests)):
        issue_in(opened.ledger, "rita", "reviewer", 1, "curator")
        wire.cut(at, how)
        fresh = rotate_in(opened.ledger, "rita", 1, "curator")
        wire.mend()
        assert set(opened.ledger.accounts()["rita"].tokens) == {fresh.id}
    assert opened.ledger.verify() == opened.ledger.head()
    assert charges(past) == {}


@pytest.mark.parametrize("how", ["before", "after"])
def test_a_server_lost_for_good_leaves_what_is_reported(wired, hasty, how):
    wire, project, past = wired
    _, opened = project.open()
    wire.mend()
    project.reserve(opened, "uncut", TENTH)
    commits = [b"COMMIT\0" in request for request in wire.requests]
    for at, committing in enumerate(commits):
        opened.ledger.spent()  # connected again
        wire.cut(at, how, for_good=True)
        with pytest.raises(LedgerError) as caught:
            project.reserve(opened, f"cut {at}", TENTH)
        wire.mend()
        there = len(charges(past).get(f"cut {at}", []))
        assert there == (1 if committing and how == "after" else 0)
        assert caught.value.charged == committing
        assert caught.value.code == ("ledger_in_doubt" if committing else "ledger_unreachable")


def test_a_commit_that_is_on_its_way_for_too_long_is_reported_as_charged(wired):
    wire, project, past = wired
    _, opened = project.open()
    wire.mend()
    project.reserve(opened, "uncut", TENTH)
    opened.ledger.server._settings = server.PostgresServer("", "", busy_s=0.05)._settings
    wire.cut(len(wire.requests) - 1, "late", soon=False)
    with pytest.raises(LedgerError) as caught:
        project.reserve(opened, "late", TENTH)
    assert (caught.value.code, caught.value.charged) == ("ledger_in_doubt", True)
    wire.released.set()
    assert wire.arrived.wait(60)
    assert len(charges(past)["late"]) == 1
    assert opened.ledger.spent().amount == 2 * TENTH


@pytest.mark.parametrize("how", ["before", "after"])
def test_opening_survives_a_cut_at_every_request(wired, hasty, how):
    wire, project, past = wired
    project.open()[1].ledger.close()
    for at in range(len(wire.requests)):
        wire.cut(at, how)
        home, opened = project.anew(f"dataset {at}").open()
        assert opened.ledger.verify().count == 1
        opened.ledger.close()
        home.close()
    with psycopg.connect(past.address) as connection:
        datasets = connection.execute("SELECT count(*) FROM obverse.dataset").fetchone()
    assert datasets == (1 + at + 1,)


def test_a_storm_of_lost_connections_charges_nothing_twice_and_denies_nothing(in_postgres, hasty):
    made = in_postgres("3")
    done = set()
    denied = set()
    doubted = set()
    over = threading.Event()

    def ask(worker, home, opened):
        for n in range(12):
            name = f"{worker} {n}"
            try:
                receipt = made.reserve(opened, name, TENTH)
                done.add((name, receipt.id))
            except BudgetExceeded:
                denied.add(name)
            except LedgerError as error:
                (doubted if error.charged else denied).add(name)
        opened.ledger.close()
        home.close()

    def kill():
        with psycopg.connect(made.address, autocommit=True) as connection:
            while not over.is_set():
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
                time.sleep(0.02)

    killer = threading.Thread(target=kill)
    workers = [threading.Thread(target=ask, args=(n, *made.open())) for n in range(4)]
    for thread in (killer, *workers):
        thread.start()
    for worker in workers:
        worker.join()
    over.set()
    killer.join()
    found = charges(made)
    assert all(len(ids) == 1 for ids in found.values())
    assert {(name, ids[0]) for name, ids in found.items() if name not in doubted} == done
    assert not denied & found.keys()
    assert len(done) <= len(found) <= 30


FAILS = """
CREATE SEQUENCE obverse.failure;
CREATE FUNCTION obverse.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF nextval('obverse.failure') <= {times} THEN RAISE EXCEPTION 'injected' USING ERRCODE = '{state}'; END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER fails AFTER INSERT ON obverse.entry {when} FOR EACH ROW EXECUTE FUNCTION obverse.fail();
"""


@pytest.mark.parametrize("when", ["", "DEFERRABLE INITIALLY DEFERRED"], ids=["at once", "at commit"])
@pytest.mark.parametrize("state", ["40001", "40P01"])
def test_conflicts_are_retried_and_charged_once(in_postgres, hasty, state, when):
    made = in_postgres()
    home, opened = made.open()
    with psycopg.connect(made.address, autocommit=True) as connection:
        connection.execute(FAILS.format(times=3, state=state, when=when))
        receipt = made.reserve(opened, "question", TENTH)
        assert charges(made) == {"question": [receipt.id]}
        connection.execute("SELECT setval('obverse.failure', 1, false)")
        connection.execute("CREATE OR REPLACE FUNCTION obverse.fail() RETURNS trigger LANGUAGE plpgsql AS"
                           f" $$ BEGIN RAISE EXCEPTION 'injected' USING ERRCODE = '{state}'; END $$")  # fmt: skip
    with pytest.raises(LedgerError) as caught:
        made.reserve(opened, "another", TENTH)
    assert (caught.value.code, caught.value.charged) == ("ledger_busy", False)
    assert charges(made) == {"question": [receipt.id]}
    opened.ledger.close()
    home.close()


def test_any_other_failure_at_commit_is_told_and_nothing_is_charged(in_postgres):
    made = in_postgres()
    home, opened = made.open()
    with psycopg.connect(made.address, autocommit=True) as connection:
        connection.execute(FAILS.format(times=1, state="53100", when="DEFERRABLE INITIALLY DEFERRED"))
    with pytest.raises(LedgerError) as caught:
        made.reserve(opened, "question", TENTH)
    assert (caught.value.code, caught.value.charged) == ("ledger_unwritable", False)
    assert charges(made) == {}
    assert isinstance(made.reserve(opened, "question", TENTH), Receipt)
    opened.ledger.close()
    home.close()


class Undecided(psycopg.Connection):
    """A connection whose next COMMIT is answered by ROLLBACK, as of a transaction that had failed unnoticed."""

    undecided = False

    def execute(self, query, *args, **kwargs):
        if query == "COMMIT" and Undecided.undecided:
            Undecided.undecided = False
            query = "ROLLBACK"
        return super().execute(query, *args, **kwargs)


def test_a_commit_that_is_answered_by_a_rollback_is_not_believed(in_postgres, monkeypatch):
    made = in_postgres()
    monkeypatch.setattr(psycopg, "connect", Undecided.connect)
    home, opened = made.open()
    Undecided.undecided = True
    receipt = made.reserve(opened, "question", TENTH)
    assert not Undecided.undecided
    assert charges(made) == {"question": [receipt.id]}
    opened.ledger.close()
    home.close()


class Interrupted(psycopg.Connection):
    """A connection at whose nth statement from now on somebody presses Ctrl-C, before or after it is done."""

    left = -1
    after = False

    def execute(self, query, *args, **kwargs):
        Interrupted.left -= 1
        if Interrupted.left == 0 and not Interrupted.after:
            raise KeyboardInterrupt
        found = super().execute(query, *args, **kwargs)
        if Interrupted.left == 0:
            raise KeyboardInterrupt
        return found


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_an_interrupt_at_any_statement_leaves_a_ledger_that_goes_on(in_postgres, monkeypatch, after):
    made = in_postgres()
    monkeypatch.setattr(psycopg, "connect", Interrupted.connect)
    monkeypatch.setattr(Interrupted, "after", after)
    home, opened = made.open()
    for at in range(1, 6):
        opened.ledger.spent()
        Interrupted.left = at
        with pytest.raises(KeyboardInterrupt):
            made.reserve(opened, f"question {at}", TENTH)
        assert len(charges(made).get(f"question {at}", [])) == (1 if after and at == 5 else 0)
        assert isinstance(made.reserve(opened, f"afterwards {at}", TENTH), Receipt)
    assert opened.ledger.verify() == opened.ledger.head()
    opened.ledger.close()
    home.close()
