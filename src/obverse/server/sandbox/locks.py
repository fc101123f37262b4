"""What a caged process gives up for good before it sees a row: memory, time, files to write, programs to start, a network.

Claim:   after `filter_calls` the process can start no program and no process, and neither signal another, nor limit or slow
         it, nor leave it words in shared memory or queues of the system, nor change, rename or remove a file; without a
         network it can make no socket and open no file to write. The kernel ends it past its memory and CPU. After `paths`
         it opens the given paths and the system's libraries alone (landlock.py) and has no privilege but that of reading
         files of other owners. After `private_memory` only a process with CAP_SYS_PTRACE reads a process's memory.
Proof:   setrlimit(2) with equal soft and hard limits cannot be undone without a privilege; a seccomp filter (seccomp(2)) is
         kept for ever and by all threads that are made after it. no_new_privs keeps set-uid programs from lending any.
         ptrace(2), "ptrace access mode checking": a process that is not dumpable is refused to all without that privilege.
Assumes: Linux; filter and paths are set before any further thread.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import signal
import struct
from collections.abc import Iterable
from pathlib import Path

from obverse.core.errors import Refused
from obverse.server.sandbox import landlock
from obverse.server.sandbox.calls import MACHINES

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 1, 4, 38, 22
CAPABILITIES, CAP_DAC_READ_SEARCH = 0x20080522, 1 << 2
SECCOMP_MODE_FILTER = 2
CLONE_NEWNET, CLONE_NEWUSER = 0x40000000, 0x10000000
FILES_MAX = 1024


def of_a_child(parent: int) -> None:
    """Die with the parent, and keep memory from others."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    private_memory()


def private_memory() -> None:
    """No core is written, and no process without a privilege reads this one's memory, descriptors or environment."""
    _prctl(PR_SET_DUMPABLE, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def paths(readable: Iterable[Path], *, network: bool) -> None:
    """Open nothing else from here on, and hold no privilege but that of reading what its owner alone may."""
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    landlock.restrict(readable, network=network)
    libc = ctypes.CDLL(None, use_errno=True)
    header, held = struct.pack("Ii", CAPABILITIES, 0), ctypes.create_string_buffer(24)
    if libc.capget(header, held) != 0:
        raise OSError(ctypes.get_errno(), "capget")
    permitted = struct.unpack("6I", held.raw)[1] & CAP_DAC_READ_SEARCH
    if libc.capset(header, struct.pack("6I", permitted, permitted, 0, 0, 0, 0)) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def memory(megabytes: int) -> None:
    most = megabytes << 20
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    files = min(FILES_MAX, resource.getrlimit(resource.RLIMIT_NOFILE)[1])  # no more than there are
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))


def processor(seconds: float) -> None:
    """From now on so many seconds of the processor, over all threads; then the kernel kills."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = int(used.ru_utime + used.ru_stime + seconds) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))


def no_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def no_network() -> bool:
    """A network namespace without any interface, where the system lets us; the filter holds either way."""
    libc = ctypes.CDLL(None, use_errno=True)
    return any(libc.unshare(flags) == 0 for flags in (CLONE_NEWNET, CLONE_NEWUSER | CLONE_NEWNET))


def filter_calls(*, network: bool) -> None:
    """No program and no process can be started from here on; without `network`, no socket made and no file changed."""
    machine = platform.machine()
    if machine not in MACHINES:
        raise Refused("serve_needs_linux", f"`serve` cannot lock its processes on {machine}.", fix="Use x86_64 or aarch64.")
    program = MACHINES[machine].program(network=network, process=os.getpid())
    code = ctypes.create_string_buffer(program)
    prog = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code)))
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    _prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(prog))


def _prctl(option: int, value: int, more: int = 0) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(more), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
