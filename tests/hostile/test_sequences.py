"""Attacks over several questions: differencing, averaging, the edge of the cap, other names for the same data."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import obverse
from obverse.core.errors import BudgetExceeded, Failed, Refused
from obverse.plan.release.noise import Released
from obverse.plan.release.postprocess import finish
from obverse.session.planning import Wish, plan, read
from obverse.testing import synthetic
from obverse.testing.spies import spy_on, state

CATALOG = (Path(__file__).parent / "corpus.toml").read_text()
DAY = dt.date(2020, 2, 2)
MOMENT = dt.datetime(2020, 2, 2, 10)


def people(*names: str) -> dict[str, list[Any]]:
    n = len(names)
    return {
        "person_id": list(range(1, n + 1)), "name": list(names), "age": [42] * n, "zip": ["1"] * n, "sex": ["F"] * n,
        "salary": [1000.0] * n, "hiv": [False] * n, "joined": [DAY] * n,
    }  # fmt: skip


def tables(*names: str) -> dict[str, dict[str, list[Any]]]:
    visits = {"visit_id": [1], "person_id": [1], "clinic": ["A"], "cost": [10.0], "at": [MOMENT]}
    return {"people": people(*names), "visits": visits, "clinics": {"clinic": ["A"], "city": ["X"]}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The corpus's own catalog, with its budget of epsilon 4."""
    return synthetic(tables("eve", "bob", "cyd"), CATALOG, tmp_path / "hospital")


@pytest.fixture
def session(folder: Path) -> Iterator[obverse.Session]:
    with obverse.open(folder) as opened:
        yield opened


def spent(session: obverse.Session) -> Fraction:
    return session.ledger.spent().amount


def test_differencing_pays_twice_and_gets_both_noises(session: obverse.Session) -> None:
    """sequence-001"""
    questions = ["SELECT COUNT(*) FROM people WHERE hiv", "SELECT COUNT(*) FROM people WHERE hiv AND name <> 'eve'"]
    noises = {session.explain(sql).measures[0]["stddev"] for sql in questions}
    for sql in questions:
        session.ask(sql)
    assert spent(session) == Fraction(2, 10)
    assert len(noises) == 1, "the difference has twice the variance of each"


def test_averaging_gets_one_answer_again_and_again(session: obverse.Session) -> None:
    """sequence-002: asked in the same words."""
    answers = {session.ask("SELECT COUNT(*) FROM people WHERE name='eve'").to_bytes() for _ in range(30)}
    assert spent(session) == Fraction(1, 10)
    assert len(answers) == 2, "the first, and the same marked as stored"
    assert len({obverse.Answer.from_bytes(a, None).rows for a in answers}) == 1  # type: ignore[arg-type]


def test_averaging_in_other_words_ends_at_the_cap(session: obverse.Session) -> None:
    """sequence-002: in words that mean something else each time; the released loss is the cap exactly."""
    log = spy_on(session)
    for i in range(40):
        session.ask(f"SELECT COUNT(*) FROM people WHERE name='eve' AND age < {1000 + i}")
    with pytest.raises(BudgetExceeded):
        session.ask("SELECT COUNT(*) FROM people WHERE name='eve' AND age < 5000")
    assert spent(session) == 4
    assert log.count("run") == 40


def test_one_meaning_in_other_letters_is_one_question(session: obverse.Session) -> None:
    """sequence-003"""
    first = session.ask("SELECT COUNT(*) FROM people")
    again = session.ask("select  count( * )\nfrom PEOPLE")
    assert again.price.stored
    assert (again.rows, again.intervals, again.claim) == (first.rows, first.intervals, first.claim)
    assert spent(session) == Fraction(1, 10)


def test_what_does_not_fit_is_refused_before_data_and_tells_only_what_is_left(tmp_path: Path) -> None:
    """sequence-007: the same words whoever is in the data."""
    words = set()
    for names in (("eve", "bob"), ("bob",)):
        with obverse.open(synthetic(tables(*names), CATALOG, tmp_path / str(len(names)))) as session:
            session.ask("SELECT COUNT(*) FROM people", epsilon=3.99)
            log = spy_on(session)
            with pytest.raises(BudgetExceeded) as refused:
                session.ask("SELECT COUNT(*) FROM people", epsilon=0.02)
            assert log.count("run") == 0
            words.add(str(refused.value))
    assert len(words) == 1
    assert "0.01" in words.pop()


