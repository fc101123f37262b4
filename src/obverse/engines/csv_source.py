"""CSV files: how a private one is read so that no record can change how others are read, and whether it is well formed."""

from __future__ import annotations

import csv
import gzip
from typing import IO

from obverse.catalog.model import Source
from obverse.core.errors import CatalogError

LINE_MAX = 2**26
FIELD_MAX = 2**27


def header_of(source: Source) -> list[str]:
    """The column names of a CSV file: its first line, or column0, column1 ... without one."""
    try:
        with _opened(source, errors="replace") as file:  # what stands further on is not looked at here
            first = next(csv.reader(file, delimiter=source.delimiter), [])
    except (OSError, EOFError, csv.Error):
        message = "the header line of this CSV file cannot be read"
        raise CatalogError("source_unreadable", message, place=str(source.path), fix="Save it as UTF-8 text.") from None
    return first if source.header else [f"column{i}" for i in range(len(first))]


def records(source: Source) -> int | None:
    """How many records the file has by the standard's letter (RFC 4180); None when it is not well formed.

    A quote that is not closed, a carriage return by itself or a record of another length would let one person's text
    swallow or make up the records of others, so such a file is not asked about.
    """
    wanted, count = len(header_of(source)), -1 if source.header else 0
    before = csv.field_size_limit(FIELD_MAX)
    try:
        with _opened(source) as file:
            for record in csv.reader(file, delimiter=source.delimiter, strict=True):
                if len(record) != wanted:
                    if record:
                        return None
                    continue
                count += 1
    except (OSError, EOFError, UnicodeDecodeError, csv.Error):
        return None
    finally:
        csv.field_size_limit(before)
    return count


def _opened(source: Source, errors: str = "strict") -> IO[str]:
    """The file as text whose lines end at line feeds alone, so that a lone carriage return is seen for what it is."""
    assert source.path is not None
    if source.path.suffix == ".gz":
        return gzip.open(source.path, "rt", newline="\n", encoding="utf-8-sig", errors=errors)
    return source.path.open(newline="\n", encoding="utf-8-sig", errors=errors)


def private_csv(source: Source, path: str) -> str:
    """All columns as text, no sniffing, strictly: a file that `records` finds well formed is read as it says."""
    columns = ", ".join(f"{text(n)}: 'VARCHAR'" for n in header_of(source))
    return (
        f"read_csv({path}, auto_detect = false, header = {str(source.header).lower()}, delim = {text(source.delimiter)}, "
        f"quote = '\"', escape = '\"', columns = {{{columns}}}, strict_mode = true, max_line_size = {LINE_MAX})"
    )


def public_csv(source: Source, path: str) -> str:
    return f"read_csv({path}, header = {str(source.header).lower()}, delim = {text(source.delimiter)})"


def text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
