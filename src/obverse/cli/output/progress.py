"""A bar on stderr for work that takes over a second; for the curator's own rows, where progress tells nothing new.

A sign of life on stderr when a question takes over a second.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from obverse.cli.output.terminal import on_terminal

SPINNER_AFTER_S = 1.0
SPINNER_EVERY_S = 0.1
WHEEL = "|/-\\"
BAR = threading.Event()  # set while a bar of `progress` stands on the line


@contextmanager
def patience(what: str) -> Iterator[None]:
    """Turn a wheel while the work goes on; on a terminal only, and gone without a trace afterwards.

    Elapsed time, not progress: how far an engine has come may depend on the rows.
    """
    if not on_terminal("stderr"):
        yield
        return
    done = threading.Event()
    wheel = threading.Thread(target=_turn, args=(what, done), daemon=True)
    wheel.start()
    try:
        yield
    finally:
        done.set()
        wheel.join()


def _turn(what: str, done: threading.Event) -> None:
    began = time.monotonic()
    if done.wait(SPINNER_AFTER_S):
        return
    turns = 0
    while not done.wait(SPINNER_EVERY_S):
        if BAR.is_set():
            continue
        sys.stderr.write(f"\r{WHEEL[turns % len(WHEEL)]} {what}, {time.monotonic() - began:.0f} s (Ctrl-C stops) ")
        sys.stderr.flush()
        turns += 1
    sys.stderr.write("\r" + " " * (len(what) + 32) + "\r")
    sys.stderr.flush()


AFTER_S = 1.0
EVERY_S = 0.1
WIDTH = 30


@contextmanager
def progress(what: str) -> Iterator[Callable[[float], None]]:
    """Gives a function to tell the share that is done. On a terminal only, and gone without a trace afterwards."""
    begun = time.monotonic()
    last = 0.0

    def told(share: float) -> None:
        nonlocal last
        now = time.monotonic()
        if on_terminal("stderr") and now - begun > AFTER_S and now - last > EVERY_S:
            last = now
            BAR.set()
            full = round(WIDTH * min(max(share, 0.0), 1.0))
            sys.stderr.write(f"\r{what} [{'#' * full}{' ' * (WIDTH - full)}] {now - begun:.0f} s (Ctrl-C stops) ")
            sys.stderr.flush()

    try:
        yield told
    finally:
        BAR.clear()
        if last:
            sys.stderr.write("\r" + " " * (len(what) + WIDTH + 32) + "\r")
            sys.stderr.flush()
