"""Answers as files: CSV text, and --out with the claim beside it.

Charts as files: .html, .svg or .png.
"""

from __future__ import annotations

import html
import io
import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from obverse.answers.answer import Answer
from obverse.answers.csv import csv_text
from obverse.answers.frames import plain_columns
from obverse.core.errors import Failed, Refused
from obverse.core.types import Type

KINDS = (".html", ".png", ".svg")
PAGE = """<!doctype html>
<html lang=en><head><meta charset="utf-8"><meta name="viewport" \
content="width=device-width"><title>{title}</title></head>
<body>{drawn}</body></html>
"""


def check_kind(path: Path) -> None:
    """Refuse a name that tells no kind of picture, before any work is done for it."""
    if path.suffix.lower() not in KINDS:
        raise Refused("bad_plot", f"a picture is one of {', '.join(KINDS)}.", place=str(path))


def save(chart: Any, path: Path) -> None:
    """Write an Altair chart; its kind is that of the file's name.

    A page holds the picture itself: no script, no network.
    """
    check_kind(path)
    try:
        if path.suffix.lower() == ".html":
            drawn = io.StringIO()
            chart.save(drawn, format="svg")
            path.write_text(PAGE.format(title=html.escape(path.stem), drawn=drawn.getvalue()), encoding="utf-8")
        else:
            chart.save(str(path))
    except OSError as error:
        raise Refused(
            "cannot_write", "the picture cannot be written.", place=str(path), why=error.strerror or ""
        ) from None


CSV = ".csv"
PARQUET = ".parquet"


def writer_for(target: Path) -> Callable[[Answer], Path]:
    """What writes an answer to the target, found to be possible before anything is spent; gives the claim's path."""
    ending = target.suffix.lower()
    if ending not in (CSV, PARQUET):
        fix = "Name a file that ends in .csv or .parquet."
        raise Refused("bad_output", f"cannot tell the format of {target.name!r}", fix=fix)
    claim = target.with_name(f"{target.name}.claim.json")
    for path in (target, claim):
        if os.path.lexists(path):
            raise Refused(
                "file_exists",
                "there is a file already, and it is not overwritten",
                place=str(path),
                fix="Name another file.",
            )
    if not target.parent.is_dir() or not os.access(target.parent, os.W_OK):
        raise Refused("cannot_write", "the folder of the output cannot be written to", place=str(target.parent))

    def write(answer: Answer) -> Path:
        return _write(answer, target, claim)

    return write


def _write(answer: Answer, target: Path, claim: Path) -> Path:
    """The claim first: no number lies anywhere without one."""
    try:
        _whole(claim, lambda path: path.write_text(claim_text(answer), encoding="utf-8"))
        if target.suffix.lower() == CSV:
            _whole(target, lambda path: path.write_text(csv_text(answer), encoding="utf-8", newline=""))
        else:
            _whole(target, lambda path: _write_parquet(answer, path))
    except OSError as error:
        raise Failed(
            "cannot_write",
            f"the answer could not be written: {error.strerror or 'the system refused'}",
            place=str(target),
            why="the charge stays, and the answer is in store.",
            fix="ask the same question again, with another --out: that is free.",
            charged=True,
        ) from None
    return claim


def _whole(path: Path, write: Callable[[Path], object]) -> None:
    """Written beside and then renamed, so that no half file is ever seen."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        write(beside)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def claim_text(answer: Answer) -> str:
    fields = answer.as_json()
    kept = {name: fields[name] for name in ("version", "columns", "level", "claim", "price", "remaining")}
    return json.dumps(kept, ensure_ascii=False, indent=2) + "\n"


def _write_parquet(answer: Answer, path: Path) -> None:
    import numpy as np

    from obverse.engines.files import write_parquet

    columns = plain_columns(answer)
    stored: dict[str, Any] = {}
    for name, kind, values in columns:
        filler = _FILLERS[kind]
        plain = np.array([filler if value is None else value for value in values], dtype=_DTYPES[kind])
        stored[name] = np.ma.masked_array(plain, mask=[value is None for value in values])
    write_parquet(stored, {name: kind for name, kind, _ in columns}, path)


_DTYPES: dict[Type, Any] = {
    Type.INTEGER: "int64",
    Type.DOUBLE: "float64",
    Type.BOOLEAN: "bool",
    Type.TEXT: object,
    Type.DATE: "datetime64[D]",
    Type.TIMESTAMP: "datetime64[us]",
}
_FILLERS: dict[Type, Any] = {
    Type.INTEGER: 0,
    Type.DOUBLE: 0.0,
    Type.BOOLEAN: False,
    Type.TEXT: "",
    Type.DATE: "1970-01-01",
    Type.TIMESTAMP: "1970-01-01T00:00:00",
}
