"""Projects that a test makes: tables from plain Python values, written with a manifest that says so."""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from obverse.catalog.model import Table
from obverse.core.errors import Refused
from obverse.core.types import Type

Array = np.ndarray[Any, Any]


GENERATOR = "obverse.testing.synthetic"
VERSION = 1
Tables = Mapping[str, Mapping[str, Sequence[Any]]]  # table to column to values, a list or an array; None is NULL

_KINDS = (  # the first that all values are of; bool before int, datetime before date
    (bool, Type.BOOLEAN),
    (int, Type.INTEGER),
    ((int, float), Type.DOUBLE),
    (str, Type.TEXT),
    (dt.datetime, Type.TIMESTAMP),
    (dt.date, Type.DATE),
)
_STORED = {
    Type.INTEGER: "int64",
    Type.DOUBLE: "float64",
    Type.BOOLEAN: "bool",
    Type.TEXT: "O",
    Type.DATE: "datetime64[D]",
    Type.TIMESTAMP: "datetime64[us]",
}


def synthetic(tables: Tables, toml: str, folder: Path | str) -> Path:
    """Write a project: obverse.toml, each declared table from its columns, and the manifest. Gives the folder.

    A column has the type of its values, not the declared one, so that a test can lie to the catalog. Nothing is
    rewritten: a file that is there already is an error. Parquet files carry a random stamp, so two projects are two
    datasets although their values are the same.
    """
    from obverse.catalog.load import FILE_NAME, load
    from obverse.demo.project import MANIFEST, manifest

    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    _write_new(target / FILE_NAME, toml)
    catalog = load(target)
    if set(catalog.tables) != set(tables):
        raise Refused("not_synthetic", "the tables handed over are not those that the toml declares.")
    stamp = secrets.token_hex(16)
    files = [_write(catalog.tables[name], columns, stamp) for name, columns in tables.items()]
    _write_new(target / MANIFEST, manifest(GENERATOR, VERSION, 0, stamp, files))
    return target


def _write(table: Table, columns: Mapping[str, Sequence[Any]], stamp: str) -> Path:
    from obverse.engines.files import write_csv, write_parquet

    path = table.source.path
    if path is None or table.source.kind not in ("parquet", "csv"):
        raise Refused(
            "not_synthetic", f"table {table.name} is not a file that can be written.", fix="Name .parquet or .csv."
        )
    if path.exists():
        raise _taken(path)
    listed = {name: values.tolist() if hasattr(values, "tolist") else values for name, values in columns.items()}
    types = {name: kind_of(values) for name, values in listed.items()}
    stored = {name: column(values, types[name]) for name, values in listed.items()}
    if table.source.kind == "parquet":
        write_parquet(stored, types, path, stamp=stamp)
    else:
        write_csv(stored, types, path)
    return path


def kind_of(values: Sequence[Any]) -> Type:
    """The type of the values that are not NULL; text when all are."""
    known = [v for v in values if v is not None]
    for python, kind in _KINDS if known else ():
        if all(isinstance(v, python) for v in known):
            return kind
    if known:
        raise Refused("type_error", "the values of a column have several types.", fix="Hand over values of one type.")
    return Type.TEXT


def column(values: Sequence[Any], kind: Type) -> Array:
    """The values as the writer takes them: an array, with NULLs masked."""
    filler = {Type.TEXT: "", Type.DATE: dt.date(1970, 1, 1), Type.TIMESTAMP: dt.datetime(1970, 1, 1)}.get(kind, 0)
    filled = np.array([filler if v is None else v for v in values], dtype=_STORED[kind])
    return np.ma.masked_array(filled, mask=[v is None for v in values])


def _write_new(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise _taken(path) from None


def _taken(path: Path) -> Refused:
    return Refused("cannot_write", f"{path.name} is there already.", fix="Name an empty folder.", place=str(path))
