"""Work that can be stopped: by the clock, or by whoever asked."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any


def stoppable(work: Callable[[], Any], stop: Callable[[], None], timeout_s: float) -> Any:
    """Work in a thread of its own: one that is inside DuckDB hears neither Ctrl-C nor the clock before the query ends."""
    done: Future[Any] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        wait((done,), timeout_s)
    finally:
        while not done.done():  # out of time, or interrupted
            stop()
            thread.join(0.05)
    return done.result()
