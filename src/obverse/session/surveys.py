"""Surveys of a project: their specifications, and the folders in which they are collected."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from obverse.catalog.load import load
from obverse.catalog.model import Catalog
from obverse.catalog.shape import suggestion
from obverse.core.errors import Refused
from obverse.local.accept import Submitted
from obverse.local.choose import Choice, chosen
from obverse.local.spec import Spec
from obverse.session.collecting import Collection
from obverse.session.fold_on_spark import folding_on_spark

FOLDER = "collect"
FOLDER_DIGITS = 16
REPORTS_AT_ONCE, LINE_MAX = 1 << 16, 1 << 17


def spec_in(project: Path, name: str) -> tuple[Spec, Choice]:
    """The survey's specification, and why its protocol was chosen."""
    catalog = load(project)
    return _spec(catalog, name)


def collection_in(project: Path, name: str) -> Collection:
    catalog = load(project)
    spec, _ = _spec(catalog, name)
    folding = None
    if catalog.engine["kind"] == "spark":
        folding = folding_on_spark(catalog.engine.get("url"))
    folder = hashlib.sha256(name.encode()).hexdigest()[:FOLDER_DIGITS]  # whatever signs a name has
    return Collection(catalog.ledger.parent / FOLDER / folder, spec, folding=folding)


def _spec(catalog: Catalog, name: str) -> tuple[Spec, Choice]:
    survey = catalog.surveys.get(name)
    if survey is None:
        raise Refused("no_such_survey", f"no survey {name!r} is declared.", fix=suggestion(name, catalog.surveys))
    choice = chosen(survey)
    return Spec(survey, choice.protocol), choice


def submitted(lines: BinaryIO) -> Iterator[list[Submitted]]:
    """Reports as text, some at a time: on each line a token and a report, in hexadecimal. What cannot be read is a report of
    no length; a line that does not end is cut, so that memory is bounded whatever comes."""
    told = (line.decode(errors="replace").split(None, 2) for line in iter(partial(lines.readline, LINE_MAX), b""))
    kept = (_submitted(words) for words in told if words)
    while some := list(islice(kept, REPORTS_AT_ONCE)):
        yield some


def _submitted(words: list[str]) -> Submitted:
    try:
        token, report = (bytes.fromhex(word) for word in words)
    except ValueError:
        token = report = b""
    return Submitted(report, token)
