"""A folder of parents and children checked by itself: what both parts cost together, and that rows belong to each other."""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from obverse.publish.base import Law
from obverse.publish.families.families_folder import expected, statement
from obverse.publish.families.linking import CHILDREN, PARENTS, Family, Linked, Part, fits, linked
from obverse.publish.folder.check_text import statement_law
from obverse.publish.folder.claimed import within_claim
from obverse.publish.folder.metadata import figures_of
from obverse.publish.synthetic.check import codes_of, drawn_apart, told_apart

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]


def family_laws(out: Path, fields: dict[str, Any], parts: list[dict[str, Any]], parents: Part, children: Part) -> list[Law]:
    """What must hold between both parts (whose metadata are `parts`), and between the rows of both files."""
    family = Family.from_json(fields["method"])
    same = fits(family, parents, children)
    said = statement(fields, expected(parents, children, figures_of(parts[0]).terms))
    found = [debit(fields, parts), Law("columns", same, "both parts have the same columns of parents")]
    found.append(statement_law(out, fields, said))
    if not same:
        return found
    keys, owners = _keys(out / "data" / f"{PARENTS}.csv"), _keys(out / "data" / f"{CHILDREN}.csv")
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
        "children's columns, with each other and with their parents', are as near to what is made again as drawing explains"
    )
    return [*found, Law("children", _near(family, parents, children, Linked(*_read(people, owners, below))), words)]


def debit(fields: dict[str, Any], parts: list[dict[str, Any]]) -> Law:
    """Both parts together are within the claim, in exact fractions."""
    claim, figures = fields["claim"], [figures_of(one) for one in parts]
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
    import numpy as np

    return tuple(people), np.array(owners, dtype=np.int64) - 1, tuple(below)


def _near(family: Family, parents: Part, children: Part, told: Linked) -> bool:
    """Tables of two columns, of the rows that are told and of those that are made again from the measurements."""
    import numpy as np

    made = linked(family, parents, children)
    if len(made.owner) != len(told.owner):
        return False
    if not len(made.owner):
        return True
    have, want = (_joined(one) for one in (told, made))
    apart = [i for i, one in enumerate(children.attributes) if told_apart(one.values)]
    pairs = [(a, b) for a in apart for b in apart if a < b and a < family.own] or [(a, a) for a in apart if a < family.own]
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
