"""obverse attack on live endpoints: a service on this machine with a planted leak, a PostgreSQL server, a project."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

from tests.servers import needed, postgres_address
from tests.stub_service import TOKEN, Reply, answered, problem, serving

Obverse = Callable[..., Result]
LEAKS = 5
USAGE = 2
REFUSED = 3
PEOPLE = 120
AT_ONCE = 8


def told(found: Result) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(found.stdout)
    return answer


@pytest.fixture
def people(obverse: Obverse, monkeypatch: pytest.MonkeyPatch) -> str:
    """People in the current folder, half of them with the secret; and the token of the service."""
    monkeypatch.setenv("TOKEN", TOKEN)
    rows = [f"{i},{i % 2},{20 + i % 16}\n" for i in range(PEOPLE)]
    Path("folk.csv").write_text("id,ill,age\n" + "".join(rows), encoding="utf-8")
    return "folk.csv"


@contextmanager
def counting(noise: float, *, pays: int = 10**6, gap_s: float | None = None) -> Iterator[str]:
    """A service over these people that adds fresh noise and has a budget, debited at once; or a moment after the look,
    which
    is over once as many as ask at once have looked."""
    table = sqlite3.connect(":memory:", check_same_thread=False)
    table.execute("CREATE TABLE folk (id INTEGER, ill INTEGER, age INTEGER)")
    table.executemany("INSERT INTO folk VALUES (?, ?, ?)", [(i, i % 2, 20 + i % 16) for i in range(PEOPLE)])
    generator = np.random.default_rng(1)
    lock = threading.Lock()
    spent = [0.0]
    looked = threading.Semaphore(AT_ONCE - 1)
    all_looked = threading.Event()

    def answer(body: dict[str, Any], headers: Mapping[str, str]) -> Reply:
        price = body.get("epsilon", 1.0)
        with lock:
            try:
                ((exact,),) = table.execute(body["sql"]).fetchall()
            except sqlite3.Error:
                return problem(422, "parse_error", "this is not SQL.")
            if spent[0] + price > pays + 1e-9:
                return problem(402, "budget_exhausted", "over budget.")
            spent[0] += price if gap_s is None else 0
        if gap_s is not None:
            if looked.acquire(blocking=False):
                all_looked.wait(gap_s)  # longer than the way to a database and back: the planted flaw
                looked.release()
            else:
                all_looked.set()
            with lock:
                spent[0] += price
        with lock:
            return answered(exact + generator.laplace(0, noise))

    with serving(answer) as url:
        yield url
    table.close()


def test_a_service_is_attacked_by_its_address(obverse: Obverse, people: str) -> None:
    with counting(noise=1.5) as url:
        live = ("--url", url, "--token-env", "TOKEN", "--json")
        found = obverse("attack", "averaging", people, "--by", "age", "--repeats", "60", *live)
        assert (found.exit_code, told(found)["target"]) == (LEAKS, url)
    with counting(noise=0.0) as url:
        live = ("--url", url, "--token-env", "TOKEN", "--json")
        options = (people, "--id", "id", "--secret", "ill = 1", "--people", "20", *live)
        assert obverse("attack", "differencing", *options).exit_code == LEAKS
        assert obverse("attack", "reconstruction", *options, "--queries", "60").exit_code == LEAKS
    with counting(noise=1.0, pays=6) as url:
        live = ("--url", url, "--token-env", "TOKEN", "--epsilon", "0.5", "--json")
        found = obverse("attack", "averaging", people, "--by", "age", "--repeats", "60", *live)
        assert told(found)["figures"]["answers"] == 12


def test_a_postgresql_server_is_attacked_by_a_variable(
    obverse: Obverse, people: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = postgres_address()
    with needed("psycopg").connect(address, autocommit=True) as connection:
        connection.execute(
            f"CREATE TABLE folk AS SELECT i AS id, i % 2 AS ill FROM generate_series(0, {PEOPLE - 1}) AS g(i)"
        )
    monkeypatch.setenv("SERVER", address)
    options = (people, "--id", "id", "--secret", "ill = 1", "--people", "20", "--dsn-env", "SERVER", "--json")
    found = obverse("attack", "differencing", *options)
    assert (found.exit_code, told(found)["target"]) == (LEAKS, "dsn-env:SERVER")


def test_options_that_do_not_fit_together_are_refused(obverse: Obverse, people: str) -> None:
    base = ("attack", "averaging", people, "--by", "age")
    assert obverse(*base, "--url", "http://127.0.0.1:1/v1/p").exit_code == USAGE
    assert obverse(*base, "--token-env", "TOKEN").exit_code == USAGE
    assert obverse(*base, "--dsn-env", "X", "--call", "a:b").exit_code == USAGE
    refused = obverse(*base, "--url", "http://127.0.0.1:1/v1/p", "--token-env", "NO_SUCH_VARIABLE", "--json")
    assert (refused.exit_code, told(refused)["error"]["code"]) == (REFUSED, "variable_not_set")
    sql = ("--sql", "SELECT {}")
    assert obverse("attack", "bypass", "m:f", "--sql", "SELECT 1", "--budget", "1", "--price", "1").exit_code == USAGE
    assert obverse("attack", "bypass", "m:f", *sql, "--budget", "1", "--price", "0").exit_code == USAGE
    assert obverse("attack", "timing", "m:f", "m:g", *sql, *("--token-env", "X") * 3).exit_code == USAGE


def test_one_persons_time_is_seen_over_http(obverse: Obverse, people: str) -> None:
    """Fifty milliseconds for one person, in every reply: on a busy machine too, more than 26 of 40 are told apart."""

    def taking(seconds: float) -> Callable[[dict[str, Any], Mapping[str, str]], Reply]:
        def answer(body: dict[str, Any], headers: Mapping[str, str]) -> Reply:
            time.sleep(seconds)  # the planted flaw
            return answered(int(re.findall(r"\d+", body["sql"])[0]))

        return answer

    with serving(taking(0.05)) as slow, serving(taking(0.0)) as quick:
        options = ("--token-env", "TOKEN", "--sql", "SELECT COUNT(*) FROM folk WHERE age > {}", "--replies", "40")
        found = obverse("attack", "timing", slow, quick, *options, "--json")
    assert found.exit_code == LEAKS
    answer = told(found)
    assert (answer["attack"], answer["rate"]["trials"], answer["control"]["value"]) == ("timing", 40, 0.5)
    assert answer["figures"]["median_with_ms"] > answer["figures"]["median_without_ms"] + 10
    assert "slower" in answer["sentence"]


def test_times_of_functions_are_compared_and_a_spent_budget_is_told(obverse: Obverse, people: str) -> None:
    Path("timed.py").write_text(
        "import time\n\ndef slow(sql):\n    time.sleep(0.01)\n    return 1.0\n\ndef quick(sql):\n    return 1.0\n\n"
        "def short(sql):\n    return 1.0 if sql < 'SELECT 5' else None\n"
    )
    options = ("--sql", "SELECT {}", "--replies", "20")
    assert obverse("attack", "timing", "timed:quick", "timed:slow", *options).exit_code == LEAKS
    refused = obverse("attack", "timing", "timed:short", "timed:quick", *options, "--json")
    assert (refused.exit_code, told(refused)["error"]["code"]) == (REFUSED, "not_answered")


QUESTION = "SELECT COUNT(*) FROM folk WHERE age > {}"
BYPASS = ("--token-env", "TOKEN", "--sql", QUESTION, "--budget", "1", "--price", "0.1", "--json")


def test_a_budget_that_is_looked_at_and_debited_in_two_steps_is_found_over_http(obverse: Obverse, people: str) -> None:
    """Eight ask at the same moment for what four may have, and no debit is made before all have looked."""
    with counting(noise=5.0, pays=1, gap_s=0.5) as url:
        found = obverse("attack", "bypass", url, *BYPASS)
    assert found.exit_code == LEAKS
    assert told(found)["figures"]["beyond_by"][0].startswith("many at once")


def test_a_budget_that_is_kept_over_http_is_not_blamed(obverse: Obverse, people: str) -> None:
    with counting(noise=5.0, pays=1) as url:
        found = obverse("attack", "bypass", url, *BYPASS)
    answer = told(found)
    assert (found.exit_code, answer["rate"]["wins"], answer["figures"]["budget_pays"]) == (0, 0, 10)
    assert answer["rate"]["trials"] >= 8  # two may have been charged to somebody who had hung up
    assert answer["figures"]["not_tried"] == []


def test_a_project_keeps_to_its_budget(obverse: Obverse, project: Path) -> None:
    options = (
        "--sql",
        "SELECT COUNT(*) FROM people WHERE age > {}",
        "--budget",
        "1",
        "--price",
        "0.25",
        "--at-once",
        "3",
    )
    found = obverse("attack", "bypass", str(project), *options, "--as", "ben", "--json")
    assert (found.exit_code, told(found)["rate"]["wins"], told(found)["rate"]["trials"]) == (0, 0, 4)
    assert told(found)["target"] == "project small"
