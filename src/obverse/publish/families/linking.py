"""Synthetic parents and their children: two models of noisy pairs, and made-up keys that tie their rows together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from obverse.core.errors import invariant
from obverse.core.types import Type
from obverse.publish.method import Labels, Measured
from obverse.publish.synthetic.method import Synthetic, shuffle_of
from obverse.publish.synthetic.sampling import conditioned
from obverse.publish.workload import Attribute, values_at

Integers = NDArray[np.int64]


# folders of the two parts, and files of the rows
PARENTS = "parents"
CHILDREN = "children"
NUMBER = "children"  # the column of parents that tells how many they have
AFTER = (
    "both parts are fitted as they say",
    "each synthetic parent gets as many children as its row says",
    "each child's columns are drawn from the children's model, given its parent's columns",
)


@dataclass(frozen=True, slots=True)
class Family:
    """Which tables belong to each other, and by which key."""

    parent: str
    child: str
    key: str
    most: int  # children of one parent, as limits say
    own: int  # columns of a child; its parent's follow

    name: ClassVar[str] = "families"

    def as_json(self) -> dict[str, Any]:
        return {"parent": self.parent, "child": self.child, "key": self.key, "most": self.most, "own": self.own}

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Family:
        return cls(
            str(fields["parent"]), str(fields["child"]), str(fields["key"]), int(fields["most"]), int(fields["own"])
        )


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One of the two models, and what it was made of."""

    method: Synthetic
    measured: Measured

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return self.method.workload.attributes


@dataclass(frozen=True, slots=True, eq=False)
class Linked:
    """Rows as places of values: parents without their number of children; of each child, its parent's place and its
    own.
    """

    parents: tuple[Integers, ...]
    owner: Integers
    children: tuple[Integers, ...]


def fits(family: Family, parents: Part, children: Part) -> bool:
    """Whether the children's model ends with the parents' columns, and the parents' with the number of children."""
    numbers = parents.attributes[-1]
    same = [(one.type, one.values) for one in parents.attributes[:-1]]
    beside = [(one.type, one.values) for one in children.attributes[family.own :]]
    return family.own > 0 and same == beside and numbers.values == tuple(range(family.most + 1))


def linked(family: Family, parents: Part, children: Part) -> Linked:
    """Parents, and for each as many children as its row says, drawn given its columns. Reads noisy numbers alone.

    Claim:   no parent has more children than `most`, each child has one parent; numbers of children and parents'
             columns have the parents' model, children's columns the children's model given their parents'.
    Proof:   the number is a column of the parents' model, whose values are those up to `most`; `conditioned`.
    Assumes: `fits`.
    """
    invariant(fits(family, parents, children), "columns of parents are the same in both parts")
    rows = parents.method.fitted(parents.measured).rows
    owner = np.repeat(np.arange(len(rows[0])), rows[-1])
    method = children.method
    model = method.fitted(children.measured).model
    given = {family.own + n: method.groups_of(family.own + n)[places[owner]] for n, places in enumerate(rows[:-1])}
    drawn = conditioned(model, given, shuffle_of((*parents.measured, *children.measured), b"children"))
    return Linked(rows[:-1], owner, tuple(drawn[i] for i in range(family.own)))


def sheets(family: Family, parents: Part, children: Part, made: Linked) -> dict[str, Labels]:
    """Both tables of rows; a parent's key is its place, from one on."""
    people = np.arange(1, len(made.parents[0]) + 1)
    return {
        PARENTS: _with_key(family.key, people, parents.attributes[:-1], made.parents),
        CHILDREN: _with_key(family.key, made.owner + 1, children.attributes[: family.own], made.children),
    }


def _with_key(key: str, keys: Integers, attributes: tuple[Attribute, ...], rows: tuple[Integers, ...]) -> Labels:
    columns: dict[str, Any] = {key: keys}
    columns |= {one.name: values_at(one, places) for one, places in zip(attributes, rows)}
    return columns, {key: Type.INTEGER} | {one.name: one.type for one in attributes}
