"""A caged process that a row took over: what it reaches where the machine allows no user namespaces, or the server
is root.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from obverse.catalog.load import load
from obverse.core.errors import CatalogError
from obverse.curator import accounts
from obverse.server.sandbox import landlock
from obverse.server.sandbox.pool import Cage
from tests import served
from tests.attacked import MODES

ROOT = Path(__file__).parent.parent.parent
REFUSED = {"PermissionError", "OSError", "ProcessLookupError", "NotADirectoryError", "FileNotFoundError", "ValueError"}
WRITES_S = 5.0  # a lock held by others would take the ledger's patience, 30 s


@pytest.fixture(scope="module", params=MODES)
def said(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What an attacker got, in each kind of machine."""
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("only root can be attacked as root")
    there = tmp_path_factory.mktemp(request.param)
    folder = served.project(there / "p")
    served.project(there / "other")
    environment = {**os.environ, "OBVERSE_HOME": str(there / "home"), "OBVERSE_TEST_SECRET": "xyzzy"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OBVERSE_HOME", str(there / "home"))
        accounts.issue(folder, "ana", "analyst")
    command = [sys.executable, "-m", "tests.attacked", request.param, str(folder)]
    told = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=300)
    assert told.returncode == 0, told.stderr
    return {"mode": request.param, **json.loads(told.stdout)}


def test_nothing_beside_the_sources_can_be_reached(said: dict[str, Any]) -> None:
    """Memory, descriptors, signals, limits; the ledger with its -wal and -shm, the registry, other projects; any
    writing.
    """
    attempts = said["attempts"]
    assert {name: came for name, came in attempts.items() if came not in REFUSED} == {}
    names = " ".join(attempts)
    for wanted in (
        "ledger.db",
        "ledger.db-wal",
        "ledger.db-shm",
        "registry.db",
        "obverse.toml",
        "other/people.parquet",
    ):
        assert f"fcntl lock {wanted}" in names or f"/{wanted}" in names, wanted


def test_the_ledger_is_written_while_the_attacker_is_there(said: dict[str, Any]) -> None:
    assert said["wrote_s"] < WRITES_S


def test_its_own_sources_and_libraries_are_within_reach(said: dict[str, Any]) -> None:
    """Without this control, a process that can do nothing at all would pass."""
    legal = said["legal"]
    held = said["open"]
    assert set(legal.values()) <= {"done", "sqlite3"}, legal
    assert len([one for one in held if one.startswith("socket:")]) == 1, held
    assert not [one for one in held if "ledger" in one or "registry" in one], held


def test_memory_is_the_servers_own_also_where_nothing_fences_a_process(said: dict[str, Any]) -> None:
    """A program of the same user, in no sandbox at all: root alone, with its privileges, can look."""
    came = "done" if said["mode"] == "root" else "PermissionError"
    assert said["beside"] == {"server": came, "zygote": came}


@pytest.fixture
def served_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OBVERSE_HOME", str(tmp_path / "home"))
    folder = served.project(tmp_path / "p")
    accounts.issue(folder, "ana", "analyst")
    return folder


def without_landlock(program: str) -> subprocess.CompletedProcess[str]:
    """A Python program on a kernel that has no Landlock."""
    lines = ["from tests import attacked", "attacked.without(attacked.LANDLOCK, 38)", program]
    return subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, cwd=ROOT, timeout=120
    )


@pytest.mark.parametrize("check", [[], ["--check"]])
def test_a_service_is_refused_where_the_kernel_has_no_landlock(check: list[str], served_folder: Path) -> None:
    """And it says why, and what to change."""
    arguments = ["serve", str(served_folder), "--port", "0", "--no-pg", *check]
    told = without_landlock(f"from obverse.cli.main import cli; cli({arguments!r})")
    assert told.returncode == 3, told
    words = told.stdout + told.stderr
    assert "serve_needs_landlock" in words
    assert "Linux 5.13" in words
    assert "seccomp profile" in words


