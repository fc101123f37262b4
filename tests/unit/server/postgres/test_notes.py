"""What operators are told of the wire: who asked, what it cost and what became of it; nothing of the question."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator

import pytest

from obverse.server.observability import Log, Metrics, Notes
from obverse.server.postgres.server import Serving
from tests.wired import ROOMY, Raw, Wired

FIELDS = {"time", "event", "request", "project", "account", "method", "route", "status", "code", "price"}


class Noted:
    """A server in front of the same desk, and what its operator sees."""

    def __init__(self, wired: Wired) -> None:
        self.lines: list[bytes] = []
        self.metrics = Metrics()
        self.wired = wired
        self.serving: Serving = wired.another(notes=Notes(self.metrics, Log(self.lines.append)), caps=ROOMY)

    def login(self) -> Raw:
        return self.wired.login(port=self.serving.port)

    def logged(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.lines]

    def told(self) -> list[tuple[object, ...]]:
        return [(one["route"], one["account"], one["status"], one["code"], one["price"]) for one in self.logged()]


@pytest.fixture
def noted(wired: Wired) -> Iterator[Noted]:
    made = Noted(wired)
    yield made
    wired.call(made.serving.close())


def test_questions_and_logins_are_noted_in_the_lines_of_every_other_request(noted: Noted) -> None:
    mark = 10**9 + int.from_bytes(os.urandom(3), "big")  # long enough to stand in no line by chance
    with noted.login() as client:
        client.rows("SET obverse.epsilon = 0.07")
        for _ in range(2):
            client.rows(f"SELECT COUNT(*) AS n FROM people WHERE age <> {mark}")
        client.query("SELECT * FROM people WHERE name = 'xyzzy'")
        client.rows(f"EXPLAIN SELECT COUNT(*) AS n FROM people WHERE age <> {mark}")
    assert noted.told() == [
        ("/login", "ana", 200, "", ""),
        ("/ask", "ana", 200, "", "0.07"),
        ("/ask", "ana", 200, "", ""),
        ("/ask", "ana", 422, "not_aggregate", ""),
        ("/explain", "ana", 200, "", ""),
    ]
    assert all(
        set(one) == FIELDS and one["method"] == "wire" and one["project"] == "hospital" for one in noted.logged()
    )
    whole = b"".join(noted.lines)
    for word in (b"xyzzy", b"SELECT", str(mark).encode(), noted.wired.tokens["ana"].encode()):
        assert word not in whole


def test_they_are_counted_by_class_of_outcome(noted: Noted) -> None:
    with noted.login() as client:
        client.query("SELECT * FROM people")
        client.rows("SELECT relname FROM pg_class")
    found = noted.metrics.text(["hospital"])
    assert 'obverse_requests_total{project="hospital",route="/login",outcome="done"} 1' in found
    assert 'obverse_requests_total{project="hospital",route="/ask",outcome="refused"} 1' in found
    assert len(found.splitlines()) == 4, "what is asked of the catalogue is not counted"


def test_failed_logins_are_noted_without_the_name_that_was_tried(noted: Noted) -> None:
    for database in ("hospital", "zork"):
        with Raw(noted.serving.port) as client:
            client.sign_in("mallory", "wrong", database)
    assert noted.told() == [("/login", "", 401, "not_signed_in", "")] * 2
    assert [one["project"] for one in noted.logged()] == ["hospital", ""]
    assert b"mallory" not in b"".join(noted.lines)
    assert b"zork" not in b"".join(noted.lines)


def test_who_goes_away_before_signing_in_is_no_defect(noted: Noted) -> None:
    with Raw(noted.serving.port) as client:
        client.startup()
        client.until(b"R")
    deadline = time.monotonic() + 60
    while not noted.lines and time.monotonic() < deadline:
        noted.wired.call(noted.wired.desk.looked_up("hospital", lambda host: None))  # a turn of the server's loop
    assert noted.told() == [("/login", "", 499, "cancelled", "")]
