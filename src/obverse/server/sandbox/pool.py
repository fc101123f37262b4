"""Cage: the server's side. Children wait ahead; each serves one call, and is killed when its time is over.

It stands where an engine stands, so that a project is loaded and its public tables are read through it too; but `run`
and `batches`, which give exact values, it does not have: `release` gives noisy ones.

A caged process as the server sees it, and what is raised where one gave no answer.
"""

from __future__ import annotations

import itertools
import os
import pickle
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, NoReturn

import orjson

from obverse.catalog.model import Catalog
from obverse.core.engine import Batches, Columns, PublicRows, Schema
from obverse.core.errors import CatalogError, InvariantBroken, invariant
from obverse.core.relation import Relation
from obverse.core.secret import Exact
from obverse.engines.base import failure, public_failure
from obverse.plan.pricing import Plan
from obverse.plan.release.postprocess import Finished
from obverse.server.sandbox import protocol
from obverse.server.sandbox.worker import CHANGED, DONE, EXHAUSTED, READY, REFUSED, Inside
from obverse.server.sandbox.zygote import FORK, KILL, ORDER

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


START_S = 60.0
PING_S = 10.0
PING = pickle.dumps(("ping", 0.0, ({},)))  # of a cage that is held to nothing yet
PROBE_S = 3600.0
PUBLIC_MAX = 32 << 20  # bytes of public rows: they cost nothing, so their memory is bounded here
KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "LD_LIBRARY_PATH")
OF_SERVERS = ("HOME", "PGSERVICEFILE", "PGPASSFILE", "PGSYSCONFDIR", "PGSSLROOTCERT")


