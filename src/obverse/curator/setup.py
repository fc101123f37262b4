"""obverse init: column names and declared types of files, to a draft of obverse.toml.

Values only on the curator's word.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from obverse.catalog.complete import type_of
from obverse.catalog.draft import SourceFile, draft, questions
from obverse.catalog.load import FILE_NAME
from obverse.catalog.model import Catalog, Source, Table
from obverse.catalog.tables import CSV_ENDINGS, DUCKDB_ENDINGS, PARQUET_ENDINGS
from obverse.core.engine import Schema
from obverse.core.errors import Refused
from obverse.core.ledger import Budget
from obverse.core.units import KeyPath
from obverse.engines.csv import header_of, oddly_written, unnamed
from obverse.session.project import engine_of
from obverse.session.project_file import write_new_project_file

DELIMITERS = ",;\t|"
WIDE = dict.fromkeys(("HUGEINT", "UHUGEINT", "UBIGINT"), "DOUBLE")


@dataclass(frozen=True, slots=True)
class Drafted:
    """A written draft, and what it asks the curator."""

    path: Path
    questions: tuple[str, ...]
    odd_dates: tuple[str, ...] = ()  # columns whose dates are written in a form that is not read
    guessed: bool = False  # types of CSV columns are guesses from their names


def init(files: Sequence[str], folder: Path, *, name: str | None, sniff: bool) -> Drafted:
    """Write obverse.toml beside the data; one that is there is never touched."""
    target = folder / FILE_NAME
    if os.path.lexists(target):
        raise Refused("file_exists", "there is an obverse.toml already, and it is not overwritten", place=str(target),
                      fix="Edit it; -p FOLDER drafts another beside it, from which a table can be copied.")  # fmt: skip
    seen = [_seen(file, folder) for file in files]
    read = {one.file: _sniffed(source) for one, source in seen if one.kind == "csv"} if sniff else {}
    sniffed = {file: types for file, (types, _) in read.items()}
    text = draft([one for one, _ in seen], name=name or folder.absolute().name or "project", sniffed=sniffed or None)
    write_new_project_file(target, text)
    guessed = not sniff and any(one.kind == "csv" for one, _ in seen)
    return Drafted(target, questions(text), tuple(column for _, odd in read.values() for column in odd), guessed)


def _seen(file: str, folder: Path) -> tuple[SourceFile, Source]:
    """A file by its header line or its own schema."""
    lower = file.lower()
    if lower.endswith(CSV_ENDINGS):
        path = _existing(file)
        source = max((Source("csv", path, delimiter=sign) for sign in DELIMITERS), key=lambda one: len(header_of(one)))
        if wrong := unnamed(source):
            message = "the columns of this CSV file cannot be told by name."
            fix = "Begin the file with a line of names, no two of them the same."
            raise Refused("source_unreadable", message, place=file, why=f"{wrong}.", fix=fix)
        return SourceFile(
            _relative(path, folder), dict.fromkeys(header_of(source)), "csv", delimiter=source.delimiter
        ), source
    if lower.endswith(PARQUET_ENDINGS):
        source = Source("parquet", _existing(file))
        return SourceFile(_relative(_existing(file), folder), dict(_schema(source)), "parquet"), source
    place, colon, table = file.rpartition(":")
    if colon and place.lower().endswith(DUCKDB_ENDINGS):
        source = Source("duckdb", _existing(place), table=table)
        return SourceFile(_relative(_existing(place), folder), dict(_schema(source)), "duckdb", table=table), source
    if lower.endswith(DUCKDB_ENDINGS):
        raise Refused("bad_source", f"which table of {file}?", fix=f"Name it: {file}:TABLE")
    fix = (
        "Name .csv, .tsv or .parquet files, or file.duckdb:TABLE. Save a spreadsheet as CSV, a folder of files as one."
    )
    message = f"{file!r} is a folder" if Path(file).is_dir() else f"the kind of {file!r} is not known"
    raise Refused("bad_source", message, fix=fix)


def _existing(file: str) -> Path:
    path = Path(file)
    if not path.is_file():
        raise Refused("source_missing", "there is no such file", place=file, fix="Check the name.")
    return path


def _schema(source: Source, *, public: bool = False) -> Schema:
    """The engine's own types; of a CSV file only when it is read as public, which looks at its values."""
    name = source.path.stem if source.path is not None else "table"
    table = Table(name, source, {}, None if public else KeyPath(name, None))
    nothing = Fraction(0)
    catalog = Catalog("init", Path(), Path(), {}, None, "pure", nothing, nothing, Budget(nothing), {name: table})
    engine = engine_of(catalog)
    try:
        return engine.schema(name)
    finally:
        engine.close()


def _sniffed(source: Source) -> tuple[dict[str, str], tuple[str, ...]]:
    """Types seen in the values, as far as values so written will be read: whole numbers beyond 64 bits are doubles, and
    dates of another form are text. These are told."""
    types = {name: WIDE.get(kind, kind) for name, kind in _schema(source, public=True).items()}
    kinds = {name: kind for name, word in types.items() if (kind := type_of(word)) is not None and kind.temporal}
    odd = oddly_written(source, kinds)
    return types | dict.fromkeys(odd, "VARCHAR"), odd


def _relative(path: Path, folder: Path) -> str:
    """As the toml names it: from its own folder, with forward slashes."""
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # another drive
        return path.absolute().as_posix()
