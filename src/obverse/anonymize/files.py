"""Anonymize a file: read, collapse, search, write table, manifest and report; or check one as it is."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from obverse.anonymize.attacks import personal_points, raw_people, raw_points, weak_points
from obverse.anonymize.hierarchies import Recipe, guessed, in_time, read
from obverse.anonymize.measures import closeness_on_trees
from obverse.anonymize.models import Present
from obverse.anonymize.persons import Counted
from obverse.anonymize.recoding import unchanged
from obverse.anonymize.report import RAW, Weakness, checked, claim_of, page, report_of
from obverse.anonymize.request import Outcome, Wish, anonymized, models_of
from obverse.anonymize.table import Column, Counts, Persons
from obverse.anonymize.table import Table as Codes
from obverse.core.errors import Refused
from obverse.core.rng import Rng
from obverse.engines.collapse import Preparation, Relabelled, Workshop
from obverse.engines.files import read_table

TABLES = ("table.csv", "table.parquet")
MANIFEST = "manifest.json"
REPORT = "report.json"
PAGE = "report.html"
SECRET_BYTES = 16
NAMED = "every row names a person"


Told = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Unit:
    """What a project declares: whose a row is, by a column of the file that was written for it, and by what the analyst
    knows it as; without a column each row is a person."""

    column: str | None = None
    name: str = ""

    @property
    def named(self) -> bool:
        """Whether rows name people at all."""
        return self.column is not None


@dataclass(frozen=True, slots=True)
class Files:
    """The table in, where everything goes, and a population where there is one; `unit` is that of a project's table."""

    table: Path
    out: Path
    population: Path | None = None
    delimiter: str | None = None
    unit: Unit | None = None


def anonymize(files: Files, wish: Wish, written: Mapping[str, str], told: Told = lambda share: None) -> dict[str, Any]:
    """Make the release; gives its report. `written` are hierarchies in the words of the command line."""
    _make(files.out)
    _apart(files)
    with Workshop(files.table, files.delimiter) as shop:
        person = wish.person if files.unit is None else files.unit.column
        named = (
            *wish.quasi,
            *wish.sensitive,
            *wish.keep,
            *wish.deidentify,
            *wish.pseudonymise,
            *wish.hierarchies,
            *written,
        )
        shop.known((*named, *([person] if person else [])))
        if files.unit is not None:
            wish = replace(wish, person=files.unit.name or None)
        if (wish.sample is not None or wish.pseudonymise) and not wish.secret:
            wish = replace(wish, secret=Rng().key()[:SECRET_BYTES].hex())
        carried = (*wish.sensitive, *wish.keep, *wish.pseudonymise)
        readable = [name for name in shop.columns if files.unit is None or name != person]
        everything = tuple(name for name in readable if name not in wish.deidentify)
        columns = (*wish.quasi, *carried) if wish.quasi else everything
        shop.prepare(Preparation(columns, wish.sample, wish.pseudonymise, wish.secret, person))
        counted = counted_by(shop, wish.person, person, declared=files.unit is not None)
        target = written_to(files)
        if not wish.quasi:
            report = _raw(shop, wish, target, counted)
        else:
            table = collapsed(shop, Columns(wish.quasi, carried, len(wish.sensitive), wish.person), files.population)
            wish = replace(wish, hierarchies={**wish.hierarchies, **_read(table, written)})
            outcome = anonymized(table, wish, told)
            recoded = outcome.recoded
            wish = outcome.wish
            labels = {c.name: Relabelled(c.labels, c.places) for c in recoded.columns}
            shop.write(labels, carried, recoded.kept, target)
            found = (
                weak_points(outcome, read_table(target)) if table.persons is None else _personal(shop, outcome, carried)
            )
            report = report_of(outcome, counted, found)
        report["left_out"] = [name for name in readable if name not in columns]
    _write(files.out / MANIFEST, json.dumps(wish.as_json(), ensure_ascii=False, indent=1), secret=True)
    _write(files.out / REPORT, json.dumps(report, ensure_ascii=False, indent=1))
    _write(files.out / PAGE, page(report, files.table.name))
    return report


