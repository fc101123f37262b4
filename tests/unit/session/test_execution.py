"""The door: debited before any row is read, one constant text for whatever fails after it, stored answers for
nothing.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import obverse
from obverse.core.errors import BudgetExceeded, Failed, InvariantBroken, LedgerError, Refused
from obverse.plan.emit import public
from obverse.plan.pricing import with_mechanisms
from obverse.testing.noiseless import Identity
from obverse.testing.spies import diff, spy_on, state

COUNT = "SELECT COUNT(*) FROM people"


def spent(session: obverse.Session) -> Fraction:
    return session.ledger.spent().amount


def test_a_debit_is_durable_before_data_and_the_answer_is_stored_before_it_leaves(session: obverse.Session) -> None:
    log = spy_on(session)
    before = state(session.ledger)
    session.ask(COUNT)
    assert log.events == ["reserve", "run", "settle"]
    assert [entry.kind for entry in diff(before, session.ledger).entries] == ["catalog", "charge", "settle"]
    assert diff(before, session.ledger).spent.amount == Fraction(1, 10)


def test_explain_touches_neither_data_nor_ledger(session: obverse.Session) -> None:
    log = spy_on(session)
    before = state(session.ledger)
    session.explain(COUNT)
    session.tables()
    session.budget()
    assert log.events == []
    assert diff(before, session.ledger).empty


def test_what_is_quoted_is_what_is_charged(session: obverse.Session) -> None:
    quoted = session.explain(COUNT, epsilon=0.25).price
    answer = session.ask(COUNT, epsilon=0.25)
    assert answer.price == quoted
    assert (answer.price.epsilon, answer.price.share, spent(session)) == ("0.25", 0.25, Fraction(1, 4))
    assert (answer.remaining.epsilon, answer.remaining.share, answer.remaining.like_this) == ("0.75", 0.75, 3)


def test_the_same_question_again_is_byte_identical_and_free(session: obverse.Session) -> None:
    log = spy_on(session)
    first = session.ask(COUNT)
    log.clear()
    again = session.ask("select count( * ) from PEOPLE -- again")
    assert log.events == ["reserve"]
    assert again.to_bytes() == first.from_store().to_bytes()
    assert (first.price.stored, again.price.stored) == (False, True)
    assert again.claim.receipt == first.claim.receipt
    assert spent(session) == Fraction(1, 10)


def test_a_stored_answer_is_given_when_nothing_is_left(session: obverse.Session) -> None:
    first = session.ask(COUNT, epsilon=1)
    with pytest.raises(BudgetExceeded):
        session.ask(COUNT, epsilon=0.1)
    assert session.ask(COUNT, epsilon=1).rows == first.rows


@pytest.mark.parametrize("other", [{"epsilon": 0.2}, {"confidence": 0.5}, {"within": 100}])
def test_another_price_or_level_is_another_question(session: obverse.Session, other: dict[str, Any]) -> None:
    session.ask(COUNT)
    assert not session.ask(COUNT, **other).price.stored


def test_a_request_id_brings_back_its_own_answer_and_no_other(session: obverse.Session) -> None:
    first = session.ask("SELECT COUNT(*) FROM people WHERE age > 3", key="request-1")
    assert session.ask("SELECT COUNT(*) FROM people WHERE age > 3", key="request-1").rows == first.rows
    with pytest.raises(obverse.ObverseError):
        session.ask("SELECT COUNT(*) FROM people WHERE age > 4", key="request-1")
    assert spent(session) == Fraction(1, 10)


SAYING_TOO_MUCH = (
    ValueError,
    RuntimeError,
    AssertionError,
    MemoryError,
    OSError,
    KeyError,
    RecursionError,
    ZeroDivisionError,
    LookupError,
)


@pytest.mark.parametrize(
    "error",
    [kind("eve is 42") for kind in SAYING_TOO_MUCH] + [Failed("engine_failure", "eve"), Refused("x", "eve")],
    ids=lambda error: type(error).__name__,
)
def test_whatever_fails_after_the_debit_gives_one_text_and_stays_charged(
    session: obverse.Session, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(sql: str, *, timeout_s: float) -> None:
        raise error

    monkeypatch.setattr(session.engine, "run", fail)
    with pytest.raises(Failed) as failed:
        session.ask(COUNT)
    receipt = next(entry.fields["id"] for entry in session.ledger.entries() if entry.kind == "charge")
    assert str(failed.value) == (
        f"[engine_failure] the question could not be finished; request {receipt}.\n"
        "Why: what went wrong may depend on the data, so it is not told, and the charge stays.\n"
        "Fix: ask the curator, naming the request."
    )
    assert failed.value.__cause__ is None
    assert failed.value.__suppress_context__
    assert (failed.value.charged, spent(session)) == (True, Fraction(1, 10))


def test_a_failed_question_is_charged_anew_when_it_is_asked_again(
    session: obverse.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(session.engine, "run", lambda sql, timeout_s: 1 / 0)
        with pytest.raises(Failed):
            session.ask(COUNT)
    session.ask(COUNT)
    assert spent(session) == Fraction(2, 10)


def test_an_interruption_after_the_debit_stays_charged_and_says_so(
    session: obverse.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(sql: str, *, timeout_s: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(session.engine, "run", stop)
    with pytest.raises(Failed) as failed:
        session.ask(COUNT)
    assert (failed.value.code, failed.value.charged, spent(session)) == ("interrupted", True, Fraction(1, 10))


def test_an_interruption_before_the_debit_is_free(session: obverse.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*args: object, **named: object) -> None:
        raise KeyboardInterrupt

    before = state(session.ledger)
    monkeypatch.setattr("obverse.session.session.plan", stop)
    with pytest.raises(KeyboardInterrupt):
        session.ask(COUNT)
    assert diff(before, session.ledger).empty


def test_an_answer_that_cannot_be_stored_is_not_released(
    session: obverse.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(receipt: object, answer: bytes) -> None:
        raise LedgerError("ledger_unwritable", "the disk is full", charged=True)

    monkeypatch.setattr(session.ledger, "settle", fail)
    with pytest.raises(LedgerError):
        session.ask(COUNT)
    assert spent(session) == Fraction(1, 10)


def test_the_door_takes_no_plan_without_noise(session: obverse.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """The identity, as obverse.testing uses it over synthetic tables, is refused before anything is reserved."""
    import dataclasses

    from obverse.session import session as module

    planned = module.plan

    def bare(*args: Any) -> Any:
        made = planned(*args)
        return dataclasses.replace(made, costed=with_mechanisms(made.costed, (Identity(),)))

    monkeypatch.setattr(module, "plan", bare)
    log = spy_on(session)
    before = state(session.ledger)
    with pytest.raises(InvariantBroken):
        session.ask(COUNT)
    assert log.events == []
    assert not any(entry.kind == "charge" for entry in diff(before, session.ledger).entries)


def test_a_public_question_is_exact_and_free(session: obverse.Session) -> None:
    log = spy_on(session)
    before = state(session.ledger)
    answer = session.ask("SELECT room, floor FROM rooms ORDER BY floor DESC")
    assert list(answer) == [("b", 2), ("a", 1)]
    assert log.events == ["run_public"]
    assert diff(before, session.ledger).empty
    assert (answer.price.epsilon, answer.claim.sentence[:6]) == ("0", "Exact:")


def test_a_public_answer_is_whole_or_refused(session: obverse.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was cut could not be told from the whole."""
    monkeypatch.setattr(public, "ROWS_MAX", 1)
    with pytest.raises(Refused) as refused:
        session.ask("SELECT room FROM rooms")
    assert (refused.value.code, refused.value.fix[:8]) == ("too_many_rows", "write LI")
    assert list(session.ask("SELECT room FROM rooms ORDER BY room LIMIT 1")) == [("a",)]
    assert list(session.ask("SELECT COUNT(*) FROM rooms")) == [(2,)]
    monkeypatch.setattr(public, "ROWS_MAX", 100)
    monkeypatch.setattr(public, "VALUES_MAX", 3)
    assert len(list(session.ask("SELECT room FROM rooms"))) == 2
    with pytest.raises(Refused, match="more than 1 rows"):
        session.ask("SELECT room, floor FROM rooms")


def test_the_frozen_clock_is_sealed_into_the_record(session: obverse.Session) -> None:
    before = state(session.ledger)
    session.ask("SELECT COUNT(*) FROM people WHERE CURRENT_DATE > DATE '2000-01-01'")
    (charge,) = [entry for entry in diff(before, session.ledger).entries if entry.kind == "charge"]
    assert charge.fields["about"]["now"].startswith("20")


def test_a_ledger_that_fails_between_debit_and_answer_says_that_it_was_charged(
    session: obverse.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unread(*args: Any) -> None:
        raise LedgerError("ledger_unwritable", "the disk is gone")

    monkeypatch.setattr("obverse.session.budget.Purse.whole", unread)
    with pytest.raises(LedgerError) as error:
        session.ask(COUNT)
    assert error.value.charged
    assert spent(session) == Fraction(1, 10)
