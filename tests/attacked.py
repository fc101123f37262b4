"""A service on a machine that allows no user namespaces, and code that runs inside one of its caged processes.

    python -m tests.attacked MODE FOLDER

MODE is one of MODES. Serves the project in FOLDER, runs ATTACK in a caged process as an engine that a row took over
could, and prints what each attempt came to as JSON.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import pickle
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

# a user with every capability; one without any; the same, where namespaces are allowed
MODES = ("root", "plain", "namespaces")
SECRET = "xyzzy-of-the-server"
UNSHARE = {"x86_64": 272, "aarch64": 97}
LANDLOCK = (444, 445, 446)

ATTACK = """
import ctypes, fcntl, json, os, resource, socket, stat, struct
libc = ctypes.CDLL(None, use_errno=True)
found = {}
def attempt(name, act):
    try:
        found[name] = str(act() or "done")
    except BaseException as error:
        found[name] = type(error).__name__
def call(number, *arguments):
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), "call")
def opened(path, flags=os.O_RDONLY):
    os.close(os.open(path, flags))
def memory(pid):
    with open(f"/proc/{pid}/maps") as maps:
        where = [int(line.split("-")[0], 16) for line in maps if " rw-p " in line][0]
    place = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
    return f"read {len(os.pread(place, 16, where))} bytes"
def locked(path, how):
    place = os.open(path, os.O_RDONLY)
    how(place, fcntl.LOCK_SH | fcntl.LOCK_NB)
    held.append(place)
def taken(pid):
    number = 438
    held = ctypes.c_long(libc.syscall(434, pid, 0)).value
    if held < 0: raise OSError(ctypes.get_errno(), "pidfd_open")
    call(number, held, 3, 0)
had = [os.readlink(f"/proc/self/fd/{n}") for n in range(3, 256) if os.path.lexists(f"/proc/self/fd/{n}")]
held = []
calls = {"x86_64": (310, 311, 101), "aarch64": (270, 271, 117)}[os.uname().machine]
for who, pid in TOLD["processes"].items():
    attempt(f"memory of the {who}", lambda: memory(pid))
    attempt(f"memory of the {who} opened", lambda: opened(f"/proc/{pid}/mem"))
    attempt(f"memory of the {who} written", lambda: opened(f"/proc/{pid}/mem", os.O_RDWR))
    attempt(f"environment of the {who}", lambda: open(f"/proc/{pid}/environ").read(1))
    attempt(f"files of the {who}", lambda: os.listdir(f"/proc/{pid}/fd"))
    attempt(f"folder of the {who}", lambda: os.listdir(f"/proc/{pid}/root/"))
    attempt(f"folder of the {who} itself", lambda: os.listdir(f"/proc/{pid}/cwd/"))
    here = ctypes.create_string_buffer(8)
    part = ctypes.create_string_buffer(struct.pack("PN", ctypes.addressof(here), 8))
    attempt(f"process_vm_readv of the {who}", lambda: call(calls[0], pid, part, 1, part, 1, 0))
    attempt(f"process_vm_writev of the {who}", lambda: call(calls[1], pid, part, 1, part, 1, 0))
    attempt(f"ptrace of the {who}", lambda: call(calls[2], 0x4206, pid, 0, 0))
    attempt(f"pidfd_getfd of the {who}", lambda: taken(pid))
    attempt(f"signal to the {who}", lambda: os.kill(pid, 0))
    attempt(f"stopping the {who}", lambda: os.kill(pid, 19))
    attempt(f"limits of the {who}", lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE))
    attempt(f"priority of the {who}", lambda: os.setpriority(os.PRIO_PROCESS, pid, 19))
    attempt(f"out of memory of the {who}", lambda: opened(f"/proc/{pid}/oom_score_adj", os.O_WRONLY))
for path in TOLD["files"]:
    attempt(f"open {path}", lambda: opened(path))
    attempt(f"write {path}", lambda: opened(path, os.O_RDWR))
    attempt(f"fcntl lock {path}", lambda: locked(path, fcntl.lockf))
    attempt(f"flock {path}", lambda: locked(path, fcntl.flock))
    attempt(f"truncate {path}", lambda: os.truncate(path, 0))
    attempt(f"link {path}", lambda: os.link(path, path + "-linked"))
    attempt(f"mode of {path}", lambda: os.chmod(path, 0))
    attempt(f"remove {path}", lambda: os.unlink(path))
for path in TOLD["folders"]:
    attempt(f"list {path}", lambda: os.listdir(path))
    attempt(f"make in {path}", lambda: opened(path + "/made", os.O_CREAT | os.O_WRONLY))
    attempt(f"make in {path} unnamed", lambda: opened(path, os.O_TMPFILE | os.O_RDWR))
for path in TOLD["sources"]:
    attempt(f"write {path}", lambda: opened(path, os.O_RDWR))
