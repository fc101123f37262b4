"""Surveys over HTTP: cards for everybody, reports from anybody with a token, and nothing kept of who sent them."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from obverse.collect.project import collection_in
from obverse.collect.randomness.coins import Coins
from obverse.collect.spec import Spec, spec_of
from obverse.server.http.app import create_app
from obverse.server.http.service import STRANGERS
from obverse.server.observability import Log
from obverse.server.project import Host
from obverse.server.queries import Desk
from obverse.server.survey_inbox import WAITING_MAX
from tests.http_services import Running

REPORTS = "/v1/hospital/surveys/smokes/reports"


def spec_read(service: Running) -> Spec:
    """By the specification that is served, as a device reads it."""
    return spec_of(service.get("/v1/hospital/surveys/smokes").json()["spec"])


def made(service: Running, answers: list[str]) -> list[dict[str, str]]:
    spec = spec_read(service)
    collection = collection_in(service.folder, "smokes")
    tokens = collection.tokens(len(answers))
    collection.close()
    coins = Coins(os.urandom)
    framed = [
        spec.frame.framed(0, spec.protocol.report(spec.code(a), coins, spec.seed(t))) for a, t in zip(answers, tokens)
    ]
    return [{"token": token.hex(), "report": report.hex()} for token, report in zip(tokens, framed)]


def counted(service: Running) -> tuple[int, dict[str, int]]:
    collection = collection_in(service.folder, "smokes")
    try:
        tally = collection.tally()
    finally:
        collection.close()
    return tally.n, dict(tally.rejected)


def send(service: Running, reports: list[dict[str, str]]) -> Any:
    return service.post(REPORTS, "", {"reports": reports})


def test_the_card_and_the_specification_are_public(service: Running) -> None:
    told = service.get("/v1/hospital/surveys/smokes").json()
    assert told["id"] == told["card"]["id"] == spec_read(service).id
    assert service.get("/v1/hospital/surveys").json()["names"] == ["smokes"]


def test_reports_are_counted_once_each_and_the_reply_tells_how_many_were(service: Running) -> None:
    before, _ = counted(service)
    reports = made(service, ["yes"] * 12)
    forged = {**reports[0], "token": "00" * 32}
    first = send(service, [*reports, reports[0], forged])
    again = send(service, reports)
    told = {"version": 1, "received": 14, "counted": 12, "rejected": {"spent": 1, "token": 1}}
    assert (first.status_code, first.json()) == (202, told)
    assert again.json() == {"version": 1, "received": 12, "counted": 0, "rejected": {"spent": 12}}
    now, rejected = counted(service)
    assert now - before == 12
    assert (rejected["spent"], rejected["token"]) == (13, 1)
    told = service.get("/v1/hospital/surveys/smokes/estimate", "rita")
    assert (told.status_code, told.json()["reports"]) == (200, now)


def test_reports_that_come_together_lie_in_one_file(service: Running) -> None:
    """So that a file is not one person's report, and there are not more of them than seconds."""
    folder = next((service.folder / ".obverse" / "collect").iterdir())
    before = {path.name for path in folder.glob("*.parquet")}
    reports = made(service, ["no"] * 8)
    with ThreadPoolExecutor(8) as pool:
        assert {reply.status_code for reply in pool.map(lambda one: send(service, [one]), reports)} == {202}
    files = [path for path in folder.glob("*.parquet") if path.name not in before]
    assert len(files) < 8
    assert all(path.stat().st_mtime == 0 for path in files), "not even the file system says when"


def test_each_sender_learns_of_their_own_reports_alone(service: Running) -> None:
    """Written together, in one file; one link was used before, and another one is used twice at once."""
    reports = made(service, ["no"] * 6)
    assert send(service, reports[:1]).json()["counted"] == 1
    sent = [*reports, reports[5]]
    with ThreadPoolExecutor(len(sent)) as pool:
        replies = [reply.json() for reply in pool.map(lambda one: send(service, [one]), sent)]
    assert replies[0] == {"version": 1, "received": 1, "counted": 0, "rejected": {"spent": 1}}
    assert [reply["counted"] for reply in replies[1:5]] == [1, 1, 1, 1]
    assert sorted(reply["counted"] for reply in replies[5:]) == [0, 1]


def test_nothing_of_a_report_is_logged_or_counted_with_a_time(service: Running) -> None:
    reports = made(service, ["yes"])
    lines = len(service.lines)
    assert send(service, reports).status_code == 202
    assert len(service.lines) == lines


