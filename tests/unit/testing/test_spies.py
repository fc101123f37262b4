"""Spies see what reaches engine and ledger, in order, and pass it on."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import obverse
from obverse.core.ledger import Head
from obverse.testing import synthetic
from obverse.testing.spies import LedgerState, diff, spy_on, state

TOML = """\
[project]
name = "spied"
[budget]
epsilon = 1
[tables.people]
source = "people.parquet"
unit = "row"
[tables.rooms]
source = "rooms.csv"
public = true
"""


@pytest.fixture
def session(tmp_path: Path) -> obverse.Session:
    tables = {"people": {"age": [1, 2]}, "rooms": {"room": ["a"]}}
    return obverse.open(synthetic(tables, TOML, tmp_path / "spied"))


def test_calls_are_noted_in_order_with_their_text(session: obverse.Session) -> None:
    with session:
        log = spy_on(session)
        session.ask("SELECT COUNT(*) FROM people")
        session.ask("SELECT COUNT(*) FROM rooms")
    assert log.events == ["reserve", "run", "settle", "run_public"]
    assert ["people" in sql for sql in log.sql] == [True, False]
    assert log.count("run") == 1
    log.clear()
    assert (log.events, log.sql) == ([], [])


def test_a_diff_tells_what_was_added(session: obverse.Session) -> None:
    with session:
        before = state(session.ledger)
        assert diff(before, session.ledger).empty
        session.ask("SELECT COUNT(*) FROM people")
        found = diff(before, session.ledger)
    assert not found.empty
    assert found.spent.amount == Fraction(1, 10)
    assert [entry.kind for entry in found.entries][-2:] == ["charge", "settle"]


def test_a_history_that_changed_is_noticed(session: obverse.Session) -> None:
    with session:
        now = state(session.ledger)
        session.ask("SELECT COUNT(*) FROM people")
        later = state(session.ledger)
        with pytest.raises(AssertionError, match="changed"):
            diff(LedgerState(now.head, now.spent, later.entries[::-1]), session.ledger)
        with pytest.raises(AssertionError, match="moved"):
            diff(LedgerState(Head(0, ""), later.spent, later.entries), session.ledger)
