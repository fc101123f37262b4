"""Backups, exports and moves: whole, checkable by anybody, and never a way to spend twice."""

import hashlib
import json
import subprocess
import sys
from fractions import Fraction

import pytest

from obverse.core.errors import LedgerError, Refused
from obverse.core.ledger import Stored
from obverse.ledger.home import Home
from obverse.ledger.transfer import backup, export, move, restore, verify_export, verify_file

OFFLINE = """
import hashlib, json, sys
head = bytes(32)
for line in open(sys.argv[1]):
    held = json.loads(line)
    if "record" in held:
        text = json.dumps(held["record"], sort_keys=True, separators=(",", ":"))
        head = hashlib.sha256(head + text.encode()).digest()
print(head.hex())
"""


@pytest.fixture
def opened(world, ask):
    made = world.open(world.claimed("one", world.file("people.csv")))
    ask(made.ledger, "plan", "0.3", answer=b"bytes", note="SELECT 'é'")
    return made


def code_of(action, *args, **kwargs):
    with pytest.raises((LedgerError, Refused)) as caught:
        action(*args, **kwargs)
    return caught.value.code


def test_a_backup_is_one_file_with_the_same_head(world, opened):
    target = world.root / "backup.db"
    assert backup(opened.ledger, target) == opened.ledger.head() == verify_file(target)
    assert [path.name for path in world.root.glob("backup*")] == ["backup.db"]


def test_a_current_backup_restored_goes_on_without_a_word(world, opened, ask):
    backup(opened.ledger, world.root / "backup.db")
    opened.ledger.path.write_bytes(b"")
    restore(world.root / "backup.db", opened.ledger.path)
    assert isinstance(ask(opened.ledger, "plan", "0.3"), Stored)
    ask(opened.ledger, "another", "0.1")
    assert opened.ledger.verify() == opened.ledger.head()


def test_what_a_restore_sets_aside_is_never_written_over(world, opened, ask):
    older = world.root / "older.db"
    backup(opened.ledger, older)
    ask(opened.ledger, "later", "0.1")
    newest = opened.ledger.head()
    path = opened.ledger.path
    opened.ledger.close()
    restore(older, path)
    restore(older, path)
    aside = [verify_file(file) for file in path.parent.glob("*.set-aside*") if not file.name.endswith(("-wal", "-shm"))]
    assert len(aside) == 2
    assert newest in aside


def test_a_move_to_where_nothing_can_be_written_leaves_the_ledger_open(world, opened, ask):
    assert code_of(move, opened.ledger, world.file("file.txt") / "moved.db") == "ledger_unwritable"
    ask(opened.ledger, "goes on", "0.1")


def test_restoring_from_what_is_no_ledger_changes_nothing(world, opened):
    (world.root / "scribble.db").write_text("scribble " * 1000)
    assert code_of(restore, world.root / "scribble.db", opened.ledger.path) == "ledger_damaged"
    assert code_of(restore, world.root / "nothing.db", opened.ledger.path) == "no_such_file"
    assert opened.ledger.verify() == opened.ledger.head()


def test_nothing_is_written_over_a_file_that_exists(world, opened):
    target = world.file("precious.txt")
    for action in (backup, export, move):
        assert code_of(action, opened.ledger, target) == "file_exists"
    assert opened.ledger.spent().amount == Fraction(3, 10)


def test_a_backup_to_where_nothing_can_be_written_is_refused(world, opened):
    assert code_of(backup, opened.ledger, world.file("file.txt") / "backup.db") == "ledger_unwritable"


def test_an_export_is_checked_by_twelve_lines_of_anybodys_python(world, opened):
    target = world.root / "export.jsonl"
    head = export(opened.ledger, target)
    assert head == opened.ledger.head() == verify_export(target.read_text().splitlines())
    done = subprocess.run([sys.executable, "-c", OFFLINE, str(target)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == head.hash


def test_the_export_is_for_the_owner_and_holds_the_questions_with_their_seals(world, opened):
    export(opened.ledger, world.root / "export.jsonl")
    lines = [json.loads(line) for line in (world.root / "export.jsonl").read_text().splitlines()]
    assert [line["note"] for line in lines if line.get("note")] == ["SELECT 'é'"]
    assert all("SELECT" not in json.dumps(line["record"]) for line in lines if "record" in line)


@pytest.mark.parametrize("change", ["amount", "order", "cut", "lost"])
def test_an_export_that_was_changed_is_noticed(world, opened, ask, change):
    ask(opened.ledger, "another")
    export(opened.ledger, world.root / "export.jsonl")
    lines = (world.root / "export.jsonl").read_text().splitlines()
    match change:
        case "amount":
            lines[2] = lines[2].replace('"amount":"3/10"', '"amount":"1/10"')
        case "order":
            lines[2], lines[3] = lines[3], lines[2]
        case "cut":
            lines.pop()
        case "lost":
            del lines[3]
    assert code_of(verify_export, lines) == "ledger_damaged"


def test_a_moved_ledger_goes_on_elsewhere_with_exactly_these_totals(world, opened, ask):
    two = world.claimed("two", world.root / "people.csv")
    two.ledger.parent.mkdir()
    head = move(opened.ledger, two.ledger)
    elsewhere = world.open(two, Home(world.root / "other home"))
    assert elsewhere.dataset.id == opened.dataset.id
    assert elsewhere.ledger.spent().amount == Fraction(3, 10)
    assert elsewhere.ledger.head().count == head.count + 1
    assert isinstance(ask(elsewhere.ledger, "plan", "0.3"), Stored)
    ask(elsewhere.ledger, "another", "0.7")
    assert elsewhere.ledger.verify() == elsewhere.ledger.head()


def test_the_old_ledger_is_closed_for_good(world, opened, ask):
    receipt = ask(opened.ledger, "in flight", answer=None)
    move(opened.ledger, world.root / "moved.db")
    assert code_of(ask, opened.ledger, "another") == "ledger_closed"
    assert code_of(opened.ledger.settle, receipt, b"late") == "ledger_closed"
    assert code_of(opened.ledger.grant, Fraction(1), Fraction(0), "more") == "ledger_closed"
    again = world.open(world.claimed("one", world.root / "people.csv"))
    assert code_of(ask, again.ledger, "another") == "ledger_closed"


def test_a_moved_ledger_that_went_on_is_a_stranger_on_a_third_machine(world, opened):
    two = world.claimed("two", world.root / "people.csv")
    two.ledger.parent.mkdir()
    move(opened.ledger, two.ledger)
    world.open(two, Home(world.root / "second home")).ledger.close()
    assert code_of(world.open, two, Home(world.root / "third home")) == "ledger_unknown"


def test_a_ledger_may_be_moved_to_another_folder_of_the_same_machine(world, opened, ask):
    two = world.claimed("two", world.root / "people.csv")
    two.ledger.parent.mkdir()
    move(opened.ledger, two.ledger)
    again = world.open(two)
    assert again.dataset.ledger == two.path
    assert not again.shared
    ask(again.ledger, "another", "0.7")
    assert again.ledger.spent().amount == 1


def test_an_answers_hash_in_the_chain_is_that_of_its_bytes(opened):
    settled = [entry.fields["answer"] for entry in opened.ledger.entries() if entry.kind == "settle"]
    assert settled == [hashlib.sha256(b"bytes").hexdigest()]
