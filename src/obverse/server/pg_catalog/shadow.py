"""Shadow: the catalogue of one project, kept by a process that holds an empty DuckDB. It never saw a row, and opens no file."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any, TypeVar

from obverse.core.errors import Refused
from obverse.server.pg_catalog.context import Asking, Declared
from obverse.server.pg_catalog.functions import macros
from obverse.server.pg_catalog.information import statements as information
from obverse.server.pg_catalog.keeper import Keeper
from obverse.server.pg_catalog.relations import Row, column_type, oids, rows
from obverse.server.pg_catalog.rewriting import about_catalogue, read, rewritten, unanswered
from obverse.server.pg_catalog.shapes import SCHEMAS, duck_type, made, shapes
from obverse.server.pg_catalog.sources import shape_only, tables
from obverse.server.postgres import types as v
from obverse.server.postgres.replies import Field
from obverse.server.postgres.scan import words
from obverse.session.views import TableView

T = TypeVar("T")
SHOWN = {
    "BOOLEAN": v.BOOL, "TINYINT": v.INT2, "UTINYINT": v.INT2, "SMALLINT": v.INT2, "USMALLINT": v.INT4, "INTEGER": v.INT4,
    "UINTEGER": v.OID, "BIGINT": v.INT8, "UBIGINT": v.NUMERIC, "HUGEINT": v.NUMERIC, "FLOAT": v.FLOAT4, "DOUBLE": v.FLOAT8,
    "VARCHAR": v.TEXT, "DATE": v.DATE, "TIMESTAMP": v.TIMESTAMP, "TIMESTAMP WITH TIME ZONE": v.TIMESTAMP,
}  # fmt: skip
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
    """The catalogue of one project. Texts are read in the given threads; queries wait for their turn in one of its own."""

    def __init__(self, project: str, views: Sequence[TableView], threads: ThreadPoolExecutor) -> None:
        self._threads, self._asker = threads, ThreadPoolExecutor(1, thread_name_prefix=f"catalogue of {project}")
        self._turns: dict[str, asyncio.Lock] = {}
        self._declared = Declared(oids([view.name for view in views]))
        self._columns = _column_types(views)
        self._keeper = Keeper(_statements(rows(project, views), views, self._declared.tables))
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

    async def run(self, text: str, asking: Asking) -> tuple[tuple[Field, ...], list[tuple[Any, ...]]]:
        """Columns and rows."""
        return await asyncio.shield(self._in_turn(text, asking, False))

    async def describe(self, text: str, asking: Asking) -> tuple[Field, ...]:
        """Columns alone; nothing is run."""
        return (await asyncio.shield(self._in_turn(text, asking, True)))[0]

    async def aside(self, work: Callable[..., T], *arguments: Any) -> T:
        """Work that may take a while, out of the way of other connections."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

    def close(self) -> None:
        self._asker.shutdown(wait=False, cancel_futures=True)
        self._keeper.close()

    async def _in_turn(self, text: str, asking: Asking, describe: bool) -> tuple[tuple[Field, ...], list[tuple[Any, ...]]]:
        """One query of an account at a time, to its end though nobody waits for it: many slow ones delay few of others'."""
        async with self._turns.setdefault(asking.user, asyncio.Lock()):
            return await asyncio.get_running_loop().run_in_executor(self._asker, self._asked, text, asking, describe)

    def _asked(self, text: str, asking: Asking, describe: bool) -> tuple[tuple[Field, ...], list[tuple[Any, ...]]]:
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
    told = " ".join(word.text if word.kind in NAMED else "?" for word in words(text))
    log.warning("catalogue query not answered (%s): %s", kind, told[:TOLD_MAX])


def _statements(
    filled: Mapping[str, list[Row]], views: Sequence[TableView], numbers: Mapping[str, int]
) -> list[tuple[str, list[list[Any]]]]:
    """What makes and fills the shadow."""
    made_of: list[tuple[str, list[list[Any]]]] = [(f"CREATE SCHEMA {schema}", []) for schema in (*SCHEMAS.values(), "public")]
    made_of.append((";".join(made(schema, name) for schema, named in shapes().items() for name in named), []))
    for name, found in filled.items():
        columns = list(shapes()["pg_catalog"][name])
        cells = [[row.get(column) for column in columns] for row in found]
        if cells:
            made_of.append((f'INSERT INTO pgc."{name}" VALUES ({", ".join("?" for _ in columns)})', cells))
    for view in views:
        listed = ", ".join(f'"{_quoted(c.name)}" {_declared_type(column_type(c))}' for c in view.columns)
        made_of.append((f'CREATE TABLE public."{_quoted(view.name)}" ({listed})', []))
    return made_of + [(statement, []) for statement in (*macros(filled["pg_description"], numbers), *information())]


def _typed(row: Sequence[Any], fields: Sequence[Field]) -> tuple[Any, ...]:
    """A row as it was told, with the types of its columns."""
    return tuple(
        READERS[field.oid](cell) if cell is not None and field.oid in READERS else cell for cell, field in zip(row, fields)
    )


def _quoted(name: str) -> str:
    return name.replace('"', '""')


def _declared_type(oid: int) -> str:
    known = {v.INT8: "int8", v.FLOAT8: "float8", v.BOOL: "bool", v.TEXT: "text", v.TIMESTAMP: "timestamp"}
    return "DATE" if oid == v.DATE else duck_type(known[oid])


def _column_types(views: Sequence[TableView]) -> dict[str, int]:
    found: dict[str, set[int]] = {}
    for named in shapes().values():
        for shape in named.values():
            for column, kind in shape.items():
                found.setdefault(column, set()).add(v.OID if kind == "oid" else v.TEXT if kind == "name" else 0)
    own: dict[str, set[int]] = {}
    for view in views:
        for column_view in view.columns:
            own.setdefault(column_view.name, set()).add(column_type(column_view))
    known = {name: next(iter(kinds)) for name, kinds in (found | own).items() if len(kinds) == 1}
    return {name: oid for name, oid in known.items() if oid}


def _oid(kind: str) -> int:
    if kind.endswith("[]"):
        return v.ARRAY.get(_oid(kind[:-2]), v.ARRAY[v.TEXT])
    return v.NUMERIC if kind.startswith("DECIMAL") else SHOWN.get(kind, v.TEXT)
