"""Fuzzy linkage of sparse data: a few ratings, some wrong, with dates that are days off, single out one record (Netflix)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from obverse.attack.examples import Film, clues_about, film_ratings
from obverse.attack.finding import Finding, Rate, judged, share
from obverse.attack.ratings import Clues, Ratings, scoreboard

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True)
class FuzzyLinkage:
    """Scores every record by how well it fits the clues, rare items counting more, and names the best where it stands out.

    It stands out if it is ahead of the second by the paper's 1.5 deviations, and clearer than what every second person outside
    decides: a share of `false_alarms` of them may be "found". A trial is a person whose record is released; it is won if that
    record is named. The control is the other people outside: whoever is found among them is mistaken for another.
    """

    name: ClassVar[str] = "fuzzy_linkage"
    summary: ClassVar[str] = "Find a person's record in sparse data from a few inexact clues (Netflix)."
    eccentricity: float = 1.5  # how far the best must be ahead at least, in deviations of all scores
    false_alarms: float = 0.005

    def run(
        self,
        ratings: Ratings,
        inside: Sequence[tuple[int, Clues]],
        outside: Sequence[Clues],
        target: str = "released ratings",
    ) -> Finding:
        """`inside`: whose record it is, and what is known of that person; `outside`: the same of people without a record."""
        import numpy as np

        weights = ratings.weights()
        found = [(person, scoreboard(ratings, clues, weights)) for person, clues in inside]
        strange = [scoreboard(ratings, clues, weights) for clues in outside]
        clear = [best.clarity if best.eccentricity > self.eccentricity else 0.0 for best in strange]
        choosing, judging = np.array(clear[::2]), np.array(clear[1::2])
        enough = float(np.quantile(choosing, 1 - self.false_alarms, method="higher")) if len(choosing) else 0.0
        stood_out = [(person, best) for person, best in found if best.eccentricity > self.eccentricity]
        named = [(person, best) for person, best in stood_out if best.clarity > enough]
        wins, mistaken = sum(person == best.person for person, best in named), int((judging > enough).sum())
        figures = {
            "clarity": enough,
            "wrongly_named": len(named) - wins,
            "found_by_the_papers_threshold": sum(person == best.person for person, best in stood_out),
            "best_guess_right": sum(person == best.person for person, best in found),
            "records": ratings.people,
            "ratings": len(ratings.person),
        }
        told = f"{share(wins, len(found))} people are found among {ratings.people:,} records"
        beside = f"{share(mistaken, len(judging))} people who are not in them are taken for somebody"
        return judged(
            self.name, target, Rate(wins, len(found)), Rate(mistaken, len(judging)), figures=figures,
            leak=f"{told}, and {beside}: records without names are not anonymous.",
            quiet=f"{told}, and {beside}: that is chance.",
        )  # fmt: skip

    @staticmethod
    def planted(generator: np.random.Generator) -> Finding:
        """Ratings with their dates, as they are; the attacker knows eight of each, of which two are wrong, within two weeks."""
        made = film_ratings(generator, people=1500, films=800, each=60)
        return FuzzyLinkage().run(*_known(generator, made, released=1400), target="planted")

    @staticmethod
    def honest(generator: np.random.Generator) -> Finding:
        """The same records, of which each belongs to somebody else than is thought."""
        made = film_ratings(generator, people=1500, films=800, each=60)
        ratings, inside, outside = _known(generator, made, released=1400)
        return FuzzyLinkage().run(ratings, [((p + 7) % 1400, clues) for p, clues in inside], outside, "honest")


def _known(generator: np.random.Generator, made: Film, released: int) -> tuple[Ratings, list[tuple[int, Clues]], list[Clues]]:
    ratings = made.released(released)
    inside = [(p, clues_about(generator, made, p)) for p in range(100)]
    return ratings, inside, [clues_about(generator, made, p) for p in range(released, released + 100)]
