"""What a folder says beside its numbers, checked: names of cells, errors as told, and the statement in both forms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from obverse._version import __version__
from obverse.core.types import Type
from obverse.publish.folder.files import METADATA, VERIFY, Folder, Sheet
from obverse.publish.folder.metadata import NO_INVARIANTS
from obverse.publish.folder.statement import Card, markdown, page
from obverse.publish.method import Law

Array = np.ndarray[Any, Any]


Read = Callable[[Path, Mapping[str, Any]], "dict[str, Array]"]
KINDS: dict[Type, Any] = {Type.INTEGER: int, Type.DOUBLE: float}  # all else is read as text
FIGURES = ("count", "estimate", "low", "high", "value")  # which are held to more than what is told of them here
CLOSE = 1e-9


def words_laws(out: Path, made: Folder, said: Card, drawn: Iterable[str], read: Read) -> list[Law]:
    """Cells stand in their places under their names, errors are those of the noise, and the statement is that of the
    folder.
    """
    rows = {*made.outcome.rows, *(one.file for one in made.outcome.further)}  # made again by themselves
    sheets = [(place, sheet) for place, sheet in made.sheets() if sheet.name not in rows]
    wrong = [sheet.name for place, sheet in sheets if not _told(out / place / f"{sheet.name}.csv", sheet, read)]
    words = (
        "every cell has its name, and every error is that of the noise"
        if not wrong
        else f"changed: {', '.join(wrong[:5])}"
    )
    found = statement_law(out, made.metadata, said)
    held = made.method.invariants() or NO_INVARIANTS
    if made.metadata["version"] == __version__ and made.metadata["invariants"] != held:
        found = Law("statement", False, "metadata.json does not say what was held exact")
    return [Law("names", not wrong, words), found, complete_law(out, made.sheets(), drawn)]


def complete_law(out: Path, sheets: Iterable[tuple[str, Sheet]], drawn: Iterable[str]) -> Law:
    """Every file of such a release is there, and no other: nothing was put beside it."""
    wanted = {METADATA, "statement.md", "statement.html", *(f"plots/{file}" for file in drawn)}
    for place, sheet in sheets:
        wanted |= {(Path(place) / f"{sheet.name}.{ending}").as_posix() for ending in ("csv", "parquet")}
    there = {path.relative_to(out).as_posix() for path in out.rglob("*") if not path.is_dir()} - {VERIFY}
    words = "every file of the release is there, and no other"
    apart = sorted(wanted ^ there)
    return Law("complete", not apart, words if not apart else f"missing, or too many: {', '.join(apart[:5])}")


def statement_law(out: Path, fields: dict[str, Any], said: Card) -> Law:
    """Word for word where this version wrote it; of another version's, price and receipt."""
    claim = fields["claim"]
    words = "statement.md and .html say what metadata.json says"
    needed = (f"epsilon {claim['epsilon']}", claim["receipt"])
    try:
        for file, text in (("statement.md", markdown(said)), ("statement.html", page(said))):
            there = (out / file).read_text(encoding="utf-8")
            if there != text if fields["version"] == __version__ else not all(part in there for part in needed):
                return Law("statement", False, f"{file} does not say what metadata.json says")
    except OSError:
        return Law("statement", False, "statement.md or .html is missing")
    return Law("statement", needed[0] in claim["sentence"], words)


def _told(path: Path, sheet: Sheet, read: Read) -> bool:
    """Whether a file holds what its sheet says, but for figures."""
    columns = {name: values for name, values in sheet.columns.items() if name not in FIGURES}
    if not columns:
        return True
    try:
        there = read(path, {name: _kind(values, sheet.types[name]) for name, values in columns.items()})
    except OSError:
        return False
    for name, values in columns.items():
        if len(there[name]) != len(values):
            return False
        if sheet.types[name] is Type.DOUBLE:
            have = np.array([float(one) if one != "" else np.nan for one in there[name]])
            if not np.allclose(have, np.ma.filled(values, np.nan), rtol=CLOSE, atol=CLOSE, equal_nan=True):
                return False
        elif not bool(np.all(there[name] == _texts(values, sheet.types[name]))):
            return False
    return True


def _kind(values: Array, kind: Type) -> Any:
    """Numbers are read as such where none is missing."""
    return str if np.ma.getmaskarray(values).any() else KINDS.get(kind, str)


def _texts(values: Array, kind: Type) -> Array:
    """As they stand in a file, where what is missing is an empty text; whole numbers as they are where none is
    missing.
    """
    missing = np.ma.getmaskarray(values)
    plain = np.ma.getdata(values)
    if kind is Type.INTEGER and not missing.any():
        return plain
    if kind is Type.BOOLEAN:
        found = np.where(plain, "true", "false").astype(object)
    elif kind is Type.TIMESTAMP:
        texts = [str(one).replace("T", " ") for one in plain.astype("datetime64[us]")]
        found = np.array([text.rstrip("0").rstrip(".") for text in texts], dtype=object)
    else:
        found = (plain if kind is Type.TEXT else plain.astype(str)).astype(object)
    return np.where(missing, "", found)
