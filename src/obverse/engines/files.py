"""A reviewer's own file, CSV or Parquet: its columns as texts, and exact answers about it. No project's table is read
here.

Numpy columns to Parquet and CSV files, written by DuckDB; NULLs are masks. For synthetic and released rows.

Files of a release read back, fast: columns of a CSV file, and of the Parquet file beside it, which is to say the same.

Reports in Parquet: a payload as 64-bit words, which numpy and every engine read without a loop over rows.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.catalog.model import Source
from obverse.core.errors import Refused, invariant
from obverse.core.types import Type
from obverse.engines.csv import delimiter_of, private_csv, text

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


def write_parquet(
    columns: Mapping[str, Array], types: Mapping[str, Type], path: Path, *, stamp: str | None = None
) -> None:
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
        value = f"v{position}"
        null = f"n{position}"
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


KINDS: dict[Any, str] = {int: "BIGINT", float: "DOUBLE", str: "VARCHAR"}


def columns(path: Path, kinds: Mapping[str, Any]) -> dict[str, Array]:
    """These columns of a CSV file, in the order of its rows; a missing text is empty. What cannot be read, or differs
    from
    Parquet, is a ValueError."""
    typed = ", ".join(f"{_text(name)}: '{KINDS[kind]}'" for name, kind in kinds.items())
    found = _read(
        path, f"read_csv({_text(str(path))}, header = true, delim = ',', quote = '\"', types = {{{typed}}})", kinds
    )
    beside = path.with_suffix(".parquet")
    again = _read(beside, f"read_parquet({_text(str(beside))})", kinds)
    for name in kinds:
        if not np.array_equal(found[name], again[name]):
            raise ValueError("CSV and Parquet differ")
    return found


def _read(path: Path, source: str, kinds: Mapping[str, Any]) -> dict[str, Array]:
    import duckdb

    if not path.is_file():
        raise OSError(errno.ENOENT, "there is no such file", str(path))
    names = ", ".join(_column('"' + name.replace('"', '""') + '"', kind) for name, kind in kinds.items())
    with duckdb.connect(":memory:", config={"autoinstall_known_extensions": "false"}) as connection:
        try:
            found = connection.execute(f"SELECT {names} FROM {source}").fetchnumpy()
        except duckdb.Error as error:
            raise ValueError(type(error).__name__) from None
    if any(np.ma.getmaskarray(values).any() for values in found.values()):
        raise ValueError("a number is missing")
    stored = {int: np.int64, float: np.float64, str: np.object_}
    return {name: np.ma.getdata(found[name]).astype(stored[kind]) for name, kind in kinds.items()}


def _column(name: str, kind: Any) -> str:
    return f"COALESCE(CAST({name} AS VARCHAR), '') AS {name}" if kind is str else name


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


Payloads = NDArray[np.uint8]


CHUNK_ROWS = 1 << 20


def write_reports(payloads: Payloads, path: Path) -> None:
    """Each report in a row; nothing but the payload is written."""
    import duckdb

    n, length = payloads.shape
    words = -(-length // 8)
    wide = np.zeros((n, 8 * words), dtype=np.uint8)
    wide[:, :length] = payloads
    columns = np.ascontiguousarray(wide.view("<i8").reshape(n, words).T)  # with a sign, as every engine has them
    with duckdb.connect(":memory:") as connection:
        connection.register("handed", {f"w{i}": columns[i] for i in range(words)})
        try:
            connection.execute(f"COPY handed TO '{str(path).replace(chr(39), chr(39) * 2)}' (FORMAT parquet)")
        except duckdb.Error:
            raise OSError(errno.EIO, "the file could not be written", str(path)) from None


def read_reports(paths: Sequence[Path], length: int) -> Iterator[Payloads]:
    """The payloads of these files, some at a time, so that memory does not grow with their number."""
    import duckdb

    words = -(-length // 8)
    names = ", ".join(f"w{i}" for i in range(words))
    some = f"SELECT {names} FROM read_parquet($1, file_row_number = true) WHERE file_row_number BETWEEN $2 AND $3"
    with duckdb.connect(":memory:") as connection:
        for path in paths:
            try:
                ((n,),) = connection.execute("SELECT COUNT(*) FROM read_parquet($1)", [str(path)]).fetchall()
                for start in range(0, n, CHUNK_ROWS):
                    columns = connection.execute(some, [str(path), start, start + CHUNK_ROWS - 1]).fetchnumpy()
                    yield payloads_of([columns[f"w{i}"] for i in range(words)], length)
            except duckdb.Error:
                raise OSError(errno.EIO, "the file could not be read", str(path)) from None


def payloads_of(words: Sequence[NDArray[np.int64]], length: int) -> Payloads:
    """Payloads of so many bytes from their columns of words."""
    rows = np.stack([column.astype("<i8", copy=False) for column in words], axis=1)
    return np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), 8 * len(words))[:, :length]


def read_table(path: Path) -> dict[str, NDArray[Any]]:
    """The columns as texts, as they are written; an empty field is None. The first line tells the delimiter."""
    import duckdb

    with duckdb.connect(":memory:") as connection:
        source = _source(path, all_text=True)
        try:
            found = connection.execute(f"SELECT COLUMNS(*)::VARCHAR FROM {source}").fetchnumpy()
        except duckdb.Error:
            raise _unreadable(path) from None
    told = {}
    for name, values in found.items():
        told[name] = np.ma.getdata(values).astype(object)
        told[name][np.ma.getmaskarray(values)] = None
    return told


def write_table(columns: Mapping[str, NDArray[Any]], path: Path, types: Mapping[str, str] | None = None) -> None:
    """Texts as Parquet, or what they are by DuckDB's types; None is missing."""
    import duckdb

    with duckdb.connect(":memory:") as connection:
        connection.register("handed", dict(columns))
        kinds = types or {}
        read = ", ".join(f"{quoted(c)}::VARCHAR::{kinds.get(c, 'VARCHAR')} AS {quoted(c)}" for c in columns)
        place = str(path).replace("'", "''")
        try:
            connection.execute(f"COPY (SELECT {read} FROM handed) TO '{place}' (FORMAT parquet)")
        except duckdb.Error:
            raise Refused("cannot_write", "the table cannot be written.", place=str(path)) from None