@dataclass(frozen=True, slots=True)
class Checked:
    """What is measured: columns, what is demanded of them, and hierarchies of sensitive columns, read or in words.

    `person` is the column that says whose a row is, `unit` that of a project's table.
    """

    quasi: Sequence[str]
    sensitive: Sequence[str]
    demands: Wish | None = None
    hierarchies: Mapping[str, Recipe] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)
    person: str | None = None
    unit: Unit | None = None


def check(path: Path, asked: Checked, population: Path | None = None, delimiter: str | None = None) -> dict[str, Any]:
    """What a file reaches as it is; and whether that is what is demanded."""
    quasi = asked.quasi
    sensitive = asked.sensitive
    person, name = (asked.person, asked.person) if asked.unit is None else (asked.unit.column, asked.unit.name)
    with Workshop(path, delimiter) as shop:
        shop.known((*quasi, *sensitive, *asked.hierarchies, *asked.written, *([person] if person else [])))
        shop.prepare(Preparation((*quasi, *sensitive), person=person))
        counted = replace(counted_by(shop, name, person, declared=asked.unit is not None), kept=True)
        table = collapsed(shop, Columns(quasi, sensitive, len(sensitive), name or None), population)
    recoded = unchanged(table)
    report = checked(recoded, counted)
    recipes = {**asked.hierarchies, **_read(table, asked.written)}
    for name, far in closeness_on_trees(recoded, recipes).items():
        report["reaches"]["sensitive"][name]["t_hierarchical"] = far
    if asked.demands is not None:
        classes = recoded.classes()
        here = classes.sizes > 0
        demands = replace(asked.demands, hierarchies=recipes)
        # presence is told by a class of nobody too: none of those like it is in the table
        models = models_of(demands, table)
        holds = {m.words: bool(m.holds(classes)[here | isinstance(m, Present)].all()) for m in models}
        if counted.nobody:  # these rows may be anybody's
            holds[NAMED] = False
        report |= {"demands": holds, "holds": all(holds.values())}
    return report


@dataclass(frozen=True, slots=True)
class Columns:
    """Quasi-identifiers, what is carried beside them, how many of that are sensitive, and what says whose a row is,
    which a
    population may have too."""

    quasi: Sequence[str]
    carried: Sequence[str] = ()
    sensitive: int = 0
    person: str | None = None


def counted_by(shop: Workshop, name: str | None, person: str | None, *, declared: bool) -> Counted:
    """What is counted of the prepared rows: people, or rows."""
    if person is None:
        rows = shop.prepared_rows()
        return Counted(rows, rows, declared=declared)
    people, rows = shop.known_people()
    return Counted(rows, people, name, declared, shop.nobodys(person))


def collapsed(shop: Workshop, columns: Columns, population: Path | None) -> Codes:
    """The prepared rows as codes and counts."""
    quasi = columns.quasi
    carried = columns.carried
    sensitive = columns.sensitive
    if columns.person is None:
        shop.collapse(quasi, carried, population)
    else:
        shop.collapse_by_person(quasi, carried, population, columns.person)
    fields = [f"q{i}" for i in range(len(quasi))] + [f"c{i}" for i in range(sensitive)]
    found = [Column(name, d.values, d.codes) for name, d in zip([*quasi, *carried], shop.dictionaries(fields))]
    people, others = shop.counts()
    if not people.sum():
        named = "" if columns.person is None else " that name a person"
        raise Refused("no_rows", f"the table has no rows{named}.")
    secrets = tuple(map(in_time, found[len(quasi) :]))
    whose = None if columns.person is None else _several(Persons(*shop.persons()), people)
    return Codes(tuple(found[: len(quasi)]), secrets, people, others if population is not None else None, whose)


def _several(whose: Persons, rows: Counts) -> Persons | None:
    """Nothing where everybody has one row: people are then counted as rows."""
    return whose if whose.codes.any() or (whose.number != rows).any() else None


