"""What every ledger that is kept promises, in a file or in PostgreSQL: it is there again, for all who open it, and
adds up.
"""

import hashlib
import threading
from fractions import Fraction

import pytest

from obverse.accounting.budget import cap_of
from obverse.core.errors import BudgetExceeded, LedgerError
from obverse.core.ledger import Budget, Caps, Receipt, Spent, Stored
from obverse.ledger.transfer import backup, export, verify_export, verify_file


@pytest.fixture
def ledger(world, stored):
    return world.open(world.claimed("one", world.file("people.csv"))).ledger


def test_everything_is_there_again_after_reopening(world, stored, ask):
    claimed = world.claimed("one", world.file("people.csv"))
    first = world.open(claimed)
    receipt = ask(first.ledger, "plan", key="k", answer=b"bytes", note="SELECT 1")
    head = first.ledger.head()
    first.ledger.close()
    again = world.open(claimed)
    assert again.dataset == first.dataset
    assert again.ledger.head() == head == again.ledger.verify()
    assert again.ledger.spent() == Spent("pure", Fraction(1, 10))
    assert ask(again.ledger, "plan", key="k") == Stored(b"bytes", receipt)
    assert again.ledger.note(receipt.number) == "SELECT 1"


def test_two_processes_worth_of_ledgers_see_each_others_debits(world, stored, ask):
    claimed = world.claimed("one", world.file("people.csv"))
    left = world.open(claimed).ledger
    right = world.open(claimed).ledger
    for n in range(5):
        ask(left, f"left {n}")
        ask(right, f"right {n}")
    assert left.head() == right.head()
    with pytest.raises(BudgetExceeded):
        ask(left, "one more")


def test_a_cap_lowered_by_one_process_binds_the_debits_of_another(world, stored, ask):
    claimed = world.claimed("one", world.file("people.csv"))
    owner = world.open(claimed).ledger
    service = world.open(claimed).ledger
    ask(service, "before", "0.4")
    owner.lower(Budget(Fraction(1, 2), Fraction(0)), "second thoughts")
    with pytest.raises(BudgetExceeded):
        ask(service, "after", "0.2", caps=Caps(cap_of(Budget(Fraction(1)), "pure")))


def test_fifty_threads_on_one_ledger_spend_exactly_the_budget(ledger, ask):
    won = []

    def one(n):
        try:
            ask(ledger, f"plan {n}")
            won.append(n)
        except BudgetExceeded:
            pass

    threads = [threading.Thread(target=one, args=(n,)) for n in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 10
    assert ledger.verify() == ledger.head()


def test_a_forked_child_goes_on_with_a_connection_of_its_own(ledger, ask, in_child):
    ask(ledger, "before")
    assert in_child(lambda: isinstance(ask(ledger, "in the child"), Receipt)) == 0
    ask(ledger, "after")
    assert ledger.spent().amount == Fraction(3, 10)
    assert ledger.verify() == ledger.head()


@pytest.fixture
def tamper(world, stored, ledger):
    """Change the store as somebody with SQL and without scruples would, past its triggers."""

    def change(*statements):
        if stored == "sqlite":
            with ledger.database.connection() as connection:
                for (trigger,) in connection.execute(
                    "SELECT name FROM sqlite_master WHERE type = 'trigger'"
                ).fetchall():
                    connection.execute(f"DROP TRIGGER {trigger}")
                for statement in statements:
                    connection.execute(*statement)
            return
        with ledger.server.writing() as connection:
            connection.execute("SET LOCAL session_replication_role = replica")
            for statement in statements:
                connection.execute(*statement)

    return change


@pytest.fixture
def written(ledger, ask):
    for n in range(6):
        ask(ledger, f"plan {n}", key=f"k{n}", analyst=f"a{n % 2}", answer=b"answer" * 40 * n, note=f"SELECT {n}")
    ledger.grant(Fraction(1), Fraction(0), "more")
    ask(ledger, "unsettled", answer=None)
    return ledger


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("DELETE FROM entry WHERE number = 3", "missing or out of order"),
        ("UPDATE entry SET number = number + 100 WHERE number > 5", "missing or out of order"),
        (
            "UPDATE entry SET body = (SELECT body FROM entry WHERE number = 4) WHERE number = 2",
            "does not match its seal",
        ),
        ("DELETE FROM answer WHERE number = 2", "stored answer of record 2 is missing"),
        (
            "UPDATE answer SET content = hash FROM entry WHERE answer.number = 2",
            "stored answer of record 2 is not the one",
        ),
        ("UPDATE answer SET number = 99 WHERE number = 2", "stored answer of record 99 is not the one"),
        ("UPDATE note SET content = hash FROM entry WHERE note.number = 4", "stored note of record 4 is not the one"),
        ("DELETE FROM note WHERE number = 2", "stored note of record 2 is missing"),
        ("DELETE FROM entry", "no opening record"),
    ],
)
def test_a_rewritten_store_is_noticed_and_told_where(written, tamper, statement, why):
    tamper((statement,))
    with pytest.raises(LedgerError) as caught:
        written.verify()
    assert caught.value.code == "ledger_damaged"
    assert why in caught.value.why


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (b'"amount":"1/10"', b'"amount":"1/99"', "states another total"),
        (b'"charge":4', b'"charge":2', "for the second time"),
        (b'"number":2', b'"number":9', "carries another number"),
        (b"2026-11-15", b"2025-11-15", "was seen here, and is missing or another one"),
    ],
)
def test_a_chain_sealed_anew_must_still_add_up_and_be_the_anchored_one(written, tamper, old, new, why):
    head = bytes(32)
    rows = []
    for number, body, _ in written.rows()["entry"]:
        body = body.replace(old, new)
        head = hashlib.sha256(head + body).digest()
        rows.append(("UPDATE entry SET body = ?, hash = ? WHERE number = ?", (body, head, number)))
    tamper(*rows)
    with pytest.raises(LedgerError) as caught:
        written.verify()
    assert why in caught.value.why


def test_a_stored_answer_that_was_changed_is_not_given_out(written, tamper, ask):
    tamper(("UPDATE answer SET content = hash FROM entry WHERE answer.number = 4",))
    with pytest.raises(LedgerError) as caught:
        ask(written, "plan 1", key="k1", analyst="a1")
    assert caught.value.code == "ledger_damaged"


def test_a_backup_and_an_export_have_the_same_head(written, world, stored):
    assert backup(written, world.root / "backup.db") == written.head() == verify_file(world.root / "backup.db")
    assert [path.name for path in world.root.glob("backup*")] == ["backup.db"]
    head = export(written, world.root / "export.jsonl")
    assert head == written.head() == verify_export((world.root / "export.jsonl").read_text().splitlines())
