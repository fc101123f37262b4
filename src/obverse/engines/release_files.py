"""Files of a release read back, fast: columns of a CSV file, and of the Parquet file beside it, which is to say the same."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

KINDS: dict[Any, str] = {int: "BIGINT", float: "DOUBLE", str: "VARCHAR"}


def columns(path: Path, kinds: Mapping[str, Any]) -> dict[str, Array]:
    """These columns of a CSV file, in the order of its rows; a missing text is empty. What cannot be read, or differs from
    Parquet, is a ValueError."""
    import numpy as np

    typed = ", ".join(f"{_text(name)}: '{KINDS[kind]}'" for name, kind in kinds.items())
    found = _read(path, f"read_csv({_text(str(path))}, header = true, delim = ',', quote = '\"', types = {{{typed}}})", kinds)
    beside = path.with_suffix(".parquet")
    again = _read(beside, f"read_parquet({_text(str(beside))})", kinds)
    for name in kinds:
        if not np.array_equal(found[name], again[name]):
            raise ValueError("CSV and Parquet differ")
    return found


def _read(path: Path, source: str, kinds: Mapping[str, Any]) -> dict[str, Array]:
    import duckdb
    import numpy as np

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
