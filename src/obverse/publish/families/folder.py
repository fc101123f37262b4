"""A folder of parents and children checked by itself: what both parts cost together, and that rows belong to each
other.

The folder of parents and children: rows of both, the two releases that they are made of, and a statement for both.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse._version import __version__
from obverse.core.errors import Refused
from obverse.publish.families.linking import AFTER, CHILDREN, PARENTS, Family, Linked, Part, fits, linked, sheets
from obverse.publish.folder.check_text import statement_law
from obverse.publish.folder.files import METADATA, Save, Sheet, as_text
from obverse.publish.folder.metadata import FORMAT, NO_INVARIANTS, Figures, blocks_json, figures_of
from obverse.publish.folder.statement import Card, Section, card, markdown, page, within_claim
from obverse.publish.method import Expected, Law, Terms
from obverse.publish.synthetic.check import codes_of, drawn_apart, told_apart


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
    made = card(fields["title"], fields, tuple(errors), ())
    family = Family.from_json(fields["method"])
    files = (
        f"`data/{PARENTS}` holds rows of {family.parent}, `data/{CHILDREN}` rows of {family.child}, as CSV and "
        "Parquet. No "
        f"person stands behind any of them. `{family.key}` is made up: it tells which rows belong together, and nobody "
        "has it.",
        f"The number of rows of {family.child} that one of {family.parent} has was measured, from none to "
        f"{family.most}, which "
        f"stands for {family.most} and more. Columns of {family.child} follow a model of their own rows with the "
        "columns of "
        f"{family.parent}; rows of one are independent given these.",
        f"`{PARENTS}/` and `{CHILDREN}/` are the two releases of which these rows are made: tables, measurements, "
        "errors, "
        "pictures, and which pairs were measured. `verify.json` tells what was checked.",
    )
    sections = [
        replace(one, sentences=files) if one.heading == "What is in this folder" else one for one in made.sections
    ]
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
    rows = sheets(family, parents, children, linked(family, parents, children))
    said = statement(fields, errors)
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


Integers = NDArray[np.int64]


def family_laws(
    out: Path, fields: dict[str, Any], parts: list[dict[str, Any]], parents: Part, children: Part
) -> list[Law]:
    """What must hold between both parts (whose metadata are `parts`), and between the rows of both files."""
    family = Family.from_json(fields["method"])
    same = fits(family, parents, children)
    said = statement(fields, expected(parents, children, figures_of(parts[0]).terms))
    found = [debit(fields, parts), Law("columns", same, "both parts have the same columns of parents")]
    found.append(statement_law(out, fields, said))
    if not same:
        return found
    keys = _keys(out / "data" / f"{PARENTS}.csv")
    owners = _keys(out / "data" / f"{CHILDREN}.csv")
    people = codes_of(parents.attributes[:-1], out / "data" / f"{PARENTS}.csv", 1)
    drawn = codes_of(parents.attributes, out / PARENTS / "data" / "synthetic.csv")
    below = codes_of(children.attributes[: family.own], out / "data" / f"{CHILDREN}.csv", 1)
    words = f"every child has a parent, and no parent has more than {family.most} children"
    kept = keys == list(range(1, len(keys) + 1)) and all(1 <= one <= len(keys) for one in owners)
    many = [0] * (len(keys) + 1)
    for one in owners if kept else []:
        many[one] += 1
    found.append(Law("links", kept and max(many) <= family.most, words))
    if not kept or people is None or drawn is None or below is None:
        return [*found, Law("families", False, "a row cannot be read, or holds a value that is not in the public list")]
    listed = [one.tolist() for one in drawn] == [*(one.tolist() for one in people), many[1:]]
    found.append(Law("families", listed, "parents and their numbers of children are those of the parents' rows"))
    words = (
        "children's columns, with each other and with their parents', are as near to what is made again as drawing "
        "explains"
    )
    return [*found, Law("children", _near(family, parents, children, Linked(*_read(people, owners, below))), words)]


def debit(fields: dict[str, Any], parts: list[dict[str, Any]]) -> Law:
    """Both parts together are within the claim, in exact fractions."""
    claim = fields["claim"]
    figures = [figures_of(one) for one in parts]
    amount = sum((one.loss for one in figures), Fraction(0))
    alike = len({(one.terms.accounting, one.terms.neighbours) for one in figures}) == 1
    terms = figures[0].terms
    paid = within_claim(claim, terms.accounting, terms.neighbours.value, amount)
    receipts = {one["claim"]["receipt"] for one in (fields, *parts)}
    good = alike and len(receipts) == 1 and paid
    return Law("debit", good, "parents and children are one debit, and cost no more together than is claimed")


def _keys(path: Path) -> list[int]:
    with path.open(encoding="utf-8", newline="") as file:
        return [int(row[0]) for row in list(csv.reader(file))[1:]]


def _read(people: list[Integers], owners: list[int], below: list[Integers]) -> Any:
    return tuple(people), np.array(owners, dtype=np.int64) - 1, tuple(below)


def _near(family: Family, parents: Part, children: Part, told: Linked) -> bool:
    """Tables of two columns, of the rows that are told and of those that are made again from the measurements."""
    made = linked(family, parents, children)
    if len(made.owner) != len(told.owner):
        return False
    if not len(made.owner):
        return True
    have, want = (_joined(one) for one in (told, made))
    apart = [i for i, one in enumerate(children.attributes) if told_apart(one.values)]
    pairs = [(a, b) for a in apart for b in apart if a < b and a < family.own] or [
        (a, a) for a in apart if a < family.own
    ]
    for a, b in pairs:
        shape = children.attributes[a].cells, children.attributes[b].cells
        x, y = (
            np.bincount(np.ravel_multi_index((one[a], one[b]), shape), minlength=shape[0] * shape[1]) / len(made.owner)
            for one in (have, want)
        )
        if 0.5 * float(np.abs(x - y).sum()) > drawn_apart(y, len(made.owner), len(pairs)):
            return False
    return True


def _joined(rows: Linked) -> list[Integers]:
    """Children with their parents' columns."""
    return [*rows.children, *(one[rows.owner] for one in rows.parents)]
