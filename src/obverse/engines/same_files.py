"""Files that stay what they are while a question reads them.

A file may be read more than once, and what bounds a unit in one reading bounds it only in the same file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from obverse.engines.failing import failure


@contextmanager
def unchanged(paths: Iterable[Path | None]) -> Iterator[None]:
    """No answer where a file was exchanged or written meanwhile; None is what lies in no file."""
    files = [path for path in paths if path is not None]
    before = [marks_of(path) for path in files]
    yield
    if [marks_of(path) for path in files] != before:
        raise failure()


def marks_of(path: Path | None) -> list[tuple[object, ...]]:
    """What tells a file, or all that a folder holds, from others and from itself before it was written to."""
    found: list[tuple[object, ...]] = []
    if path is None:
        return found
    for file in sorted(_files(path)):
        try:
            stat = file.stat()
            found.append((str(file), stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns))
        except OSError:
            found.append((str(file),))
    return found


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for folder, _, names in os.walk(path):
        yield from (Path(folder, name) for name in names)
