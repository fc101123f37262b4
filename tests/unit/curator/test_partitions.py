"""Published partitions stay as they were published: what changes whose first partition is whose is refused, or paid
for.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyarrow import parquet

import obverse
from obverse.core.errors import BudgetExceeded, ObverseError, Refused
from obverse.core.ledger import Partitions
from obverse.curator import partitions
from obverse.curator.check import check
from obverse.curator.ledger import acknowledge_ledger, backup_ledger, restore_ledger, verify_ledger
from obverse.curator.partitions import Retiring, publish_data, retire_data
from obverse.curator.rights import requests
from obverse.curator.rights.export import matched
from obverse.curator.rights.requests import acts_told
from obverse.ledger.home import default_home

TOML = """
[project]
name = "waves"
[budget]
epsilon = 1
[tables.answers]
source = "answers.parquet"
unit = "person"
limits = { rows = 3 }
partition = { column = "wave", counts = "first" }
[tables.answers.columns]
wave = { type = "integer", bounds = [1, 9] }
yes = { type = "boolean" }
"""
PEOPLE = 40
Rows = list[tuple[int, int]]


def rows(waves: Iterable[int], people: Iterable[int] = range(PEOPLE)) -> Rows:
    """Everybody answers in every wave."""
    return [(person, wave) for wave in waves for person in people]


def write(folder: Path, what: Rows) -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (person BIGINT, wave BIGINT, yes BOOLEAN)")
    if what:
        connection.executemany("INSERT INTO t VALUES (?, ?, true)", what)
    connection.execute(f"COPY t TO '{folder / 'answers.parquet'}' (FORMAT parquet)")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "obverse.toml").write_text(TOML)
    write(tmp_path, rows([1, 2, 3]))
    return tmp_path


def ask(project: Path, where: str, epsilon: float) -> Any:
    with obverse.open(project) as session:
        return session.ask(f"SELECT COUNT(*) AS n FROM answers WHERE {where}", epsilon=epsilon)


def refused(project: Path, through: str) -> ObverseError:
    before = (project / ".obverse" / "ledger.db").read_bytes()
    with pytest.raises(Refused) as error:
        publish_data(project, through)
    assert (project / ".obverse" / "ledger.db").read_bytes() == before
    return error.value


def test_deleting_old_partitions_gives_nobody_a_new_budget(project: Path) -> None:
    """Three questions of 0.9 under a cap of 1 were answered about the same people."""
    publish_data(project, "1")
    answered = 0
    for wave in (1, 2, 3):
        try:
            if wave > 1:
                write(project, rows(range(wave, 4)))
                publish_data(project, str(wave))
            ask(project, f"wave = {wave}", 0.9)
            answered += 1
        except (BudgetExceeded, Refused):
            continue
    assert answered == 1


def test_rows_that_went_or_came_late_are_refused_and_nothing_is_charged(project: Path) -> None:
    publish_data(project, "2")
    changes = {
        "wave 1 (gone)": rows([2, 3]),
        "wave 1 ": rows([1], range(1, PEOPLE)) + rows([2, 3]),
        "wave 2 ": rows([1, 2, 3]) + [(PEOPLE, 2)],
        "wave 1, 2 ": rows([1], range(10)) + rows([2], [*range(PEOPLE), *range(10, PEOPLE)]),
    }
    for told, changed in changes.items():
        write(project, changed)
        error = refused(project, "3")
        assert error.code == "partition_changed"
        assert told in error.message.replace("with wave", "wave")
        assert "obverse data retire" in error.fix
    write(project, rows([3, 2, 1]))  # the same in another order; and wave 4 comes
    publish_data(project, "3")
    write(project, rows([4, 1, 2, 3]))
    publish_data(project, "4")


def test_rows_that_were_compared_under_another_version_are_not_published(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish_data(project, "1")
    read = partitions.read_sums
    acts = iter([lambda: publish_data(project, "2")])

    def meanwhile(*args: Any) -> Any:
        found = read(*args)
        for act in acts:
            act()
        return found

    monkeypatch.setattr(partitions, "read_sums", meanwhile)
    with pytest.raises(Refused) as error:
        publish_data(project, "3")
    assert error.value.code == "published_meanwhile"
    publish_data(project, "3")


def test_values_may_be_put_right_in_the_source(project: Path) -> None:
    publish_data(project, "2")
    connection = duckdb.connect()
    file = project / "answers.parquet"
    connection.execute(f"CREATE TABLE t AS SELECT person, wave, person <> 3 AS yes FROM '{file}'")
    connection.execute(f"COPY t TO '{file}' (FORMAT parquet)")
    publish_data(project, "3")


def test_nothing_of_the_sums_is_in_the_ledger_or_its_export(project: Path) -> None:
    publish_data(project, "3")
    with obverse.open(project) as session:
        (version,) = [entry.fields for entry in session.ledger.entries() if entry.kind == "version"]
    assert {*version} - {"time"} == {"version", "through"}


def test_rows_that_are_handed_over_from_python_are_handed_over_to_be_published(project: Path) -> None:
    (project / "obverse.toml").write_text(TOML.replace('"answers.parquet"', '"python"'))
    with pytest.raises(Refused) as error:
        publish_data(project, "2")
    assert error.value.code == "rows_not_here"
    frame = parquet.read_table(project / "answers.parquet")
    publish_data(project, "2", {"answers": frame})
    with pytest.raises(Refused) as error:
        publish_data(project, "3", {"answers": frame.slice(1)})
    assert error.value.code == "partition_changed"
    assert retire_data(project, "1", "kept for a year", tables={"answers": frame}).base.amount == 0


def test_a_check_on_the_curators_word_says_what_changed(project: Path) -> None:
    publish_data(project, "2")

    def said() -> tuple[str, str]:
        found = check(project, sniff=True)
        told = [(f.level, f.message) for f in found if "published partitions" in f.message or " wave 1" in f.message]
        ((level, message),) = told
        return level, message

    assert said()[0] == "ok"
    write(project, rows([2, 3]))
    level, message = said()
    assert level == "warn"
    assert "rows of answers with wave 1 (gone) are not those that were published. Bring the rows back" in message


def test_an_earlier_ledger_takes_what_is_there_and_says_so(project: Path) -> None:
    assert publish_data(project, "2").notes == ()
    forget(project)
    (note,) = publish_data(project, "3").notes
    assert "partitions up to wave 2" in note
    assert publish_data(project, "3").notes == ()
    write(project, rows([2, 3]))
    assert refused(project, "3").code == "partition_changed"


def test_who_was_erased_before_anything_was_kept_does_not_come_back_in_a_later_partition(project: Path) -> None:
    publish_data(project, "1")
    right = left_out(project, 7)
    write(project, without(7, [1]))
    forget(project)
    publish_data(project, "1")
    lifted(project, right)
    publish_data(project, "1")
    write(project, without(7, [1]) + rows([2]))
    assert "came back with other rows" in refused(project, "2").message


def forget(project: Path) -> None:
    """As a version that kept no sums leaves it."""
    with requests.kept(project) as keeper, keeper.opened.registered.exclusive() as datasets:
        datasets.statements.execute("DELETE FROM partitions")


def test_who_publishes_later_than_somebody_else_does_not_put_back_what_was_kept_before(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sums of wave 3 were lost, and its rows could go unnoticed."""
    publish_data(project, "1")
    publish = partitions.publish

    def first_others(*given: Any, **more: Any) -> str:
        monkeypatch.setattr(partitions, "publish", publish)
        publish_data(project, "3")
        return publish(*given, **more)

    monkeypatch.setattr(partitions, "publish", first_others)
    with pytest.raises(Refused) as error:
        publish_data(project, "2")
    assert error.value.code == "published_meanwhile"
    write(project, rows([1, 2, 4]))
    assert "wave 3 (gone)" in refused(project, "4").message


