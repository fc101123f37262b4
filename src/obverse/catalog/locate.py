"""On which line of a TOML text a key stands, so that an error of the catalog can point at it."""

from __future__ import annotations

import json
import re
import tomllib
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

from obverse.core.errors import CatalogError

KeyParts = tuple[str, ...]
Place = Callable[[KeyParts], str]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?""""{0,2}' r"|'''.*?''''{0,2}" r'|"(?:[^"\\\n]|\\.)*"' r"|'[^'\n]*'", re.DOTALL
)
_SCALAR = re.compile(r"[^,\]}\n#]*")


@dataclass(frozen=True, slots=True)
class Document:
    """A TOML text that has a name: places in it, and errors at those places."""

    text: str
    file_name: str

    def place(self, path: KeyParts) -> str:
        """File, line and key, as in `obverse.toml:12 tables.people.columns.age`."""
        line = line_of(self.text, path)
        return f"{self.file_name}{'' if line is None else f':{line}'} {dotted(path)}".rstrip()

    def error(self, code: str, path: KeyParts, message: str, *, why: str = "", fix: str = "") -> CatalogError:
        return CatalogError(code, message, why=why, fix=fix, place=self.place(path))


def dotted(path: KeyParts) -> str:
    """The key as it would be written in TOML."""
    return ".".join(part if _BARE.fullmatch(part) else quoted(part) for part in path)


def quoted(text: str) -> str:
    """The text as a string of TOML."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def line_of(text: str, path: KeyParts) -> int | None:
    """The line of the key, or of the nearest enclosing key that the text has; None when it has none."""
    lines = key_lines(text)
    found = (lines.get(path[:length]) for length in range(len(path), 0, -1))
    return next((line for line in found if line is not None), None)


def key_lines(text: str) -> dict[KeyParts, int]:
    """The line of every key in a text that tomllib accepts; tables inside arrays carry no number of their own."""
    offsets: dict[KeyParts, int] = {}
    table: KeyParts = ()
    at = _after_blanks(text, 0)
    while at < len(text):
        if text[at] == "[":
            start = at
            at, table = _key(text, _after_blanks(text, at + 2 if text.startswith("[[", at) else at + 1))
            _remember(offsets, table, 0, start)
            at = text.index("]", at)
            at += 2 if text.startswith("]]", at) else 1
        else:
            at = _pair(text, at, table, offsets)
        at = _after_blanks(text, at)
    newlines = [i for i, character in enumerate(text) if character == "\n"]
    return {path: bisect_right(newlines, offset) + 1 for path, offset in offsets.items()}


def _pair(text: str, at: int, table: KeyParts, offsets: dict[KeyParts, int]) -> int:
    start = at
    at, key = _key(text, at)
    path = table + key
    _remember(offsets, path, len(table), start)
    return _value(text, _after_blanks(text, text.index("=", at) + 1), path, offsets)


def _remember(offsets: dict[KeyParts, int], path: KeyParts, outer: int, start: int) -> None:
    """The first place wins for what a dotted key implies; a header of its own is a better place than that."""
    for length in range(outer + 1, len(path)):
        offsets.setdefault(path[:length], start)
    if outer == 0 or path not in offsets:
        offsets[path] = start


def _value(text: str, at: int, path: KeyParts, offsets: dict[KeyParts, int]) -> int:
    """The offset behind the value; keys of tables inside it are remembered on the way."""
    string = _STRING.match(text, at)
    if string is not None:
        return string.end()
    if text[at] not in "[{":
        scalar = _SCALAR.match(text, at)
        return scalar.end() if scalar is not None else at
    closing = "]" if text[at] == "[" else "}"
    at = _after_blanks(text, at + 1)
    while text[at] != closing:
        at = _value(text, at, path, offsets) if closing == "]" else _pair(text, at, path, offsets)
        at = _after_blanks(text, at)
        if text[at] == ",":
            at = _after_blanks(text, at + 1)
    return at + 1


def _key(text: str, at: int) -> tuple[int, KeyParts]:
    """The dotted key that begins here, and the offset behind it."""
    parts: list[str] = []
    while True:
        bare = _BARE.match(text, at)
        found = bare if bare is not None else _STRING.match(text, at)
        if found is None:
            return at, tuple(parts)
        parts.append(found.group() if bare is not None else tomllib.loads(f"key = {found.group()}")["key"])
        at = _after_blanks(text, found.end())
        if not text.startswith(".", at):
            return at, tuple(parts)
        at = _after_blanks(text, at + 1)


def _after_blanks(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return blank.end() if blank is not None else at
