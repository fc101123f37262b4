"""Rows of a PostgreSQL answer as columns."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from obverse.core.engine import BATCH_ROWS, Columns
from obverse.core.errors import invariant
from obverse.engines import batching

if TYPE_CHECKING:
    import psycopg

INTEGER_OID = 20
MOMENT_OIDS = (1082, 1114)


def columns_of(cursor: psycopg.Cursor[Any], sql: str) -> Columns:
    """Measures as 64-bit integers without NULL, values of discovered keys as Python's own."""
    import numpy as np

    kinds = _kinds(cursor, sql)
    invariant(all(name.startswith("f") or kind == INTEGER_OID for name, kind in kinds), "measures are integers")
    if all(kind == INTEGER_OID and not name.startswith("f") for name, kind in kinds):
        return _integers(cursor, sql, [name for name, _ in kinds])
    cursor.execute(sql, binary=True)
    rows = cursor.fetchall()
    columns: dict[str, Any] = {}
    for (name, kind), values in zip(kinds, zip(*rows) if rows else [()] * len(kinds)):
        if kind in MOMENT_OIDS:
            columns[name] = np.array(values, dtype="datetime64[us]").astype(object)  # dates as their midnight
        elif name.startswith("f"):
            columns[name] = np.empty(len(values), dtype=object)
            columns[name][:] = values
        else:
            invariant(None not in values, "measures are without NULL")
            columns[name] = np.array(values, dtype=np.int64)
    return columns


def batches_of(cursor: psycopg.Cursor[Any], sql: str) -> Iterator[Columns]:
    """The same by a copy that is read while the server works: a cursor of the server's would rule out parallel plans."""
    kinds = _kinds(cursor, sql)
    invariant(all(name.startswith("f") or kind == INTEGER_OID for name, kind in kinds), "measures are integers")
    with cursor.copy(f"COPY ({sql}) TO STDOUT (FORMAT BINARY)") as copy:
        copy.set_types([kind for _, kind in kinds])
        rows = copy.rows()
        while some := list(islice(rows, BATCH_ROWS)):
            yield batching.columns_of([name for name, _ in kinds], some)


def _kinds(cursor: psycopg.Cursor[Any], sql: str) -> list[tuple[str, int]]:
    """Names and types of the answer, which the server tells without running the question."""
    import psycopg
    from psycopg.pq import ExecStatus

    server = cursor.connection.pgconn
    if server.prepare(b"", sql.encode()).status != ExecStatus.COMMAND_OK:
        raise psycopg.DatabaseError
    told = server.describe_prepared(b"")
    if told.status != ExecStatus.COMMAND_OK:
        raise psycopg.DatabaseError
    return [((told.fname(i) or b"").decode(), told.ftype(i)) for i in range(told.nfields)]


def _integers(cursor: psycopg.Cursor[Any], sql: str, names: list[str]) -> Columns:
    """A part of the rows at a time, so that few of them are Python's own at once; a copy would cost a call for each row."""
    import numpy as np

    cursor.execute(sql, binary=True)
    parts = [np.empty((0, len(names)), dtype=np.int64)]
    while rows := cursor.fetchmany(BATCH_ROWS):
        try:
            flat = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=len(rows) * len(names))
        except TypeError:
            invariant(False, "measures are without NULL")
        parts.append(flat.reshape(len(rows), len(names)))
    whole = np.concatenate(parts)
    return {name: whole[:, i].copy() for i, name in enumerate(names)}