# retiring


def retire(project: Path, through: str, **more: Any) -> Retiring:
    return retire_data(project, through, "kept for a year", **more)


def test_what_was_spent_on_retired_partitions_counts_for_all_that_remain_or_come(project: Path) -> None:
    publish_data(project, "2")
    ask(project, "wave = 1", 0.6)
    ask(project, "wave = 2", 0.3)
    done = retire(project, "1")
    assert (done.base.amount, done.left.amount) == (Fraction(6, 10), Fraction(4, 10))
    write(project, rows([2, 3]))
    publish_data(project, "3")
    with pytest.raises(Refused):
        retire(project, "1")  # they are retired already
    for wave in (2, 3):
        with pytest.raises(BudgetExceeded):
            ask(project, f"wave = {wave}", 0.5)
    answer = ask(project, "wave = 2", 0.4)
    assert "epsilon 0.6 counts as spent on each wave, since those up to 1 are retired" in answer.claim.sentence
    with obverse.open(project) as session:
        explained = session.explain("SELECT COUNT(*) AS n FROM answers WHERE wave = 3", epsilon=0.1)
        assert "epsilon 0.6 counts as spent on each wave" in explained.note
        assert explained.remaining is not None
        assert explained.remaining.epsilon == "0.4"
        assert "epsilon 0.6 counts as spent" in session.budget().base
    retire(project, "2")  # and what was spent on wave 2 has the first base in it
    with pytest.raises(BudgetExceeded):
        ask(project, "wave = 3", 0.1)
    verify_ledger(project)


