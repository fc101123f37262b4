"""Landlock: the paths that a sandboxed process can open, by the kernel (landlock(7)).

Claim:   after `restrict` the process and its threads open no file but those under `readable`, and those only to read;
         /dev/null also to write. They make, rename, link and remove nothing, trace no process outside, and where the
         kernel has the rules for it they signal none, listen on no TCP port, and (without a network) reach no abstract
         socket.
Proof:   a ruleset denies each handled access that no rule grants, and holds for good for the thread and what it starts;
         a domain may trace only processes of itself and of domains inside it.
Assumes: Linux; the process has one thread when it calls. What was open before stays open.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import sysconfig
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from obverse.core.errors import CatalogError, Refused

# the same numbers on every machine
CREATE = 444
ADD = 445
RESTRICT = 446
VERSION = 1  # a flag of CREATE: which version of Landlock the kernel has
BENEATH = 1
READ_FILE = 1 << 2
READ_DIR = 1 << 3
WRITE_FILE = 1 << 1
FILES = ((1, (1 << 13) - 1), (2, 1 << 13), (3, 1 << 14), (5, 1 << 15))  # accesses that are handled from a version on
LISTENING = (4, 1)
SIGNALS = 2
ABSTRACT_SOCKETS = 1
SCOPED = 6
SYSTEM = (
    "/usr", "/lib", "/lib64", "/lib32", "/bin", "/sbin", "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/dev/urandom",
    "/dev/random", "/dev/null", "/sys/devices/system/cpu", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage",
    "/proc/sys/vm/overcommit_memory", "/etc/ld.so.cache", "/etc/localtime", "/etc/timezone",
)  # fmt: skip
NETWORK = (
    "/etc/hosts", "/etc/host.conf", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/services",
    "/etc/protocols", "/etc/passwd", "/etc/group", "/etc/ssl/certs", "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs",
    "/etc/pki/ca-trust", "/etc/crypto-policies", "/etc/ca-certificates", "/etc/krb5.conf", "/etc/postgresql-common",
    "/run/systemd/resolve",
)  # fmt: skip


def version() -> int:
    """Which version of Landlock the kernel has; 0 where it has none, or does not let us use it."""
    return max(0, int(_libc().syscall(CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(VERSION))))


def required() -> None:
    """Refuse to serve where a sandboxed process could open the ledger's files."""
    if version() == 0:
        raise Refused(
            "serve_needs_landlock",
            "`serve` needs Landlock, and this kernel does not offer it.",
            why="without it a process that reads rows could open and lock the ledger, and all other files of its user.",
            fix="Use Linux 5.13 or later with `landlock` in its `lsm=` list; in a container, a seccomp profile that "
            "allows"
            " landlock_create_ruleset, landlock_add_rule and landlock_restrict_self.",
        )


@cache
def libraries() -> tuple[Path, ...]:
    """Folders that Python, this package and its dependencies are loaded from."""
    named = [*sys.path, sys.prefix, sys.base_prefix, *sysconfig.get_paths().values()]
    return tuple(sorted({Path(one) for one in named if one and os.path.isabs(one)}))


def check_apart(readable: Iterable[Path], hidden: Iterable[Path]) -> None:
    """Refuse where what must stay out of reach lies under a path that is readable."""
    open_to = {place.resolve() for place in (*readable, *map(Path, SYSTEM + NETWORK))}
    for one in hidden:
        place = one.resolve()
        if over := open_to & {place, *place.parents}:
            raise CatalogError(
                "ledger_within_reach",
                f"{one.name} lies in a folder that processes which read rows may read.",
                why="a process that a row took over could lock the ledger, or read whom it leaves out.",
                fix="Move the project, or set OBVERSE_HOME, to a folder outside of the system's, Python's and "
                "PYTHONPATH.",
                place=str(min(over)),
            )


def restrict(readable: Iterable[Path], *, network: bool) -> None:
    """Give up every path but these and the system's libraries, for good. Needs no_new_privs."""
    known = version()
    handled = sum(accesses for since, accesses in FILES if known >= since)
    listening = LISTENING[1] if known >= LISTENING[0] else 0
    scoped = (SIGNALS | (0 if network else ABSTRACT_SOCKETS)) if known >= SCOPED else 0
    ruleset = _called(CREATE, struct.pack("QQQ", handled, listening, scoped), ctypes.c_size_t(24), ctypes.c_uint(0))
    try:
        for place in {*map(Path, SYSTEM + (NETWORK if network else ())), *readable}:
            _allow(ruleset, place)
        _called(RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint(0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, place: Path) -> None:
    """Reading beneath a path; what is not there needs no rule."""
    try:
        found = os.open(place, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    try:
        accesses = READ_FILE | (READ_DIR if place.is_dir() else 0) | (WRITE_FILE if str(place) == os.devnull else 0)
        _called(
            ADD, ctypes.c_int(ruleset), ctypes.c_int(BENEATH), struct.pack("=Qi", accesses, found), ctypes.c_uint(0)
        )
    finally:
        os.close(found)


def _called(number: int, *arguments: object) -> int:
    done: int = _libc().syscall(ctypes.c_long(number), *arguments)
    if done < 0:
        raise OSError(ctypes.get_errno(), "landlock")
    return done


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
