"""Atomic edits of obverse.toml: a change is valid before it is written, and is written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from obverse.catalog.load import FILE_NAME, load, loads
from obverse.core.errors import Refused


def edit_project_file(project: Path, change: Callable[[str], str]) -> Callable[[], Path]:
    """Validate a change of obverse.toml; the returned function writes it, unless the file has changed since."""
    load(project)
    file = Path(os.path.realpath(project / FILE_NAME if project.is_dir() else project))
    before = file.read_bytes()
    changed = change(before.decode("utf-8"))
    loads(changed.removeprefix("\ufeff"), file.parent, file.name)

    def write() -> Path:
        if file.read_bytes() != before:
            raise Refused("changed_meanwhile", "obverse.toml was changed meanwhile and is left alone", fix="Try again.")
        _replace(file, changed.encode("utf-8"))
        return file

    return write


def _replace(file: Path, content: bytes) -> None:
    beside = file.with_name(f".{file.name}.{secrets.token_hex(6)}")
    try:
        with open(beside, "xb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        os.chmod(beside, file.stat().st_mode & 0o777)
        os.replace(beside, file)
    except OSError as error:
        why = error.strerror or "the system refused"
        raise Refused("cannot_write", "obverse.toml cannot be written", place=str(file), why=why) from None
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def write_new_project_file(target: Path, text: str) -> None:
    """Write a new obverse.toml."""
    beside = target.with_name(f".{target.name}.{secrets.token_hex(6)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.rename(target)
    except OSError as error:
        why = error.strerror or "the system refused"
        raise Refused("cannot_write", "obverse.toml cannot be written", place=str(target), why=why) from None
    finally:
        beside.unlink(missing_ok=True)