@pytest.mark.parametrize(
    "wish",
    [
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": float("nan")},
        {"epsilon": float("inf")},
        {"epsilon": 1e308},
        {"epsilon": 5e-324},
        {"epsilon": True},
        {"epsilon": [1]},
        {"epsilon": "1"},
        {"epsilon": "NaN"},
        {"delta": 1},
        {"delta": -0.0},
        {"delta": float("nan")},
        {"within": 0},
        {"within": -1},
        {"within": float("inf")},
        {"confidence": 0},
        {"confidence": 1},
        {"confidence": float("nan")},
        {"confidence": "0.9"},
        {"epsilon": 1, "within": 5},
    ],
    ids=str,
)
def test_a_privacy_parameter_that_is_no_number_in_range_is_refused(
    session: obverse.Session, wish: dict[str, Any]
) -> None:
    """sequence-010"""
    log = spy_on(session)
    before = state(session.ledger)
    with pytest.raises(Refused) as refused:
        session.ask("SELECT COUNT(*) FROM people", **wish)
    assert refused.value.code == "bad_parameter"
    assert log.events == []
    assert state(session.ledger) == before


def test_a_question_that_fails_in_the_engine_stays_charged(
    session: obverse.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """sequence-011"""

    def fail(sql: str, *, timeout_s: float) -> Any:
        raise ValueError("division by zero at eve, age 42")

    monkeypatch.setattr(session.engine, "run", fail)
    with pytest.raises(Failed) as failed:
        session.ask("SELECT COUNT(*) FROM people WHERE 1/(age-42) > 0")
    assert failed.value.charged
    assert "eve" not in str(failed.value)
    assert spent(session) == Fraction(1, 10)


def test_making_a_table_private_is_an_event_of_the_ledger_and_ends_free_answers(tmp_path: Path) -> None:
    """sequence-013"""
    public = CATALOG.replace(
        'unit = "person_id -> people.person_id"\nlimits = { rows = 20, groups = 5 }', "public = true"
    )
    folder = synthetic(tables("eve", "bob"), public, tmp_path / "hospital")
    with obverse.open(folder) as session:
        assert session.ask("SELECT COUNT(*) FROM visits").value == 1
        session.ask("SELECT COUNT(*) FROM people")
        catalogs = sum(entry.kind == "catalog" for entry in session.ledger.entries())
    (folder / "obverse.toml").write_text(CATALOG)
    with obverse.open(folder) as session:
        answer = session.ask("SELECT COUNT(*) FROM visits")
        assert answer.price.epsilon == "0.1"
        assert sum(entry.kind == "catalog" for entry in session.ledger.entries()) == catalogs + 1
        assert spent(session) == Fraction(2, 10)


def rewritten(folder: Path, *names: str) -> None:
    """The same file with other rows, as a curator's export would leave it."""
    other = synthetic(tables(*names), CATALOG, folder.parent / f"export of {len(names)}")
    (folder / "people.parquet").write_bytes((other / "people.parquet").read_bytes())


def test_rows_that_come_and_go_reset_no_budget(folder: Path) -> None:
    """sequence-015: nor do they show in the price, or in an answer that is stored."""
    sql = "SELECT COUNT(*) FROM people"
    with obverse.open(folder) as session:
        first = session.ask(sql)
    rewritten(folder, "eve", "bob", "cyd", "dan")
    with obverse.open(folder) as session:
        assert session.ask(sql).rows == first.rows
        session.ask("SELECT SUM(age) FROM people")
    rewritten(folder, "eve", "bob")
    with obverse.open(folder) as session:
        assert session.ask(sql).price.stored
        assert spent(session) == Fraction(2, 10)


def test_another_name_for_a_table_resets_no_budget(folder: Path) -> None:
    """sequence-017"""
    with obverse.open(folder) as session:
        session.ask("SELECT COUNT(*) FROM people")
    renamed = CATALOG.replace("[tables.people", "[tables.people2").replace("people.person_id", "people2.person_id")
    (folder / "obverse.toml").write_text(renamed)
    with pytest.raises(obverse.ObverseError) as refused, obverse.open(folder) as session:
        session.ask("SELECT COUNT(*) FROM people2", epsilon=4)
    assert refused.value.code in ("terms_conflict", "budget_exceeded")


def test_two_projects_over_one_file_spend_from_one_cap(folder: Path, tmp_path: Path) -> None:
    """sequence-018"""
    other = tmp_path / "other"
    other.mkdir()
    source = str(folder / "people.parquet")
    first, _, rest = CATALOG.partition("[tables.visits]")
    clinics = rest[rest.index("[tables.clinics]") :].replace("clinics.csv", str(folder / "clinics.csv"))
    (other / "obverse.toml").write_text(first.replace("people.parquet", source) + clinics)
    with obverse.open(folder) as session:
        session.ask("SELECT COUNT(*) FROM people", epsilon=3)
    with obverse.open(other) as session:
        assert spent(session) == 3
        with pytest.raises(BudgetExceeded):
            session.ask("SELECT SUM(age) FROM people", epsilon=2)
        session.ask("SELECT SUM(age) FROM people", epsilon=1)
    with obverse.open(folder) as session:
        assert spent(session) == 4


def test_analysts_who_collude_share_one_cap(tmp_path: Path) -> None:
    """sequence-019: ten caps of 1 under a cap of 3."""
    analysts = "".join(f"[analysts.a{i}]\nepsilon = 1\n" for i in range(10))
    toml = CATALOG.replace("[budget]\nepsilon = 4.0", "[budget]\nepsilon = 3") + analysts
    folder = synthetic(tables("eve", "bob"), toml, tmp_path / "hospital")
    answered = 0
    for i in range(10):
        with obverse.open(folder, analyst=f"a{i}") as session:
            try:
                session.ask("SELECT COUNT(*) FROM people", epsilon=1)
                answered += 1
            except BudgetExceeded:
                pass
            total = spent(session)
    assert (answered, total) == (3, 3)


def test_deltas_of_discovered_keys_add_up_and_their_cap_holds(session: obverse.Session) -> None:
    """sequence-009: a hundred times delta 1e-7 under a cap of 1e-6."""
    for i in range(10):
        session.ask(f"SELECT zip, COUNT(*) FROM people WHERE age > {i} GROUP BY zip", epsilon=0.001, delta=1e-7)
    for i in range(10, 100):
        with pytest.raises(BudgetExceeded):
            session.ask(f"SELECT zip, COUNT(*) FROM people WHERE age > {i} GROUP BY zip", epsilon=0.001, delta=1e-7)
    assert session.ledger.spent().delta == Fraction(1, 10**6)


def test_error_bars_are_a_function_of_noisy_values_and_public_figures(tmp_path: Path) -> None:
    """sequence-022: with the same released integers, eve's presence changes no bar."""
    import numpy as np

    sql = "SELECT AVG(salary), COUNT(*) FROM people WHERE name='eve'"
    finished = []
    for names in (("eve", "bob"), ("bob",)):
        with obverse.open(synthetic(tables(*names), CATALOG, tmp_path / str(len(names)))) as session:
            question = read(sql, session.catalog, dt.datetime(2026, 1, 1))
            costed = plan(sql, question, session.catalog, Wish()).costed  # type: ignore[arg-type]
            finished.append(
                finish(Released(1, {i: np.array([5 * i + 2]) for i in range(len(costed.measures))}, {}), costed)
            )
    assert finished[0] == finished[1]


def test_each_sequence_of_the_corpus_is_coded_here() -> None:
    corpus = map(json.loads, (Path(__file__).parent / "corpus.jsonl").read_text().splitlines())
    sequences = {line["id"] for line in corpus if line["kind"] == "sequence"}
    coded = set(re.findall(r"sequence-\d+", Path(__file__).read_text()))
    assert sequences == coded