def hierarchy_files(folder: Path) -> dict[str, Recipe]:
    """A hierarchy for each COLUMN.csv of a folder: a line a value, its labels after it, by `;` or `,`."""
    if not folder.is_dir():
        raise Refused("no_such_file", "no such folder of hierarchies.", place=str(folder))
    return {path.stem: hierarchy_file(path) for path in sorted(folder.glob("*.csv"))}


def hierarchy_file(path: Path) -> Recipe:
    import csv

    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            file.seek(0)
            lines = csv.reader(file, delimiter=max(";,", key=first.count))
            return Recipe("file", lines=tuple(tuple(line) for line in lines if line))
    except (OSError, UnicodeDecodeError, csv.Error):
        raise Refused("source_unreadable", "the hierarchy cannot be read.", place=str(path)) from None


def manifest(path: Path) -> Wish:
    try:
        return Wish.from_json(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        raise Refused("bad_manifest", "the manifest cannot be read.", place=str(path)) from None


def _read(table: Codes, written: Mapping[str, str]) -> dict[str, Recipe]:
    columns = {column.name: column for column in (*table.quasi, *table.sensitive)}
    return {
        name: read(name, text, guessed(name, columns[name].values)) for name, text in written.items() if name in columns
    }


def _personal(shop: Workshop, outcome: Outcome, carried: Sequence[str]) -> list[Weakness]:
    """Attacks on a table in which people may have several rows; `carried` are sensitive columns and others, in this
    order.
    """
    wish = outcome.wish
    place = len(outcome.wish.sensitive)
    fields = [f"c{i}" for i in range(place, len(carried))]
    kept = [Column(name, d.values, d.codes) for name, d in zip(carried[place:], shop.dictionaries(fields))]
    return personal_points(outcome, [column for column in kept if column.name in wish.keep],
                           linked=wish.person if wish.person in carried else None)  # fmt: skip


def _raw(shop: Workshop, wish: Wish, target: Path, counted: Counted) -> dict[str, Any]:
    """A release of rows as they are: a sample, or without identifiers."""
    rows = shop.write_prepared(target)
    kinds = [
        kind for kind, asked in (("sample", wish.sample), ("deidentify", wish.deidentify or wish.pseudonymise)) if asked
    ]
    if counted.by is None:
        found = raw_points(shop.alone(), rows, wish.sample is not None)
    else:
        found = raw_people(shop.people_alone(), counted.people, wish.sample is not None)
    claim = claim_of(found, [], counted)
    claim["sentence"] = " ".join([claim["sentence"], *(RAW[kind] for kind in kinds)])
    told = {"version": 1, "claim": claim, "counted": counted.as_json(), "release": kinds, "rows": rows}
    return told | {"attacks": [one.as_json() for one in found]}


def written_to(files: Files) -> Path:
    """The released table: CSV or Parquet, as the table that it is made from."""
    return files.out / TABLES[files.table.suffix == ".parquet"]


def _apart(files: Files) -> None:
    """Refuse to write over what is read: the rows would be gone for ever."""
    target = written_to(files)
    read = [path for path in (files.table, files.population) if path is not None and path.exists()]
    if target.exists() and any(target.samefile(path) for path in read):
        what = "the released table would be written over one that it is made from."
        raise Refused("cannot_write", what, place=str(target), fix="Name another folder: --out FOLDER.")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refused(
            "cannot_write", "the folder cannot be made.", place=str(folder), why=error.strerror or ""
        ) from None


def _write(path: Path, text: str, *, secret: bool = False) -> None:
    try:
        if secret:  # for its owner alone from the first byte on
            path.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        mode = 0o600 if secret else 0o666
        with open(os.open(path, flags, mode), "w", encoding="utf-8") as file:
            file.write(text + "\n")
    except OSError as error:
        raise Refused("cannot_write", "a file cannot be written.", place=str(path), why=error.strerror or "") from None
