"""The ledger on disk: durable, closed to what it cannot write, wary of exchanged files, forks and old formats."""

import os
import sqlite3
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest

from obverse.core import database as storage
from obverse.core.errors import LedgerError
from obverse.core.ledger import Budget, Cap, Caps, Fingerprint, Receipt, Scope, Stored, Terms
from obverse.core.loss import PureLoss
from obverse.core.units import Neighbours
from obverse.ledger import state
from obverse.ledger.anchor import NoAnchor
from obverse.ledger.chain import Draft
from obverse.ledger.sqlite import SqliteLedger

TERMS = Terms("pure", Neighbours.ADD_REMOVE, "person")
CAPS = Caps(Cap("pure", Fraction(1), Fraction(1, 10**6)))


@pytest.fixture
def ledger(world):
    return world.open(world.claimed("one", world.file("people.csv"))).ledger


def code_of(action, *args, **kwargs):
    with pytest.raises(LedgerError) as caught:
        action(*args, **kwargs)
    return caught.value.code


def made(path: Path, **options) -> SqliteLedger:
    ledger = SqliteLedger(path, NoAnchor(), **options)
    ledger.create("ledger", "data", TERMS, Budget(Fraction(1)))
    return ledger


def debit(ledger: SqliteLedger, plan: str = "plan", note: str = "") -> Receipt | Stored:
    tenth = PureLoss(Fraction(1, 10))
    return ledger.reserve(Scope("data"), tenth, Fingerprint(plan), key="", caps=CAPS, note=note)


def test_the_file_is_written_through_to_disk_and_private_to_its_owner(ledger):
    with ledger.database.connection() as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert ledger.path.stat().st_mode & 0o077 == 0


def test_records_cannot_be_changed_or_deleted_through_sql(ledger, ask):
    ask(ledger, "plan")
    for statement in ("UPDATE entry SET hash = x'00'", "DELETE FROM entry", "DELETE FROM answer"):
        with pytest.raises(LedgerError), ledger.database.transaction() as connection:
            connection.execute(statement)
    assert ledger.verify() == ledger.head()


def test_a_missing_file_is_never_made_anew_silently(world, ledger, ask):
    ledger.close()
    ledger.path.unlink()
    assert code_of(ask, ledger, "plan") == "ledger_missing"
    assert not ledger.path.exists()


def test_a_file_that_is_not_a_ledger_is_refused(tmp_path):
    path = tmp_path / "ledger.db"
    path.write_text("not a database at all, and long enough to be taken for one" * 20)
    assert code_of(SqliteLedger(path, NoAnchor()).head) == "ledger_damaged"


def test_another_programs_database_is_refused(tmp_path):
    path = tmp_path / "ledger.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    assert code_of(SqliteLedger(path, NoAnchor()).head) == "ledger_damaged"


def test_an_empty_ledger_answers_nothing(tmp_path):
    ledger = SqliteLedger(tmp_path / "ledger.db", NoAnchor())
    ledger.database.create()
    assert code_of(ledger.head) == "ledger_damaged"
    assert code_of(debit, ledger) == "ledger_damaged"


def test_a_full_disk_refuses_the_debit_and_the_service_stays_up(tmp_path):
    ledger = made(tmp_path / "ledger.db")
    with ledger.database.connection() as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
    assert code_of(debit, ledger, note="x" * 50_000) == "ledger_unwritable"
    assert ledger.spent().amount == 0
    with ledger.database.connection() as connection:
        connection.execute("PRAGMA max_page_count = 1000000")
    assert isinstance(debit(ledger, note="x" * 50_000), Receipt)
    assert ledger.verify() == ledger.head()


class FailingDisk(sqlite3.Connection):
    """A connection whose next commit fails as a failed fsync does."""

    fails = False

    def execute(self, statement, *args):
        if FailingDisk.fails and statement == "COMMIT":
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
            raise error
        return super().execute(statement, *args)


def test_after_a_failed_fsync_nothing_is_answered_until_it_is_reopened(tmp_path, monkeypatch):
    connect = sqlite3.connect
    monkeypatch.setattr(storage.sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=FailingDisk))
    ledger = made(tmp_path / "ledger.db")
    monkeypatch.setattr(FailingDisk, "fails", True)
    assert code_of(debit, ledger) == "ledger_unwritable"
    monkeypatch.setattr(FailingDisk, "fails", False)
    assert code_of(debit, ledger) == "ledger_unwritable"
    assert isinstance(debit(SqliteLedger(ledger.path, NoAnchor())), Receipt)


def test_a_failure_to_store_the_answer_says_that_it_was_charged(tmp_path, monkeypatch):
    connect = sqlite3.connect
    monkeypatch.setattr(storage.sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=FailingDisk))
    ledger = made(tmp_path / "ledger.db")
    receipt = debit(ledger)
    monkeypatch.setattr(FailingDisk, "fails", True)
    with pytest.raises(LedgerError) as caught:
        ledger.settle(receipt, b"42")
    assert caught.value.charged


def test_a_read_only_ledger_refuses_every_debit(in_child):
    """Run as a user who may only read; root is let through everywhere."""
    folder = Path(tempfile.mkdtemp(prefix="obverse-read-only-"))
    ledger = made(folder / "ledger.db")
    ledger.close()
    ledger.path.chmod(0o444)
    folder.chmod(0o555)

    def refused() -> bool:
        if os.geteuid() == 0:
            os.setuid(65534)
        return code_of(debit, SqliteLedger(ledger.path, NoAnchor())) == "ledger_unwritable"

    try:
        assert in_child(refused) == 0
    finally:
        folder.chmod(0o755)
        ledger.path.unlink()
        folder.rmdir()


def test_a_ledger_in_a_place_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    assert code_of(made, tmp_path / "file" / "ledger.db") == "ledger_unwritable"


def test_waiting_for_a_lock_is_bounded(tmp_path):
    ledger = made(tmp_path / "ledger.db", busy_s=0.01)
    with sqlite3.connect(ledger.path, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        assert code_of(debit, ledger) == "ledger_busy"
        other.execute("ROLLBACK")
    other.close()
    assert isinstance(debit(ledger), Receipt)
    assert ledger.head().count == 2


def test_a_file_exchanged_under_a_running_process_is_noticed(tmp_path):
    ledger = made(tmp_path / "ledger.db")
    older = made(tmp_path / "older.db")
    older.close()
    debit(ledger)
    with ledger.database.connection() as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    os.replace(older.path, ledger.path)
    assert code_of(debit, ledger, "another") == "ledger_rolled_back"


def test_a_record_of_a_kind_yet_unknown_is_refused(tmp_path, monkeypatch):
    ledger = made(tmp_path / "ledger.db")
    monkeypatch.setitem(state._ACTS, "invented", state._noted)
    ledger._append("catalog", lambda held: Draft("invented", {}))
    monkeypatch.undo()
    assert code_of(SqliteLedger(ledger.path, NoAnchor()).head) == "ledger_newer"
