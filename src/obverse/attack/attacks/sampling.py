"""Sampling: "just a few" rows are released as they are. Whoever is among them and unlike others has nothing to deny."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from obverse.attack.examples import masked, people_list, pick
from obverse.attack.finding import Finding, Rate, judged, share
from obverse.attack.tables.classes import column, rows, same
from obverse.attack.tables.matching import matched
from obverse.attack.targets import Table


@dataclass(frozen=True, slots=True)
class Sampling:
    """Says that a person is in the sample where one of its rows fits that person, and nobody else of the population.

    A trial is somebody in the sample; it is won if that is said. The control is those who are not in it, of whom it is
    said wrongly. Without a column that tells who is who the sample is taken at its word: a trial is a row, and the
    chance is zero.
    """

    name: ClassVar[str] = "sampling"
    summary: ClassVar[str] = "Find people of a population who are exposed by a raw sample of it."

    def run(
        self, sample: Table, population: Table, on: Sequence[str], *, truth: str | None = None, target: str = "a sample"
    ) -> Finding:
        search = matched(sample, population, on)
        fitting, _, by_class = search.counts()
        control: Rate | float = 0.0
        if truth is None:
            rate = Rate(int(search.released.sizes[by_class == 1].sum()), rows(sample))
        else:
            lonely = np.zeros(len(search.people), dtype=bool)
            for described, found in search.pairs():
                lonely[described[by_class[found] == 1]] = True
            said = lonely[search.people.codes]
            inside = np.isin(*same(column(population, truth), column(sample, truth)))
            rate = Rate(int(said[inside].sum()), int(inside.sum()))
            control = Rate(int(said[~inside].sum()), int((~inside).sum()))
        part = rows(sample) / max(1, rows(population))
        figures = {"sampled": part, "people_who_fit_a_row": int(search.people.sizes[fitting > 0].sum())}
        told = (
            f"{share(rate.wins, rate.trials)} people of a sample of {100 * part:.3g} % fit a row that fits nobody else"
        )
        return judged(
            self.name, target, rate, control, figures=figures,
            leak=f"{told}: they are exposed with all that their row tells.", quiet=f"{told}: nobody surely is in it.",
        )  # fmt: skip

    @staticmethod
    def planted(generator: np.random.Generator) -> Finding:
        """One row in twenty, as it is."""
        everybody = people_list(generator, 4000)
        return Sampling().run(
            pick(everybody, slice(0, 200)), everybody, ("zip", "birth", "sex"), truth="id", target="planted"
        )

    @staticmethod
    def honest(generator: np.random.Generator) -> Finding:
        """The same rows, by sex and the first two digits of the ZIP code alone."""
        everybody = people_list(generator, 4000)
        sample = dict(pick(everybody, slice(0, 200)))
        sample["zip"] = masked(sample["zip"], 2)
        return Sampling().run(sample, everybody, ("zip", "sex"), truth="id", target="honest")
