"""The folder of parents and children: rows of both, the two releases that they are made of, and a statement for both."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from obverse._version import __version__
from obverse.core.errors import Refused
from obverse.publish.base import Expected, Terms
from obverse.publish.families.linking import AFTER, CHILDREN, PARENTS, Family, Part, linked, sheets
from obverse.publish.folder.card import Card, Section, card, markdown, page
from obverse.publish.folder.folder import METADATA, Save, as_text
from obverse.publish.folder.metadata import FORMAT, NO_INVARIANTS, Figures, blocks_json
from obverse.publish.folder.sheets import Sheet


def metadata(
    title: str, family: Family, parts: Iterable[tuple[Part, Figures]], claim: dict[str, Any], share: Fraction
) -> dict[str, Any]:
    """How both parts belong together; each has metadata of its own."""
    told = list(parts)
    terms = told[0][1].terms
    name = "epsilon" if terms.accounting == "pure" else "rho"
    return {
        "format": FORMAT,
        "version": __version__,
        "kind": Family.name,
        "title": title,
        "terms": {"accounting": terms.accounting, "neighbours": terms.neighbours.value},
        "loss": {name: str(sum((figures.loss for _, figures in told), Fraction(0)))},
        "shares": {PARENTS: str(share), CHILDREN: str(1 - share)},
        "method": family.as_json(),
        "blocks": [block for part, _ in told for block in blocks_json(part.measured)],
        "post_processing": list(AFTER),
        "agree": True,
        "invariants": NO_INVARIANTS,
        "claim": claim,
    }


def statement(fields: dict[str, Any], errors: Iterable[Expected]) -> Card:
    """As of any release, with what is in this folder."""
    made, family = card(fields["title"], fields, tuple(errors), ()), Family.from_json(fields["method"])
    files = (
        f"`data/{PARENTS}` holds rows of {family.parent}, `data/{CHILDREN}` rows of {family.child}, as CSV and Parquet. No "
        f"person stands behind any of them. `{family.key}` is made up: it tells which rows belong together, and nobody has it.",
        f"The number of rows of {family.child} that one of {family.parent} has was measured, from none to {family.most}, which "
        f"stands for {family.most} and more. Columns of {family.child} follow a model of their own rows with the columns of "
        f"{family.parent}; rows of one are independent given these.",
        f"`{PARENTS}/` and `{CHILDREN}/` are the two releases of which these rows are made: tables, measurements, errors, "
        "pictures, and which pairs were measured. `verify.json` tells what was checked.",
    )
    sections = [replace(one, sentences=files) if one.heading == "What is in this folder" else one for one in made.sections]
    shares = " and ".join(f"{share} for {name}" for name, share in fields["shares"].items())
    split = Section("How it is split", (f"Of the price, {shares}.",))
    place = next(n for n, one in enumerate(sections) if one.heading == "What it cost")
    return replace(made, sections=(*sections[: place + 1], split, *sections[place + 1 :]))


def expected(parents: Part, children: Part, terms: Terms) -> list[Expected]:
    """Errors of both parts, each under its part's name."""
    found = []
    for name, part in ((PARENTS, parents), (CHILDREN, children)):
        found += [replace(one, title=f"{name}: {one.title}") for one in part.method.errors(part.measured, terms)]
    return found


def write_families(
    out: Path, fields: dict[str, Any], parents: Part, children: Part, errors: Iterable[Expected], save: Save
) -> None:
    """Rows, metadata and statement, beside both parts."""
    family = Family.from_json(fields["method"])
    rows, said = sheets(family, parents, children, linked(family, parents, children)), statement(fields, errors)
    try:
        (out / "data").mkdir(exist_ok=True)
        for name, (columns, types) in rows.items():
            save(Sheet(name, columns, types), out / "data" / name)
        (out / METADATA).write_text(as_text(fields), encoding="utf-8")
        (out / "statement.md").write_text(markdown(said), encoding="utf-8")
        (out / "statement.html").write_text(page(said), encoding="utf-8")
    except OSError as error:
        raise Refused(
            "cannot_write",
            "the release was measured, but its folder cannot be written.",
            place=str(out),
            why=error.strerror or "",
            fix="the same release again, to another folder, costs nothing.",
        ) from None
