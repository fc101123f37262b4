"""Every verb with the ledger in PostgreSQL: the same as with a file, or refused in plain words."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.servers import postgres_address

Obverse = Callable[..., Result]
Spent = Callable[[], str]
COUNT = "SELECT COUNT(*) AS n FROM people"
SECTION = """
dataset = "small people"
[ledger]
kind = "postgres"
dsn_env = "OBVERSE_TEST_LEDGER"
"""


@pytest.fixture(autouse=True)
def in_postgres(project: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The project's ledger lies in a fresh database."""
    address = postgres_address()
    monkeypatch.setenv("OBVERSE_TEST_LEDGER", address)
    file = project / "obverse.toml"
    name, rest = file.read_text(encoding="utf-8").split("\n\n", 1)
    file.write_text(f"{name}{SECTION}\n{rest}", encoding="utf-8")
    return address


def code(said: Result) -> str:
    told: str = json.loads(said.stdout)["error"]["code"]
    return told


def test_questions_are_answered_and_counted_once(obverse: Obverse, spent: Spent) -> None:
    assert obverse("ask", COUNT).exit_code == 0
    assert obverse("ask", COUNT).exit_code == 0
    assert spent() == "0.1"


def test_another_machine_spends_from_the_same_budget(
    obverse: Obverse, spent: Spent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    obverse("ask", COUNT, "--epsilon", "0.7")
    monkeypatch.setenv("OBVERSE_HOME", str(tmp_path / "second machine"))
    assert spent() == "0.7"
    said = obverse("ask", "SELECT SUM(age) FROM people", "--epsilon", "0.5", "--json")
    assert code(said) == "budget_exhausted"


def test_the_curators_verbs_work(obverse: Obverse, spent: Spent, project: Path) -> None:
    assert "none yet" in obverse("check").stdout
    obverse("ask", COUNT)
    assert "chain whole" in obverse("check").stdout
    assert " records, chain unbroken" in obverse("ledger", "verify").stdout
    assert "OBVERSE_TEST_LEDGER" in obverse("ledger", "head").stdout
    for verb, name in (("backup", "copy.db"), ("export", "copy.jsonl")):
        assert obverse("ledger", verb, name).exit_code == 0
        assert obverse("ledger", "verify", name).exit_code == 0
    assert obverse("budget", "grant", "--epsilon", "1", "--reason", "a second study").exit_code == 0
    (project / "people.csv").write_text("person_id,age,sex,remark\n1,42,F,hello\n", encoding="utf-8")
    assert "changed since" in obverse("check").stdout
    assert obverse("data", "publish").exit_code == 0
    assert "changed since" not in obverse("check").stdout
    assert not (project / ".obverse" / "ledger.db").exists()


@pytest.mark.parametrize(
    ("verb", "name", "why"),
    [
        ("move", "onward.db", "ledger_in_server"),
        ("restore", "people.csv", "ledger_damaged"),
        ("restore", "copy.db", "not_moved"),
    ],
)
def test_what_is_done_with_files_is_refused(obverse: Obverse, verb: str, name: str, why: str) -> None:
    obverse("ask", COUNT)
    obverse("ledger", "backup", "copy.db")
    said = obverse("ledger", verb, name, "--json")
    assert (said.exit_code, code(said)) == (3, why)
    assert obverse("ledger", "verify").exit_code == 0


def test_a_ledger_in_a_file_is_brought_to_the_server_with_all_that_was_spent(
    obverse: Obverse, spent: Spent, project: Path
) -> None:
    shared = (project / "obverse.toml").read_text(encoding="utf-8")
    alone = shared.replace('[ledger]\nkind = "postgres"\ndsn_env = "OBVERSE_TEST_LEDGER"\n', "")
    (project / "obverse.toml").write_text(alone, encoding="utf-8")
    obverse("ask", COUNT, "--epsilon", "0.7")
    assert obverse("ledger", "move", "onward.db").exit_code == 0
    (project / "obverse.toml").write_text(shared, encoding="utf-8")
    assert code(obverse("ask", COUNT, "--json")) == "ledger_elsewhere"
    for _ in range(2):
        assert obverse("ledger", "restore", "onward.db").exit_code == 0
        assert spent() == "0.7"
    assert obverse("ledger", "verify").exit_code == 0
    assert obverse("ask", COUNT, "--epsilon", "0.7").exit_code == 0
    assert spent() == "0.7"
    (project / "obverse.toml").write_text(alone, encoding="utf-8")
    assert code(obverse("ask", COUNT, "--json")) == "ledger_elsewhere"
    assert code(obverse("ledger", "restore", "onward.db", "--json")) == "ledger_in_server"


def test_a_moved_file_that_went_on_elsewhere_is_not_brought_to_the_server(
    obverse: Obverse, spent: Spent, project: Path
) -> None:
    shared = (project / "obverse.toml").read_text(encoding="utf-8")
    alone = shared.replace('[ledger]\nkind = "postgres"\ndsn_env = "OBVERSE_TEST_LEDGER"\n', "")
    (project / "obverse.toml").write_text(alone, encoding="utf-8")
    obverse("ask", COUNT, "--epsilon", "0.1")
    obverse("ledger", "move", "onward.db")
    assert obverse("ledger", "restore", "onward.db").exit_code == 0
    assert obverse("ask", COUNT, "--epsilon", "0.7").exit_code == 0
    (project / "obverse.toml").write_text(shared, encoding="utf-8")
    assert code(obverse("ledger", "restore", "onward.db", "--json")) == "ledger_rolled_back"
    assert code(obverse("ask", COUNT, "--json")) == "ledger_elsewhere"
    (project / "obverse.toml").write_text(alone, encoding="utf-8")
    assert spent() == "0.8"


def test_another_database_opens_only_when_acknowledged(
    obverse: Obverse, spent: Spent, monkeypatch: pytest.MonkeyPatch
) -> None:
    obverse("ask", COUNT)
    monkeypatch.setenv("OBVERSE_TEST_LEDGER", postgres_address())
    assert code(obverse("ask", COUNT, "--json")) == "ledger_missing"
    assert obverse("ledger", "acknowledge", "--reason", "the server was lost").exit_code == 0
    assert spent() == "0.1"


def test_a_server_that_is_not_there_answers_nothing(obverse: Obverse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OBVERSE_TEST_LEDGER")
    assert code(obverse("ask", COUNT, "--json")) == "no_address"
