"""What operators see, what browsers are told, and what nobody is told when something breaks."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from obverse.core.errors import CatalogError, InvariantBroken, LedgerError
from obverse.server.errors import Stopping
from obverse.server.http.problems import STATUSES, problem_of
from obverse.server.observability import Log, Redacted
from obverse.server.queries import Desk
from obverse.server.rate_limits import Buckets
from tests.http_services import COUNT, Running

SECRET = "xyzzy is a value of a row"  # not of hexadecimal digits, as ids are


def test_health_is_the_same_for_everybody(service: Running) -> None:
    assert service.get("/health").content == service.get("/health", "ana").content == b'{"status":"ok"}'


def test_metrics_are_counts_by_outcome_for_the_curator_alone(service: Running) -> None:
    service.ask()
    service.ask("SELECT * FROM people WHERE sex = 'xyzzy'")
    found = service.get("/metrics", "cora")
    assert found.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'obverse_requests_total{project="hospital",route="/ask",outcome="refused"}' in found.text
    assert "xyzzy" not in found.text
    assert "census" not in found.text, "another curator's"
    names = {line.split("{")[0] for line in found.text.splitlines() if not line.startswith("#")}
    assert names == {"obverse_requests_total"}, "no durations, no rows"
    assert [service.get("/metrics", who).status_code for who in ("", "ana", "rita")] == [401, 403, 403]


def test_a_log_line_tells_who_asked_and_what_it_cost_and_nothing_of_the_question(service: Running) -> None:
    before = len(service.lines)
    service.ask("SELECT COUNT(*) AS n FROM people WHERE sex <> 'xyzzy'", epsilon=0.41)
    service.ask("SELECT age FROM people WHERE sex = 'xyzzy'")
    answered, refused = service.logged()[before:]
    assert set(answered) == {
        "time",
        "event",
        "request",
        "project",
        "account",
        "method",
        "route",
        "status",
        "code",
        "price",
    }
    assert (answered["account"], answered["status"], answered["price"]) == ("ana", 200, "0.41")
    assert (refused["status"], refused["code"], refused["price"]) == (422, "not_aggregate", "")
    text = b"".join(service.lines[before:])
    assert b"xyzzy" not in text
    assert service.tokens["ana"].encode() not in text


def test_every_reply_tells_browsers_to_keep_and_run_nothing(service: Running) -> None:
    for reply in (service.get("/health"), service.get("/none"), service.ask("nonsense"), service.get("/openapi.json")):
        for name, value in {
            "x-content-type-options": "nosniff", "cache-control": "no-store", "x-frame-options": "DENY",
            "referrer-policy": "no-referrer",
        }.items():  # fmt: skip
            assert reply.headers[name] == value
        assert "default-src 'none'" in reply.headers["content-security-policy"]
        assert "access-control-allow-origin" not in reply.headers
        assert "server" not in reply.headers


@pytest.mark.parametrize(
    "path", ["/docs", "/redoc", "/docs/oauth2-redirect", "/v1", "/v1/hospital", "/v1/hospital/ask/", "/p"]
)
def test_there_are_no_other_addresses(service: Running, path: str) -> None:
    assert service.get(path, "ana").status_code == 404


def breaking(service: Running, monkeypatch: pytest.MonkeyPatch, error: BaseException, method: str = "ask") -> Any:
    async def broken(*_: object) -> NoReturn:
        raise error

    monkeypatch.setattr(Desk, method, broken)
    return service.ask(COUNT) if method == "ask" else service.get("/v1/hospital/tables", "ana")


@pytest.mark.parametrize(
    "error", [ValueError(SECRET), KeyError(SECRET), InvariantBroken(SECRET), RecursionError(SECRET)]
)
def test_a_defect_while_asking_is_one_constant_text_and_counts_as_charged(
    service: Running, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    reply = breaking(service, monkeypatch, error)
    told = reply.json()
    assert (reply.status_code, told["code"], told["charged"]) == (500, "engine_failure", True)
    assert told["detail"] == f"the question could not be finished; request {told['request']}."
    assert "xyzzy" not in reply.text
    assert b"xyzzy" not in b"".join(service.lines)


def test_a_defect_elsewhere_is_told_without_a_word_of_it(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    reply = breaking(service, monkeypatch, ValueError(SECRET), "tables")
    assert (reply.status_code, reply.json()["code"], reply.json()["charged"]) == (500, "internal_error", False)
    defect = next(line for line in reversed(service.logged()) if line["event"] == "defect")
    assert defect["error"] == "ValueError"
    assert any(place.startswith("queries.py:") for place in defect["at"])
    assert b"xyzzy" not in b"".join(service.lines)


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (CatalogError("bad_bounds", "wrong", place="/home/curator/obverse.toml"), 503, "project_unavailable"),
        (LedgerError("ledger_damaged", "at /home/curator/ledger.db"), 503, "ledger_unavailable"),
        (LedgerError("ledger_unwritable", "at /home/curator/ledger.db", charged=True), 500, "engine_failure"),
        (Stopping(), 503, "stopping"),
    ],
)
def test_what_is_the_curators_to_know_is_not_told_to_others(
    service: Running, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int, code: str
) -> None:
    reply = breaking(service, monkeypatch, error)
    assert (reply.status_code, reply.json()["code"]) == (status, code)
    assert "/home" not in reply.text
    assert ("retry-after" in reply.headers) == (status == 503)


def test_each_status_of_the_table_is_a_clients_or_a_servers_error() -> None:
    assert all(400 <= status < 600 for status in STATUSES.values())
    assert problem_of(Stopping(), "x").charged is False


def test_requests_of_an_account_are_limited_and_refusals_count(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(service.desk._buckets, "hospital", Buckets(12, clock=lambda: 0.0))  # three at once
    statuses = [service.ask("SELECT * FROM people").status_code for _ in range(4)]
    assert statuses == [422, 422, 422, 429]
    stopped = service.get("/v1/hospital/tables", "ana")
    assert (stopped.status_code, stopped.json()["code"]) == (429, "too_many_requests")
    assert stopped.headers["retry-after"] == "5"
    assert service.get("/v1/hospital/tables", "ben").status_code == 200, "each account has its own"


UNREAD: dict[str, Callable[[Running], Any]] = {
    "no JSON": lambda service: service.post("/v1/hospital/ask", "ana", headers={"Content-Type": "text/plain"}),
    "an unknown key": lambda service: service.post("/v1/hospital/explain", "ana", {"sql": COUNT, "answer": 1}),
    "another's project": lambda service: service.get("/v1/census/tables", "ana"),
    "no project": lambda service: service.get("/v1/nowhere/tables", "ana"),
    "who one is": lambda service: service.get("/v1/hospital/session", "ana"),
    "a session": lambda service: service.post("/v1/hospital/session", "ana"),
    "leaving": lambda service: service.post("/v1/hospital/logout", "ana"),
    "counts": lambda service: service.get("/metrics", "ana"),
    "an answer of no kind": lambda service: service.get("/v1/hospital/answers/any", "ana"),
    "a cookie without the header": lambda service: service.client.post("/v1/hospital/explain", json={"sql": COUNT}),
    "a session of a session": lambda service: service.client.post("/v1/hospital/session", headers={"X-Obverse": "1"}),
}


@pytest.mark.parametrize("sent", UNREAD)
def test_requests_that_never_come_to_the_desk_count_too(
    sent: str, service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sent.endswith(("header", "of a session")):
        assert service.post("/v1/hospital/session", "ana").status_code == 200  # which gives the client its cookie
    monkeypatch.setitem(service.desk._buckets, "hospital", Buckets(12, clock=lambda: 0.0))  # three at once
    statuses = [UNREAD[sent](service).status_code for _ in range(5)]
    assert statuses[3:] == [429, 429]
    assert 429 not in statuses[:3]
    assert service.get("/v1/hospital/tables", "ana").status_code == 429


def test_a_file_that_the_curator_broke_is_503_until_it_is_mended(service: Running) -> None:
    toml = service.folder / "obverse.toml"
    text = toml.read_text()
    try:
        toml.write_text(text + "[nonsense]\n")
        broken = service.ask()
        assert (broken.status_code, broken.json()["code"], broken.json()["charged"]) == (
            503,
            "project_unavailable",
            False,
        )
        assert "nonsense" not in broken.text
    finally:
        toml.write_text(text)
    assert service.ask().status_code == 200


def test_an_analyst_whom_the_curator_struck_from_the_file_asks_no_more(service: Running, someone: str) -> None:
    assert service.ask(who=someone).status_code == 200
    toml = service.folder / "obverse.toml"
    text = toml.read_text()
    try:
        toml.write_text(text.replace(f"[analysts.{someone}]\n", ""))
        struck = service.ask(who=someone)
        assert struck.status_code == 401
    finally:
        toml.write_text(text)


def test_what_libraries_log_is_kept_without_what_was_put_into_it() -> None:
    """A traceback ends in the text of its error, and arguments of a message may be anything."""
    lines: list[bytes] = []
    logger = logging.Logger("asyncio")
    logger.addHandler(Redacted(Log(lines.append)))
    try:
        raise ValueError(SECRET)
    except ValueError:
        logger.exception("task %s failed", SECRET)
        logger.error(f"task {SECRET} failed", exc_info=True)
    logger.info("nothing of this")
    first, second = map(json.loads, lines)
    assert (first["words"], first["error"], second["words"]) == ("task %s failed", "ValueError", "asyncio")
    assert first["at"][-1].startswith("test_operations.py:")
    assert b"xyzzy" not in b"".join(lines)


def test_what_the_service_itself_logs_says_what_is_wrong_and_where() -> None:
    lines: list[bytes] = []
    logger = logging.Logger("obverse.server")
    logger.addHandler(Redacted(Log(lines.append)))
    logger.error("unavailable: %s %s", "bad_toml", "obverse.toml:7")
    told = json.loads(lines[0])
    assert (told["event"], told["words"]) == ("server", "unavailable: bad_toml obverse.toml:7")
