"""Numbers of the system calls that a caged process gives up, for each machine (asm/unistd.h), and the filter made of them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

CLONE_THREAD = 0x10000
WRITING = 0o1 | 0o2 | 0o100 | 0o1000  # O_WRONLY, O_RDWR, O_CREAT, O_TRUNC
_LOAD, _JUMP_EQUAL, _JUMP_LEAST, _JUMP_ANY, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # of the classic BPF
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _ENOSYS = 1, 38
_X32 = 0x40000000  # calls of another numbering, on the same machine
_OWNERS = (8, 10, 15)  # F_SETOWN, F_SETSIG, F_SETOWN_EX: whom the kernel signals when a file is ready, and how
_SOCKET_OWNERS = (0x8901, 0x8902)  # FIOSETOWN, SIOCSPGRP: the same of sockets
_CALL, _ARCHITECTURE, _ARGUMENT = 0, 4, 16  # places in what a filter is told; arguments have eight bytes each
_EVERYWHERE = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "pidfd_send_signal": 424, "pidfd_open": 434,
    "pidfd_getfd": 438, "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "mount_setattr": 442, "open_tree_attr": 467, "process_madvise": 440, "process_mrelease": 448,
}  # fmt: skip
_NEW_FILES = {"openat2": 437, "fchmodat2": 452, "setxattrat": 463, "removexattrat": 466, "file_setattr": 469}
Step = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Machine:
    """One numbering: calls that start programs, reach or slow other processes or change the system; the network's; files'."""

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

        `clone` makes threads alone. What `clone3` would make cannot be seen, so there is none, and the C library takes the
        other. Signals and limits are for the process itself, and no file is told to signal another. No file is changed, renamed
        or removed; without a network nothing is opened to be written, either.
        """
        refused = [*self.always.values(), *self.files.values(), *(() if network else self.sockets.values())]
        steps: list[Step] = [
            (_LOAD, 0, 0, _ARCHITECTURE), (_JUMP_EQUAL, 1, 0, self.architecture), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, _CALL),
            (_JUMP_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _KILL),
            (_JUMP_EQUAL, 0, 1, self.clone3), (_RETURN, 0, 0, _ERRNO | _ENOSYS),
            *_by_flags(self.clone, 0, CLONE_THREAD, allowed=True),
            *_only(self.tgkill, process), *_only(self.prlimit64, 0),
            *_but(self.fcntl, 1, _OWNERS), *_but(self.ioctl, 1, _SOCKET_OWNERS),
        ]  # fmt: skip
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
        _EVERYWHERE | {
            "fork": 57, "vfork": 58, "execve": 59, "execveat": 322, "ptrace": 101, "process_vm_readv": 310,
            "process_vm_writev": 311, "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "init_module": 175,
            "finit_module": 313, "kexec_load": 246, "kexec_file_load": 320, "bpf": 321, "perf_event_open": 298,
            "unshare": 272, "setns": 308, "kill": 62, "tkill": 200, "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297,
            "add_key": 248, "request_key": 249, "keyctl": 250, "open_by_handle_at": 304, "userfaultfd": 323,
            "setpriority": 141, "sched_setparam": 142, "sched_setscheduler": 144, "sched_setaffinity": 203,
            "sched_setattr": 314, "ioprio_set": 251, "migrate_pages": 256, "move_pages": 279, "shmget": 29, "shmat": 30,
            "shmctl": 31, "semget": 64, "semop": 65, "semctl": 66, "semtimedop": 220, "msgget": 68, "msgsnd": 69, "msgrcv": 70,
            "msgctl": 71, "mq_open": 240, "mq_unlink": 241,
        },
        {"socket": 41, "connect": 42, "accept": 43, "bind": 49, "listen": 50, "socketpair": 53, "accept4": 288},
        _NEW_FILES | {
            "truncate": 76, "ftruncate": 77, "fallocate": 285, "creat": 85, "rename": 82, "renameat": 264, "renameat2": 316,
            "unlink": 87, "unlinkat": 263, "rmdir": 84, "mkdir": 83, "mkdirat": 258, "mknod": 133, "mknodat": 259,
            "link": 86, "linkat": 265, "symlink": 88, "symlinkat": 266, "chmod": 90, "fchmod": 91, "fchmodat": 268,
            "chown": 92, "fchown": 93, "lchown": 94, "fchownat": 260, "utime": 132, "utimes": 235, "futimesat": 261,
            "utimensat": 280, "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197, "lremovexattr": 198,
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
        _EVERYWHERE | {
            "execve": 221, "execveat": 281, "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "mount": 40,
            "umount2": 39, "pivot_root": 41, "chroot": 51, "init_module": 105, "finit_module": 273, "kexec_load": 104,
            "kexec_file_load": 294, "bpf": 280, "perf_event_open": 241, "unshare": 97, "setns": 268, "kill": 129,
            "tkill": 130, "rt_sigqueueinfo": 138, "rt_tgsigqueueinfo": 240, "add_key": 217, "request_key": 218,
            "keyctl": 219, "open_by_handle_at": 265, "userfaultfd": 282, "setpriority": 140, "sched_setparam": 118,
            "sched_setscheduler": 119, "sched_setaffinity": 122, "sched_setattr": 274, "ioprio_set": 30, "migrate_pages": 238,
            "move_pages": 239, "shmget": 194, "shmat": 196, "shmctl": 195, "semget": 190, "semop": 193, "semctl": 191,
            "semtimedop": 192, "msgget": 186, "msgsnd": 189, "msgrcv": 188, "msgctl": 187, "mq_open": 180, "mq_unlink": 181,
        },
        {"socket": 198, "connect": 203, "accept": 202, "bind": 200, "listen": 201, "socketpair": 199, "accept4": 242},
        _NEW_FILES | {
            "truncate": 45, "ftruncate": 46, "fallocate": 47, "renameat": 38, "renameat2": 276, "unlinkat": 35, "mkdirat": 34,
            "mknodat": 33, "linkat": 37, "symlinkat": 36, "fchmod": 52, "fchmodat": 53, "fchown": 55, "fchownat": 54,
            "utimensat": 88, "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15,
            "fremovexattr": 16,
        },
        220,
        ((56, 2),),
        tgkill=131,
        prlimit64=261,
        fcntl=25,
        ioctl=29,
    ),
}  # fmt: skip
