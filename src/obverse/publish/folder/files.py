"""The folder of a release: what stands in it, and how it is written.

The files of a release as columns: tables, measurements and errors, before anything is written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from obverse.core.errors import Refused
from obverse.core.types import Type
from obverse.publish.folder.statement import Card, card, markdown, page
from obverse.publish.method import LEVEL, Expected, Measured, Method, Outcome

Array = np.ndarray[Any, Any]


DECIMALS = 6  # of estimates and of the ends of intervals, of which one is a row


@dataclass(frozen=True, slots=True)
class Sheet:
    """One file: its name without an ending, and its columns in order; masked values are missing."""

    name: str
    columns: Mapping[str, Array]
    types: Mapping[str, Type]


def data_sheet(method: Method, outcome: Outcome, place: int) -> Sheet:
    """A table: whole numbers, the unbiased estimate, and its interval."""
    one = outcome.tables[place]
    columns, types = method.labels(place)
    low = one.values - one.half_width
    high = one.values + one.half_width
    columns |= {"count": one.whole, "estimate": rounded(one.values), "low": rounded(low), "high": rounded(high)}
    types |= {"count": Type.INTEGER, "estimate": Type.DOUBLE, "low": Type.DOUBLE, "high": Type.DOUBLE}
    return Sheet(one.file, columns, types)


def rounded(values: Array) -> Array:
    """To the decimals that are told; noise is far larger than what is cut off, and no nought has a sign."""
    told: Array = np.round(values, DECIMALS) + 0.0
    return told


def measurement_sheet(method: Method, measured: Measured, place: int) -> Sheet:
    """A measured block: the released integers as they are, and the standard deviation of their noise."""
    entries = measured[place]
    assert entries.values is not None
    columns, types = method.block_labels(entries.block.name)
    columns |= {"value": entries.values, "stddev": np.full(len(entries.values), entries.mechanism.stddev())}
    types |= {"value": Type.INTEGER, "stddev": Type.DOUBLE}
    return Sheet(f"{place + 1:02d}", columns, types)


def errors_sheet(errors: Sequence[Expected]) -> Sheet:
    """How far a cell of each table is from the truth."""
    columns: dict[str, Any] = {
        "table": np.array([one.title for one in errors], dtype=object),
        "file": np.array([one.file for one in errors], dtype=object),
        "cells": np.array([one.cells for one in errors], dtype=np.int64),
        "stddev": np.array([one.stddev for one in errors]),
        "half_width": np.array([one.half_width for one in errors]),
        "level": np.full(len(errors), LEVEL),
    }
    kinds = (Type.TEXT, Type.TEXT, Type.INTEGER, Type.DOUBLE, Type.DOUBLE, Type.DOUBLE)
    return Sheet("errors", columns, dict(zip(columns, kinds)))


METADATA = "metadata.json"
VERIFY = "verify.json"
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
            raise Refused(
                "folder_not_empty", "a release goes to a new or empty folder.", place=str(out), fix="Name another."
            )
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
