"""Growing data: a unit counts in one partition, each partition has the whole budget, and only publishing begins one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

import obverse
from obverse.catalog.load import loads
from obverse.core.errors import BudgetExceeded, CatalogError, LedgerError, Refused
from obverse.curator.ledger import acknowledge_ledger
from obverse.curator.limits import learn
from obverse.curator.partitions import publish_data
from obverse.curator.rights import requests

TOML = """
[project]
name = "waves"
[budget]
epsilon = 10
[tables.answers]
source = "answers.parquet"
unit = "person"
limits = {{ rows = 4 }}
partition = {{ column = "wave", counts = "{counts}" }}
[tables.answers.columns]
wave = {{ type = "integer", bounds = [1, 9] }}
yes = {{ type = "boolean" }}
"""
COUNT = "SELECT COUNT(*) AS n FROM answers"
PEOPLE = 2000


def written(folder: Path, waves: int) -> None:
    """Person p comes first in wave 1 + p % 3 and answers in every wave after that."""
    rows = f"FROM range({PEOPLE}) AS p(person), range(1, {waves + 1}) AS w(wave) WHERE wave > person % 3"
    sql = f"COPY (SELECT person, wave, wave = 2 AS yes {rows}) TO '{folder / 'answers.parquet'}' (FORMAT parquet)"
    duckdb.connect().execute(sql)


@pytest.fixture
def project(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    (tmp_path / "obverse.toml").write_text(TOML.format(counts=getattr(request, "param", "first")))
    written(tmp_path, 3)
    return tmp_path


each = pytest.mark.parametrize("project", ["each"], indirect=True)


def number(session: Any, where: str = "", epsilon: float = 4) -> float:
    return float(session.ask(f"{COUNT}{where}", epsilon=epsilon).rows[0][0])


def test_nothing_is_asked_before_a_partition_is_published(project: Path) -> None:
    with obverse.open(project) as session, pytest.raises(Refused) as error:
        session.ask(COUNT)
    assert error.value.code == "nothing_published"


def test_a_unit_counts_in_its_first_partition_only(project: Path) -> None:
    publish_data(project, "3")
    with obverse.open(project) as session:
        for wave in (1, 2, 3):
            assert abs(number(session, f" WHERE wave = {wave}") - PEOPLE / 3) < 30
        assert abs(number(session) - PEOPLE) < 30


def test_nothing_past_the_last_published_partition_is_read(project: Path) -> None:
    publish_data(project, "2")
    with obverse.open(project) as session:
        assert abs(number(session) - 2 * PEOPLE / 3) < 30
        assert abs(number(session, " WHERE wave = 3", 1)) < 60


def test_each_partition_has_the_whole_budget_and_what_touches_several_is_charged_to_each(project: Path) -> None:
    publish_data(project, "3")
    with obverse.open(project) as session:
        number(session, " WHERE wave = 1", 9)
        number(session, " WHERE wave = 2", 9)
        with pytest.raises(BudgetExceeded):
            number(session, " WHERE wave = 2", 2)
        with pytest.raises(BudgetExceeded):
            number(session, " WHERE wave IN (2, 3)", 2)
        with pytest.raises(BudgetExceeded):
            number(session, "", 2)
        number(session, " WHERE wave >= 3", 9)
        number(session, "", 0.5)
        left = session.ask(f"{COUNT} WHERE wave = 3 AND yes", epsilon=0.5).remaining
        assert left.epsilon == "0"
        assert session.ledger.spent().amount == 10


def test_a_new_partition_begins_with_a_budget_of_its_own_only_when_it_is_published(project: Path) -> None:
    publish_data(project, "2")
    with obverse.open(project) as session:
        number(session, "", 9)
    written(project, 4)
    with obverse.open(project) as session, pytest.raises(BudgetExceeded):
        number(session, " WHERE wave <= 2", 5)
    publish_data(project, "3")
    with obverse.open(project) as session:
        with pytest.raises(BudgetExceeded):
            number(session, "", 5)
        assert abs(number(session, " WHERE wave = 3", 9) - PEOPLE / 3) < 30
    with pytest.raises(Refused):
        publish_data(project, "2")


@pytest.mark.parametrize("through", [None, "x", "0", "10"])
def test_the_last_partition_is_named_within_the_bounds(project: Path, through: str | None) -> None:
    with pytest.raises(Refused) as error:
        publish_data(project, through)
    assert error.value.code == "bad_parameter"


@each
def test_a_persons_part_of_a_partition_is_protected_and_the_whole_person_told_beside(project: Path) -> None:
    publish_data(project, "3")
    with obverse.open(project) as session:
        assert abs(number(session, " WHERE wave = 3") - PEOPLE) < 30
        answer = session.ask(COUNT, epsilon=2)
        assert abs(float(answer.rows[0][0]) - 2 * PEOPLE) < 60
        assert "one answers.person in one wave" in answer.claim.unit
        assert "for each wave, in parallel" in answer.claim.sentence
        assert "has lost epsilon 10 so far" in answer.claim.sentence  # 4 about wave 3, and 2 about each of three
        assert session.ledger.spent().amount == 6


@each
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(DISTINCT person) FROM answers",
        "SELECT COUNT(*) FROM (SELECT person, COUNT(*) AS n FROM answers GROUP BY person) AS p WHERE n > 2",
    ],
)
def test_a_whole_person_is_asked_of_in_one_partition_alone(project: Path, sql: str) -> None:
    publish_data(project, "3")
    with obverse.open(project) as session:
        with pytest.raises(Refused) as error:
            session.ask(sql)
        assert error.value.code == "several_partitions"
        session.ask(sql.replace("FROM answers", "FROM answers WHERE wave = 2"))


def test_how_units_count_cannot_be_changed_once_losses_were_counted(project: Path) -> None:
    publish_data(project, "3")
    with obverse.open(project) as session:
        number(session)
    (project / "obverse.toml").write_text(TOML.format(counts="each"))
    with pytest.raises(LedgerError) as error, obverse.open(project):
        pass
    assert error.value.code == "terms_conflict"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('column = "wave"', 'column = "yes"'),
        ('column = "wave"', 'column = "nothing"'),
        (", bounds = [1, 9]", ""),
        ("[budget]", '[privacy]\nneighbours = "replace"\n[budget]'),
        (
            "[tables.answers.columns]",
            '[tables.b]\nsource = "b.csv"\nunit = "person -> answers.person"\nlimits = { rows '
            "= 2 }\n"
            "[tables.answers.columns]",
        ),
        ('counts = "first"', 'counts = "each"\n}\n#{'),
    ],
)
def test_partitions_that_would_not_keep_units_apart_are_refused(old: str, new: str) -> None:
    text = TOML.format(counts="first").replace(old, new)
    if "#{" in new:
        text = TOML.format(counts="each").replace('unit = "person"\nlimits = { rows = 4 }', 'unit = "row"')
    with pytest.raises(CatalogError) as error:
        loads(text, Path("/"))
    assert error.value.code == "bad_partition"


def test_rows_outside_the_bounds_of_the_partition_column_are_in_no_partition(project: Path) -> None:
    """Were they moved to a bound, another bound would give them another partition, with a budget that is not spent."""
    (project / "obverse.toml").write_text(TOML.format(counts="first").replace("[1, 9]", "[2, 2]"))
    publish_data(project, "2")
    with obverse.open(project) as session:
        # of persons whose first wave is 1 the rows of wave 2 count here
        assert abs(number(session) - 2 * PEOPLE / 3) < 30
    (project / "obverse.toml").write_text(TOML.format(counts="first").replace("[1, 9]", "[2, 9]"))
    with obverse.open(project) as session:
        assert abs(number(session, "", 1) - 2 * PEOPLE / 3) < 60
    (project / "obverse.toml").write_text(TOML.format(counts="first"))  # from 1 on: their first wave would be another
    with pytest.raises(LedgerError) as error, obverse.open(project):
        pass
    assert error.value.code == "terms_conflict"


@pytest.mark.parametrize("project", ["first", "each"], indirect=True)
def test_bounds_that_end_before_the_last_published_partition_are_refused(project: Path) -> None:
    """Rows of wave 3 were read as of wave 2, and charged to wave 2 alone."""
    text = (project / "obverse.toml").read_text()
    publish_data(project, "3")
    (project / "obverse.toml").write_text(text.replace("[1, 9]", "[1, 2]"))
    with obverse.open(project) as session:
        with pytest.raises(Refused) as error:
            number(session, " WHERE wave = 2")
        assert error.value.code == "published_beyond_bounds"
        assert session.ledger.spent().amount == 0


def test_what_a_restored_ledger_forgot_may_be_about_any_partition(project: Path) -> None:
    """The anchor remembers the largest sum of any partition; what was lost below it is charged to all of them."""
    publish_data(project, "3")
    with obverse.open(project) as session:
        number(session, " WHERE wave = 1", 5)
    ledger = project / ".obverse" / "ledger.db"
    older = ledger.read_bytes()
    with obverse.open(project) as session:
        number(session, " WHERE wave = 2", 4)
    for beside in ledger.parent.glob("ledger.db-*"):
        beside.unlink()
    ledger.write_bytes(older)
    with pytest.raises(LedgerError), obverse.open(project):
        pass
    acknowledge_ledger(project, "the disk was restored")
    with obverse.open(project) as session:
        assert session.ledger.spent().amount == 10
        with pytest.raises(BudgetExceeded):
            number(session, " WHERE wave = 2 AND yes", 6)
        number(session, " WHERE wave = 3", 5)


@pytest.mark.parametrize("project", ["first", "each"], indirect=True)
def test_limits_of_growing_data_are_learned_of_units_as_they_count(project: Path) -> None:
    text = (project / "obverse.toml").read_text().replace("limits = { rows = 4 }", 'limits = "auto"')
    (project / "obverse.toml").write_text(text)
    publish_data(project, "3")
    learned, _ = learn(project, "answers", 5)
    assert abs(learned.rows.units[0] - PEOPLE) < 30  # each has one row: in their first wave, or in the third
    first = 'counts = "first"' in text
    with obverse.open(project) as session:
        assert abs(number(session, " WHERE wave = 3", 5) - (PEOPLE / 3 if first else PEOPLE)) < 30
        with pytest.raises(BudgetExceeded):
            number(session, " WHERE wave = 3", 1)
        if first:
            with pytest.raises(BudgetExceeded):
                number(session, " WHERE wave = 1", 6)
        else:
            assert abs(number(session, " WHERE wave = 1", 10) - PEOPLE / 3) < 30


def test_no_correction_moves_somebody_to_another_partition(project: Path) -> None:
    """Partitions have budgets in parallel because a unit counts in one of them, once and for all."""
    publish_data(project, "2")
    with requests.kept(project) as keeper, pytest.raises(Refused) as refused:
        requests.correct(keeper, 7, "answers", {"wave": 1}, "a wrong wave")
    assert refused.value.code == "correct_at_source"
    assert "partition" in refused.value.message
    with requests.kept(project) as keeper:
        assert requests.correct(keeper, 7, "answers", {"yes": True}, "a wrong answer").act == "correct"