class Cage:
    """Children of one zygote, over one catalog. Its methods may be called from any thread."""

    name = "cage"

    def __init__(self, catalog: Catalog, *, ahead: int = 2, hidden: Sequence[Path] = ()) -> None:
        self.dialect = catalog.engine.get("kind", "duckdb")
        if self.dialect == "spark" and "url" not in catalog.engine:
            raise _local_spark()
        self._inside = Inside(catalog, catalog.serve.memory_mb, os.cpu_count() or 1, tuple(hidden))
        self._tables = tuple(catalog.tables)
        self._described = tuple(table.name for table in catalog.held)
        self._ahead = ahead
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._waiting = list[Child]()
        self._closed = False
        self._busy = set[int]()
        self._retired = False
        self._schemas: dict[str, Schema] | None = None
        self._relations: dict[str, Relation] | None = None
        self._held: dict[str, Relation] = {}
        self._start()

    def schema(self, table: str) -> Schema:
        if self._schemas is None:
            self._schemas = orjson.loads(self._call("schemas", (self._tables,), START_S))
        return self._schemas[table]

    def run(self, sql: str, *, timeout_s: float) -> Exact[Columns]:
        raise InvariantBroken("exact values do not leave a cage")

    def batches(self, sql: str, *, timeout_s: float) -> Batches:
        raise InvariantBroken("exact values do not leave a cage")

    def run_public(self, sql: str, *, timeout_s: float) -> PublicRows:
        try:
            limit_s = min(timeout_s, self._inside.catalog.serve.limit_s)
            return protocol.public_from(self._call("public", (sql,), limit_s, longest=PUBLIC_MAX))
        except Killed:
            raise public_failure() from None

    def readable(self, table: str, sql: str) -> bool:
        try:
            return bool(orjson.loads(self._call("readable", (table, sql), PROBE_S)))
        except Killed:
            return False

    def known_by(self, table: str) -> tuple[str, ...]:
        return tuple(str(one) for one in orjson.loads(self._call("known_by", (table,), START_S)))

    def collations(self, table: str) -> dict[str, str]:
        return dict(orjson.loads(self._call("collations", (table,), START_S)))

    def relation(self, table: str) -> Relation:
        if self._relations is None:
            found = orjson.loads(self._call("relations", (self._described,), START_S))
            self._relations = {name: Relation.from_json(one) for name, one in found.items()}
        return self._relations[table]

    def hold(self, relations: Mapping[str, Relation]) -> None:
        """Each child is held to these before it reads; `taken` finds out whether it can be, before anything is
        charged.
        """
        self._held = dict(relations)

    def check_sources(self) -> None:
        """Nothing: the child that reads was asked when it was taken."""

    def powers(self) -> tuple[str, ...]:
        return tuple(orjson.loads(self._call("powers", (), START_S)))

    def release(self, costed: Plan, sql: str, limit_s: float, child: Child | None = None) -> Finished:
        """The question run and noised in a child of its own; Killed when that ends without a word."""
        return protocol.finished_from(self._call("release", (costed, sql), limit_s, child))

    def refuse_to_release(self, costed: Plan, sql: str) -> NoReturn:
        """For sessions that only plan."""
        raise InvariantBroken("this session only plans")

    def taken(self) -> Child:
        """A child whose engine is there, before anything is charged; else the refusal is free."""
        wrong = CatalogError("engine_unavailable", "the engine does not answer.", place=self.dialect)
        for _ in range(2):  # one that waited, and a fresh one: what waited may be gone, or have met a server that was
            child = None
            try:
                child = self._take()
                protocol.send(child.sock, pickle.dumps(("ping", 0.0, (self._held,))) if self._held else PING)
                said = protocol.receive(child.sock, monotonic() + PING_S)
                if said[:1] == DONE:
                    return child
                if said[:1] == CHANGED:
                    wrong = protocol.error_from(said[1:])
            except CatalogError as error:
                wrong = error
            except (OSError, EOFError):
                pass
            self._forget(child)
        raise wrong

    def _forget(self, child: Child | None) -> None:
        """Kill a child, and all that wait: they are as old as it."""
        with self._lock:
            waiting = self._waiting
            self._waiting = []
        for one in (*waiting, *(() if child is None else (child,))):
            self.give_up(one)

    def give_up(self, child: Child) -> None:
        """Kill it and forget it."""
        with suppress(OSError):
            child.sock.close()
        self._order(KILL, child.number)
        self._left(child)

    def _left(self, child: Child) -> None:
        """It is in nobody's hands any more; the last of a cage that was retired closes it."""
        with self._lock:
            self._busy.discard(child.number)
            over = self._retired and not self._busy
        if over:
            self.close()

    def give_back(self, child: Child) -> None:
        """A child that read no row may wait for another question."""
        with self._lock:
            kept = not self._closed and not self._retired and len(self._waiting) < 2 * self._ahead
            if kept:
                self._waiting.append(child)
        if kept:
            self._left(child)
        else:
            self.give_up(child)

    def retire(self) -> None:
        """Take no more calls, and end with the last that runs."""
        with self._lock:
            self._retired = True
            idle = not self._busy
        if idle:
            self.close()

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            waiting = self._waiting
            self._waiting = []
        for child in waiting:
            child.sock.close()
        self._control.close()
        with suppress(subprocess.TimeoutExpired):
            self._zygote.wait(5)
        if self._zygote.poll() is None:
            self._zygote.kill()
            self._zygote.wait()

    def _call(
        self,
        name: str,
        arguments: tuple[Any, ...],
        limit_s: float,
        child: Child | None = None,
        longest: int = protocol.LONGEST,
    ) -> bytes:
        """One call in a child that has no other; the child is gone afterwards."""
        child = child or self.taken()
        try:
            protocol.send(child.sock, pickle.dumps((name, limit_s, arguments)))
            answer = protocol.receive(child.sock, monotonic() + limit_s, longest)
        except TimeoutError:
            raise Killed from None
        except (OSError, EOFError):  # it is dead; where all children died, this one met no limit
            raise (failure() if child.orphaned() else Killed()) from None
        finally:
            self.give_up(child)
        if answer[:1] == EXHAUSTED:
            raise Killed
        if answer[:1] != DONE:
            raise failure()
        return answer[1:]

    def _take(self) -> Child:
        """A child that is ready; another is forked in its place."""
        with self._lock:
            child = self._waiting.pop(0) if self._waiting else None
        child = child or self._forked()
        with self._lock:
            self._busy.add(child.number)
        if not child.ready:
            self._await(child)
        self._fill()
        return child

    def _await(self, child: Child) -> None:
        try:
            said = protocol.receive(child.sock, monotonic() + START_S)
        except (OSError, EOFError):
            return  # it is asked whether it is there before anything is charged
        if said[:1] == REFUSED:
            self.give_up(child)
            raise protocol.error_from(said[1:])
        invariant(said == READY, "a child says that it is ready, or why not")
        child.ready = True

    def _fill(self) -> None:
        with self._lock:
            missing = 0 if self._closed or self._retired else self._ahead - len(self._waiting)
        for _ in range(missing):
            child = self._forked()
            with self._lock:
                self._waiting.append(child)

    def _forked(self) -> Child:
        ours, theirs = socket.socketpair()
        child = Child(next(self._numbers), ours)
        with theirs:
            child.zygote = self._order(FORK, child.number, theirs.fileno())
        return child

    def _order(self, order: bytes, number: int, *handed: int) -> subprocess.Popen[bytes] | None:
        """Tell the zygote, and return which one was told: a fresh one may have taken its place."""
        with self._lock:
            if self._closed:
                return None
            try:
                if order == FORK and self._zygote.poll() is not None:
                    raise BrokenPipeError  # though a child forked at that moment may still hold its end of the socket
                socket.send_fds(self._control, [ORDER.pack(order, number)], list(handed))
            except OSError:
                if order == FORK:
                    self._start()  # the zygote is gone, and all its children with it
                    socket.send_fds(self._control, [ORDER.pack(order, number)], list(handed))
            return self._zygote

    def _start(self) -> None:
        kind = self.dialect
        keep = (
            *KEPT_VARIABLES,
            *(OF_SERVERS if kind != "duckdb" else ()),
            self._inside.catalog.engine.get("dsn_env", ""),
        )
        environment = {name: os.environ[name] for name in keep if name in os.environ}
        environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self._control, theirs = socket.socketpair()
        with theirs:
            self._zygote = subprocess.Popen(
                [sys.executable, "-P", "-m", "obverse.server.sandbox.zygote", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=environment,
                stdin=subprocess.DEVNULL,
            )
        try:
            protocol.send(self._control, pickle.dumps(self._inside))
            said = protocol.receive(self._control, monotonic() + START_S)
            self._control.settimeout(None)
        except (OSError, EOFError):
            self._zygote.kill()
            raise CatalogError("engine_unavailable", "the process that reads rows cannot be started.") from None
        if said[:1] == REFUSED:
            raise protocol.error_from(said[1:])


def _local_spark() -> CatalogError:
    return CatalogError(
        "engine_not_served",
        "a local Spark cannot be served.",
        why="it starts programs of its own, which a process that reads rows for a service may not.",
        fix='Start a Spark Connect server, and name it in [engine]: url = "sc://host:15002".',
    )
