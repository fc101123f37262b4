"""Numbers of the system calls that a caged process gives up, for each machine (asm/unistd.h), and the filter made of
them.

What a caged process gives up for good before it sees a row: memory, time, files to write, programs to start, a network.

Claim:   after `filter_calls` the process can start no program and no process, and neither signal another, nor limit or
         slow it, nor leave it words in shared memory or queues of the system, nor change, rename or remove a file;
         without a network it can make no socket and open no file to write. The kernel ends it past its memory and CPU.
         After `paths` it opens the given paths and the system's libraries alone (landlock.py) and has no privilege but
         that of reading files of other owners. After `private_memory` only a process with CAP_SYS_PTRACE reads a
         process's memory.
Proof:   setrlimit(2) with equal soft and hard limits cannot be undone without a privilege; a seccomp filter
         (seccomp(2)) is kept for ever and by all threads that are made after it. no_new_privs keeps set-uid programs
         from lending any. ptrace(2), "ptrace access mode checking": a process that is not dumpable is refused to all
         without that privilege.
Assumes: Linux; filter and paths are set before any further thread.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import signal
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from obverse.core.errors import Refused
from obverse.server.sandbox import landlock

CLONE_THREAD = 0x10000
WRITING = 0o1 | 0o2 | 0o100 | 0o1000  # O_WRONLY, O_RDWR, O_CREAT, O_TRUNC
# of the classic BPF
_LOAD = 0x20
_JUMP_EQUAL = 0x15
_JUMP_LEAST = 0x35
_JUMP_ANY = 0x45
_RETURN = 0x06
_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_ERRNO = 0x00050000
_EPERM = 1
_ENOSYS = 38
_X32 = 0x40000000  # calls of another numbering, on the same machine
_OWNERS = (8, 10, 15)  # F_SETOWN, F_SETSIG, F_SETOWN_EX: whom the kernel signals when a file is ready, and how
_SOCKET_OWNERS = (0x8901, 0x8902)  # FIOSETOWN, SIOCSPGRP: the same of sockets
# places in what a filter is told; arguments have eight bytes each
_CALL = 0
_ARCHITECTURE = 4
_ARGUMENT = 16
_EVERYWHERE = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "pidfd_send_signal": 424,
    "pidfd_open": 434,
    "pidfd_getfd": 438,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "mount_setattr": 442,
    "open_tree_attr": 467,
    "process_madvise": 440,
    "process_mrelease": 448,
}
_NEW_FILES = {"openat2": 437, "fchmodat2": 452, "setxattrat": 463, "removexattrat": 466, "file_setattr": 469}
Step = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Machine:
    """One numbering: calls that start programs, reach or slow other processes or change the system; the network's;
    files'.
    """

    architecture: int
    always: dict[str, int]
    sockets: dict[str, int]
    files: dict[str, int]
    clone: int
    opening: tuple[tuple[int, int], ...]  # a call that opens, and which of its arguments has the flags
    tgkill: int
    prlimit64: int
    fcntl: int
    ioctl: int
    clone3: int = 435

    def program(self, *, network: bool, process: int) -> bytes:
        """Load the architecture, kill where it is another; load the call, refuse those listed, allow the rest.

        `clone` makes threads alone. What `clone3` would make cannot be seen, so there is none, and the C library takes
        the other. Signals and limits are for the process itself, and no file is told to signal another. No file is
        changed, renamed or removed; without a network nothing is opened to be written, either.
        """
        refused = [*self.always.values(), *self.files.values(), *(() if network else self.sockets.values())]
        steps: list[Step] = [
            (_LOAD, 0, 0, _ARCHITECTURE),
            (_JUMP_EQUAL, 1, 0, self.architecture),
            (_RETURN, 0, 0, _KILL),
            (_LOAD, 0, 0, _CALL),
            (_JUMP_LEAST, 0, 1, _X32),
            (_RETURN, 0, 0, _KILL),
            (_JUMP_EQUAL, 0, 1, self.clone3),
            (_RETURN, 0, 0, _ERRNO | _ENOSYS),
            *_by_flags(self.clone, 0, CLONE_THREAD, allowed=True),
            *_only(self.tgkill, process),
            *_only(self.prlimit64, 0),
            *_but(self.fcntl, 1, _OWNERS),
            *_but(self.ioctl, 1, _SOCKET_OWNERS),
        ]
        for call, argument in () if network else self.opening:
            steps += _by_flags(call, argument, WRITING, allowed=False)
        steps += [(_JUMP_EQUAL, len(refused) - place, 0, call) for place, call in enumerate(refused)]
        steps += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _ERRNO | _EPERM)]
        return b"".join(struct.pack("HBBI", *step) for step in steps)


def _by_flags(call: int, argument: int, flags: int, *, allowed: bool) -> Iterator[Step]:
    """A call with any of the flags is allowed, or refused; without them the other way round."""
    yield _JUMP_EQUAL, 0, 4, call
    yield _LOAD, 0, 0, _ARGUMENT + 8 * argument
    yield _JUMP_ANY, int(not allowed), int(allowed), flags
    yield _RETURN, 0, 0, _ALLOW
    yield _RETURN, 0, 0, _ERRNO | _EPERM


def _only(call: int, first: int) -> Iterator[Step]:
    """A call is allowed with this as its first argument, of 32 bits, and with nothing else."""
    yield _JUMP_EQUAL, 0, 4, call
    yield _LOAD, 0, 0, _ARGUMENT
    yield _JUMP_EQUAL, 0, 1, first
    yield _RETURN, 0, 0, _ALLOW
    yield _RETURN, 0, 0, _ERRNO | _EPERM


def _but(call: int, argument: int, refused: tuple[int, ...]) -> Iterator[Step]:
    """A call is allowed with anything but these as its argument."""
    yield _JUMP_EQUAL, 0, len(refused) + 3, call
    yield _LOAD, 0, 0, _ARGUMENT + 8 * argument
    yield from ((_JUMP_EQUAL, len(refused) - place, 0, value) for place, value in enumerate(refused))
    yield _RETURN, 0, 0, _ALLOW
    yield _RETURN, 0, 0, _ERRNO | _EPERM


MACHINES = {
    "x86_64": Machine(
        0xC000003E,
        _EVERYWHERE
        | {
            "fork": 57,
            "vfork": 58,
            "execve": 59,
            "execveat": 322,
            "ptrace": 101,
            "process_vm_readv": 310,
            "process_vm_writev": 311,
            "mount": 165,
            "umount2": 166,
            "pivot_root": 155,
            "chroot": 161,
            "init_module": 175,
            "finit_module": 313,
            "kexec_load": 246,
            "kexec_file_load": 320,
            "bpf": 321,
            "perf_event_open": 298,
            "unshare": 272,
            "setns": 308,
            "kill": 62,
            "tkill": 200,
            "rt_sigqueueinfo": 129,
            "rt_tgsigqueueinfo": 297,
            "add_key": 248,
            "request_key": 249,
            "keyctl": 250,
            "open_by_handle_at": 304,
            "userfaultfd": 323,
            "setpriority": 141,
            "sched_setparam": 142,
            "sched_setscheduler": 144,
            "sched_setaffinity": 203,
            "sched_setattr": 314,
            "ioprio_set": 251,
            "migrate_pages": 256,
            "move_pages": 279,
            "shmget": 29,
            "shmat": 30,
            "shmctl": 31,
            "semget": 64,
            "semop": 65,
            "semctl": 66,
            "semtimedop": 220,
            "msgget": 68,
            "msgsnd": 69,
            "msgrcv": 70,
            "msgctl": 71,
            "mq_open": 240,
            "mq_unlink": 241,
        },
        {"socket": 41, "connect": 42, "accept": 43, "bind": 49, "listen": 50, "socketpair": 53, "accept4": 288},
        _NEW_FILES
        | {
            "truncate": 76,
            "ftruncate": 77,
            "fallocate": 285,
            "creat": 85,
            "rename": 82,
            "renameat": 264,
            "renameat2": 316,
            "unlink": 87,
            "unlinkat": 263,
            "rmdir": 84,
            "mkdir": 83,
            "mkdirat": 258,
            "mknod": 133,
            "mknodat": 259,
            "link": 86,
            "linkat": 265,
            "symlink": 88,
            "symlinkat": 266,
            "chmod": 90,
            "fchmod": 91,
            "fchmodat": 268,
            "chown": 92,
            "fchown": 93,
            "lchown": 94,
            "fchownat": 260,
            "utime": 132,
            "utimes": 235,
            "futimesat": 261,
            "utimensat": 280,
            "setxattr": 188,
            "lsetxattr": 189,
            "fsetxattr": 190,
            "removexattr": 197,
            "lremovexattr": 198,
            "fremovexattr": 199,
        },
        56,
        ((2, 1), (257, 2)),
        tgkill=234,
        prlimit64=302,
        fcntl=72,
        ioctl=16,
    ),
    "aarch64": Machine(
        0xC00000B7,
        _EVERYWHERE
        | {
            "execve": 221,
            "execveat": 281,
            "ptrace": 117,
            "process_vm_readv": 270,
            "process_vm_writev": 271,
            "mount": 40,
            "umount2": 39,
            "pivot_root": 41,
            "chroot": 51,
            "init_module": 105,
            "finit_module": 273,
            "kexec_load": 104,
            "kexec_file_load": 294,
            "bpf": 280,
            "perf_event_open": 241,
            "unshare": 97,
            "setns": 268,
            "kill": 129,
            "tkill": 130,
            "rt_sigqueueinfo": 138,
            "rt_tgsigqueueinfo": 240,
            "add_key": 217,
            "request_key": 218,
            "keyctl": 219,
            "open_by_handle_at": 265,
            "userfaultfd": 282,
            "setpriority": 140,
            "sched_setparam": 118,
            "sched_setscheduler": 119,
            "sched_setaffinity": 122,
            "sched_setattr": 274,
            "ioprio_set": 30,
            "migrate_pages": 238,
            "move_pages": 239,
            "shmget": 194,
            "shmat": 196,
            "shmctl": 195,
            "semget": 190,
            "semop": 193,
            "semctl": 191,
            "semtimedop": 192,
            "msgget": 186,
            "msgsnd": 189,
            "msgrcv": 188,
            "msgctl": 187,
            "mq_open": 180,
            "mq_unlink": 181,
        },
        {"socket": 198, "connect": 203, "accept": 202, "bind": 200, "listen": 201, "socketpair": 199, "accept4": 242},
        _NEW_FILES
        | {
            "truncate": 45,
            "ftruncate": 46,
            "fallocate": 47,
            "renameat": 38,
            "renameat2": 276,
            "unlinkat": 35,
            "mkdirat": 34,
            "mknodat": 33,
            "linkat": 37,
            "symlinkat": 36,
            "fchmod": 52,
            "fchmodat": 53,
            "fchown": 55,
            "fchownat": 54,
            "utimensat": 88,
            "setxattr": 5,
            "lsetxattr": 6,
            "fsetxattr": 7,
            "removexattr": 14,
            "lremovexattr": 15,
            "fremovexattr": 16,
        },
        220,
        ((56, 2),),
        tgkill=131,
        prlimit64=261,
        fcntl=25,
        ioctl=29,
    ),
}


PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_NO_NEW_PRIVS = 38
PR_SET_SECCOMP = 22
CAPABILITIES = 0x20080522
CAP_DAC_READ_SEARCH = 1 << 2
SECCOMP_MODE_FILTER = 2
CLONE_NEWNET = 0x40000000
CLONE_NEWUSER = 0x10000000
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
    header = struct.pack("Ii", CAPABILITIES, 0)
    held = ctypes.create_string_buffer(24)
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
        raise Refused(
            "serve_needs_linux", f"`serve` cannot lock its processes on {machine}.", fix="Use x86_64 or aarch64."
        )
    program = MACHINES[machine].program(network=network, process=os.getpid())
    code = ctypes.create_string_buffer(program)
    prog = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code)))
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    _prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(prog))


def _prctl(option: int, value: int, more: int = 0) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(more), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
