"""A caged process reads rows once, can do nothing else, and is dead soon after its limit."""

from __future__ import annotations

import datetime as dt
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from obverse.catalog.load import load
from obverse.core.errors import CatalogError, InvariantBroken, ObverseError
from obverse.server import preflight as checking
from obverse.server import project as project_module
from obverse.server.pg_catalog.catalog import Keeper
from obverse.server.sandbox import protocol
from obverse.server.sandbox.pool import Cage, Killed
from obverse.session.planning import Planned, Wish, plan, read
from obverse.session.project import Project, load_project
from tests import served
from tests.caged import BOMBS, pid_of, watched
from tests.effort import ruler

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a cage needs Linux")
# after the limit
DEAD_S = 1.0
EXTRA_BYTES = 64_000_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return served.project(tmp_path_factory.mktemp("caged"))


@pytest.fixture(scope="module")
def cage(folder: Path) -> Iterator[Cage]:
    made = Cage(load(folder))
    yield made
    made.close()


@pytest.fixture(scope="module")
def project(folder: Path, cage: Cage) -> Project:
    return load_project(folder, open_engine=lambda catalog: cage)


def planned(project: Project, sql: str) -> Planned:
    question = read(sql, project.catalog, dt.datetime.now())
    return plan(sql, question, project.catalog, Wish(), "key")  # type: ignore[arg-type]


def test_a_project_is_loaded_and_asked_through_a_cage(project: Project, cage: Cage) -> None:
    asked = planned(project, "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex")
    found = cage.release(asked.costed, asked.sql, 30.0)
    assert [c.name for c in found.columns] == ["sex", "n"]
    assert [row[0] for row in found.rows] == ["F", "M"]
    assert all(abs(row[1] - 250) < 400 for row in found.rows)  # type: ignore[operator]  # e^-40 beyond
    again = {tuple(row[1] for row in cage.release(asked.costed, asked.sql, 30.0).rows) for _ in range(4)}
    assert len(again) > 1, "noise is drawn anew in each process"  # all alike once in 10^7


def test_dates_come_out_as_dates(project: Project, cage: Cage) -> None:
    asked = planned(project, "SELECT MEDIAN(born) AS born FROM people")
    found = cage.release(asked.costed, asked.sql, 30.0)
    assert isinstance(found.rows[0][0], dt.date)


def test_exact_values_do_not_leave(cage: Cage) -> None:
    with pytest.raises(InvariantBroken):
        cage.run("SELECT 1", timeout_s=1.0)
    with pytest.raises(InvariantBroken):
        cage.batches("SELECT 1", timeout_s=1.0)


def test_each_call_has_a_process_of_its_own(cage: Cage) -> None:
    first = cage.taken()
    second = cage.taken()
    assert first.number != second.number
    cage.give_up(first)
    cage.give_back(second)


def test_children_come_from_a_process_with_one_thread_no_connection_and_nothing_of_the_servers_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fork would copy locks that nobody unlocks, and connections that two would use; secrets stay where they are."""
    monkeypatch.setenv("OBVERSE_TEST_SECRET", "xyzzy")
    cage = Cage(load(folder))
    try:
        cage.run_public("SELECT 1 AS one", timeout_s=9.0)
        own = Path(f"/proc/{cage._zygote.pid}")
        assert len(list((own / "task").iterdir())) == 1
        deadline = time.monotonic() + 60
        while len(held := _held(own)) > 1 and time.monotonic() < deadline:
            time.sleep(0.01)  # sockets are handed to children that are being made
        assert len(held) == 1, held
        assert held[0].startswith("socket:"), "the one that its orders come by"
        assert b"xyzzy" not in (own / "environ").read_bytes()
        assert b"OBVERSE_HOME" not in (own / "environ").read_bytes()
    finally:
        cage.close()


def _held(process: Path) -> list[str]:
    """What a process has open, beside its standard streams."""
    return [
        os.readlink(place) for place in (process / "fd").iterdir() if int(place.name) > 2 and os.path.lexists(place)
    ]


def test_what_fails_inside_tells_one_constant_word(project: Project, cage: Cage) -> None:
    asked = planned(project, "SELECT COUNT(*) FROM people")
    told = set()
    for sql in ("SELECT error('eve')", "SELECT CAST('eve' AS INTEGER)", "SELEC", "SELECT 1.5 AS m0, 0 AS k"):
        with pytest.raises(ObverseError) as failed:
            cage.release(asked.costed, sql, 30.0)
        told.add(str(failed.value))
    assert len(told) == 1
    assert "eve" not in told.pop()


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_dead_within_a_second_of_its_limit_and_takes_nothing_from_the_server(
    bomb: str, project: Project, cage: Cage
) -> None:
    """Seconds count by the share of them in which a process that wants a processor has one: what others take is not
    ours.

    The process waits ahead, as in a service. On a machine that does nothing else `make bench` tells the plain time.
    """
    asked = planned(project, "SELECT COUNT(*) FROM people")
    limit = 1.0
    child = cage.taken()
    with watched(pid_of(child)) as ended, ruler() as share, peak() as grown:
        begun = time.monotonic()
        share.measure_from(begun + limit)
        with pytest.raises(Killed):  # its memory may end before its time, which counts alike
            cage.release(asked.costed, BOMBS[bomb], limit, child)
        late = ended() - begun - limit
        had = share.until_now()
    assert late * had < DEAD_S, (late, had)
    assert grown[0] < EXTRA_BYTES


@pytest.mark.parametrize("bomb", ["long texts", "a long list"])
def test_memory_that_ends_counts_as_a_kill(bomb: str, project: Project, cage: Cage) -> None:
    """It is an exact bit as well, so that whoever meets it three times is stopped; nothing else is told of it."""
    asked = planned(project, "SELECT COUNT(*) FROM people")
    with pytest.raises(Killed):
        cage.release(asked.costed, BOMBS[bomb], 60.0)


def test_a_child_takes_no_more_files_than_there_are() -> None:
    program = """
    import resource
    from obverse.server.sandbox import seccomp as locks
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, 300))
    locks.memory(4000)
    print(*resource.getrlimit(resource.RLIMIT_NOFILE))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["300", "300"]


