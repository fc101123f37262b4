"""A served project for tests: small tables, a survey, a release, an account of each role; over HTTP without a
socket.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any
from urllib.parse import unquote

from starlette.testclient import TestClient

from obverse.curator import accounts
from obverse.server.http.app import create_app
from obverse.server.observability import Log
from obverse.server.project import Host
from obverse.server.queries import Desk
from obverse.server.run import Settings, Started, opened, serving

ROLES = {"ana": "analyst", "ben": "analyst", "cora": "curator", "rita": "reviewer"}
SPARES = tuple(f"spare{number}" for number in range(40))  # each for one test
COUNT = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
TOML = """
[project]
name = "{name}"
[privacy]
epsilon = 0.1
[budget]
epsilon = {epsilon}
[analysts.ana]
[analysts.ben]
{spares}
[serve]
requests_per_minute = 1000000
[tables.people]
source = "people.csv"
unit = "person_id"
rows_about = 1000
[tables.people.columns]
age = {{ type = "integer", bounds = [0, 120] }}
sex = {{ type = "text", values = ["F", "M", "=X"] }}
[tables.towns]
source = "towns.csv"
public = true
[surveys.smokes]
question = "Do you smoke?"
options = ["no", "yes"]
epsilon = 1
people = 500
minimum = 10
retention_days = 30
purpose = "A test."
consent = "I agree."
"""


def write_project(
    folder: Path, name: str = "hospital", *, epsilon: str = "100", people: int = 400, more: str = ""
) -> Path:
    """Of other people than another one: the same data would be one dataset with one ledger."""
    folder.mkdir(parents=True, exist_ok=True)
    spares = "\n".join(f"[analysts.{spare}]" for spare in SPARES)
    rows = [f"{i},{20 + i % 60},{'FM'[i % 2]}" for i in range(people)]
    (folder / "people.csv").write_text("\n".join(["person_id,age,sex", *rows, ""]))
    (folder / "towns.csv").write_text("town,size\na,1\nb,2\n")
    (folder / "obverse.toml").write_text(TOML.format(name=name, epsilon=epsilon, spares=spares) + more)
    release = folder / "releases" / "2026"
    release.mkdir(parents=True, exist_ok=True)
    (release / "table.csv").write_text("sex,n\nF,1\n")
    (release / "page.html").write_text("<script>alert(1)</script>")
    return folder


@dataclass
class Running:
    """A service, how to reach it, and what it logged."""

    folder: Path
    client: TestClient
    desk: Desk
    tokens: dict[str, str]
    lines: list[bytes] = field(default_factory=list)
    spares: Iterator[str] = field(default_factory=lambda: iter(SPARES))

    def spare(self) -> str:
        """An analyst whom no other test knows."""
        name = next(self.spares)
        self.tokens[name] = accounts.issue(self.folder, name, "analyst").token
        return name

    def headers(self, who: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens[who]}"} if who else {}

    def get(self, path: str, who: str = "", **more: Any) -> Any:
        return self.client.get(path, headers=self.headers(who) | more.pop("headers", {}), **more)

    def post(self, path: str, who: str = "", body: Any = None, **more: Any) -> Any:
        return self.client.post(path, json=body, headers=self.headers(who) | more.pop("headers", {}), **more)

    def ask(self, sql: str = COUNT, who: str = "ana", *, key: str = "", **wish: Any) -> Any:
        named = {"Idempotency-Key": key} if key else {}
        return self.post("/v1/hospital/ask", who, {"sql": sql, **wish}, headers=named)

    def status_at(self, path: str, who: str = "", method: str = "GET") -> int:
        """The status at an address that no client has made tidy first."""
        statuses: list[int] = []
        named = [(name.lower().encode(), value.encode()) for name, value in self.headers(who).items()]
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": unquote(path), "raw_path": path.encode(), "query_string": b"", "headers": named, "root_path": "",
            "client": ("testclient", 1), "server": ("testserver", 80),
        }  # fmt: skip

        came = iter([{"type": "http.request", "body": b"", "more_body": False}])

        async def receive() -> dict[str, Any]:
            for message in came:
                return message
            return await asyncio.get_running_loop().create_future()  # the client stays

        async def send(message: dict[str, Any]) -> None:
            statuses.extend([message["status"]] if message["type"] == "http.response.start" else [])

        assert self.client.portal is not None
        self.client.portal.call(self.client.app, scope, receive, send)
        return statuses[0]

    def spent(self) -> str:
        return str(self.get("/v1/hospital/budget", "cora").json()["lines"][0]["spent"])

    def logged(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]


@contextmanager
def running(folder: Path, *others: Path, tls: bool = False) -> Iterator[Running]:
    """The project in the folder, with others beside it on the same server."""
    tokens = {name: accounts.issue(folder, name, role).token for name, role in ROLES.items()}  # type: ignore[arg-type]
    hosts = [Host(path) for path in (folder, *others)]
    lines: list[bytes] = []
    try:
        desk = Desk(hosts)
        app = create_app(desk, tls=tls, log=Log(lines.append))
        with TestClient(app, base_url="https://testserver", raise_server_exceptions=True) as client:
            yield Running(folder, client, desk, tokens, lines)
    finally:
        for host in hosts:
            host.close()


@contextmanager
def listening(folder: Path, **settings: Any) -> Iterator[tuple[str, int]]:
    """The project over a socket, in a thread of its own; gives host and port."""
    came: Queue[Started | BaseException] = Queue()
    stop: list[Callable[[], None]] = []

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        stop.append(lambda: loop.call_soon_threadsafe(ended.set))
        with opened([folder]) as hosts:
            async with serving(hosts, Settings(port=0, wire_port=None, **settings)) as started:
                came.put(started)
                await ended.wait()

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            came.put(error)

    thread = Thread(target=run)
    thread.start()
    started = came.get(timeout=60)
    if isinstance(started, BaseException):
        raise started
    host, _, port = started.address.rpartition("/")[2].rpartition(":")
    try:
        yield host, int(port)
    finally:
        stop[0]()
        thread.join(60)
        assert not thread.is_alive()
