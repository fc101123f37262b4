"""A first obverse.toml from names and declared types, with the questions that only the owner can answer. Pure.

Guesses from names alone, for drafts: who the unit might be, which type a column might have. Never from values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from obverse.catalog.complete import type_of
from obverse.catalog.locate import dotted, quoted
from obverse.core.types import Type

UNIT_STEMS = ("person", "patient", "user", "customer", "client", "member", "student", "employee", "subject") + (
    ("respondent", "participant", "citizen", "household", "account")
)
ENTITY_TABLES = {"person": ("people", "persons", "population")}
_TYPES = (
    (Type.BOOLEAN, r"(is|has|was|can)_.*|.*_flag|active|deceased|smoker|consent"),
    (Type.TIMESTAMP, r"at|.*_at|timestamp|datetime|.*_(timestamp|datetime|time)"),
    (Type.DATE, r"date|.*_date|date_.*|.*_on|dob|birthday|joined|born"),
    (Type.INTEGER, r"age|.*_age|year|.*_year|count|.*_count|n_.*|num_.*|quantity|qty|children|.*_days|days"),
    (Type.DOUBLE, r"(.*_)?(price|cost|amount|salary|income|wage|total|weight|height|score|rate|balance|fee|bmi)"),
)
_FREE_TEXT = re.compile(
    r"(.*_)?(name|note|notes|comment|comments|email|mail|address|street|"
    r"phone|mobile|description|text|remark|remarks|ssn|url)"
)
_BOUNDS = ((re.compile(r"age|.*_age"), "[0, 120]"), (re.compile(r"(.*_)?(percent|pct)"), "[0, 100]"))


@dataclass(frozen=True, slots=True)
class Unit:
    """A guessed unit: the key column, and the path of each table that seems to reach it."""

    key: str
    paths: Mapping[str, str]


def type_by_name(column: str) -> Type:
    """The type that a column of a CSV file seems to have; text when the name does not tell."""
    name = _plain(column)
    return next((kind for kind, pattern in _TYPES if re.fullmatch(pattern, name)), Type.TEXT)


def free_text_by_name(column: str) -> bool:
    """Whether a text column seems to hold free text or to name somebody."""
    return _FREE_TEXT.fullmatch(_plain(column)) is not None


def bounds_by_name(column: str) -> str | None:
    """Bounds that everybody would agree on, as written in TOML."""
    return next((bounds for pattern, bounds in _BOUNDS if pattern.fullmatch(_plain(column))), None)


def key_by_name(column: str) -> bool:
    """Whether a column seems to be a key, which nobody sums."""
    return _plain(column) == "id" or _plain(column).endswith("_id")


def unit_by_names(tables: Mapping[str, Sequence[str]]) -> Unit | None:
    """The unit that the column names of all tables suggest: the key of a person, or an id that several tables share."""
    key = _key(tables)
    if key is None:
        return None
    holding = [name for name, columns in tables.items() if _spelled(key, columns) is not None]
    home = max(holding, key=lambda name: _homeliness(name, tables[name], key))
    home_key = _spelled(key, tables[home]) or key
    paths = {home: home_key}
    for name in holding:
        if name != home:
            paths[name] = f"{_spelled(key, tables[name])} -> {home}.{home_key}"
    _reach_further(paths, home, tables)
    return Unit(home_key, paths)


def _key(tables: Mapping[str, Sequence[str]]) -> str | None:
    names = [name for columns in tables.values() for name in {_plain(column) for column in columns}]
    known = [f"{stem}_id" for stem in UNIT_STEMS if f"{stem}_id" in names]
    if known:
        return max(known, key=names.count)
    shared = [name for name in sorted(set(names)) if name.endswith("_id") and names.count(name) > 1]
    return max(shared, key=names.count) if shared else None


def _homeliness(table: str, columns: Sequence[str], key: str) -> tuple[bool, bool, int]:
    """How much a table looks like the one with a row for each unit: by its name, its first column, few other keys."""
    stem = key.removesuffix("_id")
    named = table.lower() in (stem, f"{stem}s", f"{stem}es", *ENTITY_TABLES.get(stem, ()))
    return named, _plain(columns[0]) == key, -sum(key_by_name(column) for column in columns)


def _reach_further(paths: dict[str, str], home: str, tables: Mapping[str, Sequence[str]]) -> None:
    """Tables that lead to the unit over the first column of one that does."""
    for _ in tables:
        for name, columns in tables.items():
            for middle, path in list(paths.items()):
                step = tables[middle][0]
                here = _spelled(_plain(step), columns)
                if name not in paths and middle != home and here is not None and key_by_name(step):
                    paths[name] = f"{here} -> {middle}.{step} -> {path.partition(' -> ')[2]}"


def _spelled(key: str, columns: Sequence[str]) -> str | None:
    return next((column for column in columns if _plain(column) == key), None)


def _plain(name: str) -> str:
    """personId, Person-ID and person_id are one name."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", spaced.lower()).strip("_")


