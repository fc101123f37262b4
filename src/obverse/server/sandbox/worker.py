"""What a caged process does: lock itself in, open the engine, wait for one call, answer it, and end.

A call is one of CALLS. `release` is the only one that reads private rows for somebody: exact values are noised in here
and finished, and only that goes out. Whatever goes wrong in it goes out as one constant word; that memory ended as
another, which the server counts like a kill, and tells nobody.
"""

from __future__ import annotations

import os
import pickle
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from obverse.catalog.model import Catalog
from obverse.core.engine import Engine
from obverse.core.errors import CatalogError, ObverseError
from obverse.core.relation import Relation
from obverse.core.rng import Rng
from obverse.engines.base import Exhausted
from obverse.engines.postgres import files as postgres_files
from obverse.plan.verify import verify
from obverse.server.sandbox import landlock, protocol, seccomp
from obverse.session.execution import released
from obverse.session.project import engine_of

READY = b"r"
DONE = b"d"
REFUSED = b"e"
FAILED = b"f"
EXHAUSTED = b"m"
CHANGED = b"c"
ENGINE_SHARE = 0.6  # of the memory, for the engine itself; arrays of noise and answers need the rest
LONG_S = 3600.0


@dataclass(frozen=True, slots=True)
class Inside:
    """What every child of one cage starts from."""

    catalog: Catalog
    memory_mb: int
    threads: int
    hidden: tuple[Path, ...] = ()  # the ledger and Obverse's own folder

    @property
    def networked(self) -> bool:
        """Whether the engine is reached over a network."""
        return self.catalog.engine.get("kind", "duckdb") != "duckdb"

    def readable(self) -> tuple[Path, ...]:
        """Where Python is, and files that the engine opens: those of tables, or what a connection to a server is
        made with.
        """
        return (*landlock.libraries(), *self._sources())

    def _sources(self) -> tuple[Path, ...]:
        if self.catalog.engine.get("kind") == "postgres":
            return tuple(postgres_files(self.catalog.engine))
        if self.networked:
            return ()
        files = [table.source.path.resolve() for table in self.catalog.held if table.source.path is not None]
        # DuckDB follows links before it names the log
        return (*files, *(file.with_name(f"{file.name}.wal") for file in files))

    def limited(self) -> Catalog:
        """The catalog whose engine keeps within the cage."""
        if self.networked:
            return self.catalog
        engine = {"memory_limit": f"{int(self.memory_mb * ENGINE_SHARE)}MB", "threads": str(self.threads)}
        return replace(self.catalog, engine={**self.catalog.engine, **engine})


def live(sock: socket.socket, inside: Inside, parent: int) -> None:
    """The whole life of a child."""
    seccomp.of_a_child(parent)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # what an engine prints may hold a value
        os.dup2(nowhere, stream)
    seccomp.memory(inside.memory_mb)
    if not inside.networked:
        seccomp.no_files()
    seccomp.paths(inside.readable(), network=inside.networked)
    seccomp.filter_calls(network=inside.networked)  # before the engine makes threads, which would be without it
    try:
        engine = engine_of(inside.limited())
    except ObverseError as error:
        protocol.send(sock, REFUSED + protocol.error_bytes(error))
        return
    os.environ.clear()
    protocol.send(sock, READY)
    while True:  # an engine over a network may be asked whether it is still there; then one call
        name, limit_s, arguments = pickle.loads(protocol.receive(sock))
        if name != "ping":
            break
        protocol.send(sock, _found(engine, *arguments))
    if limit_s:
        seccomp.processor(limit_s * inside.threads)
    protocol.send(sock, _called(CALLS[name], engine, arguments))


def _called(call: Callable[..., bytes], engine: Engine, arguments: tuple[Any, ...]) -> bytes:
    try:
        return DONE + call(engine, *arguments)
    except (Exhausted, MemoryError):
        return EXHAUSTED
    except Exception:  # it may depend on the data: one constant word
        return FAILED


def _found(engine: Engine, held: Mapping[str, Relation]) -> bytes:
    """Whether the engine is there, and its sources are described as the question's plan has them; it is held to them
    from
    here on. What it says follows from metadata alone."""
    try:
        if held:
            engine.hold(held)
        else:
            engine.run_public("SELECT 1", timeout_s=5.0)
    except CatalogError as error:
        return CHANGED + protocol.error_bytes(error) if error.code == "source_changed" else FAILED
    except Exception:
        return FAILED
    return DONE


def _release(engine: Engine, costed: Any, sql: str) -> bytes:
    verify(costed)
    return protocol.finished_bytes(released(costed, sql, engine, Rng()))


def _schemas(engine: Engine, tables: tuple[str, ...]) -> bytes:
    return orjson.dumps({table: dict(engine.schema(table)) for table in tables})


def _relations(engine: Engine, tables: tuple[str, ...]) -> bytes:
    return orjson.dumps({table: engine.relation(table).as_json() for table in tables})


def _public(engine: Engine, sql: str) -> bytes:
    return protocol.public_bytes(engine.run_public(sql, timeout_s=LONG_S))


def _readable(engine: Engine, table: str, sql: str) -> bytes:
    return orjson.dumps(engine.readable(table, sql))


def _known_by(engine: Engine, table: str) -> bytes:
    return orjson.dumps(engine.known_by(table))


def _collations(engine: Engine, table: str) -> bytes:
    return orjson.dumps(dict(engine.collations(table)))


def _powers(engine: Engine) -> bytes:
    return orjson.dumps(engine.powers())


CALLS: dict[str, Callable[..., bytes]] = {
    "release": _release,
    "schemas": _schemas,
    "public": _public,
    "readable": _readable,
    "relations": _relations,
    "known_by": _known_by,
    "collations": _collations,
    "powers": _powers,
}
