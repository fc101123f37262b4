"""The filter of system calls: its numbers are the kernel's, and its program does on each machine what it says."""

from __future__ import annotations

import itertools
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from obverse.server.sandbox.seccomp import MACHINES, Machine

ALLOW = "allow"
KILL = "kill"
EPERM = "eperm"
ENOSYS = "enosys"
VERDICTS = {0x7FFF0000: ALLOW, 0x80000000: KILL, 0x00050001: EPERM, 0x00050026: ENOSYS}
OURS = 4711
HEADERS = {  # where the kernel's headers are installed; that for aarch64 is the generic one, which every machine has
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
CLONE_THREAD = 0x10000
READING = 0o2000000
WRITING = 0o1
MADE = 0o100


def told(machine: Machine) -> dict[str, int]:
    """Every call that a filter names."""
    opening = dict(
        zip(("openat",) if len(machine.opening) == 1 else ("open", "openat"), (call for call, _ in machine.opening))
    )
    own = {"tgkill": machine.tgkill, "prlimit64": machine.prlimit64, "clone": machine.clone, "clone3": machine.clone3}
    owning = {"fcntl": machine.fcntl, "ioctl": machine.ioctl}
    return {**machine.always, **machine.sockets, **machine.files, **opening, **own, **owning}


def verdict(program: bytes, architecture: int, call: int, *arguments: int) -> str:
    """What a filter says: the classic BPF, by the few orders that ours are made of."""
    seen = struct.pack("<iIQ6Q", call, architecture, 0, *(list(arguments) + [0] * 6)[:6])
    steps = [struct.unpack_from("HBBI", program, place) for place in range(0, len(program), 8)]
    at = 0
    held = 0
    while True:
        order, yes, no, value = steps[at]
        match order:
            case 0x20:
                (held,) = struct.unpack_from("<I", seen, value)
                at += 1
            case 0x15:
                at += 1 + (yes if held == value else no)
            case 0x35:
                at += 1 + (yes if held >= value else no)
            case 0x45:
                at += 1 + (yes if held & value else no)
            case 0x06:
                return VERDICTS[value]
            case _:
                raise AssertionError(order)


@pytest.mark.parametrize("name", MACHINES)
def test_numbers_are_those_of_the_kernels_own_table(name: str) -> None:
    """Numbers from 424 on are the same everywhere; those that this machine's headers do not have yet are of later
    kernels.
    """
    if not HEADERS[name].exists():
        pytest.skip("the kernel's headers are not installed")
    found = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)\b", HEADERS[name].read_text())
    table = {call: int(number) for call, number in found}
    ours = told(MACHINES[name])
    later = {call for call in ours if call not in table}
    assert {call: ours[call] for call in ours if call in table} == {call: table[call] for call in ours if call in table}
    assert all(ours[call] > 450 for call in later), later
    assert len(ours) - len(later) > 60


def test_every_machine_gives_up_the_same() -> None:
    """What aarch64 lacks has another name there: it has only the calls that name the folder or the flags too."""
    x86, arm = (told(MACHINES[name]) for name in ("x86_64", "aarch64"))
    older = {
        "fork",
        "vfork",
        "creat",
        "open",
        "rename",
        "unlink",
        "rmdir",
        "mkdir",
        "mknod",
        "link",
        "symlink",
        "chmod",
        "chown",
        "lchown",
        "utime",
        "utimes",
        "futimesat",
    }
    assert set(x86) - set(arm) == older
    assert set(arm) <= set(x86)
    assert all(x86[call] == arm[call] for call in arm if arm[call] >= 424)


@pytest.mark.parametrize(("name", "network"), list(itertools.product(MACHINES, [False, True])))
def test_the_program_refuses_what_is_listed_and_nothing_else(name: str, network: bool) -> None:
    machine = MACHINES[name]
    program = machine.program(network=network, process=OURS)
    listed = {*machine.always.values(), *machine.files.values(), *(() if network else machine.sockets.values())}
    special = {machine.tgkill, machine.prlimit64, machine.clone, machine.clone3, *(call for call, _ in machine.opening)}
    special |= {machine.fcntl, machine.ioctl}
    assert not listed & special
    for call in range(600):
        if call not in special:
            expected = EPERM if call in listed else ALLOW
            assert verdict(program, machine.architecture, call) == expected, call
    assert verdict(program, machine.architecture, machine.clone3) == ENOSYS
    assert verdict(program, machine.architecture, machine.clone, CLONE_THREAD | 0xF00) == ALLOW
    assert verdict(program, machine.architecture, machine.clone, 0xF11) == EPERM
    for call, place in machine.opening:
        before = [0] * place
        assert verdict(program, machine.architecture, call, *before, READING) == ALLOW
        for flags in (WRITING, MADE, 0o2, 0o1000, READING | WRITING):
            assert verdict(program, machine.architecture, call, *before, flags) == (ALLOW if network else EPERM)


