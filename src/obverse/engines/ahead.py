"""What a process has ready before others that will read rows are forked from it: imports, and the engine's grammar."""

from __future__ import annotations

import importlib
import os
from contextlib import suppress
from pathlib import Path

from obverse.engines import ENGINES

MODULES = {"duckdb": ("duckdb", "numpy.ma"), "postgres": ("psycopg",), "spark": ("pyspark",)}  # imported where they are used


def ready(engine: str) -> None:
    """Opens no connection and starts no thread: a fork would copy locks that nobody unlocks."""
    importlib.import_module(ENGINES[engine].split(":")[0])
    with suppress(ImportError):
        for module in MODULES[engine]:
            importlib.import_module(module)
        if engine == "duckdb" and _leaves_one_thread():
            _grammar()


def _grammar() -> None:
    """DuckDB compiles its grammar with the first text that it reads, and keeps it for all later connections of a process."""
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
