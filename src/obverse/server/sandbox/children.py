"""A caged process as the server sees it, and what is raised where one gave no answer."""

from __future__ import annotations

import socket
import subprocess
from dataclasses import dataclass

ORPHANED_S = 0.2  # a process is seen to be dead at once; this is for a crowded machine


class Killed(Exception):
    """A child gave no answer: it met its limit of time, of the processor or of memory."""


@dataclass(slots=True)
class Child:
    """One caged process and the socket to it."""

    number: int
    sock: socket.socket
    zygote: subprocess.Popen[bytes] | None = None  # the process that it was forked from, and dies with
    ready: bool = False

    def orphaned(self) -> bool:
        """Whether it ended because the process that it came from did; asked when it has ended."""
        if self.zygote is None:
            return True
        try:
            self.zygote.wait(ORPHANED_S)  # not poll(), which says "alive" while another thread asks
        except subprocess.TimeoutExpired:
            return False
        return True
