"""Homogeneity: a class whose rows all hold one secret tells it of everybody in the class, however large it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from obverse.attack.classes import classes, coded, column, distinct, rows
from obverse.attack.examples import diverse_classes, pick
from obverse.attack.finding import Finding, Rate, judged, share

if TYPE_CHECKING:
    import numpy as np

    from obverse.attack.targets import Table


@dataclass(frozen=True, slots=True)
class Homogeneity:
    """Reads the secret of whoever is known to be in a class of one secret. It takes the release at its word.

    A trial is a row; it is won if its class leaves no doubt. The control knows only that the person is in the table: it never
    wins, unless the whole table holds one secret.
    """

    name: ClassVar[str] = "homogeneity"
    summary: ClassVar[str] = "Find classes of a released table whose rows all hold the same secret."

    def run(self, released: Table, on: Sequence[str], secret: str, target: str = "a release") -> Finding:
        found = classes(released, on)
        value = coded(column(released, secret))
        kinds = distinct(found.codes, value.codes, len(found))
        one = kinds == 1
        wins = int(found.sizes[one].sum())
        control = float(len(value.texts) == 1)
        count = rows(released)
        figures = {
            "classes": len(found),
            "classes_of_one_secret": int(one.sum()),
            "smallest_class": found.smallest,
            "fewest_secrets": int(kinds.min()) if len(found) else 0,
        }
        told = f"{int(one.sum()):,} of {len(found):,} classes hold one {secret}"
        quiet = f"{told}: a class tells nobody's for certain."
        if control:
            quiet = f"All rows hold one {secret}: it is certain for everybody in the table, whatever their class."
        return judged(
            self.name, target, Rate(wins, count), control, figures=figures,
            leak=f"{told}: it is certain for {share(wins, count)} rows.",
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