def test_rows_of_retired_partitions_are_not_read(project: Path) -> None:
    people = "SELECT person, wave, true AS yes FROM range(4000) AS p(person), range(1, 4) AS w(wave)"
    duckdb.connect().execute(f"COPY ({people}) TO '{project / 'answers.parquet'}' (FORMAT parquet)")
    publish_data(project, "3")
    assert abs(ask(project, "wave <= 2", 0.3).rows[0][0] - 4000) < 1000  # noise of scale 30
    retire(project, "2")
    assert abs(ask(project, "wave <= 2 AND yes", 0.3).rows[0][0]) < 1000
    assert abs(ask(project, "wave <= 3 AND yes", 0.3).rows[0][0] - 4000) < 1000


def test_nothing_is_asked_once_all_is_retired_until_more_is_published(project: Path) -> None:
    publish_data(project, "2")
    ask(project, "wave = 1", 0.9)
    retire(project, "2")
    with pytest.raises(Refused) as error:
        ask(project, "wave = 3", 0.1)
    assert error.value.code == "all_retired"
    publish_data(project, "3")
    ask(project, "wave = 3", 0.1)


def test_a_session_from_before_the_act_asks_nothing_of_what_is_retired(project: Path) -> None:
    publish_data(project, "3")
    with obverse.open(project) as session:
        retire(project, "1")
        with pytest.raises(Refused) as error:
            session.ask("SELECT COUNT(*) AS n FROM answers WHERE wave = 1", epsilon=0.1)
        assert error.value.code == "partition_retired"
        assert session.ledger.spent().amount == 0


def test_partitions_that_are_not_as_they_were_are_retired_only_for_all_that_was_ever_asked(project: Path) -> None:
    publish_data(project, "3")
    ask(project, "wave = 1", 0.3)
    write(project, rows([2, 3]))  # too early: these people count in wave 2 now
    ask(project, "wave = 2", 0.4)
    with pytest.raises(Refused) as error:
        retire(project, "1")
    assert error.value.code == "partition_changed"
    assert retire(project, "1", gone=True).base.amount == Fraction(7, 10)
    publish_data(project, "3")
    with pytest.raises(BudgetExceeded):
        ask(project, "wave = 3", 0.4)


def test_partitions_of_which_nothing_was_kept_are_not_retired_as_if_none_of_their_rows_had_gone(project: Path) -> None:
    publish_data(project, "2")
    ask(project, "wave = 1", 0.5)
    write(project, rows([2, 3]))
    ask(project, "wave = 2", 0.4)
    forget(project)
    with pytest.raises(Refused) as error:
        retire(project, "1")
    assert error.value.code == "nothing_kept"
    assert "obverse data publish --through 2, then" in error.value.fix
    assert retire(project, "1", gone=True).base.amount == Fraction(9, 10)


