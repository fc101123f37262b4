"""Versions of obverse.toml: which defaults changed, and which keys of a file have kept an old one.

A file says its version under [project]. Without one it is version 1, and every default keeps the meaning that it had
then; an upgrade is an act of the curator.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from obverse.catalog.edit import with_flags, with_number
from obverse.catalog.locate import KeyParts, dotted
from obverse.core.numbers import exact

NEWEST = 2


@dataclass(frozen=True, slots=True)
class Change:
    """A default that changed its meaning in a version."""

    version: int
    before: str
    after: str
    places: Callable[[Mapping[str, Any]], Iterator[KeyParts]]  # in a parsed file, which rely on the default
    keep: tuple[tuple[str, bool], ...]  # keys that keep the old meaning when they are written there


@dataclass(frozen=True, slots=True)
class Kept:
    """One place of a file where an old default is in force."""

    path: KeyParts
    change: Change

    @property
    def words(self) -> str:
        return f"{self.change.before}; from version {self.change.version} on {self.change.after}"


def _private_texts(raw: Mapping[str, Any]) -> Iterator[KeyParts]:
    return _relying(raw, {"nullable", "other"}, lambda public, text: text and not public)


def _other_listed(raw: Mapping[str, Any]) -> Iterator[KeyParts]:
    return _relying(raw, {"nullable"}, lambda public, text: public or not text)


def _relying(raw: Mapping[str, Any], keys: set[str], of: Callable[[bool, bool], bool]) -> Iterator[KeyParts]:
    """Columns that list their values and leave one of the keys to its default; `of` chooses by public and by text."""
    for table, declared in raw.get("tables", {}).items():
        for name, column in declared.get("columns", {}).items():
            chosen = of(declared.get("public", False), column.get("type") == "text")
            if "values" in column and chosen and not keys <= column.keys():
                yield "tables", table, "columns", name


LEFT_OUT = "rows whose value is missing or not declared are left out (with nullable = true, both are read as NULL)"
CHANGES = (
    Change(
        2, LEFT_OUT, "they are answered as NULL and as (other)", _private_texts, (("nullable", False), ("other", False))
    ),
    Change(2, LEFT_OUT, "they are answered as NULL", _other_listed, (("nullable", False),)),
)


def version_of(raw: Mapping[str, Any]) -> int:
    return int(raw.get("project", {}).get("version", 1))


def kept_defaults(text: str) -> tuple[Kept, ...]:
    """Where the file relies on a default that later versions changed."""
    raw = _parsed(text)
    newer = [change for change in CHANGES if change.version > version_of(raw)]
    return tuple(Kept(path, change) for change in newer for path in change.places(raw))


def upgraded(text: str, *, keep: bool) -> str:
    """The file in the newest version; `keep` writes the old defaults where it relies on them."""
    for kept in kept_defaults(text) if keep else ():
        column = _at(_parsed(text), kept.path)
        text = with_flags(text, kept.path, {key: value for key, value in kept.change.keep if key not in column})
    return with_number(text, ("project", "version"), exact(NEWEST))


def summary(kept: tuple[Kept, ...]) -> Iterator[tuple[str, str]]:
    """Each change once, with the places that rely on it."""
    for change in dict.fromkeys(one.change for one in kept):
        places = [dotted(one.path[1:2] + one.path[3:]) for one in kept if one.change is change]
        yield ", ".join(places), Kept((), change).words


def _at(raw: Mapping[str, Any], path: KeyParts) -> Mapping[str, Any]:
    for part in path:
        raw = raw[part]
    return raw


def _parsed(text: str) -> dict[str, Any]:
    return tomllib.loads(text.removeprefix("\ufeff"))
