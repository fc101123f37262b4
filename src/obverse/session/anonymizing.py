"""Anonymize a file: read, collapse, search, write table, manifest and report; or check one as it is."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from obverse.anonymize.page import page
from obverse.anonymize.recipes import Recipe, guessed, read
from obverse.anonymize.recoding import unchanged
from obverse.anonymize.report import RAW, checked, claim_of, report_of
from obverse.anonymize.run import anonymized
from obverse.anonymize.table import Column
from obverse.anonymize.table import Table as Codes
from obverse.anonymize.weaknesses import Weakness
from obverse.anonymize.wish import Wish, models_of
from obverse.attack.attacks import Background
from obverse.core.errors import Refused
from obverse.core.rng import Rng
from obverse.engines.collapse import Preparation, Relabelled, Workshop
from obverse.engines.exact_tables import read_table, write_table
from obverse.session.custody import collapsed as through_custody

if TYPE_CHECKING:
    from obverse.attack.targets import Table

MANIFEST, REPORT, PAGE = "manifest.json", "report.json", "report.html"
SECRET_BYTES = 16

Told = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Files:
    """The table in, where everything goes, and a population where there is one."""

    table: Path
    out: Path
    population: Path | None = None
    delimiter: str | None = None


def anonymize(files: Files, wish: Wish, written: Mapping[str, str], told: Told = lambda share: None) -> dict[str, Any]:
    """Make the release; gives its report. `written` are hierarchies in the words of the command line."""
    _make(files.out)
    with Workshop(files.table, files.delimiter) as shop:
        named = (*wish.quasi, *wish.sensitive, *wish.keep, *wish.deidentify, *wish.pseudonymise, *wish.hierarchies, *written)
        shop.known(named)
        if (wish.sample is not None or wish.pseudonymise) and not wish.secret:
            wish = replace(wish, secret=Rng().key()[:SECRET_BYTES].hex())
        carried = (*wish.sensitive, *wish.keep, *wish.pseudonymise)
        everything = tuple(name for name in shop.columns if name not in wish.deidentify)
        columns = (*wish.quasi, *carried) if wish.quasi else everything
        shop.prepare(Preparation(columns, wish.sample, wish.pseudonymise, wish.secret))
        target = files.out / ("table.parquet" if shop.source.kind == "parquet" else "table.csv")
        if not wish.quasi:
            report = _raw(shop, wish, target)
        else:
            table = collapsed(shop, wish.quasi, carried, len(wish.sensitive), files.population)
            wish = replace(wish, hierarchies={**wish.hierarchies, **_read(table, written)})
            outcome = anonymized(table, wish, told)
            recoded, wish = outcome.recoded, outcome.wish
            labels = {c.name: Relabelled(c.labels, c.places) for c in recoded.columns}
            shop.write(labels, carried, recoded.kept, target)
            report = report_of(outcome, attacked(read_table(target), wish))
        report["left_out"] = [name for name in shop.columns if name not in columns]
    _write(files.out / MANIFEST, json.dumps(wish.as_json(), ensure_ascii=False, indent=1), secret=True)
    _write(files.out / REPORT, json.dumps(report, ensure_ascii=False, indent=1))
    _write(files.out / PAGE, page(report, files.table.name))
    return report


def attacked(released: Table, wish: Wish) -> list[Weakness]:
    """What attacks find on the table that was written, beyond what its classes tell."""
    found = []
    for secret in wish.sensitive:
        one = Background().run(released, wish.quasi, secret)
        found.append(Weakness(one.attack, secret, one.rate.value, one.leaks, one.sentence))
    return found


def from_project(project: Path, table: str, wish: Wish, reason: str, folder: Path) -> Path:
    """A project's table as a file of the curator's, by their own door; the ledger says so before a row is read."""
    import numpy as np

    columns = list(dict.fromkeys((*wish.quasi, *wish.sensitive, *wish.keep)))
    if not columns:
        fix = "Name --quasi, --sensitive and --keep; raw releases of a project's table are not made."
        raise Refused("no_columns", "which columns are to be read?", fix=fix)
    rows = through_custody(project, table, columns, what="anonymize", reason=reason)
    told = {}
    for name, values in rows.columns.items():
        column = np.empty(len(values), dtype=object)
        column[:] = values
        told[name] = np.repeat(column, rows.counts)
    write_table(told, folder / "table.parquet")
    return folder / "table.parquet"


def check(
    path: Path,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    demands: Wish | None = None,
    population: Path | None = None,
    delimiter: str | None = None,
) -> dict[str, Any]:
    """What a file reaches as it is; and whether that is what is demanded."""
    with Workshop(path, delimiter) as shop:
        shop.known((*quasi, *sensitive))
        shop.prepare(Preparation((*quasi, *sensitive)))
        table = collapsed(shop, quasi, sensitive, len(sensitive), population)
    recoded = unchanged(table)
    report = checked(recoded)
    if demands is not None:
        classes = recoded.classes()
        here = classes.sizes > 0
        holds = {m.words: bool(m.holds(classes)[here].all()) for m in models_of(demands, table)}
        report |= {"demands": holds, "holds": all(holds.values())}
    return report


def collapsed(shop: Workshop, quasi: Sequence[str], carried: Sequence[str], sensitive: int, population: Path | None) -> Codes:
    """The prepared rows as codes and counts."""
    shop.collapse(quasi, carried, population)
    fields = [f"q{i}" for i in range(len(quasi))] + [f"c{i}" for i in range(sensitive)]
    found = [Column(name, d.values, d.codes) for name, d in zip([*quasi, *carried], shop.dictionaries(fields))]
    people, others = shop.counts()
    if not people.sum():
        raise Refused("no_rows", "the table has no rows.")
    return Codes(tuple(found[: len(quasi)]), tuple(found[len(quasi) :]), people, others if population is not None else None)


def hierarchy_files(folder: Path) -> dict[str, Recipe]:
    """A hierarchy for each COLUMN.csv of a folder: a line a value, its labels after it, by `;` or `,`."""
    if not folder.is_dir():
        raise Refused("no_such_file", "no such folder of hierarchies.", place=str(folder))
    return {path.stem: hierarchy_file(path) for path in sorted(folder.glob("*.csv"))}


def hierarchy_file(path: Path) -> Recipe:
    import csv

    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise Refused("source_unreadable", "the hierarchy cannot be read.", place=str(path)) from None
    first = text.split("\n", 1)[0]
    lines = csv.reader(text.splitlines(), delimiter=max(";,", key=first.count))
    return Recipe("file", lines=tuple(tuple(line) for line in lines if line))


def manifest(path: Path) -> Wish:
    try:
        return Wish.from_json(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        raise Refused("bad_manifest", "the manifest cannot be read.", place=str(path)) from None


def _read(table: Codes, written: Mapping[str, str]) -> dict[str, Recipe]:
    columns = {column.name: column for column in (*table.quasi, *table.sensitive)}
    return {name: read(name, text, guessed(name, columns[name].values)) for name, text in written.items() if name in columns}


def _raw(shop: Workshop, wish: Wish, target: Path) -> dict[str, Any]:
    """A release of rows as they are: a sample, or without identifiers."""
    rows = shop.write_prepared(target)
    kinds = [kind for kind, asked in (("sample", wish.sample), ("deidentify", wish.deidentify or wish.pseudonymise)) if asked]
    claim = claim_of([], [])
    claim["sentence"] = " ".join([claim["sentence"].split(" Of the attacks")[0], *(RAW[kind] for kind in kinds)])
    return {"version": 1, "claim": claim, "release": kinds, "rows": rows}


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refused("cannot_write", "the folder cannot be made.", place=str(folder), why=error.strerror or "") from None


def _write(path: Path, text: str, *, secret: bool = False) -> None:
    try:
        path.write_text(text + "\n", encoding="utf-8")
        if secret:
            os.chmod(path, 0o600)
    except OSError as error:
        raise Refused("cannot_write", "a file cannot be written.", place=str(path), why=error.strerror or "") from None
