"""Surveys of a project: their specifications, and the folders in which they are collected."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from obverse.catalog.load import load
from obverse.catalog.model import Catalog
from obverse.catalog.shape import suggestion
from obverse.core.errors import Refused
from obverse.local.accept import Submitted
from obverse.local.choose import Choice, chosen
from obverse.local.spec import Spec
from obverse.session.collecting import Collection

FOLDER = "collect"


def spec_in(project: Path, name: str) -> tuple[Spec, Choice]:
    """The survey's specification, and why its protocol was chosen."""
    catalog = load(project)
    return _spec(catalog, name)


def collection_in(project: Path, name: str) -> Collection:
    catalog = load(project)
    spec, _ = _spec(catalog, name)
    return Collection(catalog.ledger.parent / FOLDER / spec.id, spec)


def _spec(catalog: Catalog, name: str) -> tuple[Spec, Choice]:
    survey = catalog.surveys.get(name)
    if survey is None:
        raise Refused("no_such_survey", f"no survey {name!r} is declared.", fix=suggestion(name, catalog.surveys))
    choice = chosen(survey)
    return Spec(survey, choice.protocol), choice


def submitted(lines: Iterable[str]) -> list[Submitted]:
    """Reports as text: on each line a token and a report, in hexadecimal. What cannot be read is a report of no length."""
    found = []
    for line in lines:
        words = line.split()
        if not words:
            continue
        try:
            token, report = (bytes.fromhex(word) for word in words)
        except ValueError:
            token = report = b""
        found.append(Submitted(report, token))
    return found
