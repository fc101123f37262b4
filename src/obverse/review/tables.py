"""Tables that a reviewer names: their own files, or a project's tables by the curator's door.

A project's file is neither.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.anonymize.files import Unit
from obverse.attack.targets import Table
from obverse.catalog.load import FILE_NAME, load
from obverse.core.errors import Refused
from obverse.core.types import Type
from obverse.engines.files import ExactTable, read_table, write_table
from obverse.ledger.home import Home, default_home
from obverse.ledger.opening import private_here
from obverse.ledger.sources import FileSource
from obverse.session.custody import collapsed
from obverse.session.project import load_project

WHOSE = " unit"  # the column of a file written for a project's table that says whose a row is
STORED = {Type.INTEGER: "BIGINT", Type.DOUBLE: "DOUBLE", Type.BOOLEAN: "BOOLEAN", Type.DATE: "DATE",
          Type.TIMESTAMP: "TIMESTAMP", Type.TEXT: "VARCHAR"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reading:
    """What tables are read for, and of which project, for which reason.

    Without a project every name is that of a file.
    """

    what: str
    project: Path | None = None
    reason: str = ""

    def names(self, name: Path) -> bool:
        """Whether this is a table of the project."""
        return self.project is not None and str(name) in load(self.project).tables

    @contextmanager
    def file(self, name: Path, columns: Sequence[str], *, unit: bool = False) -> Iterator[Path]:
        """The reviewer's own file as it is; or one with these columns of a project's table, which is gone afterwards.

        With `unit` it says whose each row is, in the column WHOSE, where rows are not units.
        """
        if self.project is None or not self.names(name):
            yield own_file(name)
            return
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{name}.parquet"
            _write(self.project, str(name), columns, self, path, unit=unit)
            yield path

    def table(self, name: Path, columns: Sequence[str]) -> Table:
        """Columns as texts."""
        with self.file(name, columns) as path:
            return read_table(path)

    def people(self, name: Path, columns: Sequence[str], person: str | None) -> tuple[Table, str | None]:
        """Columns as texts, and the one beside them that says whose a row is: the declared unit, or `person` of a file.

        Without one each row is a person.
        """
        unit = unit_of(self, name, person)
        if unit is None:
            return self.table(name, [*columns, *([person] if person else [])]), person or None
        with self.file(name, columns, unit=unit.named) as path:
            return read_table(path), unit.column

    def one_row_each(self, name: Path, columns: Sequence[str]) -> Table:
        """Columns of a table in which each row is a person; a project's that has several rows of somebody is
        refused.
        """
        table, whose = self.people(name, columns, None)
        if whose is not None and len(set(table[whose].tolist())) < len(table[whose]):
            raise Refused(
                "rows_not_people",
                f"{name} has several rows of one person, and each row would be taken as a person.",
                why="a control of people would then hold rows of those who are attacked.",
                fix="Write a file with one row of each person, and name it in its place.",
            )
        return table

    @contextmanager
    def exact(self, name: Path, called: str, texts: Sequence[str]) -> Iterator[ExactTable]:
        """A table that answers SQL exactly; of a project's, the columns that occur in these texts."""
        with self.file(name, self.named_in(name, texts)) as path, ExactTable(path, called) as found:
            yield found

    def named_in(self, name: Path, texts: Sequence[str]) -> list[str]:
        """The columns of a project's table whose names occur in SQL; none of a file's, which is read whole."""
        if self.project is None or not self.names(name):
            return []
        opened = load_project(self.project)
        opened.engine.close()
        said = " ".join(texts).lower()
        return [column for column in opened.catalog.tables[str(name)].columns if column.lower() in said]


def own_file(path: Path) -> Path:
    """The path, unless what lies there is private data of a project: of the one around it, or of any that was opened
    here.
    """
    if path.is_file() and (_declared_around(path) or _known_here(path)):
        raise Refused(
            "private_file",
            f"{path.name} is private data of a project, so it is not read as a file.",
            place=str(path),
            why="the ledger is to tell who looked at these rows, at what and why.",
            fix='Name the project\'s table in its place: TABLE -p PROJECT --reason "why its rows are read".',
        )
    return path


def not_private(path: Path) -> None:
    """Refuse to write over private data of a project, or among it: the rows would be gone for ever, or joined by
    others.
    """
    if _declared_around(path) or (path.is_file() and _known_here(path)):
        what = "the released table would be written over private data of a project, or among it."
        raise Refused("cannot_write", what, place=str(path), fix="Name another folder: --out FOLDER.")


def _declared_around(path: Path) -> bool:
    """Whether the next obverse.toml above the file declares it, or a folder that it lies in, as private, opened or
    not.
    """
    real = path.resolve()
    project = next((folder for folder in real.parents if (folder / FILE_NAME).is_file()), None)
    tables = () if project is None else load(project).tables.values()
    places = [table.source.path for table in tables if table.unit is not None]
    return any(place is not None and place.resolve() in (real, *real.parents) for place in places)


def _known_here(path: Path) -> bool:
    folder = default_home()
    if not (folder / "registry.db").exists():
        return False
    home = Home(folder)
    try:
        return private_here(home, (FileSource(path.stem, path),))
    finally:
        home.close()


def unit_of(reading: Reading, name: Path, person: str | None) -> Unit | None:
    """Whose rows are counted together in a project's table; nothing for a file, of which `person` tells, and a
    public table.
    """
    if reading.project is None or not reading.names(name):
        return None
    if person:
        what = f"{name} is a table of the project, which declares whose its rows are."
        raise Refused("bad_parameter", what, fix="Leave --person out.")
    path = load(reading.project).tables[str(name)].unit
    if path is None:
        return None
    if path.column is None:
        return Unit()
    on_the_way = path.steps if len(path.steps) > 1 else ()
    return Unit(WHOSE, " -> ".join([path.column, *(f"{table}.{key}" for table, key in on_the_way)]))


def _write(project: Path, table: str, columns: Sequence[str], reading: Reading, path: Path, *, unit: bool) -> None:
    """Rows of a project's table into a file of the curator's; the ledger says so before a row is read."""
    named = list(dict.fromkeys(columns))
    rows = collapsed(project, table, named, what=reading.what, reason=reading.reason, unit=WHOSE if unit else "")
    told: dict[str, NDArray[Any]] = {}
    for name, values in rows.columns.items():
        column = np.empty(len(values), dtype=object)
        column[:] = [None if value is None else _text(value) for value in values]
        told[name] = np.repeat(column, rows.counts)
    write_table(told, path, {name: STORED[kind] for name, kind in rows.types.items()})


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
