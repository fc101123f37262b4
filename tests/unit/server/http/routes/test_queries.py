"""Questions over HTTP: answers, their address, their price, and what is wrong with them."""

from __future__ import annotations

import csv
import io

import pytest

import obverse
from tests.http_services import COUNT, Running


def test_an_answer_has_the_shape_of_version_one_and_an_address(service: Running) -> None:
    reply = service.ask(epsilon=0.2)
    told = reply.json()
    assert list(told) == ["version", "columns", "rows", "intervals", "level", "claim", "price", "remaining"]
    assert (told["version"], told["price"]["epsilon"], len(told["rows"])) == (1, "0.2", 3)
    assert reply.headers["location"] == f"/v1/hospital/answers/{told['claim']['receipt']}.json"


def test_the_claim_does_not_say_that_whoever_asks_can_read_the_files(service: Running) -> None:
    sentence = service.ask(epsilon=0.21).json()["claim"]["sentence"]
    assert "in process" not in sentence
    assert sentence.endswith("Asked of a service, which alone reads the rows.")


def test_an_answers_address_gives_the_same_for_ever_and_for_nothing(service: Running) -> None:
    place = service.ask(epsilon=0.3).headers["location"]
    spent = service.spent()
    first, second = (service.get(place, "ana") for _ in range(2))
    assert first.content == second.content
    assert first.json()["price"]["stored"] is True
    assert service.spent() == spent


def test_an_answer_is_its_askers_and_the_curators_and_nobody_elses(service: Running) -> None:
    place = service.ask(epsilon=0.31).headers["location"]
    assert [service.get(place, who).status_code for who in ("ana", "cora", "rita", "ben", "")] == [
        200,
        200,
        200,
        404,
        401,
    ]


def test_csv_is_safe_for_spreadsheets_and_leaves_numbers_alone(service: Running) -> None:
    """The category =X would be run as a formula; a negative count is a number."""
    reply = service.ask("SELECT sex, COUNT(*) - 1000000 AS n FROM people GROUP BY sex", epsilon=0.32)
    found = service.get(reply.headers["location"].replace(".json", ".csv"), "ana")
    assert found.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.reader(io.StringIO(found.text)))
    assert rows[0] == ["sex", "n", "n_low", "n_high"]
    assert [row[0] for row in rows[1:]] == ["F", "M", "'=X"]
    assert [int(row[1]) for row in rows[1:]] == [row[1] for row in reply.json()["rows"]]


@pytest.mark.parametrize("name", ["abc", "abc.xml", ".json", "../x.json", "%2e%2e.csv"])
def test_what_is_no_address_of_an_answer_is_not_found(service: Running, name: str) -> None:
    assert service.get(f"/v1/hospital/answers/{name}", "ana").status_code == 404


def test_what_was_charged_otherwise_than_as_one_question_has_no_address_here(service: Running) -> None:
    """A batch, which only somebody in process can ask; a release is stored in a shape of its own too."""
    with obverse.open(service.folder) as session:
        receipt = session.ask_all([COUNT, "SELECT AVG(age) AS a FROM people"], epsilon=0.01)[0].claim.receipt
    for kind in ("json", "csv"):
        assert service.get(f"/v1/hospital/answers/{receipt}.{kind}", "cora").status_code == 404


def test_explaining_is_free_and_quotes_what_is_charged(service: Running) -> None:
    spent = service.spent()
    told = service.post("/v1/hospital/explain", "ana", {"sql": COUNT, "epsilon": 0.33}).json()
    assert (told["price"]["epsilon"], service.spent()) == ("0.33", spent)
    assert service.ask(epsilon=0.33).json()["price"]["epsilon"] == "0.33"


def test_a_refused_question_says_where_and_costs_nothing(service: Running) -> None:
    spent = service.spent()
    reply = service.ask("SELECT * FROM people")
    told = reply.json()
    assert (reply.status_code, told["code"], told["charged"]) == (422, "not_aggregate", False)
    assert told["where"] == {"line": 1, "column": 8}
    assert list(told) == ["type", "title", "status", "detail", "code", "charged", "where", "why", "fix", "request"]
    assert told["request"] == reply.headers["x-request-id"]
    assert service.spent() == spent


