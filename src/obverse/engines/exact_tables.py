"""A reviewer's own file, CSV or Parquet: its columns as texts, and exact answers about it. No project's table is read here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from obverse.catalog.model import Source
from obverse.core.errors import Refused
from obverse.engines.csv import delimiter_of, private_csv, text

if TYPE_CHECKING:
    from numpy.typing import NDArray


def read_table(path: Path) -> dict[str, NDArray[Any]]:
    """The columns as texts, as they are written; an empty field is None. The first line tells the delimiter."""
    import duckdb
    import numpy as np

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

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
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
            raise Refused("bad_condition", what, fix="Use TRY_CAST, or a condition that every row can be asked.") from None

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
    return Refused("source_unreadable", f"{path.name} cannot be read.", fix="give a CSV file with a header line, or Parquet")