MARK = "# ? "
ZONED = re.compile(r"\s*TIMESTAMP(TZ| WITH TIME ZONE)\s*", re.IGNORECASE)
COLUMNS = re.compile(r"\[tables\.(.+)\.columns\]")
HEAD = """\
# Drafted by `obverse init` from {evidence}.
# A comment that begins with "?" is a question for you; `obverse check` tells what is still open.
[project]
name = {name}
version = 2

[engine]
kind = "duckdb"

[privacy]
neighbours = "add-remove"
accounting = "pure"
epsilon = 0.05  # default price of one question
delta = 1e-8

[budget]
epsilon = 1.0  # ? budget: how much may all questions together reveal of one unit, ever?
delta = 1e-6
"""
NAMES_ONLY = "names and declared types only; no value was read"
SNIFFED = "names, declared types and, because you asked for it, types seen in the values"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as `obverse init` sees it: columns with the engine's type names, or None where the file declares none."""

    file: str
    columns: Mapping[str, str | None]
    kind: Literal["csv", "parquet", "duckdb"]
    table: str | None = None  # inside a DuckDB file
    delimiter: str = ","


def draft(files: Sequence[SourceFile], *, name: str, sniffed: Mapping[str, Mapping[str, str]] | None = None) -> str:
    """The text of an obverse.toml. `sniffed`: per file, types that were read from values on the curator's word."""
    tables = _named(files)
    unit = unit_by_names({table: tuple(file.columns) for table, file in tables.items()})
    parts = [HEAD.format(evidence=SNIFFED if sniffed else NAMES_ONLY, name=quoted(name))]
    for table, file in tables.items():
        parts.append("\n".join(_table(table, file, unit, (sniffed or {}).get(file.file, {}))))
    return "\n".join(parts)


def questions(text: str) -> tuple[str, ...]:
    """The open questions of a draft, in order; those about a column begin with its table's name."""
    found = []
    section = ""
    for line in text.splitlines():
        if line.startswith("["):
            columns_of = COLUMNS.fullmatch(line.strip())
            section = f"{columns_of[1]}." if columns_of else ""
        if MARK in line:
            found.append(section + line.partition(MARK)[2])
    return tuple(found)


def _named(files: Sequence[SourceFile]) -> dict[str, SourceFile]:
    """The files by the names of their tables; a name that is taken gets a number."""
    tables: dict[str, SourceFile] = {}
    for file in files:
        base = (file.table or PurePath(file.file).name.split(".")[0] or "table").replace(".", "_")
        names = (base, *(f"{base}_{number}" for number in range(2, len(files) + 2)))
        taken = {name.lower() for name in tables}
        tables[next(name for name in names if name.lower() not in taken)] = file
    return tables


def _table(table: str, file: SourceFile, unit: Unit | None, sniffed: Mapping[str, str]) -> Iterator[str]:
    yield f"[{dotted(('tables', table))}]"
    yield f"source = {quoted(file.file if file.table is None else f'{file.file}:{file.table}')}"
    if file.kind == "csv" and file.delimiter != ",":
        yield f"delimiter = {quoted(file.delimiter)}"
    yield from _unit(table, unit, [column for column in file.columns if key_by_name(column)])
    yield f"[{dotted(('tables', table, 'columns'))}]"
    keys = () if unit is None or table not in unit.paths else (unit.paths[table].partition(" -> ")[0],)
    for column, declared in file.columns.items():
        if column not in keys:
            yield _column(column, declared or sniffed.get(column))
    yield ""


def _unit(table: str, unit: Unit | None, keys: Sequence[str]) -> Iterator[str]:
    if unit is None or table not in unit.paths:
        perhaps = f" (perhaps {_shown(quoted(keys[0]))})" if keys else ""
        asked = f'who is protected? a key column{perhaps}, "row", or instead public = true'
        yield f'# unit = "row"  {MARK}{_shown(table)}: {asked}'
        return
    path = unit.paths[table]
    yield f"unit = {quoted(path)}  {MARK}{_shown(table)}: is this who is protected? guessed from the name"
    if "->" in path or len(unit.paths) == 1:
        only = "" if "->" in path else "one row of each counts; has it several, "
        question = (
            f"{MARK}{_shown(table)}: {only}how many rows of one {_shown(unit.key)}, in how many groups, shall count?"
        )
        yield f"# limits = {{ rows = 20, groups = 5 }}  {question}"


def _column(column: str, engine_type: str | None) -> str:
    zoned = engine_type is not None and ZONED.fullmatch(engine_type) is not None
    kind = type_by_name(column) if engine_type is None else Type.TIMESTAMP if zoned else type_of(engine_type)
    key = dotted((column,))
    if kind is None:
        return f"# {_shown(column)}: a column of type {_shown(str(engine_type))} cannot be asked about"
    facts = [f'type = "{kind.value}"']
    if kind is Type.TEXT and key_by_name(column):
        return f"# {_shown(column)}: looks like a key, so it is not declared, and hidden"
    unknown = kind is Type.TEXT and not free_text_by_name(column)
    doubts = [] if engine_type is not None else ["type not known, so text" if unknown else "type guessed from the name"]
    doubts += ["its times have a zone, and are read in UTC"] if zoned else []
    if kind.numeric or kind.temporal:
        bounds = bounds_by_name(column) if kind.numeric else None
        facts += [f"bounds = {bounds}"] if bounds else []
        if bounds or not key_by_name(column):
            doubts.append("bounds guessed from the name" if bounds else "smallest and largest plausible value?")
    elif kind is Type.TEXT and not unknown:
        facts.append("hidden = true")
        doubts.append("looks like free text or a name, so hidden")
    elif kind is Type.TEXT:
        doubts.append("which values are allowed? values = [...], or leave it open")
    return f"{key} = {{ {', '.join(facts)} }}" + (f"  {MARK}{_shown(column)}: {'; '.join(doubts)}" if doubts else "")


def _shown(text: str) -> str:
    """The text inside a comment, which ends at a line's end."""
    return "".join(sign if sign.isprintable() else " " for sign in text)
