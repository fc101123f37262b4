"""What the page's desks ask for: sessions by token, rehearsals, prices compared, history, and what everybody may
know.
"""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import pytest

from obverse.catalog.load import load
from obverse.collect.spec import read_spec
from obverse.curator import accounts
from obverse.plan.private_bounds import Histogram, Learned
from obverse.server.rate_limits import Buckets
from obverse.session.learned_limits import keep
from obverse.session.rehearsal import rehearse
from tests.http_services import COUNT, Running, running, write_project

AT = "/v1/hospital"


def test_a_token_gives_a_session_and_a_session_gives_no_other(service: Running) -> None:
    began = service.post(f"{AT}/session", "ana")
    assert began.json() == {"version": 1, "name": "ana", "role": "analyst"}
    assert "HttpOnly" in began.headers["set-cookie"]
    assert service.get(f"{AT}/session").json()["name"] == "ana", "by the cookie alone"
    again = service.post(f"{AT}/session", "", headers={"X-Obverse": "1"})
    assert (again.status_code, again.json()["code"]) == (401, "not_signed_in")


def test_a_session_by_token_ends_with_the_token(service: Running, someone: str) -> None:
    service.post(f"{AT}/session", someone)
    assert service.get(f"{AT}/tables").status_code == 200
    accounts.revoke(service.folder, someone)
    assert service.get(f"{AT}/tables").status_code == 401