class ExactTable:
    """A file as a table that answers SQL exactly: the target of attacks on aggregation without noise."""

    def __init__(self, path: Path, name: str) -> None:
        import duckdb

        self._duckdb = duckdb
        source = _source(path, all_text=False)
        self._connection = duckdb.connect(":memory:", config={"autoinstall_known_extensions": "false"})
        try:
            self._connection.execute(f"CREATE TABLE {quoted(name)} AS FROM {source}")
        except duckdb.Error:
            self.close()
            raise _unreadable(path) from None
        self._connection.execute("SET enable_external_access = false")

    def __enter__(self) -> ExactTable:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        try:
            return list(self._connection.execute(sql).fetchall())
        except (self._duckdb.ParserException, self._duckdb.BinderException, self._duckdb.CatalogException) as error:
            raise Refused("bad_condition", f"the file cannot answer this: {str(error).splitlines()[0]}") from None
        except self._duckdb.Error:  # its message may hold a value of a row
            what = "the file cannot answer this: a row has a value that the question cannot be asked of."
            raise Refused(
                "bad_condition", what, fix="Use TRY_CAST, or a condition that every row can be asked."
            ) from None

    def ask(self, sql: str) -> float:
        """One number."""
        return float(self.rows(sql)[0][0])


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _source(path: Path, *, all_text: bool) -> str:
    if not path.is_file():
        fix = "Check the name; a table of a project needs -p PROJECT."
        raise Refused("source_missing", f"there is no file {path}.", fix=fix)
    place = text(str(path))
    if path.suffix == ".parquet":
        return f"read_parquet({place}, can_have_nan = true)"
    source = Source("csv", path, delimiter=delimiter_of(path))
    if all_text:
        return private_csv(source, place)
    as_written = "quote = '\"', escape = '\"', comment = '', strict_mode = true, sample_size = -1"
    return f"read_csv({place}, header = true, delim = {text(source.delimiter)}, {as_written})"


def _unreadable(path: Path) -> Refused:
    return Refused(
        "source_unreadable", f"{path.name} cannot be read.", fix="give a CSV file with a header line, or Parquet"
    )
