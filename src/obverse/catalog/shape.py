"""Whether a parsed obverse.toml has the keys and the kinds of values that the table of keys allows."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from typing import assert_never

from obverse.catalog import keys as k
from obverse.catalog import parameters
from obverse.catalog.columns import day_of
from obverse.catalog.locate import Document, KeyParts
from obverse.core.errors import CatalogError, Refused

NAME_MAX = 128
BARRED = {"column": ("", ""), "question": (".=", ", without a dot or =")}
LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")
READ_NUMBER = {"epsilon": parameters.epsilon, "delta": parameters.delta, "positive": parameters.positive}


def shape_problems(raw: object, document: Document) -> Iterator[CatalogError]:
    """Every key that is unknown or missing and every value of the wrong kind, in the order of the text's tables."""
    return _problems(raw, k.ROOT, (), document)


def nearest(name: str, names: Iterable[str], *, cutoff: float = 0.55) -> str | None:
    """The name that was probably meant."""
    by_lower = {candidate.lower(): candidate for candidate in names}
    close = difflib.get_close_matches(name.lower(), list(by_lower), n=1, cutoff=cutoff)
    return by_lower[close[0]] if close else None


def suggestion(name: str, names: Iterable[str]) -> str:
    """Words that name the nearest valid name, or else all of them."""
    valid = list(names)
    meant = nearest(name, valid)
    if meant is not None:
        return f"Did you mean {meant!r}?"
    return f"Valid here: {', '.join(valid)}." if valid else "None is declared yet."


def _problems(raw: object, shape: k.Shape, path: KeyParts, document: Document) -> Iterator[CatalogError]:
    match shape:
        case k.Section():
            yield from _section(raw, shape, path, document)
        case k.Named():
            yield from _named(raw, shape, path, document)
        case k.WordOrSection(word, section):
            if isinstance(raw, dict):
                yield from _section(raw, section, path, document)
            elif raw != word:
                yield _wrong(f'"{word}" or a table such as {{ rows = 20, groups = 5 }}', path, document)
        case k.Number(kind):
            yield from _number(raw, kind, path, document)
        case k.Whole(most):
            yield from _whole(raw, most, path, document)
        case k.Text(choices):
            yield from _text(raw, choices, path, document)
        case k.Texts():
            yield from _texts(raw, path, document)
        case k.Flag():
            if not isinstance(raw, bool):
                yield _wrong("true or false", path, document)
        case k.TextList():
            if not isinstance(raw, list) or not all(isinstance(item, str) for item in raw):
                yield _wrong('a list of texts such as ["a", "b"]', path, document)
        case k.Day():
            if day_of(raw) is None:
                yield _wrong("a date such as 2030-12-31", path, document)
        case k.Groups():
            if not _grouped(raw):
                yield _wrong('a list of lists of names such as [["a", "b"]]', path, document)
        case k.Pair():
            if not isinstance(raw, list) or len(raw) != 2:
                yield _wrong("a list of two, the smallest and the largest value, such as [0, 120]", path, document)
        case k.Listing():
            if not isinstance(raw, (list, str)):
                yield _wrong('a list such as ["F", "M"], or "table.column" of a public table', path, document)
        case _:
            assert_never(shape)


def _grouped(raw: object) -> bool:
    groups = raw if isinstance(raw, list) else [None]
    return all(
        isinstance(group, list) and len(group) > 1 and all(isinstance(item, str) and item for item in group) for group in groups
    )


def _section(raw: object, section: k.Section, path: KeyParts, document: Document) -> Iterator[CatalogError]:
    if not isinstance(raw, dict):
        yield _wrong("a table of keys", path, document)
        return
    for name, value in raw.items():
        key = section.key(name)
        if key is not None:
            yield from _problems(value, key.shape, (*path, name), document)
            continue
        valid = [known.name for known in section.keys]
        yield document.error("unknown_key", (*path, name), f"unknown key {name!r}", fix=suggestion(name, valid))
    for key in section.keys:
        if key.required and key.name not in raw:
            where = f"[{'.'.join(path)}]" if path else "the file"
            message, fix = f"{where} needs the key {key.name!r}", f"Add {key.name!r}."
            yield document.error("missing_key", (*path, key.name), message, why=key.help, fix=fix)


def _named(raw: object, named: k.Named, path: KeyParts, document: Document) -> Iterator[CatalogError]:
    if not isinstance(raw, dict):
        yield _wrong(f"a table with one entry for each {named.what}", path, document)
        return
    if not raw and named.what == "table":
        yield document.error("missing_key", path, "no table is declared", fix="Add a [tables.NAME].")
    for name, value in raw.items():
        barred, without = BARRED.get(named.what, (".", ", without a dot"))
        if not name or len(name) > NAME_MAX or not name.isprintable() or any(sign in name for sign in barred):
            message = f"not a name for a {named.what}"
            fix = f"Write 1 to {NAME_MAX} printable characters{without}."
            yield document.error("bad_name", (*path, name), message, fix=fix)
        else:
            yield from _problems(value, named.each, (*path, name), document)


def _number(raw: object, kind: str, path: KeyParts, document: Document) -> Iterator[CatalogError]:
    try:
        READ_NUMBER[kind](raw, path[-1])
    except Refused as refused:
        yield document.error(refused.code, path, refused.message, why=refused.why, fix=refused.fix)


def _whole(raw: object, most: int, path: KeyParts, document: Document) -> Iterator[CatalogError]:
    if isinstance(raw, bool) or not isinstance(raw, int) or not 1 <= raw <= most:
        message = f"{path[-1]} must be a whole number from 1 to {most}"
        yield document.error("bad_parameter", path, message, fix=f"Write a whole number such as {min(most, 20)}.")


def _text(raw: object, choices: tuple[str, ...], path: KeyParts, document: Document) -> Iterator[CatalogError]:
    if not isinstance(raw, str):
        yield _wrong(f"one of {', '.join(choices)}" if choices else "a text in quotes", path, document)
    elif choices and raw not in choices:
        meant = nearest(raw, choices)
        fix = f"Write one of {', '.join(choices)}." + (f" Did you mean {meant!r}?" if meant else "")
        yield document.error("bad_choice", path, f"{path[-1]} cannot be {raw!r}", fix=fix)
    elif not raw:
        yield _wrong("a text that is not empty", path, document)


def _texts(raw: object, path: KeyParts, document: Document) -> Iterator[CatalogError]:
    if isinstance(raw, dict) and raw:
        for language, text in raw.items():
            if not LANGUAGE.fullmatch(language):
                message = f"{language!r} is not the code of a language"
                yield document.error("bad_name", (*path, language), message, fix="Write a code such as en, de or pt-BR.")
            yield from _text(text, (), (*path, language), document)
    elif not isinstance(raw, str) or not raw:
        yield _wrong('a text, or one for each language such as { en = "...", de = "..." }', path, document)


def _wrong(expected: str, path: KeyParts, document: Document) -> CatalogError:
    name = path[-1] if path else "the file"
    return document.error("wrong_type", path, f"{name} must be {expected}", fix=f"Write {expected}.")
