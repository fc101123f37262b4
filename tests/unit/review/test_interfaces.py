"""Endpoints as attacks see them: a service over HTTP, and any PostgreSQL server."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from obverse.attack.attacks import Bypass
from obverse.attack.targets import Put
from obverse.core.errors import Failed, ObverseError, Refused
from obverse.review.interfaces import CLAIMED, HttpEndpoint, ask_at, interface_at, one_number, postgres_interface
from tests.servers import needed, postgres_address
from tests.stub_service import TOKEN, Reply, answered, problem, serving

PRICE = Fraction(1, 10)


def code_of(endpoint: HttpEndpoint) -> str:
    with pytest.raises(ObverseError) as refused:
        endpoint.ask("SELECT 1")
    return refused.value.code


def test_a_question_is_sent_with_its_price_and_all_that_is_said_beside() -> None:
    seen: list[tuple[dict[str, Any], dict[str, str]]] = []

    def answer(body: dict[str, Any], headers: Mapping[str, str]) -> Reply:
        seen.append((body, dict(headers)))
        return answered(7)

    with serving(answer) as url:
        endpoint = HttpEndpoint(f"{url}/", TOKEN)
        assert endpoint.ask("SELECT 1") == 7.0
        assert endpoint.put(Put("SELECT 2", PRICE, "k", "ben")) == 7.0
    assert TOKEN not in repr(endpoint)
    assert [body for body, _ in seen] == [{"sql": "SELECT 1"}, {"sql": "SELECT 2", "epsilon": 0.1}]
    assert "Idempotency-Key" not in seen[0][1]
    assert seen[1][1]["Idempotency-Key"] == "k"
    assert {seen[1][1][name] for name in CLAIMED} == {"ben"}


def test_over_budget_there_is_no_answer_and_other_refusals_say_why() -> None:
    told: list[Reply] = [
        problem(402, "budget_exhausted", "over budget."),
        problem(422, "no_bounds", "SUM needs\x1b[31m bounds.", why="because", fix="declare them"),
        problem(500, "engine_failure", "the question could not be finished.", charged=True),
        (500, b"<html>", {}),
        (200, b"[1]", {}),
    ]
    with serving(lambda body, headers: told.pop(0)) as url:
        endpoint = HttpEndpoint(url, TOKEN)
        assert endpoint.ask("SELECT 1") is None
        with pytest.raises(Refused) as refused:
            endpoint.ask("SELECT SUM(x) FROM t")
        error = refused.value
        assert (error.code, error.message, error.why, error.fix) == (
            "no_bounds", "the service says: SUM needs [31m bounds.", "because", "declare them",
        )  # fmt: skip
        with pytest.raises(Failed) as failed:
            endpoint.ask("SELECT 1")
        assert failed.value.charged
        assert code_of(endpoint) == "endpoint_refused"
        assert code_of(endpoint) == "not_a_number"
        assert code_of(HttpEndpoint(url, "obv_wrong")) == "not_signed_in"


def test_who_asks_too_often_waits_as_long_as_the_service_says() -> None:
    told = [problem(429, "too_many_requests", "slowly!"), problem(429, "too_many_requests", "slowly!"), answered(1)]
    told[0][2]["Retry-After"] = "7"  # type: ignore[index]
    told[1][2]["Retry-After"] = "86400"  # type: ignore[index]
    waited: list[float] = []
    with serving(lambda body, headers: told.pop(0)) as url:
        assert HttpEndpoint(url, TOKEN, waited.append).ask("SELECT 1") == 1.0
    assert waited == [7, 60]
    with serving(lambda body, headers: problem(429, "too_many_requests", "slowly!")) as url:
        assert code_of(HttpEndpoint(url, TOKEN, waited.append)) == "too_many_requests"


def test_a_token_is_not_carried_to_where_a_reply_points() -> None:
    elsewhere: list[str] = []

    def thief(body: dict[str, Any], headers: Mapping[str, str]) -> Reply:
        elsewhere.append(headers["Authorization"])
        return answered(1)

    with serving(thief) as trap:
        for status in (301, 302, 303, 307, 308):
            with serving(lambda body, headers, s=status: (s, {}, {"Location": f"{trap}/ask"})) as url:  # type: ignore[misc]
                assert code_of(HttpEndpoint(url, TOKEN)) == "endpoint_refused"
    assert elsewhere == []


def test_who_leaves_has_no_answer_and_who_waits_has() -> None:
    """The reply is held back until the asker has hung up, so that nothing is left to speed."""
    left = threading.Event()

    def answer(body: dict[str, Any], headers: Mapping[str, str]) -> Reply:
        assert left.wait(30)
        return answered(5)

    with serving(answer) as url:
        endpoint = HttpEndpoint(url, TOKEN)
        assert endpoint.put(Put("SELECT 1", PRICE, leaves=True)) is None
        left.set()
        assert endpoint.put(Put("SELECT 1", PRICE)) == 5.0


def test_what_is_no_address_and_what_does_not_reply_is_told() -> None:
    for url in ("file:///etc/passwd", "ftp://host/x", "https://", "people.csv"):
        with pytest.raises(Refused) as refused:
            HttpEndpoint(url, TOKEN)
        assert refused.value.code == "bad_url"
    with serving(lambda body, headers: answered(1)) as url:
        pass
    assert code_of(HttpEndpoint(url, TOKEN)) == "endpoint_unreachable"
    codes = []
    for place, token in ((url, ""), (url, "UNSET"), ("dsn-env:UNSET", ""), ("nowhere", ""), ("no:where", "")):
        with pytest.raises(Refused) as refused:
            interface_at(place, token)
        codes.append(refused.value.code)
    assert codes == ["no_token", "variable_not_set", "variable_not_set", "no_such_place", "no_such_function"]


def test_one_number_is_one_number() -> None:
    assert one_number([[3]]) == 3.0
    assert one_number([["0.5"]]) == 0.5
    assert one_number([(None,)]) is None
    for rows in (None, [], [[]], [[1, 2]], [[1], [2]], [["x"]], "1", [[[1]]], [[float("nan")]], [[10**400]]):
        with pytest.raises(Refused) as refused:
            one_number(rows)
        assert refused.value.code == "not_a_number"


@pytest.fixture
def server() -> str:
    """A PostgreSQL server with a table, a question that is over budget, and one that takes for ever."""
    psycopg = needed("psycopg")
    address = postgres_address()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE TABLE people AS SELECT i AS id, i % 2 AS ill FROM generate_series(1, 40) AS g(i)")
        connection.execute("""
            CREATE FUNCTION spent() RETURNS integer LANGUAGE plpgsql AS $$
            BEGIN RAISE EXCEPTION 'over budget' USING ERRCODE = '53400'; END $$""")
    return address


def test_any_postgresql_server_is_asked(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVER", server)
    with ask_at("dsn-env:SERVER", epsilon="0.1") as ask:
        assert ask("SELECT COUNT(*) FROM people WHERE ill = 1") == 20.0
        assert ask("SELECT 100 % 30") == 10.0
        assert ask("SELECT current_setting('obverse.epsilon')") == 0.1
        assert ask("SELECT spent()") is None
        assert ask("SELECT NULL::integer") is None
        with pytest.raises(Refused) as refused:
            ask("SELECT nothing FROM people")
        assert refused.value.code == "endpoint_refused"
        assert "nothing" in refused.value.message
        assert ask("SELECT COUNT(*) FROM people") == 40.0


def test_a_postgresql_server_is_asked_in_other_names_and_left(server: str) -> None:
    with postgres_interface(server).connect() as door:
        assert door(Put("SELECT COUNT(*) FROM pg_sleep(600)", PRICE, leaves=True)) is None
        assert door(Put("SELECT current_setting('obverse.epsilon')", Fraction(1, 100))) == 0.01
        with pytest.raises(Refused):
            door(Put("SELECT 1", PRICE, name="nobody at all"))
        assert door(Put("SELECT 1", PRICE, name="postgres")) == 1.0
    with pytest.raises(Refused) as refused, postgres_interface("host=127.0.0.1 port=1 connect_timeout=2").connect():
        pass
    assert refused.value.code == "endpoint_unreachable"


def test_a_server_without_a_budget_is_found_out(server: str) -> None:
    attack = Bypass(Fraction(1), PRICE, at_once=4)
    found = attack.run(postgres_interface(server), lambda i: f"SELECT COUNT(*) + {i} FROM people")
    assert found.leaks
    assert found.figures["beyond_by"][0].startswith("many at once")


def test_a_project_keeps_to_its_budget_from_many_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBVERSE_HOME", str(tmp_path / "home"))
    (tmp_path / "people.csv").write_text("id,age\n" + "".join(f"{i},{i % 90}\n" for i in range(200)))
    (tmp_path / "obverse.toml").write_text(
        '[project]\nname = "p"\n[budget]\nepsilon = 0.6\n[analysts.ana]\n[tables.people]\nsource = "people.csv"\nunit '
        '= "id"\n'
        '[tables.people.columns]\nage = { type = "integer", bounds = [0, 120] }\n'
    )
    attack = Bypass(Fraction(6, 10), PRICE, at_once=4, names=("ana",))
    found = attack.run(interface_at(str(tmp_path)), lambda i: f"SELECT COUNT(*) FROM people WHERE age > {i}")
    assert (found.rate.wins, found.rate.trials) == (0, 6)
    assert found.figures["not_tried"] == ["cancelled"]
