"""The debit carries loss, partitions and unit, and the door runs nothing beyond them, also of what follows from
answers.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

import obverse
from obverse.catalog.model import Catalog
from obverse.core.errors import Failed, InvariantBroken
from obverse.core.loss import PureLoss
from obverse.curator.partitions import publish_data
from obverse.session.execution import Asked, Outcome, ask
from obverse.session.planning import Planned, Wish, plan, read
from obverse.session.session import Session
from obverse.testing.spies import spy_on

TOML = """
[project]
name = "waves"
[budget]
epsilon = 10
[tables.answers]
source = "answers.parquet"
unit = "person"
limits = { rows = 4 }
partition = { column = "wave", counts = "first" }
[tables.answers.columns]
wave = { type = "integer", bounds = [1, 9] }
n = { type = "integer", bounds = [0, 100] }
"""
SUM = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1) SUM(n) FROM answers WHERE wave = {}"
Changed = Callable[[Asked], Asked]


@pytest.fixture
def session(tmp_path: Path) -> Any:
    (tmp_path / "obverse.toml").write_text(TOML)
    rows = "SELECT p AS person, p % 50 AS house, 1 + p % 3 AS wave, p % 7 AS n FROM range(300) AS r(p)"
    duckdb.connect().execute(f"COPY ({rows}) TO '{tmp_path / 'answers.parquet'}' (FORMAT parquet)")
    publish_data(tmp_path, "3")
    with obverse.open(tmp_path) as opened:
        yield opened


def planned(wave: int, catalog: Catalog) -> Planned:
    """The question with bounds that were found, over a wave."""
    text = SUM.format(wave)
    whole = plan(text, read(text, catalog, dt.datetime(2026, 1, 1)), catalog, Wish())  # type: ignore[arg-type]
    assert whole.narrowed is not None
    ((search, _),) = whole.question.searches
    return whole.narrowed({search.name: (search.scale.ends[0], search.scale.ends[-1])})


def asked_with(session: Session, change: Changed) -> list[str]:
    """What happens where what follows a search over wave 1 is changed."""

    def gateway(questions: tuple[Asked, ...], *args: object, **rest: object) -> Outcome:
        (question,) = questions
        follows = question.then
        assert follows is not None
        return ask((replace(question, then=lambda found: change(follows(found))),), *args, **rest)  # type: ignore[arg-type]

    session._gateway = gateway
    log = spy_on(session)
    session.ask(SUM.format(1))
    return log.events


def test_what_follows_within_the_debit_is_answered(session: Session) -> None:
    assert asked_with(session, lambda made: made) == ["reserve", "run", "run", "settle"]
    same = planned(1, session.catalog)
    session._gateway = ask
    assert asked_with(session, lambda made: replace(made, costed=same.costed, sql=same.emitted))


def refused(session: Session, change: Changed) -> None:
    """The search was charged and asked; what follows is stopped before it reads a row."""
    log = spy_on(session)
    with pytest.raises(Failed) as error:
        asked_with(session, change)
    assert (error.value.code, error.value.charged) == ("engine_failure", True)
    assert log.events.count("run") == 1
    assert session.ledger.spent().amount == 1


@pytest.mark.parametrize("wave", [2, 3])
def test_what_follows_reads_no_partition_that_was_not_debited(session: Session, wave: int) -> None:
    other = planned(wave, session.catalog)
    refused(session, lambda made: replace(made, costed=other.costed, sql=other.emitted))


def test_what_follows_reads_no_unpublished_data(session: Session) -> None:
    """A plan over a catalog in which nothing was published says of no partition that it reads it."""
    tables = dict(session.catalog.tables)
    tables["answers"] = replace(tables["answers"], partition=None)
    other = planned(1, replace(session.catalog, tables=tables))
    refused(session, lambda made: replace(made, costed=other.costed, sql=other.emitted))


def of_houses(catalog: Catalog) -> Catalog:
    """The same table, with another unit."""
    answers = catalog.tables["answers"]
    unit = catalog.unit
    assert answers.unit is not None
    assert unit is not None
    table = replace(answers, unit=replace(answers.unit, column="house"))
    columns = {**answers.columns, "house": replace(answers.columns["person"], name="house")}
    tables = {"answers": replace(table, columns=columns)}
    return replace(catalog, tables=tables, unit=replace(unit, key="house"))


def test_what_follows_is_of_the_unit_that_was_debited(session: Session) -> None:
    other = planned(1, of_houses(session.catalog))
    refused(session, lambda made: replace(made, costed=other.costed, sql=other.emitted))


def test_what_follows_costs_what_was_debited(session: Session) -> None:
    refused(session, lambda made: replace(made, costed=replace(made.costed, loss=PureLoss(Fraction(2)))))


LESS = {"loss": {"loss": PureLoss(Fraction(1, 100))}, "partitions": {"partitions": None}, "unit": {"unit": None}}


@pytest.mark.parametrize("part", LESS)
def test_a_question_beyond_its_debit_is_stopped_before_anything_is_charged(session: Session, part: str) -> None:
    """`partitions`: None debits all of the data, so here the debit's partition is another one."""

    def gateway(questions: tuple[Asked, ...], debit: Any, **rest: Any) -> Outcome:
        changes = LESS[part] if part != "partitions" else {"partitions": replace(debit.partitions, first=2, last=3)}
        return ask(questions, replace(debit, **changes), **rest)

    session._gateway = gateway
    log = spy_on(session)
    with pytest.raises(InvariantBroken):
        session.ask("SELECT SUM(n) FROM answers WHERE wave = 1", epsilon=1)
    assert log.events == []
    assert session.ledger.spent().amount == 0


def test_a_batch_is_debited_for_all_of_its_questions(session: Session) -> None:
    """Also where its loss is tight: no other one stands in its place."""
    texts = [f"SELECT SUM(n) FROM answers WHERE n < {n}" for n in range(20)]
    (first, *_) = session.ask_all(texts, epsilon=0.1, delta=0)
    assert first.price.epsilon == "2"
    debits: list[Any] = []

    def gateway(questions: tuple[Asked, ...], debit: Any, **rest: Any) -> Outcome:
        debits.append(debit)
        return ask((*questions, *questions), debit, **rest)

    session._gateway = gateway
    with pytest.raises(InvariantBroken):
        session.ask_all(texts, epsilon=0.2, delta=0)
    assert len(debits) == 1
