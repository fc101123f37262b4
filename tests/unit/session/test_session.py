"""A project opened for somebody: caps of analysts and purposes, prices by error, batches, what may be seen."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

import obverse
from obverse.core.errors import BudgetExceeded, LedgerError, Refused
from obverse.testing import synthetic
from obverse.testing.spies import diff, spy_on, state

Open = Callable[..., obverse.Session]
COUNT = "SELECT COUNT(*) FROM people"


def test_an_analysts_own_cap_binds_before_that_of_all(opened: Open) -> None:
    ana = opened("ana")
    ana.ask(COUNT, epsilon=0.3)
    assert ana.explain(COUNT).remaining.like_this == 0
    with pytest.raises(BudgetExceeded) as refused:
        ana.ask("SELECT SUM(age) FROM people", epsilon=0.1)
    assert "ana" in str(refused.value) or "analyst" in str(refused.value)
    opened().ask("SELECT SUM(age) FROM people", epsilon=0.7)


def test_what_is_left_is_of_the_cap_that_is_nearest(opened: Open) -> None:
    left = opened("ana").ask(COUNT, epsilon=0.1).remaining
    assert (left.epsilon, left.share, left.like_this) == ("0.2", 0.2, 2)  # of 0.3; the project has 0.9 of 1 left
    left = opened("ben").ask(COUNT, epsilon=0.1).remaining
    assert (left.epsilon, left.share, left.like_this) == ("0.4", 0.4, 4)  # of the purpose's 0.5


def test_a_purpose_caps_all_who_ask_for_it(opened: Open) -> None:
    opened("ben").ask(COUNT, epsilon=0.3)
    cyd = opened("cyd", "quality")
    with pytest.raises(BudgetExceeded):
        cyd.ask(COUNT, epsilon=0.3)
    cyd.ask(COUNT, epsilon=0.2)
    opened("cyd", "research").ask(COUNT, epsilon=0.5)


def test_an_analyst_with_one_purpose_need_not_say_it(opened: Open) -> None:
    assert opened("ben").purpose == "quality"


@pytest.mark.parametrize(
    ("analyst", "purpose", "code"),
    [
        ("eve", "", "analyst_unknown"), ("ben", "research", "purpose_not_allowed"), ("cyd", "", "purpose_not_allowed"),
        ("ana", "fun", "purpose_not_allowed"), ("", "fun", "purpose_not_allowed"),
    ],
)  # fmt: skip
def test_nobody_asks_under_a_name_or_purpose_that_is_not_theirs(
    folder: Path, analyst: str, purpose: str, code: str
) -> None:
    with pytest.raises(Refused) as refused:
        obverse.open(folder, analyst=analyst, purpose=purpose)
    assert refused.value.code == code


def test_answers_are_stored_per_analyst(opened: Open) -> None:
    opened("ana").ask(COUNT)
    assert not opened("ben").ask(COUNT).price.stored
    assert opened("ana").ask(COUNT).price.stored


def test_an_error_finds_the_least_epsilon_that_meets_it(session: obverse.Session) -> None:
    explained = session.explain(COUNT, within=20, confidence=0.95)
    assert explained.measures[0]["half_width"] <= 20
    dearer = Fraction(explained.price.epsilon) * Fraction(9, 10)
    assert session.explain(COUNT, epsilon=dearer).measures[0]["half_width"] > 20
    answer = session.ask(COUNT, within=20, confidence=0.95)
    assert answer.price.epsilon == explained.price.epsilon
    assert answer.high - answer.value <= 20  # type: ignore[operator]


def test_a_higher_confidence_makes_wider_bars_at_the_same_price(session: obverse.Session) -> None:
    narrow, wide = (session.explain(COUNT, confidence=level) for level in (0.5, 0.99))
    assert narrow.measures[0]["half_width"] < wide.measures[0]["half_width"]
    assert narrow.price == wide.price


@pytest.mark.parametrize(
    "sql", ["SELECT AVG(age) FROM people", "SELECT SUM(age) / COUNT(*) FROM people", "SELECT STDDEV(age) FROM people"]
)
def test_an_error_that_depends_on_the_data_finds_no_price(session: obverse.Session, sql: str) -> None:
    with pytest.raises(Refused) as refused:
        session.explain(sql, within=5)
    assert refused.value.code == "error_depends_on_data"


def test_a_batch_is_one_debit_and_one_stored_answer(session: obverse.Session) -> None:
    log = spy_on(session)
    before = state(session.ledger)
    questions = [COUNT, "SELECT SUM(age) FROM people", "SELECT sex, COUNT(*) FROM people GROUP BY sex"]
    answers = session.ask_all(questions, epsilon=0.1, delta=0)
    assert log.events == ["reserve", "run", "run", "run", "settle"]
    assert diff(before, session.ledger).spent.amount == Fraction(3, 10)
    assert [len(a) for a in answers] == [1, 1, 2]
    assert {a.price.epsilon for a in answers} == {"0.3"}, "each states the price of the whole"
    assert len({a.claim.receipt for a in answers}) == 1
    again = session.ask_all(questions, epsilon=0.1, delta=0)
    assert [a.rows for a in again] == [a.rows for a in answers]
    assert all(a.price.stored for a in again)


def test_a_batch_with_one_bad_question_costs_nothing(session: obverse.Session) -> None:
    log = spy_on(session)
    before = state(session.ledger)
    for bad in ("SELECT * FROM people", "SELECT room FROM rooms", ""):
        with pytest.raises(Refused):
            session.ask_all([COUNT, bad])
    with pytest.raises(Refused):
        session.ask_all([])
    assert log.events == []
    assert diff(before, session.ledger).empty


def test_a_batch_that_does_not_fit_answers_none_of_it(session: obverse.Session) -> None:
    log = spy_on(session)
    with pytest.raises(BudgetExceeded):
        session.ask_all([COUNT, "SELECT SUM(age) FROM people"], epsilon=0.6, delta=0)
    assert log.count("run") == 0


@pytest.mark.parametrize("batch", [False, True])
def test_a_ledger_that_fails_after_the_answer_was_stored_says_that_it_was_charged(
    session: obverse.Session, monkeypatch: pytest.MonkeyPatch, batch: bool
) -> None:
    settle = type(session.ledger).settle

    def gone(*_: object, **__: object) -> None:
        raise LedgerError("ledger_busy", "somebody else writes to it")

    def settled(ledger: object, *told: object) -> None:
        settle(ledger, *told)  # type: ignore[arg-type]
        monkeypatch.setattr(type(session.ledger), "spent", gone)

    def asked() -> object:
        return session.ask_all([COUNT]) if batch else session.ask(COUNT)

    monkeypatch.setattr(type(session.ledger), "settle", settled)
    for charged in (True, False):  # the second time it is stored, and costs nothing
        with pytest.raises(LedgerError) as failed:
            asked()
        assert failed.value.charged is charged


def test_a_question_to_a_closed_session_is_refused_and_charges_nothing(folder: Path) -> None:
    with obverse.open(folder) as session:
        before = session.budget()
    for late in (lambda: session.ask(COUNT), lambda: session.ask_all([COUNT])):
        with pytest.raises(Refused) as refused:
            late()
        assert refused.value.code == "closed"
        assert not refused.value.charged
    with obverse.open(folder) as again:
        assert again.budget() == before


def test_concentrated_accounting_draws_gaussian_noise_and_counts_rho(zcdp: obverse.Session) -> None:
    answer = zcdp.ask(COUNT, epsilon=0.5, delta=1e-8)
    assert answer.claim.mechanisms == ("discrete_gaussian",)
    assert answer.remaining.epsilon is None
    assert zcdp.budget().quantity == "rho"
    assert 0 < zcdp.ledger.spent().amount < Fraction(1, 10)


def test_the_budget_shows_every_cap(opened: Open) -> None:
    opened("ana").ask(COUNT)
    lines = {line.name: line for line in opened().budget().lines}
    assert (lines["everybody"].cap, lines["everybody"].spent, lines["everybody"].left) == ("1", "0.1", "0.9")
    assert (lines["ana"].cap, lines["ana"].spent) == ("0.3", "0.1")
    assert (lines["quality"].cap, lines["quality"].spent) == ("0.5", "0")


def test_tables_show_what_is_declared_and_nothing_of_the_rows(session: obverse.Session) -> None:
    people, visits, rooms = session.tables()
    assert [c.name for c in people.columns] == ["age", "sex", "person_id"]
    assert (people.limits, visits.limits) == ("one row per unit", "3 rows per unit")
    assert (rooms.public, [c.type for c in rooms.columns]) == (True, ["text", "integer"])


def test_units_with_many_rows_are_bounded_and_the_claim_says_so(session: obverse.Session) -> None:
    (measure,) = session.explain("SELECT COUNT(*) FROM visits").measures
    assert measure["l1"] == 3
    claim = session.ask("SELECT COUNT(*) FROM visits").claim
    assert "3 rows" in claim.limits
    assert "count less than in full" in claim.bias


def test_a_project_of_public_tables_needs_no_budget(tmp_path: Path) -> None:
    toml = '[project]\nname = "open"\n[tables.rooms]\nsource = "rooms.csv"\npublic = true\n'
    folder = synthetic({"rooms": {"room": ["a"]}}, toml, tmp_path / "open")
    with obverse.open(folder) as session:
        assert session.ask("SELECT COUNT(*) FROM rooms").value == 1
        with pytest.raises(Refused) as refused:
            session.budget()
    assert refused.value.code == "no_private_table"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM people",
        "SELECT sex, COUNT(*), AVG(age), MEDIAN(age), MAX(age), COUNT(*) > 10, 'x' AS word FROM people GROUP BY sex",
        "SELECT sex, age, SUM(age), AVG(age) / 3 FROM people GROUP BY sex, age",
        "SELECT MODE(sex), NULLIF(COUNT(*), COUNT(*)), DATE '2020-02-03' FROM people",
        "SELECT sex, COUNT(*) FROM people GROUP BY sex HAVING COUNT(*) > 100000000",
    ],
)
def test_an_answer_given_again_is_the_same_to_the_last_bit(session: obverse.Session, sql: str) -> None:
    """The first is what was made, the second what was read from store."""
    first = session.ask(sql, epsilon=0.01)
    again = session.ask(sql, epsilon=0.01)
    assert (first.price.stored, again.price.stored) == (False, True)
    assert (first.columns, first.rows, first.intervals) == (again.columns, again.rows, again.intervals)
    assert first.claim == again.claim
    assert [[type(v) for v in row] for row in first.rows] == [[type(v) for v in row] for row in again.rows]
    assert (type(first.rows), type(first.intervals)) == (type(again.rows), type(again.intervals))
    assert first.from_store().to_bytes() == again.to_bytes()