def test_a_spent_budget_is_402_so_that_no_client_tries_again_by_itself(service: Running) -> None:
    service.ask()
    reply = service.ask(epsilon=100)
    assert (reply.status_code, reply.json()["code"], reply.json()["charged"]) == (402, "budget_exhausted", False)
    assert "retry-after" not in reply.headers


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"sql": COUNT, "epsilom": 1},
        {"sql": COUNT, "epsilon": "0.1"},
        {"sql": COUNT, "epsilon": True},
        {"sql": 1},
        [],
        "x",
        {"sql": COUNT, "first": 1.5},
        {"sql": COUNT, "parameters": 3},
        {"sql": COUNT, "epsilon": -1},
    ],
)
def test_a_body_of_another_shape_is_refused(service: Running, body: object) -> None:
    reply = service.post("/v1/hospital/ask", "ana", body)
    assert (reply.status_code, reply.json()["code"]) == (400, "bad_parameter")


def test_parameters_are_values_and_never_sql(service: Running) -> None:
    named = service.ask("SELECT COUNT(*) AS n FROM people WHERE age > :least", parameters={"least": 30}, epsilon=0.34)
    listed = service.ask("SELECT COUNT(*) AS n FROM people WHERE sex = ?", parameters=["F' OR '1'='1"], epsilon=0.34)
    assert (named.status_code, listed.status_code) == (200, 200)
    assert listed.json()["rows"][0][0] < 200


def test_public_tables_are_exact_free_and_have_no_address(service: Running) -> None:
    reply = service.ask("SELECT town, size FROM towns ORDER BY size")
    assert reply.json()["rows"] == [["a", 1], ["b", 2]]
    assert "location" not in reply.headers


def test_an_analyst_sees_the_common_budget_and_their_own(service: Running) -> None:
    def names(who: str) -> list[str]:
        return [line["name"] for line in service.get("/v1/hospital/budget", who).json()["lines"]]

    assert names("ana") == ["everybody", "ana"]
    assert names("cora")[:3] == ["everybody", "ana", "ben"]


def test_an_undeclared_purpose_is_refused(service: Running) -> None:
    assert service.ask(purpose="gossip").status_code == 422


def test_a_key_stands_for_one_question_of_one_analyst(service: Running) -> None:
    first = service.ask(epsilon=0.35, key="k1")
    again = service.ask(epsilon=0.35, key="k1")
    other = service.ask(epsilon=0.36, key="k1")
    anothers = service.ask(epsilon=0.35, key="k1", who="ben")
    assert first.json()["rows"] == again.json()["rows"]
    assert again.json()["price"]["stored"] is True
    assert (other.status_code, other.json()["code"], other.json()["charged"]) == (409, "idempotency_conflict", False)
    assert anothers.json()["claim"]["receipt"] != first.json()["claim"]["receipt"]
    assert anothers.json()["price"]["stored"] is False


def test_a_key_that_is_too_long_is_refused(service: Running) -> None:
    assert service.ask(key="k" * 201).status_code == 400


def test_a_question_that_would_take_too_long_is_refused_for_nothing(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("obverse.server.timing.LONGEST_S", 0.0)
    spent = service.spent()
    reply = service.ask(epsilon=0.37)
    assert (reply.status_code, reply.json()["code"], service.spent()) == (422, "too_costly", spent)


def test_an_engine_that_does_not_answer_is_503_and_free(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every process that waits for a question dies before it can say that it is there."""
    spent = service.spent()
    monkeypatch.setattr("obverse.server.sandbox.protocol.send", lambda *_: (_ for _ in ()).throw(OSError()))
    reply = service.ask(epsilon=0.38)
    monkeypatch.undo()
    assert (reply.status_code, reply.json()["code"], service.spent()) == (503, "project_unavailable", spent)
    assert service.ask(epsilon=0.38).status_code == 200
