"""A bar on stderr for work that takes over a second; for the curator's own rows, where progress tells nothing new."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from obverse.cli.output.patience import BAR
from obverse.cli.output.terminal import on_terminal

AFTER_S, EVERY_S, WIDTH = 1.0, 0.1, 30


@contextmanager
def progress(what: str) -> Iterator[Callable[[float], None]]:
    """Gives a function to tell the share that is done. On a terminal only, and gone without a trace afterwards."""
    begun, last = time.monotonic(), 0.0

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