@pytest.mark.parametrize(
    ("token", "report"),
    [("00", "00"), ("00" * 32, "00"), ("00" * 31, None), ("00" * 32, "ff"), ("zz", "00"), ("0", "0")],
)
def test_what_is_no_report_of_the_survey_is_refused(service: Running, token: str, report: str | None) -> None:
    spec = spec_read(service)
    whole = spec.frame.framed(0, bytes(spec.frame.payload)).hex() if report is None else report
    reply = send(service, [{"token": token, "report": whole if report != "ff" else "ff" * spec.frame.length}])
    assert reply.json()["code"] in ("report_refused", "bad_parameter")
    assert reply.status_code in (400, 422)


def test_too_many_reports_at_once_are_refused(service: Running) -> None:
    one = made(service, ["yes"])[0]
    assert send(service, [one] * 101).status_code == 400
    assert send(service, []).status_code == 400


def test_too_many_waiting_reports_are_told_to_wait(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("obverse.server.survey_inbox.WAITING_MAX", 0)
    reply = send(service, made(service, ["yes"]))
    assert (reply.status_code, reply.json()["code"]) == (429, "too_many_requests")
    assert WAITING_MAX > 100


def test_ldp_014_a_flood_of_reports_is_429_and_what_was_taken_is_counted(service: Running) -> None:
    """The corpus's flood: of one address so many requests are taken, the rest is told to wait, and nothing is kept
    of it.
    """
    strangers = service.client.app.state.service.strangers  # type: ignore[attr-defined]
    reports = made(service, ["yes"] * 60)
    before, _ = counted(service)
    strangers.__init__(40, clock=lambda: 0.0)  # a quarter of it at once, and time stands still
    try:
        with ThreadPoolExecutor(20) as pool:
            replies = list(pool.map(lambda one: send(service, [one]), reports))
    finally:
        strangers.__init__(STRANGERS)
    statuses = [reply.status_code for reply in replies]
    assert (statuses.count(202), statuses.count(429)) == (10, 50)
    stopped = replies[statuses.index(429)]
    assert stopped.json()["code"] == "too_many_requests"
    assert int(stopped.headers["retry-after"]) >= 1
    assert counted(service)[0] - before == 10, "what was acknowledged is written, and nothing else"
    again = [report for report, status in zip(reports, statuses) if status == 429][:3]
    assert send(service, again).status_code == 202, "a token whose report was not taken is not spent"
    assert counted(service)[0] - before == 13


def test_a_survey_with_a_shuffler_takes_its_reports_there(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from obverse.server.http.routes import surveys

    spec, choice = surveys.spec_in(service.folder, "smokes")
    shuffled = replace(spec, survey=replace(spec.survey, shuffler="00" * 32))
    monkeypatch.setattr(surveys, "spec_in", lambda path, name: (shuffled, choice))
    report = shuffled.frame.framed(0, bytes(shuffled.frame.payload)).hex()
    reply = send(service, [{"token": "00" * 32, "report": report}])
    assert (reply.status_code, reply.json()["code"]) == (422, "attested_only")


SURVEYS_ALONE = """
[project]
name = "poll"
[surveys.smokes]
question = "Do you smoke?"
options = ["no", "yes"]
epsilon = 1
people = 500
retention_days = 30
purpose = "A test."
consent = "I agree."
"""


def test_a_project_of_surveys_alone_is_served_to_respondents_and_to_nobody_else(tmp_path: Path) -> None:
    (tmp_path / "poll").mkdir()
    (tmp_path / "poll" / "obverse.toml").write_text(SURVEYS_ALONE)
    host = Host(tmp_path / "poll")
    try:

        async def main() -> tuple[Any, ...]:
            app = create_app(Desk([host]), tls=False, log=Log())
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
                card = await client.get("/v1/poll/surveys/smokes")
                stranger = await client.get("/v1/poll/tables", headers={"Authorization": "Bearer obv_x"})
                spec = spec_of(card.json()["spec"])
                collection = collection_in(tmp_path / "poll", "smokes")
                (token,) = collection.tokens(1)
                report = spec.frame.framed(
                    0, spec.protocol.report(spec.code("yes"), Coins(os.urandom), spec.seed(token))
                )
                sent = {"reports": [{"token": token.hex(), "report": report.hex()}]}
                taken = await client.post("/v1/poll/surveys/smokes/reports", json=sent)
                counts = collection.tally().n
                collection.close()
                return card.status_code, stranger.status_code, taken.status_code, counts

        assert asyncio.run(main()) == (200, 401, 202, 1)
    finally:
        host.close()
