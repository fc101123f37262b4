"""Rows that come some at a time: in the time that a question has, and as columns.

What a process has ready before others that will read rows are forked from it: imports, and the engine's grammar.

What every engine says when something goes wrong: one constant text, for its own message may carry a value.

Files that stay what they are while a question reads them.

A file may be read more than once, and what bounds a unit in one reading bounds it only in the same file.

Work that can be stopped: by the clock, or by whoever asked.
"""

from __future__ import annotations

import datetime as dt
import importlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from obverse.core.engine import Columns
from obverse.core.errors import Failed, Refused, invariant
from obverse.engines import ENGINES

# imported where they are used
MODULES = {"duckdb": ("duckdb", "numpy.ma"), "postgres": ("psycopg",), "spark": ("pyspark",)}


def ready(engine: str) -> None:
    """Opens no connection and starts no thread: a fork would copy locks that nobody unlocks."""
    importlib.import_module(ENGINES[engine].split(":")[0])
    with suppress(ImportError):
        for module in MODULES[engine]:
            importlib.import_module(module)
        if engine == "duckdb" and _leaves_one_thread():
            _grammar()


def _grammar() -> None:
    """DuckDB compiles its grammar with the first text that it reads, and keeps it for all later connections of a
    process.
    """
    import duckdb

    duckdb.SQLExpression("1")


def _leaves_one_thread() -> bool:
    """Tried in a process of its own: a release of DuckDB might open a connection for it."""
    pid = os.fork()
    if not pid:
        code = 1
        with suppress(BaseException):
            _grammar()
            code = int(len(list(Path("/proc/self/task").iterdir())) > 1)
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


FAILURE = "the engine could not finish this question."


class Exhausted(Failed):
    """The same, where memory ended. Only who runs an engine in a process of its own tells it apart, to count it."""


def failure(error: Exception | None = None, memory: type[Exception] = MemoryError) -> Failed:
    """After the debit; `memory` is what an engine raises beside MemoryError when it has none left."""
    kind = Exhausted if isinstance(error, (memory, MemoryError)) else Failed
    return kind("engine_failure", FAILURE, fix="ask the curator, naming the receipt.", charged=True)


def public_failure() -> Refused:
    return Refused("engine_failure", FAILURE, why="only public tables were read; nothing was spent.")


@contextmanager
def unchanged(paths: Iterable[Path | None]) -> Iterator[None]:
    """No answer where a file was exchanged or written meanwhile; None is what lies in no file."""
    files = [path for path in paths if path is not None]
    before = [marks_of(path) for path in files]
    yield
    if [marks_of(path) for path in files] != before:
        raise failure()


def marks_of(path: Path | None) -> list[tuple[object, ...]]:
    """What tells a file, or all that a folder holds, from others and from itself before it was written to."""
    found: list[tuple[object, ...]] = []
    if path is None:
        return found
    for file in sorted(_files(path)):
        try:
            stat = file.stat()
            found.append((str(file), stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns))
        except OSError:
            found.append((str(file),))
    return found


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for folder, _, names in os.walk(path):
        yield from (Path(folder, name) for name in names)


def stoppable(work: Callable[[], Any], stop: Callable[[], None], timeout_s: float) -> Any:
    """Work in a thread of its own: one that is inside DuckDB hears neither Ctrl-C nor the clock before the query
    ends.
    """
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


def in_time(step: Callable[[], Any], stop: Callable[[], None], timeout_s: float) -> Iterator[Any]:
    """What each step gives, until one gives nothing.

    All steps together have the time; what is done in between has its own.
    """
    left_s = timeout_s
    while left_s > 0:
        began = time.monotonic()
        found = stoppable(step, stop, left_s)
        left_s -= time.monotonic() - began
        if not found:
            return
        yield found
    raise TimeoutError


def columns_of(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Columns:
    """Values of discovered keys as Python's own, dates as their midnight; all else as integers, and it must be so."""
    columns = {}
    for name, values in zip(names, zip(*rows)):
        if name.startswith("f"):
            columns[name] = np.empty(len(values), dtype=object)
            first = next((value for value in values if value is not None), None)  # all are of its type
            columns[name][:] = [midnight(value) for value in values] if is_date(first) else values
            continue
        invariant(set(map(type, values)) == {int}, "measures are integers without NULL")
        columns[name] = np.array(values, dtype=np.int64)
    return columns


def is_date(value: Any) -> bool:
    return isinstance(value, dt.date) and not isinstance(value, dt.datetime)


def midnight(value: Any) -> Any:
    return dt.datetime(value.year, value.month, value.day) if is_date(value) else value
