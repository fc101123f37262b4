"""Shadow: the catalogue of one project, kept by a process that holds an empty DuckDB. It never saw a row, and opens no
file.

Keeper: the server's side of the process that holds a shadow. Starts it, asks it, and kills it when it takes too long.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from decimal import Decimal
from time import monotonic
from typing import Any, TypeVar

import orjson

from obverse.core.errors import Refused
from obverse.server.pg_catalog import relations
from obverse.server.pg_catalog.functions import macros
from obverse.server.pg_catalog.relations import statements as information
from obverse.server.pg_catalog.rewrite import about_catalogue, read, rewritten, shape_only, tables, unanswered
from obverse.server.postgres import types as v
from obverse.server.postgres.messages import Field
from obverse.server.postgres.statements import tokenize
from obverse.server.sandbox import protocol
from obverse.session.views import TableView

START_S = 60.0
LIMIT_S = 2.0
KEPT_VARIABLES = ("PATH", "PYTHONPATH", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "HOME")
Statements = Sequence[tuple[str, Sequence[Sequence[Any]]]]


class Keeper:
    """One process, asked one query at a time; its statements fill it anew whenever it has to be started."""

    def __init__(self, statements: Statements) -> None:
        self._filling = orjson.dumps(statements)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._closed = False

    def ask(self, sql: str, *, describe: bool = False) -> dict[str, Any]:
        """Columns and rows of a query, or the kind of its error."""
        with self._lock:
            control = self._ready()
            try:
                protocol.send(control, orjson.dumps({"sql": sql, "describe": describe}))
                answer: dict[str, Any] = orjson.loads(protocol.receive(control, monotonic() + LIMIT_S))
                return answer
            except TimeoutError:
                self._end()
                raise Refused("catalogue_too_slow", "this question about the catalogue takes too long.") from None
            except (OSError, EOFError, orjson.JSONDecodeError):
                self._end()
                return {"error": "gone"}

    def start(self) -> None:
        """Before it is asked."""
        with self._lock:
            self._ready()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._end()

    def _ready(self) -> socket.socket:
        if self._closed:
            raise Refused("catalogue_unanswered", "the server is stopping.")
        if self._control is not None and self._process is not None and self._process.poll() is None:
            return self._control
        self._end()
        ours, theirs = socket.socketpair()
        with theirs:
            environment = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "obverse.server.pg_catalog.worker",
                    str(theirs.fileno()),
                    str(os.getpid()),
                ],
                pass_fds=[theirs.fileno()],
                env=environment,
                stdin=subprocess.DEVNULL,
            )
        self._control = ours
        try:
            protocol.send(ours, self._filling)
            protocol.receive(ours, monotonic() + START_S)
        except (OSError, EOFError):
            self._end()
            raise Refused("catalogue_unanswered", "the catalogue cannot be opened.", fix="try again.") from None
        return ours

    def _end(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            self._process.kill()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(5)
        self._control = self._process = None


T = TypeVar("T")
SHOWN = {
    "BOOLEAN": v.BOOL,
    "TINYINT": v.INT2,
    "UTINYINT": v.INT2,
    "SMALLINT": v.INT2,
    "USMALLINT": v.INT4,
    "INTEGER": v.INT4,
    "UINTEGER": v.OID,
    "BIGINT": v.INT8,
    "UBIGINT": v.NUMERIC,
    "HUGEINT": v.NUMERIC,
    "FLOAT": v.FLOAT4,
    "DOUBLE": v.FLOAT8,
    "VARCHAR": v.TEXT,
    "DATE": v.DATE,
    "TIMESTAMP": v.TIMESTAMP,
    "TIMESTAMP WITH TIME ZONE": v.TIMESTAMP,
}
READERS: Mapping[int, Callable[[Any], Any]] = {
    v.DATE: dt.date.fromisoformat,
    v.TIMESTAMP: lambda told: dt.datetime.fromisoformat(told).replace(tzinfo=None),
    v.NUMERIC: lambda told: Decimal(str(told)),
    v.TEXT: lambda told: told if isinstance(told, str) else str(told),
}
NAMED = ("word", "sign")  # what is told of a query to operators: strings, numbers and quoted names are not
TOLD_MAX = 500
log = logging.getLogger("obverse.pgwire.catalogue")


class Shadow:
    """The catalogue of one project.

    Texts are read in the given threads; queries wait for their turn in one of its own.
    """

    def __init__(self, project: str, views: Sequence[TableView], threads: ThreadPoolExecutor) -> None:
        self._threads = threads
        self._asker = ThreadPoolExecutor(1, thread_name_prefix=f"catalogue of {project}")
        self._turns: dict[str, asyncio.Lock] = {}
        self._declared = relations.Declared(relations.oids([view.name for view in views]))
        self._columns = _column_types(views)
        self._keeper = Keeper(_statements(relations.rows(project, views), views, self._declared.tables))
        self._keeper.start()

    @property
    def column_types(self) -> dict[str, int]:
        """The type of each column, by its name, where it has but one."""
        return self._columns

    def answers(self, text: str) -> bool:
        """Whether a query is about the catalogue, or about nothing. One that mixes it with tables is refused."""
        tree = read(text)
        if tree is None:
            return False
        found = about_catalogue(tree)
        if found is None:
            raise Refused(
                "catalogue_mixed",
                "the catalogue and a table cannot be asked together.",
                why="one is answered exactly and for free, the other with noise and for a price.",
                fix="ask them one by one.",
            )
        return found or self._shape_only(tree)

    def _shape_only(self, tree: Any) -> bool:
        """SELECT ... LIMIT 0, or WHERE 1 = 0, asks for names and types alone, of declared tables."""
        return shape_only(tree) and all(table.name in self._declared.tables for table in tables(tree))

    async def run(self, text: str, asking: relations.Asking) -> tuple[tuple[Field, ...], list[tuple[Any, ...]]]:
        """Columns and rows."""
        return await asyncio.shield(self._in_turn(text, asking, False))

    async def describe(self, text: str, asking: relations.Asking) -> tuple[Field, ...]:
        """Columns alone; nothing is run."""
        return (await asyncio.shield(self._in_turn(text, asking, True)))[0]

    async def aside(self, work: Callable[..., T], *arguments: Any) -> T:
        """Work that may take a while, out of the way of other connections."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

    def close(self) -> None:
        self._asker.shutdown(wait=False, cancel_futures=True)
        self._keeper.close()

    async def _in_turn(
        self, text: str, asking: relations.Asking, describe: bool
    ) -> tuple[tuple[Field, ...], list[tuple[Any, ...]]]:
        """One query of an account at a time, to its end though nobody waits for it: many slow ones delay few of
        others'.
        """
        async with self._turns.setdefault(asking.user, asyncio.Lock()):
            return await asyncio.get_running_loop().run_in_executor(self._asker, self._asked, text, asking, describe)

    def _asked(
        self, text: str, asking: relations.Asking, describe: bool
    ) -> tuple[tuple[Field, ...], list[tuple[Any, ...]]]:
        tree = read(text)
        if tree is None:
            raise unanswered("it cannot be read.")
        try:
            found = self._keeper.ask(rewritten(tree, asking, self._declared), describe=describe)
        except (RecursionError, ValueError):
            found = {"error": "unreadable"}
        except Refused as refused:
            _note(refused.code, text)
            raise
        if "error" in found:
            _note(found["error"], text)
            if found["error"] == "too_large":
                raise Refused("too_complex", "this question about the catalogue gives too many rows.", fix="add LIMIT.")
            raise unanswered("tools may ask what the catalogue does not have.")
        fields = tuple(Field(str(name), _oid(str(kind))) for name, kind in found["columns"])
        return fields, [_typed(row, fields) for row in found["rows"]]


