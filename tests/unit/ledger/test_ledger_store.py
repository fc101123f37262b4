"""No flipped byte changes totals, entries or order unnoticed; nor does any hand that rewrites a part."""

import hashlib
import shutil
import sqlite3
from contextlib import suppress
from fractions import Fraction

import pytest

from obverse.core.errors import LedgerError
from obverse.ledger.anchor import NoAnchor
from obverse.ledger.sqlite import SqliteLedger
from obverse.ledger.transfer import verify_file


@pytest.fixture
def written(world, ask):
    """A closed ledger with debits, answers, notes and a grant: the path of its file."""
    ledger = world.open(world.claimed("one", world.file("people.csv"))).ledger
    for n in range(6):
        ask(ledger, f"plan {n}", key=f"k{n}", analyst=f"a{n % 2}", answer=b"answer" * 40 * n, note=f"SELECT {n}")
    ledger.grant(Fraction(1), Fraction(0), "more")
    ask(ledger, "unsettled", answer=None)
    ledger.close()
    return ledger.path


def contents(path) -> tuple:
    """All that the file says, read without any of our checks."""
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    try:
        return tuple(
            connection.execute(f"SELECT * FROM {table} ORDER BY number").fetchall()
            for table in ("entry", "answer", "note")
        )
    finally:
        connection.close()


def notices(path) -> bool:
    try:
        verify_file(path)
    except LedgerError:
        return True
    return False


def flips_are_noticed(path, offsets, folder):
    before = contents(path)
    whole = path.read_bytes()
    copy = folder / "flipped.db"
    silent = []
    for offset in offsets:
        changed = bytearray(whole)
        changed[offset] ^= 1 << (offset % 8)
        copy.write_bytes(changed)
        if not notices(copy) and contents(copy) != before:
            silent.append(offset)
    assert silent == []


def test_a_flipped_byte_is_noticed_or_changes_nothing(written, tmp_path):
    size = written.stat().st_size
    used = [n for n, byte in enumerate(written.read_bytes()) if byte]
    flips_are_noticed(
        written, sorted({*range(100), *used[:: max(1, len(used) // 1200)], *range(0, size, 53)}), tmp_path
    )


@pytest.mark.soak
def test_every_flipped_byte_is_noticed_or_changes_nothing(written, tmp_path):
    flips_are_noticed(written, range(written.stat().st_size), tmp_path)


def test_a_flipped_byte_never_opens_with_anything_but_a_ledgers_error(written, tmp_path):
    whole = written.read_bytes()
    copy = tmp_path / "flipped.db"
    for offset in sorted({*range(100), *range(0, len(whole), 97)}):
        changed = bytearray(whole)
        changed[offset] ^= 1 << (offset % 8)
        copy.write_bytes(changed)
        ledger = SqliteLedger(copy, NoAnchor(), busy_s=0.0)
        with suppress(LedgerError):
            ledger.head()
        ledger.close()
        for path in tmp_path.glob("flipped.db*"):
            path.unlink()


def test_most_flips_within_a_record_are_noticed_by_opening_alone(written, tmp_path):
    whole = written.read_bytes()
    copy = tmp_path / "flipped.db"
    first = whole.index(b'"total_amount":"')
    for offset in range(first, first + 20):
        changed = bytearray(whole)
        changed[offset] ^= 1
        copy.write_bytes(changed)
        with pytest.raises(LedgerError):
            SqliteLedger(copy, NoAnchor()).head()


def rewritten(path, *statements):
    """As somebody with SQL and without scruples would."""
    connection = sqlite3.connect(path)
    for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {trigger}")
    for statement in statements:
        connection.execute(*statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("DELETE FROM entry WHERE number = 3", "missing or out of order"),
        ("UPDATE entry SET number = number + 100 WHERE number > 5", "missing or out of order"),
        ("UPDATE entry SET body = CAST(body AS TEXT) WHERE number = 2", "missing or out of order"),
        (
            "UPDATE entry SET body = (SELECT body FROM entry WHERE number = 4) WHERE number = 2",
            "does not match its seal",
        ),
        ("DELETE FROM answer WHERE number = 2", "stored answer of record 2 is missing"),
        ("UPDATE answer SET content = x'00' WHERE number = 2", "stored answer of record 2 is not the one"),
        ("INSERT INTO answer VALUES (99, x'00')", "stored answer of record 99 is not the one"),
        ("UPDATE note SET content = x'00' WHERE number = 4", "stored note of record 4 is not the one"),
        ("DELETE FROM note WHERE number = 2", "stored note of record 2 is missing"),
        ("DELETE FROM entry", "no opening record"),
    ],
)
def test_a_rewritten_file_is_noticed_and_told_where(written, tmp_path, statement, why):
    copy = tmp_path / "rewritten.db"
    shutil.copy(written, copy)
    rewritten(copy, (statement,))
    with pytest.raises(LedgerError) as caught:
        verify_file(copy)
    assert caught.value.code == "ledger_damaged"
    assert why in caught.value.why


def resealed(path, change):
    """The whole chain sealed anew after a change: only the arithmetic and the anchor can still object."""
    head = bytes(32)
    rows = []
    connection = sqlite3.connect(path)
    for number, body in connection.execute("SELECT number, body FROM entry ORDER BY number").fetchall():
        body = change(number, body)
        head = hashlib.sha256(head + body).digest()
        rows.append(("UPDATE entry SET body = ?, hash = ? WHERE number = ?", (body, head, number)))
    connection.close()
    rewritten(path, *rows)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (b'"amount":"1/10"', b'"amount":"1/99"', "states another total"),
        (b'"charge":4', b'"charge":2', "for the second time"),
        (b'"charge":2', b'"charge":1', "cannot be read"),
        (b'"number":2', b'"number":9', "carries another number"),
        (b'"kind":"open"', b'"kind":"settle"', "opening"),
    ],
)
def test_a_chain_sealed_anew_must_still_add_up(written, tmp_path, old, new, why):
    copy = tmp_path / "resealed.db"
    shutil.copy(written, copy)
    resealed(copy, lambda number, body: body.replace(old, new))
    with pytest.raises(LedgerError) as caught:
        verify_file(copy)
    assert why in caught.value.why


def test_a_chain_sealed_anew_without_fault_is_still_not_the_anchored_one(world, written):
    resealed(written, lambda number, body: body.replace(b"2026-11-15", b"2025-11-15"))
    verify_file(written)
    with pytest.raises(LedgerError) as caught:
        world.open(world.claimed("one", world.root / "people.csv"))
    assert caught.value.code == "ledger_rolled_back"


def test_a_stored_answer_changed_on_disk_is_not_given_out(world, written, ask):
    rewritten(written, ("UPDATE answer SET content = x'00' WHERE number = 4",))
    ledger = world.open(world.claimed("one", world.root / "people.csv")).ledger
    with pytest.raises(LedgerError) as caught:
        ask(ledger, "plan 1", key="k1", analyst="a1")
    assert caught.value.code == "ledger_damaged"


def test_verifying_a_file_does_not_touch_it(written):
    before = written.read_bytes()
    verify_file(written)
    assert written.read_bytes() == before
    assert [path.name for path in written.parent.iterdir()] == ["ledger.db"]
