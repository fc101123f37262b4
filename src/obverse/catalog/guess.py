"""Guesses from names alone, for drafts: who the unit might be, which type a column might have. Never from values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
    r"(.*_)?(name|note|notes|comment|comments|email|mail|address|street|phone|mobile|description|text|remark|remarks|ssn|url)"
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