@pytest.mark.parametrize("through", ["4", "9", "0", "x"])
def test_a_partition_that_cannot_be_retired_is_refused(project: Path, through: str) -> None:
    publish_data(project, "3")
    with pytest.raises(Refused) as error:
        retire(project, through)
    assert error.value.code == "bad_parameter"


def test_what_counts_for_retired_partitions_is_not_taken_for_a_debit_on_all_of_them(project: Path) -> None:
    """Such debits are taken off what a restored ledger may have forgotten; and what it forgot is charged to all."""
    publish_data(project, "3")
    ask(project, "wave = 1", 0.3)
    retire(project, "1")
    retire(project, "2")
    older = backup_ledger(project, project / "older.db")
    ask(project, "wave = 3", 0.6)
    restore_ledger(project, Path(older.place))
    acknowledge_ledger(project, "the disk was restored")
    with obverse.open(project) as session:
        assert session.ledger.spent(partitions=Partitions(3, 3)).amount >= Fraction(9, 10)


def test_the_curator_is_asked_before_it_is_done(project: Path) -> None:
    publish_data(project, "2")
    ask(project, "wave = 1", 1)
    with pytest.raises(Refused) as error:
        retire(project, "1", agreed=lambda plan: "no question can be asked" not in plan.words_left)
    assert error.value.code == "not_agreed"
    ask(project, "wave = 2", 0.9)  # has its own budget still


# people's rights


def left_out(project: Path, person: int) -> str:
    with requests.kept(project) as keeper:
        done = requests.erase(keeper, person, "asked for it")
    matched(project, done.right)
    return done.right


def lifted(project: Path, right: str) -> requests.Done:
    with requests.kept(project) as keeper:
        return requests.lift(keeper, right, "consent was given again")


def without(person: int, waves: Iterable[int]) -> Rows:
    return rows(waves, [one for one in range(PEOPLE) if one != person])


def test_rows_of_people_who_are_left_out_may_go(project: Path) -> None:
    publish_data(project, "2")
    left_out(project, 7)
    left_out(project, 8)
    write(project, [(who, wave) for who, wave in without(7, [1, 2, 3]) if who != 8])
    publish_data(project, "3")
    write(project, [(who, wave) for who, wave in without(7, [1, 2, 3]) if who != 9])
    assert refused(project, "3").code == "partition_changed"


def test_an_act_whose_rows_nobody_could_look_at_is_held_to_those_that_are_there(project: Path) -> None:
    publish_data(project, "2")
    with requests.kept(project) as keeper:
        requests.suppress(keeper, 7, "objection")
    publish_data(project, "3")
    write(project, without(7, [1, 2, 3]))
    publish_data(project, "3")


def test_who_is_left_out_no_more_comes_back_with_the_rows_they_had(project: Path) -> None:
    publish_data(project, "2")
    right = left_out(project, 7)
    done = lifted(project, right)
    assert done.data_version is None
    assert "data publish" in done.procedure[0]
    left_out(project, 8)  # a version of its own, which compares nothing
    with requests.kept(project) as keeper:
        assert [one["state"] for one in acts_told(keeper)][:2] == ["in force", "done"]
    write(project, without(7, [1]) + rows([2, 3]))
    error = refused(project, "3")
    assert "1 person who was left out came back with other rows" in error.message
    write(project, rows([1, 2, 3]))
    publish_data(project, "3")
    write(project, without(7, [1]) + rows([2, 3]))
    assert refused(project, "3").code == "partition_changed"  # in force no more


def test_who_was_erased_and_comes_later_is_recognised_by_a_hash_until_their_partition_is_retired(project: Path) -> None:
    publish_data(project, "1")
    ask(project, "wave = 1", 0.9)
    right = left_out(project, 7)
    write(project, without(7, [1]))
    publish_data(project, "1")
    lifted(project, right)
    publish_data(project, "1")
    for file in default_home().rglob("*"):  # the act is forgotten
        assert not file.is_file() or right.encode() not in file.read_bytes()
    write(project, without(7, [1]) + rows([2]))
    assert "came back with other rows" in refused(project, "2").message
    retire(project, "1")
    publish_data(project, "2")
    with pytest.raises(BudgetExceeded):
        ask(project, "wave = 2", 0.2)
