"""CPU and memory of processes with all that they started, from Linux's /proc: servers, a JVM, workers, also ended ones.

Peers import this file in their own environments, so only the standard library is used.
"""

from __future__ import annotations

import os
from pathlib import Path

PROC = Path("/proc")
TICK_S = 1 / os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 0.01


def can_measure() -> bool:
    return (PROC / "self" / "stat").exists()


def fields(pid: int) -> list[str]:
    """The fields of a process after its name, which may hold blanks; none where it has ended."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def tree(*roots: int) -> list[int]:
    """The processes, and those that descend from them."""
    children: dict[int, list[int]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdecimal() and (found := fields(int(entry.name))):
            children.setdefault(int(found[1]), []).append(int(entry.name))
    seen: list[int] = []
    waiting = list(roots)
    while waiting:
        pid = waiting.pop()
        if pid not in seen:
            seen.append(pid)
            waiting += children.get(pid, [])
    return seen


def tree_cpu_s(*roots: int) -> float:
    """User and system seconds of the processes, of all that they started, and of what these waited for when it
    ended.
    """
    return TICK_S * sum(sum(map(int, found[11:15])) for pid in tree(*roots) if (found := fields(pid)))


def tree_peak_mb(*roots: int) -> float:
    """The most memory that each process ever held, added up: at least the most that they held at one time."""
    kilobytes = 0
    for pid in tree(*roots):
        try:
            lines = (PROC / str(pid) / "status").read_text().splitlines()
        except OSError:
            continue
        kilobytes += sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    return kilobytes / 1024
