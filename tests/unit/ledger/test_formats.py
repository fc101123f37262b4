"""Formats of the ledger's file: old ones are upgraded bit for bit, those of the future are refused."""

import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest

from obverse.core.database import Database
from obverse.core.errors import LedgerError
from obverse.core.ledger import Budget, Cap, Caps, Fingerprint, Head, Receipt, Scope, Spent, Stored, Terms
from obverse.core.loss import PureLoss
from obverse.core.units import Neighbours
from obverse.ledger.anchor import NoAnchor
from obverse.ledger.sqlite import SHAPE, SqliteLedger

GOLDEN = Path(__file__).parent / "golden"
CAPS = Caps(Cap("pure", Fraction(1), Fraction(1, 10**6)))
TENTH = PureLoss(Fraction(1, 10))


def test_a_format_of_the_future_is_refused(tmp_path):
    ledger = SqliteLedger(tmp_path / "ledger.db", NoAnchor())
    ledger.create("ledger", "data", Terms("pure", Neighbours.ADD_REMOVE, "person"), Budget(Fraction(1)))
    with ledger.database.connection() as connection:
        connection.execute(f"PRAGMA user_version = {SHAPE.format + 1}")
    ledger.close()
    with pytest.raises(LedgerError) as caught:
        SqliteLedger(ledger.path, NoAnchor()).head()
    assert caught.value.code == "ledger_newer"


def test_a_file_of_format_0_is_upgraded_bit_for_bit(tmp_path):
    path = tmp_path / "ledger.db"
    with sqlite3.connect(path) as old:
        old.executescript((GOLDEN / "format-0.sql").read_text())
        before = old.execute("SELECT number, body, hash FROM entry ORDER BY number").fetchall()
    old.close()
    ledger = SqliteLedger(path, NoAnchor())
    assert ledger.verify() == Head(6, "c7a1bbafb29a9d2ea84a9c7430a804de86d2259f233caffa5fda3d50de823d57")
    assert ledger.spent() == Spent("pure", Fraction(13, 30), Fraction(1, 10**7))
    assert ledger.spent(analyst="ana").amount == Fraction(1, 10)
    with ledger.database.connection() as connection:
        assert connection.execute("SELECT number, body, hash FROM entry ORDER BY number").fetchall() == before
        assert connection.execute("PRAGMA user_version").fetchone() == (SHAPE.format,)
    stored = ledger.reserve(Scope("data", "ana", "quality"), TENTH, Fingerprint("plan a"), key="k1", caps=CAPS)
    assert isinstance(stored, Stored)
    assert stored.answer == b"answer a"
    fresh = ledger.reserve(Scope("data"), TENTH, Fingerprint("plan"), key="", caps=CAPS, note="SELECT 1")
    assert isinstance(fresh, Receipt)
    assert ledger.verify().count == 7


def test_a_new_file_has_the_shape_of_an_upgraded_one(tmp_path):
    (tmp_path / "old.db").touch()
    with sqlite3.connect(tmp_path / "old.db") as old:
        old.executescript((GOLDEN / "format-0.sql").read_text())
    old.close()
    shapes = []
    for name in ("old.db", "new.db"):
        database = Database(tmp_path / name, SHAPE)
        database.create()
        with database.connection() as connection:
            shapes.append(connection.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall())
        database.close()
    assert shapes[0] == shapes[1]