def test_a_session_by_token_ends_when_the_token_expires_though_another_lives(
    service: Running, someone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = accounts.issue(service.folder, someone, "analyst", days=1)
    service.tokens["short"] = short.token
    service.post(f"{AT}/session", "short")
    assert service.get(f"{AT}/tables").status_code == 200
    monkeypatch.setattr(service.desk, "clock", lambda: float(short.expires))
    assert service.get(f"{AT}/tables", someone).status_code == 200, "the other token of the account lives"
    assert service.get(f"{AT}/tables").status_code == 401


def test_a_rehearsal_costs_nothing_and_says_that_it_is_one(service: Running) -> None:
    before = service.spent()
    told = service.post(f"{AT}/rehearse", "ana", {"sql": COUNT, "epsilon": 0.5}).json()
    assert "made-up rows" in told["claim"]["sentence"]
    assert (told["price"]["epsilon"], told["claim"]["receipt"]) == ("0", "")
    assert told["intervals"][0][1] is not None
    assert service.spent() == before


def test_a_rehearsal_is_kept_small(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[str, object] = {}

    def small(*args: object, **more: object) -> object:
        told.update(more)
        return rehearse(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr("obverse.server.http.routes.planning.rehearsed", small)
    assert service.post(f"{AT}/rehearse", "ana", {"sql": COUNT}).status_code == 200
    assert set(told["bounds"]) == {"memory_limit", "threads", "limit_s"}  # type: ignore[call-overload]


def test_rehearsals_that_wait_are_counted(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """One runs at a time: else one analyst could have hundreds wait, and nobody else's turn would come."""
    go = threading.Event()

    def slow(*args: object, **more: object) -> object:
        assert go.wait(60)
        return rehearse(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr("obverse.server.http.routes.planning.rehearsed", slow)
    monkeypatch.setitem(service.desk._buckets, "hospital", Buckets(12, clock=lambda: 0.0))  # three at once
    with ThreadPoolExecutor(5) as pool:
        sent = [pool.submit(service.post, f"{AT}/rehearse", "ana", {"sql": COUNT}) for _ in range(5)]
        try:
            done = as_completed(sent, 30)
            first = [next(done).result().status_code for _ in range(2)]
        finally:
            go.set()
        statuses = sorted(one.result().status_code for one in sent)
    assert first == [429, 429], "while none of the others is done"
    assert statuses == [200] * 3 + [429] * 2


def test_a_rehearsal_opens_no_private_file(service: Running) -> None:
    people = service.folder / "people.csv"
    real = people.read_bytes()
    try:
        people.write_bytes(b"person_id,age,sex\n" + b"7,50,F\n" * 3)
        again = service.post(f"{AT}/rehearse", "ana", {"sql": COUNT, "seed": 5}).json()
    finally:
        people.write_bytes(real)
    assert again["rows"] == service.post(f"{AT}/rehearse", "ana", {"sql": COUNT, "seed": 5}).json()["rows"]


def test_errors_fall_with_the_price_and_everybody_alone_errs_more(service: Running) -> None:
    body = {"sql": "SELECT COUNT(*) AS n FROM people", "epsilons": [0.01, 0.1, 1.0], "people": 1000}
    told = service.post(f"{AT}/explore", "rita", body).json()
    widths = [point["widths"][0] for point in told["points"]]
    assert widths == sorted(widths, reverse=True)
    assert all(point["local"] > point["widths"][0] for point in told["points"])
    at_a_tenth = service.post(f"{AT}/explain", "rita", {"sql": body["sql"], "epsilon": 0.1}).json()
    assert widths[1] == at_a_tenth["measures"][0]["half_width"], "the explorer shows what explain promises"
    assert [point["epsilon"] for point in told["points"]] == ["0.01", "0.1", "1"]


def test_more_prices_than_can_be_drawn_are_refused(service: Running) -> None:
    refused = service.post(f"{AT}/explore", "ana", {"sql": COUNT, "epsilons": [0.1] * 13})
    assert (refused.status_code, refused.json()["code"]) == (400, "bad_parameter")


def test_history_is_ones_own_but_for_the_curator(service: Running, someone: str) -> None:
    mine = f"SELECT COUNT(*) AS of_{someone} FROM people"
    receipt = service.ask(mine, someone).json()["claim"]["receipt"]
    own = service.get(f"{AT}/questions", someone).json()["questions"]
    assert [(one["receipt"], one["sql"], one["analyst"], one["amount"], one["answer"]) for one in own] == [
        (receipt, mine, someone, "0.1", True)
    ]
    assert all(one["analyst"] == "ben" for one in service.get(f"{AT}/questions", "ben").json()["questions"])
    assert receipt in [one["receipt"] for one in service.get(f"{AT}/questions", "cora").json()["questions"]]


def test_the_specification_is_sent_to_the_byte(service: Running) -> None:
    sent = service.get(f"{AT}/surveys/smokes/spec").content
    assert read_spec(sent).id == service.get(f"{AT}/surveys/smokes").json()["id"]


def test_tokens_of_a_survey_are_fresh_each_time(service: Running) -> None:
    first, second = (
        service.post(f"{AT}/surveys/smokes/tokens", "cora", {"count": 3}).json()["tokens"] for _ in range(2)
    )
    assert len({*first, *second}) == 6
    missing = service.post(f"{AT}/surveys/nothing/tokens", "cora", {"count": 1})
    assert missing.status_code == 404


def test_the_service_verifies_its_ledger(service: Running) -> None:
    told = service.get(f"{AT}/ledger/verified", "rita").json()
    last = json.loads(service.get(f"{AT}/ledger", "rita").text.strip().splitlines()[-1])
    assert told["head"] == last["head"]


def test_everybody_sees_the_promise_and_the_charges_and_nobodys_name_or_words(service: Running, someone: str) -> None:
    service.ask(f"SELECT COUNT(*) AS secretly_{someone} FROM people", someone, epsilon=0.07)
    reply = service.get(f"{AT}/transparency")
    told = reply.json()
    assert {"amount": "0.07", "delta": "0", "times": 1} in told["charges"]
    assert told["budget"]["spent"] == service.spent()
    assert [table["limits"] for table in told["tables"]] == ["one row per unit"]
    assert (told["releases"], [one["name"] for one in told["surveys"]]) == (["2026"], ["smokes"])
    assert someone not in reply.text
    assert '"ana"' not in reply.text
    assert "towns" not in reply.text


def test_limits_that_were_learned_are_not_told_to_everybody(tmp_path: Path, home_of_the_run: None) -> None:
    """They were paid for, and follow from rows: analysts need them, and strangers see what is declared."""
    visits = '[tables.visits]\nsource = "visits.csv"\nunit = "person_id -> people.person_id"\nlimits = "auto"\n'
    folder = write_project(tmp_path / "hospital", people=315, more=visits)
    (folder / "visits.csv").write_text("person_id,cost\n1,2\n1,3\n")
    keep(load(folder), Learned("visits", Histogram((1.0, 2.0, 4.0), (0.0, 100.0, 10.0), 1.0), {}, "4", "none"))
    with running(folder) as service:
        own = {one["name"]: one["limits"] for one in service.get(f"{AT}/tables", "ana").json()["tables"]}
        card = {one["name"]: one["limits"] for one in service.get(f"{AT}/transparency").json()["tables"]}
    assert own["visits"].endswith("rows per unit")
    assert card == {"people": "one row per unit", "visits": "auto"}


def test_a_project_that_does_not_want_it_looks_like_none(tmp_path: Path, home_of_the_run: None) -> None:
    shy = write_project(tmp_path / "shy", "shy", people=311)
    told = (shy / "obverse.toml").read_text()
    (shy / "obverse.toml").write_text(told.replace("[serve]", "[serve]\ntransparency = false"))
    with running(write_project(tmp_path / "hospital", people=312), shy) as service:
        seen = []
        for project in ("shy", "nothing"):
            reply = service.get(f"/v1/{project}/transparency")
            seen.append((reply.status_code, {**reply.json(), "request": ""}))
        assert seen[0] == seen[1]
        assert seen[0][0] == 404


def test_a_project_of_surveys_alone_has_a_card_too(tmp_path: Path, home_of_the_run: None) -> None:
    poll = write_project(tmp_path / "poll", "poll", people=314)
    told = (poll / "obverse.toml").read_text()
    (poll / "obverse.toml").write_text('[project]\nname = "poll"\n' + told[told.index("[surveys.smokes]") :])
    with running(write_project(tmp_path / "hospital", people=313), poll) as service:
        reply = service.get("/v1/poll/transparency")
        assert reply.status_code == 200, reply.text
        card = reply.json()
    assert (card["budget"], card["tables"], [one["lifetime"] for one in card["surveys"]]) == (None, [], ["1"])


@pytest.mark.parametrize("path", ["/rehearse", "/explore"])
def test_what_costs_nothing_is_refused_like_a_question(service: Running, path: str) -> None:
    more = {"epsilons": [0.1]} if path == "/explore" else {}
    refused = service.post(f"{AT}{path}", "ana", {"sql": "SELECT * FROM people", **more})
    assert (refused.status_code, refused.json()["code"]) == (422, "not_aggregate")
