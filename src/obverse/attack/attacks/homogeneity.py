"""Homogeneity: a class whose rows all hold one secret tells it of everybody in the class, however large it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from obverse.attack.examples import diverse_classes, pick
from obverse.attack.finding import Finding, Rate, judged, share
from obverse.attack.tables.classes import distinct, people
from obverse.attack.targets import Table


@dataclass(frozen=True, slots=True)
class Homogeneity:
    """Reads the secret of whoever is known to be in a class of one secret. It takes the release at its word.

    A trial is a row, or a person where a column says whose rows are; it is won if a class of theirs leaves no doubt,
    because one secret is everybody's there. The control knows only that the person is in the table: it never wins,
    unless one secret is everybody's in the whole table.
    """

    name: ClassVar[str] = "homogeneity"
    summary: ClassVar[str] = "Find classes of a released table whose rows all hold the same secret."

    def run(
        self, released: Table, on: Sequence[str], secret: str, target: str = "a release", *, person: str | None = None
    ) -> Finding:
        """`person` names the column that says whose a row is."""
        known = people(released, on, secret, person)
        found = known.found
        sizes = known.sizes()
        count = len(np.unique(known.whose))
        at, holders = known.holders()
        one = np.zeros(len(found), dtype=bool)
        one[at[holders == sizes[at]]] = True
        kinds = np.where(one, 1, distinct(found.codes, known.secrets, len(found)))
        wins = len(np.unique(known.whose[one[found.codes]]))
        control = float(
            bool(count) and int(distinct(known.secrets, known.whose, len(known.texts)).max(initial=0)) == count
        )
        figures = {
            "classes": len(found),
            "classes_of_one_secret": int(one.sum()),
            "smallest_class": int(sizes.min()) if len(found) else 0,
            "fewest_secrets": int(kinds.min()) if len(found) else 0,
        }
        told = f"{int(one.sum()):,} of {len(found):,} classes hold one {secret}"
        if person is not None:
            told = f"in {int(one.sum()):,} of {len(found):,} classes one {secret} is everybody's"
        quiet = f"{told}: a class tells nobody's for certain."
        if control:
            quiet = (
                f"All {known.noun} hold one {secret}: it is certain for everybody in the table, whatever their class."
            )
        return judged(
            self.name, target, Rate(wins, count), control, figures=figures,
            leak=f"{told}: it is certain for {share(wins, count)} {known.noun}.",
            quiet=quiet,
        )  # fmt: skip

    @staticmethod
    def planted(generator: np.random.Generator) -> Finding:
        """Classes of four, some of which hold one secret."""
        table = dict(diverse_classes(generator, classes=200, size=4))
        table["secret"] = table["secret"].copy()
        table["secret"][:40] = "cancer"
        order = generator.permutation(len(table["secret"]))
        return Homogeneity().run(pick(table, order), ("zip", "age"), "secret", "planted")

    @staticmethod
    def honest(generator: np.random.Generator) -> Finding:
        """Each class holds four secrets."""
        return Homogeneity().run(diverse_classes(generator, classes=200, size=4), ("zip", "age"), "secret", "honest")
