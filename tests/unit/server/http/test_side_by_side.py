"""What many do at once, and what one project's trouble tells of another's."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from obverse.answers.answer import Answer
from obverse.collect.collector import Submitted
from obverse.curator import accounts
from obverse.server import survey_inbox as inbox
from obverse.server.errors import TooMany
from obverse.server.http import login
from obverse.server.sandbox import zygote
from tests.http_services import Running, running, write_project


def test_guesses_that_come_together_are_counted_before_any_is_answered(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[str] = []

    def slow(told: str, password: str) -> bool:
        hashed.append(password)
        time.sleep(0.05)
        return False

    monkeypatch.setattr(login, "_verified", slow)
    body = {"name": "ana", "password": "a sentence"}
    with ThreadPoolExecutor(20) as pool:
        statuses = list(pool.map(lambda _: service.post("/v1/hospital/login", "", body).status_code, range(20)))
    allowed = login.OF_NAME // 4
    assert len(hashed) == statuses.count(401) == allowed
    assert statuses.count(429) == 20 - allowed


def test_who_signs_in_has_not_guessed(service: Running, someone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    accounts.set_password(service.folder, someone, "a sentence that nobody guesses")
    body = {"name": someone, "password": "a sentence that nobody guesses"}
    monkeypatch.setattr(login, "_verified", lambda told, password: True)
    for _ in range(login.OF_NAME):
        assert service.post("/v1/hospital/login", "", body).status_code == 200


def test_a_project_that_cannot_be_opened_is_not_told_of_elsewhere(home_of_the_run: None, tmp_path: Path) -> None:
    folder = write_project(tmp_path / "hospital", people=71)
    other = write_project(tmp_path / "census", "census", people=72)
    with running(folder, other) as service:
        service.tokens["nobody"] = "obv_" + "x" * 43
        (other / "obverse.toml").write_text("nonsense")
        assert service.get("/v1/hospital/tables", "nobody").status_code == 401
        assert service.get("/v1/elsewhere/tables", "ana").status_code == 404
        assert service.get("/metrics", "cora").status_code == 200
        (folder / "obverse.toml").write_text("nonsense")
        assert service.get("/v1/elsewhere/tables", "nobody").status_code == 401
        assert service.get("/v1/hospital/tables", "ana").status_code == 503


def test_a_suspended_curator_sees_no_counts(service: Running) -> None:
    service.tokens["carl"] = accounts.issue(service.folder, "carl", "curator").token
    assert service.get("/metrics", "carl").status_code == 200
    accounts.suspend(service.folder, "carl", "left")
    assert service.get("/metrics", "carl").status_code == 403


def test_reports_on_their_way_to_a_slow_disk_count_as_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox, "WAITING_MAX", 10)

    async def flooded() -> int:
        written = asyncio.Event()

        class Slow:
            async def work(self, project: str, action: Any) -> list[None]:
                await written.wait()
                return [None] * 10

        boxes = inbox.Inboxes(Slow(), wait_s=0.01)
        taken = 0
        tasks = []
        for _ in range(8):
            task = asyncio.ensure_future(boxes.put("p", "s", [Submitted(b"", b"")] * 4))
            await asyncio.sleep(0.03)
            tasks.append(task)
            taken += not task.done()
        written.set()
        told = await asyncio.gather(*tasks, return_exceptions=True)
        assert sum(isinstance(one, TooMany) for one in told) == 8 - taken
        await boxes.put("p", "s", [Submitted(b"", b"")] * 10)
        return taken

    assert asyncio.run(flooded()) == 2


def test_a_fork_that_fails_ends_no_other_question(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise BlockingIOError

    monkeypatch.setattr(zygote, "_forked", full)
    server, control = socket.socketpair()
    ours, theirs = socket.socketpair()
    with server, control, ours:
        with theirs:
            socket.send_fds(server, [zygote.ORDER.pack(zygote.FORK, 1)], [theirs.fileno()])
        before = len(os.listdir("/proc/self/fd"))
        assert zygote._order(control, None, {})
        assert ours.recv(1) == b"", "the server sees that there is no child"
        assert len(os.listdir("/proc/self/fd")) <= before


def test_a_stored_answer_is_read_beside_the_loop_that_serves_others(
    service: Running, someone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A million cells take seconds to read: in the loop nobody else would hear a word meanwhile."""
    place = service.ask(who=someone).headers["location"]
    read_by: list[threading.Thread] = []
    read = Answer.from_bytes

    def watched(*told: Any) -> Answer:
        read_by.append(threading.current_thread())
        return read(*told)

    monkeypatch.setattr(Answer, "from_bytes", watched)
    assert service.client.portal is not None
    loop = service.client.portal.call(threading.current_thread)
    assert service.get(place, someone).status_code == 200
    assert len(read_by) == 1
    assert read_by[0] is not loop
