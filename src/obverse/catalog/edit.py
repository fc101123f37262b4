"""Changes to the text of an obverse.toml that keep everything else, comments too. Pure; each is checked by parsing."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from obverse.catalog.locate import KeyParts, dotted, key_lines, quoted
from obverse.core.errors import Refused
from obverse.core.numbers import exact, plain

Fact = Fraction | str | Sequence[str]
_NUMBER = r"[-+0-9eE._]+"


def with_number(text: str, path: KeyParts, number: Fraction) -> str:
    """The text with another number at the key; a key that is missing goes below the first of its table's."""
    lines = text.splitlines(keepends=True)
    places = key_lines(text)
    written = number_text(number)
    if path in places:
        at = places[path] - 1
        pattern = rf"((?<![\w-]){re.escape(path[-1])}\s*=\s*){_NUMBER}"
        lines[at] = re.sub(pattern, rf"\g<1>{written}", lines[at], count=1)
    else:
        beside = [line for key, line in places.items() if len(key) == len(path) and key[:-1] == path[:-1]]
        below = min(beside, default=len(lines))
        lines.insert(below, f"{dotted(path[-1:])} = {written}{_ending(text)}")
    return _checked("".join(lines), text, path, number)


def with_flags(text: str, path: KeyParts, flags: Mapping[str, bool]) -> str:
    """The text with flags added to the table at the path, whether it is an inline one or a section."""
    wanted = _parsed(text)
    here = wanted
    for part in path:
        here = here[part]
    here.update(flags)
    for candidate in _with_lines(text, path, [f"{key} = {str(value).lower()}" for key, value in flags.items()]):
        try:
            if _plain(_parsed(candidate)) == _plain(wanted):
                return candidate
        except tomllib.TOMLDecodeError:
            continue
    raise _cannot_edit(path, dict(flags))


def _with_lines(text: str, path: KeyParts, written: Sequence[str]) -> Iterator[str]:
    """The text with the words in each place that may be the end of an inline table, or the start of a section."""
    line = key_lines(text)[path] - 1
    lines = text.splitlines(keepends=True)
    for at in (n for n, sign in reversed(list(enumerate(lines[line]))) if sign == "}"):
        inside = lines[line][:at].rstrip()
        changed = f"{inside}, {', '.join(written)} {lines[line][at:]}"
        yield "".join([*lines[:line], changed, *lines[line + 1 :]])
    yield "".join([*lines[: line + 1], *(one + _ending(text) for one in written), *lines[line + 1 :]])


def with_analyst(text: str, name: str, facts: Mapping[str, Fact]) -> str:
    """The text with a section for one more analyst at its end."""
    return _with_section(text, ("analysts", name), "analyst", facts)


def with_survey(text: str, name: str, facts: Mapping[str, Fact]) -> str:
    """The text with a section for one more survey at its end."""
    return _with_section(text, ("surveys", name), "survey", facts)


def _with_section(text: str, path: tuple[str, str], kind: str, facts: Mapping[str, Fact]) -> str:
    end = _ending(text)
    group, name = path
    if name in _parsed(text).get(group, {}):
        raise Refused(
            "name_twice", f"{kind} {name!r} is declared already", fix=f"Edit [{dotted(path)}] in obverse.toml."
        )
    written = [f"{key} = {_written(fact)}" for key, fact in facts.items()]
    section = end.join(["", f"[{dotted(path)}]", *written, ""])
    added = text if not text or text.endswith("\n") else text + end
    return _checked(added + section, text, path, dict(facts))


def number_text(number: Fraction) -> str:
    """The number as TOML has it, exactly."""
    short = plain(number, 15)
    if exact(short) != number:
        raise Refused("bad_parameter", "this number has too many digits for obverse.toml", fix="Use fewer digits.")
    return short


def _written(fact: Fact) -> str:
    if isinstance(fact, Fraction):
        return number_text(fact)
    return quoted(fact) if isinstance(fact, str) else f"[{', '.join(quoted(word) for word in fact)}]"


def _checked(changed: str, text: str, path: KeyParts, value: object) -> str:
    """The changed text, known to say what the old one said but for the one key."""
    wanted = _parsed(text)
    here = wanted
    for part in path[:-1]:
        here = here.setdefault(part, {})
    here[path[-1]] = value
    try:
        found = _parsed(changed)
    except tomllib.TOMLDecodeError:
        found = {}
    if _plain(found) != _plain(wanted):
        raise _cannot_edit(path, value)
    return changed


def _cannot_edit(path: KeyParts, value: object) -> Refused:
    key = dotted(path)
    return Refused(
        "cannot_edit",
        f"obverse.toml is written in a way that cannot be changed safely at {key}",
        why="comments and all other keys are to stay as they are.",
        fix=f"Set {key} by hand: {_by_hand(value)}",
    )


def _by_hand(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Fraction):
        return number_text(value)
    if isinstance(value, dict) and all(isinstance(one, bool) for one in value.values()):
        return ", ".join(f"{key} = {_by_hand(one)}" for key, one in value.items())
    return (
        ", ".join(f"{key} = {_written(fact)}" for key, fact in value.items()) if isinstance(value, dict) else str(value)
    )


def _parsed(text: str) -> dict[str, Any]:
    return tomllib.loads(text.removeprefix("\ufeff"), parse_float=exact)


def _plain(value: object) -> object:
    """Numbers by their value, lists and tuples alike."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return Fraction(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _ending(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