def test_a_child_reads_nothing_where_the_kernel_has_no_landlock(served_folder: Path) -> None:
    """Also past the check of `serve`: the process itself refuses, before it opens a source."""
    told = without_landlock(
        f"""
from pathlib import Path
from obverse.catalog.load import load
from obverse.core.errors import CatalogError
from obverse.core.errors import ObverseError
from obverse.server.sandbox.pool import Cage
try:
    Cage(load(Path({str(served_folder)!r})))
except ObverseError as error:
    print(error.code)
"""
    )
    assert told.stdout.strip() == "serve_needs_landlock", told


def test_a_ledger_in_a_folder_of_libraries_is_refused(served_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(served_folder.parent))
    arguments = ["serve", str(served_folder), "--port", "0", "--no-pg", "--check"]
    command = [sys.executable, "-c", f"from obverse.cli.main import cli; cli({arguments!r})"]
    told = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert told.returncode == 3, told
    assert "ledger_within_reach" in told.stdout
    assert "PYTHONPATH" in told.stdout


@pytest.mark.parametrize("hidden", ["/usr/share/obverse", "/lib/obverse/ledger.db", "/etc/ssl/certs/ledger.db"])
def test_a_ledger_in_a_folder_of_the_system_is_refused(hidden: str) -> None:
    """Sandboxed processes read the system's folders wherever Python's own are."""
    with pytest.raises(CatalogError) as caught:
        landlock.check_apart([Path("/opt/python")], [Path(hidden)])
    assert caught.value.code == "ledger_within_reach"
    landlock.check_apart([Path("/opt/python")], [Path("/var/lib/obverse/ledger.db"), Path("/home/ana/.obverse")])


@pytest.mark.parametrize("network", [False, True])
def test_paths_that_are_given_up_stay_out_of_reach(network: bool, tmp_path: Path) -> None:
    """Of a process with a network too: it reads what its connection is made with, and writes nowhere."""
    for name in ("certificate", "ledger.db"):
        (tmp_path / name).write_text(name)
    program = f"""
import os, socket
from pathlib import Path
from obverse.server.sandbox import landlock
from obverse.server.sandbox import seccomp as locks
locks.paths((*landlock.libraries(), Path({str(tmp_path / "certificate")!r})), network={network})
def attempt(act):
    try:
        act()
        return "done"
    except OSError as error:
        return type(error).__name__
print(attempt(lambda: os.open({str(tmp_path / "certificate")!r}, os.O_RDONLY)),
      attempt(lambda: os.open({str(tmp_path / "certificate")!r}, os.O_RDWR)),
      attempt(lambda: os.open({str(tmp_path / "ledger.db")!r}, os.O_RDONLY)),
      attempt(lambda: os.open({str(tmp_path / "made")!r}, os.O_CREAT | os.O_RDWR)),
      attempt(lambda: os.unlink({str(tmp_path / "ledger.db")!r})),
      attempt(lambda: os.open("/dev/null", os.O_RDWR)),
      attempt(lambda: socket.create_server(("127.0.0.1", 0))))
"""
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert told[:6] == ["done", *["PermissionError"] * 4, "done"]
    if landlock.version() >= landlock.LISTENING[0]:
        assert told[6] == "PermissionError"


def test_a_database_behind_a_link_is_read_with_its_log(tmp_path: Path) -> None:
    """DuckDB keeps what was written last beside the file that a link leads to."""
    (tmp_path / "p").mkdir()
    (tmp_path / "elsewhere").mkdir()
    with duckdb.connect(str(tmp_path / "elsewhere" / "people.duckdb")) as connection:
        connection.execute("CREATE TABLE people AS SELECT i AS id FROM range(500) AS r(i)")
        connection.execute("PRAGMA disable_checkpoint_on_shutdown")
        connection.execute("INSERT INTO people VALUES (1000)")
    assert (tmp_path / "elsewhere" / "people.duckdb.wal").exists()
    (tmp_path / "p" / "people.duckdb").symlink_to(tmp_path / "elsewhere" / "people.duckdb")
    toml = (
        '[project]\nname = "p"\n[budget]\nepsilon = 1\n[tables.people]\nsource = "people.duckdb:people"\nunit = "id"\n'
    )
    (tmp_path / "p" / "obverse.toml").write_text(toml)
    cage = Cage(load(tmp_path / "p"))
    try:
        assert cage.run_public("SELECT COUNT(*) FROM people", timeout_s=30).rows == ((501,),)
    finally:
        cage.close()
