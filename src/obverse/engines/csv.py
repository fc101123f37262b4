"""CSV files: how a private one is read so that no record can change how others are read, and whether it is well
formed.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

from obverse.catalog.model import Source
from obverse.core.errors import CatalogError
from obverse.core.types import Type

LINE_MAX = 2**26
FIELD_MAX = 2**27
DELIMITERS = (",", ";", "\t", "|")
VALUE = re.compile(r"\s*[-+]?(\d+([.,]\d+)?|\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{2,4})\s*")
UNREAD = "\ufffd"  # what stands for bytes that are no UTF-8
_DAY = r"\d{4}-\d{1,2}-\d{1,2}"
_NUMBER = r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"
WRITTEN = {
    Type.DATE: re.compile(_DAY),
    Type.TIMESTAMP: re.compile(rf"{_DAY}([ T]\d{{1,2}}:\d{{2}}.*)?"),
    Type.INTEGER: re.compile(_NUMBER),
    Type.DOUBLE: re.compile(_NUMBER),
}


def header_of(source: Source) -> list[str]:
    """The column names of a CSV file: its first line, or column0, column1 ... without one."""
    try:
        with _opened(source, errors="replace") as file:  # what stands further on is not looked at here
            first = next(csv.reader(file, delimiter=source.delimiter), [])
    except (OSError, EOFError, csv.Error):
        first = [UNREAD]
    if any(UNREAD in name for name in first):
        message = "the header line of this CSV file cannot be read"
        raise CatalogError("source_unreadable", message, place=str(source.path), fix="Save it as UTF-8 text.")
    return first if source.header else [f"column{i}" for i in range(len(first))]


def delimiter_of(path: Path) -> str:
    """The sign that the first line has most of, and a comma where it has none of them: what stands in rows decides
    nothing.
    """
    line = ",".join(header_of(Source("csv", path)))
    return max(DELIMITERS, key=line.count)


def unnamed(source: Source) -> str:
    """Why the first line cannot name the columns, or nothing; never a word of what it holds."""
    names = header_of(source)
    if not any(name.strip() for name in names):
        return "it is empty, or its first line is"
    if len({name.lower() for name in names}) < len(names):
        return "two of its columns have one name"
    if source.header and any(VALUE.fullmatch(name) and not _counted(name, len(names)) for name in names):
        return "its first line looks like a row, not like names of columns"
    return ""


def _counted(name: str, columns: int) -> bool:
    """Whether a number names a column: its place, or a year."""
    return name.isdecimal() and (int(name) <= columns or 1900 <= int(name) <= 2100)


def oddly_written(source: Source, kinds: Mapping[str, Type]) -> tuple[str, ...]:
    """Of these columns those in which a value is not written as its type is read, so that it would count as NULL.

    Looks at values: for the curator alone, who asks for it.
    """
    names = header_of(source)
    found = set[str]()
    watched = [(place, name, WRITTEN[kinds[name]]) for place, name in enumerate(names) if kinds.get(name) in WRITTEN]
    with suppress(OSError, EOFError, csv.Error), _opened(source, errors="replace") as file:  # `records` tells of these
        lines = csv.reader(file, delimiter=source.delimiter)
        if source.header:
            next(lines, None)
        for line in lines if watched else ():
            found.update(
                n for i, n, form in watched if i < len(line) and line[i] and not form.fullmatch(line[i].strip())
            )
    return tuple(name for name in names if name in found)


def records(source: Source) -> int | None:
    """How many records the file has by the standard's letter (RFC 4180); None when it is not well formed.

    A quote that is not closed, a carriage return by itself or a record of another length would let one person's text
    swallow or make up the records of others, so such a file is not asked about.
    """
    found = _read(source)
    return found if isinstance(found, int) else None


def fault(source: Source) -> str:
    """Why a file that is not well formed is not, with the line.

    Looks at values: for the curator alone, who asks for it.
    """
    found = _read(source)
    return found if isinstance(found, str) else "its lines do not all end alike, or one is too long"


def _read(source: Source) -> int | str:
    """How many records there are, or what is wrong with the first that is not one."""
    wanted = len(header_of(source))
    count = -1 if source.header else 0
    line = 0
    before = csv.field_size_limit(FIELD_MAX)
    try:
        with _opened(source) as file:
            reader = csv.reader(file, delimiter=source.delimiter, strict=True)
            for record in reader:
                line = reader.line_num
                if len(record) != wanted:
                    if record:
                        return f"what ends in line {line} has {len(record)} values, the header {wanted}"
                    continue
                count += 1
    except csv.Error:
        return f"a quote or a carriage return is out of place after line {line}"
    except UnicodeDecodeError:
        return f"not all of it is UTF-8, somewhere after line {line}"
    except (OSError, EOFError):
        return "it cannot be read to its end"
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
        f"read_csv({path}, auto_detect = false, header = {str(source.header).lower()}, delim = "
        f"{text(source.delimiter)}, "
        f"quote = '\"', escape = '\"', columns = {{{columns}}}, strict_mode = true, max_line_size = {LINE_MAX})"
    )


def public_csv(source: Source, path: str) -> str:
    return f"read_csv({path}, header = {str(source.header).lower()}, delim = {text(source.delimiter)})"


def text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
