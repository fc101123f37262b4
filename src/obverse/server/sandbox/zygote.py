"""The process that children are forked from: it has imported what they need, and never opened a connection or a thread.

It reads orders on one socket: `fork N` with the socket that the child will answer on, and `kill N`. When that socket
closes, the server is gone, and so are all children.
"""

from __future__ import annotations

import gc
import os
import pickle
import select
import signal
import socket
import struct
import sys
from contextlib import suppress

ORDER = struct.Struct("!cI")
FORK = b"+"
KILL = b"-"
REAP_S = 0.2
PRELOADED = ("numpy", "orjson", "obverse.server.sandbox.worker", "obverse.plan.aggregates", "obverse.plan.functions")


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    from obverse.core.errors import ObverseError
    from obverse.server.sandbox import landlock, protocol, seccomp

    seccomp.private_memory()
    inside = pickle.loads(protocol.receive(control))
    _preload(inside.catalog.engine.get("kind", "duckdb"))
    from obverse.server.sandbox.worker import REFUSED

    try:
        landlock.required()
        landlock.check_apart(inside.readable(), inside.hidden)
    except ObverseError as error:
        protocol.send(control, REFUSED + protocol.error_bytes(error))
        return
    if not inside.networked:
        os.environ.clear()
        seccomp.no_network()  # once, for all children: making a namespace can take seconds
    os.chdir("/")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is for the server, which then lets go of us
    gc.collect()
    gc.freeze()
    children: dict[int, int] = {}
    try:
        protocol.send(control, b"ready")
        control.settimeout(None)
        while _order(control, inside, children):
            _reap(children)
    except OSError:
        pass  # the server is gone
    finally:
        for pid in children.values():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        os._exit(0)


def _preload(engine: str) -> None:
    import importlib

    from obverse.engines import base

    for module in PRELOADED:
        importlib.import_module(module)
    base.ready(engine)


def _order(control: socket.socket, inside: object, children: dict[int, int]) -> bool:
    """Follow one order, if there is one; False when the server is gone."""
    ready, _, _ = select.select([control], [], [], REAP_S)
    if not ready:
        return True
    content, handed, _, _ = socket.recv_fds(control, ORDER.size, 1)
    if len(content) < ORDER.size:
        return False
    order, number = ORDER.unpack(content)
    if order == FORK:
        try:
            children[number] = _forked(handed[0], control, inside)
        except OSError:  # no process to be had now: the server sees its socket closed, and others go on
            os.close(handed[0])
    elif number in children:
        with suppress(ProcessLookupError):
            os.kill(children[number], signal.SIGKILL)
    return True


def _forked(handed: int, control: socket.socket, inside: object) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid:
        os.close(handed)
        return pid
    try:
        from obverse.server.sandbox.worker import Inside, live

        control.close()
        assert isinstance(inside, Inside)
        live(socket.socket(fileno=handed), inside, parent)
    finally:
        os._exit(0)


def _reap(children: dict[int, int]) -> None:
    with suppress(ChildProcessError):
        while (pid := os.waitpid(-1, os.WNOHANG)[0]) != 0:
            for number in [n for n, known in children.items() if known == pid]:
                del children[number]


if __name__ == "__main__":
    main()