def _note(kind: str, text: str) -> None:
    """For operators: what tools ask and the catalogue does not have, without any literal."""
    told = " ".join(word.text if word.kind in NAMED else "?" for word in tokenize(text))
    log.warning("catalogue query not answered (%s): %s", kind, told[:TOLD_MAX])


def _statements(
    filled: Mapping[str, list[relations.Row]], views: Sequence[TableView], numbers: Mapping[str, int]
) -> list[tuple[str, list[list[Any]]]]:
    """What makes and fills the shadow."""
    made_of: list[tuple[str, list[list[Any]]]] = [
        (f"CREATE SCHEMA {schema}", []) for schema in (*relations.SCHEMAS.values(), "public")
    ]
    made_of.append(
        (";".join(relations.made(schema, name) for schema, named in relations.shapes().items() for name in named), [])
    )
    for name, found in filled.items():
        columns = list(relations.shapes()["pg_catalog"][name])
        cells = [[row.get(column) for column in columns] for row in found]
        if cells:
            made_of.append((f'INSERT INTO pgc."{name}" VALUES ({", ".join("?" for _ in columns)})', cells))
    for view in views:
        listed = ", ".join(f'"{_quoted(c.name)}" {_declared_type(relations.column_type(c))}' for c in view.columns)
        made_of.append((f'CREATE TABLE public."{_quoted(view.name)}" ({listed})', []))
    return made_of + [(statement, []) for statement in (*macros(filled["pg_description"], numbers), *information())]


def _typed(row: Sequence[Any], fields: Sequence[Field]) -> tuple[Any, ...]:
    """A row as it was told, with the types of its columns."""
    return tuple(
        READERS[field.oid](cell) if cell is not None and field.oid in READERS else cell
        for cell, field in zip(row, fields)
    )


def _quoted(name: str) -> str:
    return name.replace('"', '""')


def _declared_type(oid: int) -> str:
    known = {v.INT8: "int8", v.FLOAT8: "float8", v.BOOL: "bool", v.TEXT: "text", v.TIMESTAMP: "timestamp"}
    return "DATE" if oid == v.DATE else relations.duck_type(known[oid])


def _column_types(views: Sequence[TableView]) -> dict[str, int]:
    found: dict[str, set[int]] = {}
    for named in relations.shapes().values():
        for shape in named.values():
            for column, kind in shape.items():
                found.setdefault(column, set()).add(v.OID if kind == "oid" else v.TEXT if kind == "name" else 0)
    own: dict[str, set[int]] = {}
    for view in views:
        for column_view in view.columns:
            own.setdefault(column_view.name, set()).add(relations.column_type(column_view))
    known = {name: next(iter(kinds)) for name, kinds in (found | own).items() if len(kinds) == 1}
    return {name: oid for name, oid in known.items() if oid}


def _oid(kind: str) -> int:
    if kind.endswith("[]"):
        return v.ARRAY.get(_oid(kind[:-2]), v.ARRAY[v.TEXT])
    return v.NUMERIC if kind.startswith("DECIMAL") else SHOWN.get(kind, v.TEXT)
