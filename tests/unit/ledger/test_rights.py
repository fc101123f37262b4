"""Rights in the chain: what stands, what is in force, and what is forgotten."""

from __future__ import annotations

from fractions import Fraction

import pytest

from obverse.core.errors import LedgerError, Refused
from obverse.core.ledger import Budget, Entry, Terms
from obverse.core.units import Neighbours
from obverse.ledger.memory import MemoryLedger
from obverse.ledger.rights import Act, Rights, acts_of, in_force, sealed

CONTENT = '{"salt": "0"}'


@pytest.fixture
def ledger() -> MemoryLedger:
    return MemoryLedger("data", Terms("pure", Neighbours.ADD_REMOVE, "person"), Budget(Fraction(1)))


def act(kind: str, right: str = "r1") -> Act:
    return Act(kind, "a hash", ("people",), "a reason", "cora", right, sealed(CONTENT) if kind != "lift" else "")


def test_a_right_is_in_force_from_the_next_version_to_the_one_after_it_is_lifted(ledger: MemoryLedger) -> None:
    states = []
    for step in (act("suppress"), "v1", act("lift"), "v2"):
        if isinstance(step, str):
            ledger.record_version(step)
        else:
            ledger.record_right(step)
        rights = ledger.rights()
        told = acts_of(ledger.entries(), rights)[0]["state"]
        states.append((list(rights.standing), list(rights.in_force), rights.kept(), told))
    assert states == [
        (["r1"], [], {"r1"}, "waits"),
        (["r1"], ["r1"], {"r1"}, "in force"),
        ([], ["r1"], {"r1"}, "in force"),
        ([], [], set(), "lifted"),
    ]


def test_contents_are_held_against_their_seals_and_one_that_no_record_knows_is_in_force(ledger: MemoryLedger) -> None:
    ledger.record_right(act("suppress"))
    assert in_force(ledger.rights(), {"r1": CONTENT}) == []
    assert in_force(ledger.rights(), {"r1": CONTENT, "r2": "unknown"}) == ["unknown"]
    ledger.record_version("v1")
    assert in_force(ledger.rights(), {"r1": CONTENT}) == [CONTENT]
    for contents in ({}, {"r1": CONTENT + " "}):
        with pytest.raises(LedgerError) as refused:
            in_force(ledger.rights(), contents)
        assert refused.value.code == "rights_missing"


def test_a_right_that_does_not_stand_is_not_lifted(ledger: MemoryLedger) -> None:
    with pytest.raises(Refused) as refused:
        ledger.record_right(act("lift"))
    assert refused.value.code == "no_such_right"


@pytest.mark.parametrize("kinds", [["suppress", "suppress"], ["lift"], ["praise"]])
def test_a_chain_that_tells_of_impossible_acts_is_damaged(kinds: list[str]) -> None:
    rights = Rights()
    *before, last = [Entry(n, "rights", {"act": kind, "right": "r1", "seal": ""}, "") for n, kind in enumerate(kinds)]
    for entry in before:
        rights.apply(entry)
    with pytest.raises((ValueError, KeyError)):
        rights.apply(last)
