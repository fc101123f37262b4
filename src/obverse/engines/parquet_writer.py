"""Numpy columns to Parquet and CSV files, written by DuckDB; NULLs are masks. For synthetic and released rows."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from obverse.core.errors import invariant
from obverse.core.types import Type

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

STAMP_KEY = "obverse.stamp"
_FROM_STORED = {  # the SQL that turns what is handed to DuckDB into the declared type
    Type.INTEGER: "CAST({} AS BIGINT)",
    Type.DOUBLE: "CAST({} AS DOUBLE)",
    Type.BOOLEAN: "CAST({} AS BOOLEAN)",
    Type.TEXT: "CAST({} AS VARCHAR)",
    Type.DATE: "DATE '1970-01-01' + CAST({} AS INTEGER)",
    Type.TIMESTAMP: "make_timestamp({})",
}


def write_parquet(columns: Mapping[str, Array], types: Mapping[str, Type], path: Path, *, stamp: str | None = None) -> None:
    """Write the columns, in order; `stamp` goes into the file's key-value metadata and changes no value."""
    metadata = "" if stamp is None else f", KV_METADATA {{{_literal(STAMP_KEY)}: {_literal(stamp)}}}"
    _copy(columns, types, path, f"FORMAT parquet{metadata}")


def write_csv(columns: Mapping[str, Array], types: Mapping[str, Type], path: Path) -> None:
    """Write the columns, in order, under a header line."""
    _copy(columns, types, path, "FORMAT csv, HEADER")


def _copy(columns: Mapping[str, Array], types: Mapping[str, Type], path: Path, options: str) -> None:
    import duckdb

    invariant(set(columns) == set(types) and len(columns) > 0, "each column has a type")
    invariant(len({len(values) for values in columns.values()}) == 1, "columns have one length")
    stored: dict[str, Array] = {}
    printed = []
    for position, (name, values) in enumerate(columns.items()):
        value, null = f"v{position}", f"n{position}"
        stored[value], stored[null] = _stored(values, types[name])
        typed = _FROM_STORED[types[name]].format(value)
        printed.append(f"CASE WHEN {null} THEN NULL ELSE {typed} END AS {_identifier(name)}")
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET threads = 1")  # one thread keeps the order of rows and the bytes the same
        connection.register("handed", stored)
        try:
            connection.execute(f"COPY (SELECT {', '.join(printed)} FROM handed) TO {_literal(str(path))} ({options})")
        except duckdb.Error:
            raise OSError(errno.EIO, "the file could not be written", str(path)) from None


def _stored(values: Array, kind: Type) -> tuple[Array, Array]:
    """The values as DuckDB reads them without guessing, and where they are NULL."""
    import numpy as np

    null = np.ma.getmaskarray(values)
    plain = np.ma.getdata(values)
    if kind is Type.DATE:
        return plain.astype("datetime64[D]").astype(np.int32), null
    if kind is Type.TIMESTAMP:
        return plain.astype("datetime64[us]").astype(np.int64), null
    if kind is Type.TEXT:
        texts = plain.astype(object)
        texts[null] = ""
        return texts, null
    return plain.astype({Type.INTEGER: np.int64, Type.DOUBLE: np.float64, Type.BOOLEAN: np.bool_}[kind]), null


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
