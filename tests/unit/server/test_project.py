"""A host loads its project when a file changed, at no moment misses a change, and does not try in vain all the time."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import Any

import pytest

from obverse.core.errors import LedgerError, Refused
from obverse.curator import accounts
from obverse.server import project as hosts
from obverse.server.errors import NotSignedIn
from obverse.server.http.login import Logins
from obverse.server.postgres import startup as wire
from obverse.server.postgres.startup import Start
from obverse.server.project import Host
from obverse.server.queries import Desk
from obverse.server.sandbox.pool import Cage
from tests import served

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a cage needs Linux")
PASSWORD = "correct horse battery"


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    made = Host(served.project(tmp_path / "hospital", people=40))
    yield made
    made.close()


@pytest.fixture
def started(host: Host, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Processes that cages started since."""
    found: list[int] = []
    honest = Cage._start
    monkeypatch.setattr(Cage, "_start", lambda self: found.append(1) or honest(self))
    return found


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(hosts, "monotonic", lambda: now[0])
    return now


def refused(host: Host) -> str:
    with pytest.raises(Refused) as told:
        host.clerk()
    return told.value.code


def test_a_change_while_a_project_is_loaded_is_not_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of obverse.toml after it was read, and of a source after its schema was."""
    folder = served.project(tmp_path / "hospital", people=40)
    for changed in (folder / "obverse.toml", folder / "clinics.csv"):
        honest = hosts.load_project

        def meanwhile(*args: Any, honest: Any = honest, changed: Path = changed, **more: Any) -> Any:
            loaded = honest(*args, **more)
            changed.write_text(changed.read_text() + "\n")
            return loaded

        with monkeypatch.context() as patch:
            patch.setattr(hosts, "load_project", meanwhile)
            host = Host(folder)
        try:
            before = host.catalog
            assert host.clerk().project.catalog is not before, changed.name
            assert host.clerk().project.catalog is host.catalog
        finally:
            host.close()


def test_a_project_that_cannot_be_loaded_is_not_tried_with_every_request(
    host: Host, started: list[int], time: list[float]
) -> None:
    """Its obverse.toml can be read, so a process is started to look at its sources; once, until something changes."""
    toml = host.path / "obverse.toml"
    whole = toml.read_text()
    toml.write_text(whole.replace("clinics.csv", "none.csv"))
    assert {refused(host) for _ in range(5)} == {"project_unavailable"}
    assert len(started) == 1
    toml.write_text(whole.replace("clinics.csv", "nothing.csv"))
    assert {refused(host) for _ in range(5)} == {"project_unavailable"}
    assert len(started) == 2
    time[0] += hosts.AGAIN_S
    assert {refused(host) for _ in range(5)} == {"project_unavailable"}
    assert len(started) == 3, "what was wrong may be elsewhere, so it is tried again after a while"
    toml.write_text(whole)
    assert host.clerk().project.catalog.name == "hospital", "mended, it is there at once"


def test_a_source_that_cannot_be_read_is_not_read_with_every_request(
    host: Host, time: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    assert host.clerk().project.catalog.name == "hospital"
    with monkeypatch.context() as patch:
        patch.setattr(Cage, "readable", lambda self, table, sql: looked.append(table) is not None)
        served.project(host.path, people=41)
        assert {refused(host) for _ in range(5)} == {"project_unavailable"}
    assert len(looked) == 1
    time[0] += hosts.AGAIN_S
    assert host.clerk().project.catalog.name == "hospital"


def test_a_ledger_that_fails_is_tried_again_at_once(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be busy for a moment, and costs nothing to try."""
    with monkeypatch.context() as patch:

        def busy(project: Any, at: Any = None) -> Any:
            raise LedgerError("ledger_unavailable", "busy.")

        patch.setattr(hosts, "open_ledger", busy)
        with pytest.raises(LedgerError):
            host.clerk()
    assert host.clerk().project.catalog.name == "hospital"


def test_a_file_that_was_written_in_the_same_moment_is_known_by_its_length_or_its_place(host: Host) -> None:
    before = host.clerk().project
    toml = host.path / "obverse.toml"
    there = toml.stat()
    fresh = toml.with_name("fresh.toml")
    fresh.write_text(toml.read_text())
    os.utime(fresh, ns=(there.st_atime_ns, there.st_mtime_ns))
    fresh.rename(toml)
    assert host.clerk().project is not before


def test_an_analyst_whom_the_project_does_not_declare_is_a_stranger(host: Host) -> None:
    """As one of another project over the same data, which has the same ledger: by token, password, session and wire."""
    tokens = {
        name: accounts.issue(host.path, name, role).token for name, role in (("ana", "analyst"), ("rita", "reviewer"))
    }
    accounts.set_password(host.path, "ana", PASSWORD)

    async def came_in(desk: Desk, cookies: list[str]) -> list[bool]:
        logins = Logins(desk)
        found = [await _let(desk.sign_in("hospital", tokens[name])) for name in ("rita", "ana")]
        found.append(await _let(logins.with_password("hospital", "ana", PASSWORD)))
        cookies.append(await logins.with_password("hospital", "ana", PASSWORD) if found[-1] else "")
        found.append(await _let(logins.caller("hospital", cookies[0])))
        return [*found, (await wire._known(desk, Start("ana", "hospital", {})))[2] is not None]

    async def both() -> tuple[list[bool], list[bool]]:
        desk = Desk([host])
        cookies = list[str]()
        before = await came_in(desk, cookies)
        toml = host.path / "obverse.toml"
        toml.write_text(toml.read_text().replace("[analysts.ana]", "[analysts.zoe]"))
        return before, await came_in(desk, cookies)

    assert asyncio.run(both()) == ([True] * 5, [True] + [False] * 4)


async def _let(coming: Awaitable[object]) -> bool:
    try:
        await coming
    except NotSignedIn:
        return False
    return True
