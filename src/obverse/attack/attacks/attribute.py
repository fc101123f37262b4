"""Attribute inference: the secret that the rows which may be a person's hold most often, guessed for that person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from obverse.attack.examples import patients, pick
from obverse.attack.finding import Finding, Rate, judged, share
from obverse.attack.tables.classes import coded, column, held_at_most
from obverse.attack.tables.matching import matched
from obverse.attack.targets import Table


@dataclass(frozen=True, slots=True)
class Attribute:
    """Guesses each person's secret from the rows of the release that fit.

    A trial is a person whose data were used; it is won if the guess is right. The control is people of the same kind
    whose data were not used: what is guessed as well of them is knowledge of the world, and nobody's leak.
    """

    name: ClassVar[str] = "attribute"
    summary: ClassVar[str] = "Guess a secret from the rows that fit: better for those inside than for those outside?"

    def run(
        self,
        released: Table,
        members: Table,
        outsiders: Table,
        on: Sequence[str],
        secret: str,
        target: str = "a release",
    ) -> Finding:
        told = [column(released, secret), column(members, secret), column(outsiders, secret)]
        codes = coded(np.concatenate(told)).codes
        parts = np.split(codes, np.cumsum([len(part) for part in told])[:-1])
        rates = []
        for people, right in ((members, parts[1]), (outsiders, parts[2])):
            guess = _guesses(released, parts[0], people, on)
            rates.append(Rate(int((guess == right).sum()), len(right)))
        rate, control = rates
        usual = int(np.bincount(parts[0]).argmax()) if len(parts[0]) else -1
        figures = {"guessing_the_usual": float((parts[1] == usual).mean()) if len(parts[1]) else 0.0}
        said = f"{secret} is guessed for {share(rate.wins, rate.trials)} people in the data"
        beside = f"for {share(control.wins, control.trials)} people who are not"
        return judged(
            self.name, target, rate, control, figures=figures,
            leak=f"{said}, and {beside}: being in the data betrays it.",
            quiet=f"{said}, and {beside}: being in the data makes no sure difference.",
        )  # fmt: skip

    @staticmethod
    def planted(generator: np.random.Generator) -> Finding:
        """The members' rows without names."""
        everybody = patients(generator, 3000)
        inside = pick(everybody, slice(0, 1500))
        outside = pick(everybody, slice(1500, 3000))
        return Attribute().run(inside, inside, outside, ("zip", "birth", "sex"), "secret", "planted")

    @staticmethod
    def honest(generator: np.random.Generator) -> Finding:
        """Rows of other people from the same town: they tell the town's habits, and nobody's secret."""
        everybody = patients(generator, 4500)
        release, inside, outside = (pick(everybody, slice(1500 * i, 1500 * (i + 1))) for i in range(3))
        return Attribute().run(release, inside, outside, ("zip", "birth", "sex"), "secret", "honest")


def _guesses(released: Table, secrets: NDArray[np.int64], people: Table, on: Sequence[str]) -> NDArray[np.int64]:
    """Of each person: the most frequent secret of the rows that fit; where none fits, that of all rows."""
    search = matched(released, people, on)
    width = int(secrets.max(initial=0)) + 1
    held_at_most(max(len(search.released), len(search.people)), width)
    held = np.bincount(search.released.codes * width + secrets, minlength=len(search.released) * width)
    held = held.reshape(len(search.released), width)
    seen = np.zeros((len(search.people), width), dtype=np.int64)
    for described, found in search.pairs():
        np.add.at(seen, described, held[found])
    seen[seen.sum(axis=1) == 0] = np.bincount(secrets, minlength=width)
    return np.asarray(seen.argmax(axis=1)[search.people.codes], dtype=np.int64)
