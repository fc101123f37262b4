"""The folder of a release: what stands in it, and how it is written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obverse.core.errors import Refused
from obverse.publish.base import Expected, Measured, Method, Outcome
from obverse.publish.folder.card import Card, card, markdown, page
from obverse.publish.folder.sheets import Sheet, data_sheet, errors_sheet, measurement_sheet

METADATA, VERIFY = "metadata.json", "verify.json"
Save = Callable[[Sheet, Path], None]  # to a path without an ending
Told = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Folder:
    """All of a release; sheets are made when they are written, since they may be large."""

    method: Method
    measured: Measured
    outcome: Outcome
    errors: tuple[Expected, ...]
    metadata: dict[str, Any]

    def sheets(self) -> Iterator[tuple[str, Sheet]]:
        """Folder and file, one after the other."""
        for n in range(len(self.outcome.tables)):
            yield "data", data_sheet(self.method, self.outcome, n)
        for one in self.outcome.further:
            yield "data", Sheet(one.file, one.columns, one.types)
        for name, (columns, types) in self.outcome.rows.items():
            yield "data", Sheet(name, columns, types)
        for n in range(len(self.measured)):
            yield "measurements", measurement_sheet(self.method, self.measured, n)
        yield "", errors_sheet(self.errors)


def fresh(out: Path) -> None:
    """Refuse a place where something stands: told before anything is charged."""
    try:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise Refused("folder_not_empty", "a release goes to a new or empty folder.", place=str(out), fix="Name another.")
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refused("cannot_write", "the folder cannot be made.", place=str(out), why=error.strerror or "") from None


def write(made: Folder, out: Path, save: Save, told: Told = lambda share: None) -> None:
    """Everything but verify.json, which is made of what was written."""
    said, drawn = statement(made)
    put(out, Contents(list(made.sheets()), drawn, made.metadata, said), save, told)


def statement(made: Folder) -> tuple[Card, dict[str, tuple[str, str]]]:
    """The words of a release, and its titled pictures."""
    drawn = made.method.pictures(made.outcome)
    plots = [(file, title) for file, (title, _) in drawn.items()]
    return card(made.metadata["title"], made.metadata, made.errors, plots), drawn


@dataclass(frozen=True, slots=True)
class Contents:
    """What every release folder holds: sheets with the folder each is in, titled pictures, metadata, the statement."""

    sheets: list[tuple[str, Sheet]]
    drawn: dict[str, tuple[str, str]]
    metadata: dict[str, Any]
    said: Card


def put(out: Path, made: Contents, save: Save, told: Told) -> None:
    """Written file by file; a folder that cannot be written can be made again for nothing."""
    try:
        for name in ("data", "measurements", "plots"):
            (out / name).mkdir(exist_ok=True)
        for n, (name, sheet) in enumerate(made.sheets):
            save(sheet, out / name / sheet.name)
            told((n + 1) / len(made.sheets))
        for file, (_, svg) in made.drawn.items():
            (out / "plots" / file).write_text(svg, encoding="utf-8")
        (out / METADATA).write_text(as_text(made.metadata), encoding="utf-8")
        (out / "statement.md").write_text(markdown(made.said), encoding="utf-8")
        (out / "statement.html").write_text(page(made.said), encoding="utf-8")
    except OSError as error:
        raise cannot_write(out, error) from None


def cannot_write(out: Path, error: OSError) -> Refused:
    return Refused(
        "cannot_write",
        "the release was measured, but its folder cannot be written.",
        place=str(out),
        why=error.strerror or "",
        fix="the same release again, to another folder, costs nothing.",
    )


def as_text(fields: dict[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False, indent=2) + "\n"


def hashes(out: Path) -> dict[str, str]:
    """SHA-256 of every file but verify.json."""
    files = sorted(path for path in out.rglob("*") if path.is_file() and path.relative_to(out).as_posix() != VERIFY)
    return {path.relative_to(out).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