@contextmanager
def peak() -> Iterator[list[int]]:
    """By how many bytes this process has grown inside the block, at its largest."""
    Path("/proc/self/clear_refs").write_text("5")  # forget the largest until now
    before = _memory("VmRSS")
    grown = [0]
    try:
        yield grown
    finally:
        grown[0] = _memory("VmHWM") - before


def _memory(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith(name)))


def test_a_cage_goes_on_after_its_zygote_was_killed(folder: Path) -> None:
    cage = Cage(load(folder))
    try:
        assert cage.run_public("SELECT 1 AS one", timeout_s=9.0).rows == ((1,),)
        os.kill(cage._zygote.pid, signal.SIGKILL)
        cage._zygote.wait()
        assert cage.run_public("SELECT 1 AS one", timeout_s=9.0).rows == ((1,),)
    finally:
        cage.close()


def test_a_zygote_is_dead_though_somebody_holds_its_socket(folder: Path) -> None:
    """As a child does that was forked when it was killed, until it has closed what it came with."""
    cage = Cage(load(folder))
    try:
        os.kill(cage._zygote.pid, signal.SIGKILL)
        cage._zygote.wait()
        cage._control.close()
        cage._control, held = socket.socketpair()
        with held:
            assert cage.run_public("SELECT 1 AS one", timeout_s=9.0).rows == ((1,),)
    finally:
        cage.close()


def test_who_asked_is_not_blamed_for_a_zygote_that_died(folder: Path) -> None:
    """Though a fresh one has taken its place meanwhile: a killed question counts against its analyst."""
    cage = Cage(load(folder))
    try:
        project = load_project(folder, open_engine=lambda catalog: cage)
        asked = planned(project, "SELECT COUNT(*) FROM people")
        orphans = [cage.taken() for _ in range(3)]
        os.kill(cage._zygote.pid, signal.SIGKILL)
        cage._zygote.wait()  # what waits has died with it: else it might answer that it is there, and die then
        assert cage.run_public("SELECT 1 AS one", timeout_s=9.0).rows == ((1,),)
        for orphan in orphans:
            with pytest.raises(ObverseError) as failed:
                cage.release(asked.costed, asked.sql, 30.0, orphan)
            assert failed.value.code == "engine_failure"
    finally:
        cage.close()