attempt("a larger memory", lambda: resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, \
resource.RLIM_INFINITY)))
attempt("another root", lambda: os.chroot("/tmp"))
attempt("a namespace", lambda: call({"x86_64": 272, "aarch64": 97}[os.uname().machine], 0x10000000))
attempt("a listener", lambda: socket.create_server(("127.0.0.1", 0)))
legal = {}
found, attempts = legal, found
for path in TOLD["sources"]:
    attempt(f"read {path}", lambda: opened(path))
attempt("imports", lambda: __import__("decimal") and __import__("sqlite3").__name__)
attempt("own status", lambda: open("/proc/self/status").read(1) and "done")
said = json.dumps({"attempts": attempts, "legal": legal, "open": had}).encode()
for number in range(3, 256):
    try:
        if stat.S_ISSOCK(os.fstat(number).st_mode):
            os.write(number, struct.pack("!I", len(said)) + said)
    except OSError:
        pass
import time
time.sleep(600)
"""


class Code:
    """Runs where it is unpickled."""

    def __init__(self, code: str) -> None:
        self.code = code

    def __reduce__(self) -> Any:
        return exec, (self.code, {})


def attacked(child: Any, told: dict[str, Any]) -> dict[str, Any]:
    """What came of the attempts inside a caged process that waits for its call; it goes on until it is killed."""
    from obverse.server.sandbox import protocol

    protocol.send(child.sock, pickle.dumps(Code(f"TOLD = {told!r}\n{ATTACK}")))
    said: dict[str, Any] = json.loads(protocol.receive(child.sock, time.monotonic() + 60))
    return said


def memory_of(pid: int) -> str:
    """What another program of the same user, in no sandbox, gets of a process's memory."""
    reading = [sys.executable, "-S", "-c", f"open('/proc/{pid}/mem', 'rb')"]
    said = subprocess.run(reading, capture_output=True, text=True).stderr.strip().splitlines()
    return said[-1].partition(":")[0] if said else "done"


def without(calls: Sequence[int], errno: int) -> None:
    """No such calls from here on, in no process that is started: as on a machine that does not allow them."""
    libc = ctypes.CDLL(None, use_errno=True)
    steps = [(0x20, 0, 0, 0)]
    for call in calls:
        steps += [(0x15, 0, 1, call), (0x06, 0, 0, 0x00050000 | errno)]
    steps.append((0x06, 0, 0, 0x7FFF0000))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, ctypes.c_ulong(ctypes.addressof(program)), 0, 0) == 0


def powerless() -> None:
    """No capability, also after another program is run; whoever had none stays as they are."""
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() == 0:
        for capability in range(64):
            libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP
        assert libc.prctl(28, 0b11, 0, 0, 0) == 0  # PR_SET_SECUREBITS: NOROOT, and locked
    header = struct.pack("Ii", 0x20080522, 0)
    assert libc.capset(header, struct.pack("6I", 0, 0, 0, 0, 0, 0)) == 0


def machine(mode: str) -> None:
    """Make this process, and all that it starts, one on such a machine."""
    if mode != "root":
        powerless()
    if mode != "namespaces":
        without([UNSHARE[os.uname().machine]], 1)


def main(mode: str, folder: Path) -> None:
    machine(mode)
    from obverse.core.errors import ObverseError
    from obverse.server.project import Host
    from obverse.server.run import Settings, run

    secret = f"{SECRET}-{os.getpid()}"

    def started(_: object) -> None:
        (host,) = [one for one in gc.get_objects() if isinstance(one, Host)]
        child = host.cage.taken()
        other = host.cage.taken()
        home = Path(os.environ["OBVERSE_HOME"])
        beside = folder.parent / "other"
        clerk = host.clerk()
        clerk.ledger.head()
        files = [str(one) for place in (folder, home, beside) for one in sorted(place.rglob("*")) if one.is_file()]
        sources = [str(table.source.path) for table in host.catalog.tables.values()]
        told = {
            "processes": {"server": os.getpid(), "zygote": host.cage._zygote.pid},
            "files": [one for one in files if one not in sources],
            "folders": [str(folder), str(home), str(beside), "/tmp", "/", "/dev/shm", "/root", str(Path.home())],
            "sources": sorted(set(sources)),
        }
        try:
            said = attacked(child, told)
            begun = time.monotonic()
            with suppress(ObverseError):
                clerk.ledger.record_custody(
                    "people", ("age",), "a write while the attacker holds what it could", secret
                )
            said["wrote_s"] = time.monotonic() - begun
            said["beside"] = {who: memory_of(pid) for who, pid in told["processes"].items()}
        finally:
            host.cage.give_up(child)
            host.cage.give_up(other)
        print(json.dumps(said), flush=True)
        os.kill(os.getpid(), signal.SIGTERM)

    run([folder], Settings(port=0, wire_port=None), started)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
