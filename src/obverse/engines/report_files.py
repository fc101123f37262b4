"""Reports in Parquet: a payload as 64-bit words, which numpy and every engine read without a loop over rows."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Payloads = NDArray[np.uint8]

CHUNK_ROWS = 1 << 20


def write_reports(payloads: Payloads, path: Path) -> None:
    """Each report in a row; nothing but the payload is written."""
    import duckdb
    import numpy as np

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
    import numpy as np

    rows = np.stack([column.astype("<i8", copy=False) for column in words], axis=1)
    return np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), 8 * len(words))[:, :length]