def test_no_module_of_the_folder_that_a_server_was_started_in_is_run(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`python -m` looks there first, and others may be allowed to write there."""
    ran = tmp_path / "ran"
    for name in ("duckdb", "json", "numpy", "orjson"):
        (tmp_path / f"{name}.py").write_text(f"open({str(ran)!r}, 'w').close()")
    monkeypatch.chdir(tmp_path)
    cage = Cage(load(folder))
    keeper = Keeper([])
    try:
        assert cage.run_public("SELECT 1 AS one", timeout_s=9.0).rows == ((1,),)
        keeper.start()
        with pytest.raises(ObverseError) as refused:
            project_module.fetched(tmp_path / "nowhere", 1, "a test", "cora", "json")
        assert refused.value.code != "project_unavailable", "the errand itself said no"
    finally:
        keeper.close()
        cage.close()
    assert all(line.fine is not False for line in checking.locks())
    assert not ran.exists()


def test_a_limit_that_is_met_counts_in_a_cage_that_was_retired_meanwhile(folder: Path) -> None:
    """It ends with its last child, and that end is not what the question died of."""
    cage = Cage(load(folder))
    project = load_project(folder, open_engine=lambda catalog: cage)
    asked = planned(project, "SELECT COUNT(*) FROM people")
    child = cage.taken()
    cage.retire()
    with pytest.raises(Killed):
        cage.release(asked.costed, next(iter(BOMBS.values())), 0.5, child)


def test_no_process_outlives_its_server(folder: Path) -> None:
    script = f"""
        import sys
        from pathlib import Path
        from obverse.catalog.load import load
        from obverse.server.sandbox.pool import Cage
        cage = Cage(load(Path({str(folder)!r})))
        cage.run_public("SELECT 1", timeout_s=9.0)
        print(cage._zygote.pid, flush=True)
        sys.stdin.read()
    """
    server = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    zygote = int(server.stdout.readline())
    server.kill()
    server.wait()
    deadline = time.monotonic() + 60
    while Path(f"/proc/{zygote}/stat").exists() and _state(zygote) != "Z" and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{zygote}").exists() or _state(zygote) == "Z"


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "Z"


def test_a_source_that_is_missing_is_told_before_anything_is_charged(tmp_path: Path) -> None:
    folder = served.project(tmp_path / "p")
    catalog = load(folder)
    (folder / "visits.parquet").unlink()
    cage = Cage(catalog)
    try:
        with pytest.raises(CatalogError) as refused:
            cage.schema("people")
        assert refused.value.code == "source_missing"
    finally:
        cage.close()


LOCKED = """
import os, socket, subprocess, sys
from obverse.server.sandbox import seccomp as locks
{lock}
tried = {{}}
def attempt(name, act):
    try:
        act()
        tried[name] = "done"
    except (OSError, MemoryError) as error:
        tried[name] = type(error).__name__
attempt("socket", lambda: socket.socket())
attempt("pair", lambda: socket.socketpair())
attempt("program", lambda: subprocess.run(["true"]))
attempt("fork", lambda: os.fork() or os._exit(0))
attempt("signal", lambda: os.kill(os.getppid(), 0))
attempt("removed", lambda: os.unlink({kept!r}))
attempt("renamed", lambda: os.rename({kept!r}, {kept!r} + "2"))
attempt("emptied", lambda: os.truncate({kept!r}, 0))
attempt("emptied by opening", lambda: os.open({kept!r}, os.O_RDONLY | os.O_TRUNC))
attempt("opened to be written", lambda: os.open({kept!r}, os.O_WRONLY))
attempt("mode", lambda: os.chmod({kept!r}, 0o777))
attempt("folder", lambda: os.mkdir({kept!r} + "3"))
attempt("read", lambda: os.read(os.open({kept!r}, os.O_RDONLY), 1))
attempt("exec", lambda: os.execv("/bin/true", ["true"]))
attempt("file", lambda: os.write(os.open({file!r}, os.O_CREAT | os.O_WRONLY), b"x"))
attempt("memory", lambda: bytearray(1 << 30))
import threading
thread = threading.Thread(target=lambda: tried.setdefault("thread", "done"))
thread.start(); thread.join()
print(tried)
"""


@pytest.mark.parametrize("networked", [False, True])
def test_a_locked_process_can_start_nothing_and_write_nowhere(networked: bool, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("a ledger")
    lock = f"locks.memory(1024); locks.no_files(); locks.filter_calls(network={networked})"
    script = LOCKED.format(lock=lock, file=str(tmp_path / "written"), kept=str(kept))
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    tried = eval(told)
    assert tried["thread"] == "done"
    assert tried["program"] == tried["exec"] == tried["fork"] == tried["signal"] == "PermissionError"
    assert tried["file"] == ("OSError" if networked else "PermissionError")
    changes = ("removed", "renamed", "emptied", "emptied by opening", "opened to be written", "mode", "folder")
    # which the paths are kept from
    opening = set() if not networked else {"emptied by opening", "opened to be written"}
    assert tried["read"] == "done"
    assert {tried[change] for change in changes if change not in opening} == {"PermissionError"}
    if not networked:
        assert {tried[change] for change in opening} <= {"PermissionError"}
        assert kept.read_text() == "a ledger"
    assert tried["memory"] == "MemoryError"
    assert (tried["socket"], tried["pair"]) == (
        ("done", "done") if networked else ("PermissionError", "PermissionError")
    )
    assert not (tmp_path / "written").exists() or (tmp_path / "written").read_bytes() == b""


def test_a_processor_limit_kills() -> None:
    script = "from obverse.server.sandbox import seccomp as locks; locks.processor(0.0)\nwhile True: pass"
    begun = time.monotonic()
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True)
    assert ended.returncode in (-signal.SIGKILL, -signal.SIGXCPU)
    assert time.monotonic() - begun < 60


def test_a_frame_of_untold_length_is_not_waited_for() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(protocol.LENGTH.pack(protocol.LONGEST + 1))
        with pytest.raises(EOFError):
            protocol.receive(ours, time.monotonic() + 60)
        theirs.sendall(protocol.LENGTH.pack(10) + b"half")
        with pytest.raises(TimeoutError):
            protocol.receive(ours, time.monotonic() + 0.05)


def test_public_rows_are_as_large_as_memory_for_them(cage: Cage) -> None:
    sql = "SELECT repeat('x', 65536) AS t FROM range({})"
    assert len(cage.run_public(sql.format(100), timeout_s=30.0).rows) == 100
    with pytest.raises(ObverseError) as failed:
        cage.run_public(sql.format(1000), timeout_s=30.0)
    assert not failed.value.charged