@pytest.mark.parametrize("name", MACHINES)
def test_signals_and_limits_are_for_oneself_alone(name: str) -> None:
    machine = MACHINES[name]
    program = machine.program(network=True, process=OURS)
    for call, mine in ((machine.tgkill, OURS), (machine.prlimit64, 0)):
        assert verdict(program, machine.architecture, call, mine) == ALLOW
        assert verdict(program, machine.architecture, call, OURS + 1) == EPERM
        assert verdict(program, machine.architecture, call, 1) == EPERM


@pytest.mark.parametrize("name", MACHINES)
def test_no_file_is_told_whom_to_signal(name: str) -> None:
    machine = MACHINES[name]
    program = machine.program(network=True, process=OURS)
    for call, refused in ((machine.fcntl, {8, 10, 15}), (machine.ioctl, {0x8901, 0x8902})):
        for order in {*range(1100), *refused, 0x541B}:
            expected = EPERM if order in refused else ALLOW
            assert verdict(program, machine.architecture, call, 3, order) == expected, order
            assert verdict(program, machine.architecture, call, 3, order | 1 << 32) == expected, "orders have 32 bits"


@pytest.mark.parametrize("name", MACHINES)
def test_calls_of_another_numbering_are_the_end(name: str) -> None:
    machine = MACHINES[name]
    program = machine.program(network=False, process=OURS)
    others = {other.architecture for other in MACHINES.values()} - {machine.architecture} | {0x40000003, 0x40000028}
    assert {verdict(program, other, 0) for other in others} == {KILL}
    assert verdict(program, machine.architecture, 0x40000000) == KILL


AIMED = """
import ctypes, os, resource, signal, sys
from obverse.server.sandbox import seccomp as locks
from obverse.server.sandbox.seccomp import MACHINES
import platform
machine, libc = MACHINES[platform.machine()], ctypes.CDLL(None, use_errno=True)
parent = os.getppid()
locks.filter_calls(network=True)
def tried(*call):
    return 0 if libc.syscall(*map(ctypes.c_long, call)) == 0 else ctypes.get_errno()
told = [tried(machine.tgkill, parent, parent, 0), tried(machine.prlimit64, parent, resource.RLIMIT_CPU, 0, 0)]
signal.signal(signal.SIGUSR1, lambda *_: told.append("heard"))
signal.raise_signal(signal.SIGUSR1)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
print(*told)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a cage needs Linux")
def test_a_caged_process_cannot_reach_its_server_by_signals_or_limits() -> None:
    """Under one user, a limit of the processor that is set on another process kills it as well as a signal does."""
    done = subprocess.run([sys.executable, "-c", AIMED], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "1", "heard"]


OWNED = """
import fcntl, os, signal, socket, struct
from obverse.server.sandbox import seccomp as locks
parent, (ours, theirs) = os.getppid(), socket.socketpair()
locks.filter_calls(network=True)
def tried(act):
    try:
        act()
    except OSError as error:
        return error.errno
    return 0
told = [
    tried(lambda: fcntl.fcntl(ours, 8, parent)), tried(lambda: fcntl.fcntl(ours, 10, signal.SIGURG)),
    tried(lambda: fcntl.fcntl(ours, 15, struct.pack("ii", 1, parent))),
    tried(lambda: fcntl.ioctl(ours, 0x8901, struct.pack("i", parent))),
    tried(lambda: fcntl.ioctl(ours, 0x8902, struct.pack("i", parent))),
]
print(*told, tried(lambda: os.set_blocking(ours.fileno(), False)))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a cage needs Linux")
def test_a_caged_process_cannot_have_the_kernel_signal_its_server() -> None:
    """A file may name who is signalled when it is ready, and by which signal: one that kills, too."""
    done = subprocess.run([sys.executable, "-c", OWNED], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "1", "1", "1", "1", "0"]


SHARED = """
import ctypes, os
from obverse.server.sandbox import seccomp as locks
libc, parent, key = ctypes.CDLL(None, use_errno=True), os.getppid(), 0x0b7e_75e1
nice, places = os.getpriority(os.PRIO_PROCESS, parent), os.sched_getaffinity(parent)
locks.filter_calls(network=True)
def tried(act):
    try:
        return 0 if act() != -1 else ctypes.get_errno()
    except OSError as error:
        return error.errno
print(
    tried(lambda: os.setpriority(os.PRIO_PROCESS, parent, nice)),
    tried(lambda: os.sched_setaffinity(parent, places)),
    tried(lambda: os.sched_setscheduler(parent, os.SCHED_OTHER, os.sched_param(0))),
    tried(lambda: libc.shmget(key, 4096, 0)), tried(lambda: libc.semget(key, 1, 0)), tried(lambda: libc.msgget(key, 0)),
    tried(lambda: libc.shmat(-1, None, 0)), tried(lambda: libc.msgrcv(-1, None, 0, 0, 0)),
)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a cage needs Linux")
def test_a_caged_process_cannot_slow_its_server_or_leave_words_for_another() -> None:
    """What it tries would change nothing: the priority that is, queues and memory that are not there."""
    done = subprocess.run([sys.executable, "-c", SHARED], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"1"}, done.stdout
