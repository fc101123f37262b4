"""The part of the corpus that misuses HTTP: each line is one test, named by its id."""

from __future__ import annotations

import gzip
import http.client
import json
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from obverse.curator import accounts
from obverse.server.http import login
from obverse.server.http.middleware import BODY_MAX
from tests.http_services import COUNT, Running, listening, running, write_project

HERE = Path(__file__).parent
ASK = "/v1/hospital/ask"


@pytest.fixture
def home_of_the_test() -> None:
    """The service outlives a test, and so does its home."""


@pytest.fixture(scope="module")
def service(home_of_the_run: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("misused")
    census = write_project(folder / "census", "census", people=299)
    with running(write_project(folder / "hospital", people=300), census) as started:
        yield started


@pytest.fixture(scope="module")
def address(service: Running) -> Iterator[tuple[str, int]]:
    """The same project over a socket: a second server over the same ledger."""
    with listening(service.folder) as place:
        yield place


def refused(service: Running, body: bytes, **headers: str) -> tuple[int, str]:
    """Sent as it is; nothing may be spent on it."""
    spent = service.spent()
    sent = {"Content-Type": "application/json", **service.headers("ana"), **headers}
    reply = service.client.post(ASK, content=body, headers=sent)
    assert service.spent() == spent
    assert reply.json()["charged"] is False
    assert reply.json()["status"] == reply.status_code
    return reply.status_code, reply.json()["code"]


def asked(**wish: Any) -> bytes:
    return json.dumps({"sql": COUNT, **wish}).encode()


def test_every_line_of_the_corpus_has_its_test() -> None:
    lines = map(json.loads, (HERE / "corpus.jsonl").read_text().splitlines())
    ids = {line["id"].replace("-", "_") for line in lines if line["kind"] == "http"}
    tested = set(re.findall(r"^def test_(http_\d+)_", Path(__file__).read_text(), re.M))
    assert (tested, len(ids)) == (ids, 20)


def test_http_002_an_expired_token_is_401(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expiry is by the server's clock, to the second."""
    made = accounts.issue(service.folder, "ben", "analyst", days=1)
    service.tokens["late"] = made.token
    monkeypatch.setattr(service.desk, "clock", lambda: made.expires - 1)
    assert service.ask(who="late").status_code == 200
    monkeypatch.setattr(service.desk, "clock", lambda: made.expires)
    assert service.ask(who="late").status_code == 401


def test_http_003_anothers_dataset_is_like_one_that_does_not_exist(service: Running) -> None:
    replies = [service.post(f"/v1/{project}/ask", "ana", {"sql": COUNT}) for project in ("census", "nothing")]
    told = [{name: value for name, value in reply.json().items() if name != "request"} for reply in replies]
    assert told[0] == told[1]
    assert {reply.status_code for reply in replies} == {404}


@pytest.mark.parametrize("chunked", [False, True])
def test_http_006_a_body_of_a_gigabyte_is_413_after_the_first_megabyte(
    service: Running, address: tuple[str, int], chunked: bool
) -> None:
    head = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {10**9}"
    block = b"x" * 65_536
    piece = b"%x\r\n%s\r\n" % (len(block), block) if chunked else block
    sent = 0
    with socket.create_connection(address, timeout=20) as sock:
        lines = [f"POST {ASK} HTTP/1.1", "Host: x", "Content-Type: application/json", head]
        lines.append(f"Authorization: Bearer {service.tokens['ana']}")
        sock.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        sock.settimeout(0.2)
        reply = b""
        while not reply and sent < 50_000_000:
            try:
                sock.sendall(piece)
                sent += len(block)
                reply = sock.recv(4096) if sent > BODY_MAX else b""
            except TimeoutError:
                continue
            except OSError:
                reply = reply or b"closed"
    assert reply.startswith(b"HTTP/1.1 413") or reply == b"closed"
    assert sent < 20_000_000, "what the buffers of both ends hold, and no more"


def test_http_008_json_that_says_it_is_text_is_415(service: Running) -> None:
    assert refused(service, asked(), **{"Content-Type": "text/plain"}) == (415, "not_json")


def test_http_009_a_key_that_stands_twice_is_400(service: Running) -> None:
    body = b'{"sql": "SELECT COUNT(*) FROM people", "epsilon": 0.1, "epsilon": 10}'
    assert refused(service, body) == (400, "bad_request")


def test_http_010_a_number_beyond_all_doubles_is_400(service: Running) -> None:
    assert refused(service, asked().replace(b"}", b', "epsilon": 1e400}')) == (400, "bad_parameter")


def test_http_011_not_a_number_is_400(service: Running) -> None:
    assert refused(service, asked().replace(b"}", b', "epsilon": NaN}')) == (400, "bad_request")


def test_http_012_json_nested_without_end_is_400(service: Running) -> None:
    for opening, closing in ((b"[", b"]"), (b'{"a":', b"}")):
        depth = 100_000 if opening == b"[" else 40_000
        nested = b'{"sql": ' + opening * depth + b"1" + closing * depth + b"}"
        assert refused(service, nested) == (400, "bad_request")
    assert service.get("/health").status_code == 200, "alive"


def test_http_013_sql_that_is_a_list_is_400(service: Running) -> None:
    assert refused(service, b'{"sql": ["SELECT"]}') == (400, "bad_parameter")


def test_http_015_a_compressed_body_is_415(service: Running) -> None:
    bomb = gzip.compress(bytes(10_000_000))
    assert refused(service, bomb, **{"Content-Encoding": "gzip"}) == (415, "not_json")


def test_http_018_who_says_to_be_another_address_is_not_believed(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failures are counted by the real address, whatever the header says; unless the server was told of that proxy."""
    monkeypatch.setattr(login, "OF_ADDRESS", 4)  # one at once, and hardly more however long forty take
    for proxies, refused in (("", True), ("127.0.0.1", False)):
        statuses = set()
        with listening(service.folder, proxies=proxies) as place:
            for number in range(40):
                connection = http.client.HTTPConnection(*place, timeout=20)
                told = {"X-Forwarded-For": f"10.1.2.{number}", "Authorization": "Bearer obv_wrong"}
                connection.request("GET", "/v1/hospital/tables", headers=told)
                statuses.add(connection.getresponse().status)
                connection.close()
        assert statuses == ({401, 429} if refused else {401})


def test_http_019_a_key_with_the_same_body_is_charged_once(service: Running) -> None:
    first = service.ask(epsilon=0.11, key="nineteen")
    spent = service.spent()
    again = service.ask(epsilon=0.11, key="nineteen")
    assert (again.json()["rows"], service.spent()) == (first.json()["rows"], spent)


def test_http_020_a_key_with_another_body_is_409(service: Running) -> None:
    service.ask(epsilon=0.12, key="twenty")
    assert refused(service, asked(epsilon=0.13), **{"Idempotency-Key": "twenty"}) == (409, "idempotency_conflict")


def test_http_021_anothers_key_gives_nothing_of_theirs(service: Running) -> None:
    own = service.ask(epsilon=0.14, key="twenty-one")
    others = service.ask(epsilon=0.14, key="twenty-one", who="ben")
    assert own.json()["claim"]["receipt"] != others.json()["claim"]["receipt"]
    assert others.json()["price"]["stored"] is False


def test_http_023_who_goes_away_is_charged_and_finds_the_answer_by_the_key(
    service: Running, address: tuple[str, int]
) -> None:
    spent = float(service.spent())
    body = asked(epsilon=0.15)
    with socket.create_connection(address, timeout=20) as sock:
        lines = [f"POST {ASK} HTTP/1.1", "Host: x", "Content-Type: application/json", f"Content-Length: {len(body)}"]
        lines += [f"Authorization: Bearer {service.tokens['ben']}", "Idempotency-Key: twenty-three"]
        sock.sendall(("\r\n".join(lines) + "\r\n\r\n").encode() + body)
        _until(lambda: float(service.spent()) > spent)
    assert float(service.spent()) == pytest.approx(spent + 0.15)
    found: list[Any] = []
    _until(
        lambda: found.append(service.ask(epsilon=0.15, key="twenty-three", who="ben")) or found[-1].status_code == 200
    )
    assert found[-1].json()["price"]["stored"] is True
    assert float(service.spent()) == pytest.approx(spent + 0.15)


def test_http_025_no_other_site_may_read_answers(service: Running) -> None:
    evil = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    preflight = service.client.options(ASK, headers=evil)
    simple = service.get("/v1/hospital/tables", "ana", headers=evil)
    assert preflight.status_code == 405
    for reply in (preflight, simple):
        assert not [name for name in reply.headers if name.startswith("access-control-")]


@pytest.mark.parametrize(
    "path", ["../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/etc/passwd", "....//etc/passwd"]
)
def test_http_026_no_path_leads_to_a_file(service: Running, path: str) -> None:
    routes = ("", "answers/", "releases/", "releases/2026/", "surveys/", "accounts/")
    assert {service.status_at(f"/v1/hospital/{route}{path}", "cora") for route in routes} == {404}
    assert service.status_at(f"/{path}", "cora") == 404


def test_http_027_an_analyst_sees_no_counts(service: Running) -> None:
    assert service.get("/metrics", "ana").status_code == 403
    assert not re.search(r"seconds|duration|latency|rows", service.get("/metrics", "cora").text)


def test_http_029_an_analyst_cannot_act_as_the_curator_and_the_try_is_logged(service: Running) -> None:
    for path, body in (("accounts", {"name": "ana", "role": "curator"}), ("accounts/ben/revoke", {})):
        assert service.post(f"/v1/hospital/{path}", "ana", body).status_code == 403
        last = service.logged()[-1]
        assert (last["account"], last["status"], last["code"]) == ("ana", 403, "not_allowed")
    assert service.post("/v1/hospital/budget", "ana", {"epsilon": 1000}).status_code == 405


def test_http_030_trace_is_405(service: Running, address: tuple[str, int]) -> None:
    connection = http.client.HTTPConnection(*address, timeout=20)
    connection.request("TRACE", ASK, headers=service.headers("ana"))
    reply = connection.getresponse()
    assert (reply.status, reply.getheader("allow")) == (405, "GET, POST")
    assert service.tokens["ana"].encode() not in reply.read()
    connection.close()


def _until(holds: Any, patience_s: float = 30.0) -> None:
    ends = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.02)
