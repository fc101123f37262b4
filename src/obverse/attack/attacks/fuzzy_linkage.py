"""Fuzzy linkage of sparse data: a few ratings, some wrong, with dates that are days off, single out one record
(Netflix).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from obverse.attack.examples import Film, clues_about, film_ratings
from obverse.attack.finding import Finding, Rate, SignificanceTest, judged, share
from obverse.attack.permutation import at_least_right, fisher_at_best, rank_sum
from obverse.attack.tables.ratings import Clues, Match, Ratings, scoreboard
from obverse.core.errors import invariant

Found = Sequence[tuple[int, Match]]


SHOWN = 20  # names of people


@dataclass(frozen=True, slots=True)
class FuzzyLinkage:
    """Scores every record by how well it fits the clues, rare items counting more, and guesses the best.

    A trial is a person whose record is released; it is won if the best record is that person's. The control is the
    chance to hit it blindly. Beside the verdict stands the rule of Narayanan and Shmatikov, which names the best record
    only where it is ahead of the second by `eccentricity` deviations of all scores: who is named, how many rightly, and
    how many people outside, who have no record, are named too.

    Claim:   records that say nothing of whose they are, are blamed with a chance of at most alpha.
    Proof:   two tests share alpha. At least as many best guesses are right as would be if records had been handed out
             by chance (`at_least_right`); and people's own records fit better than the best records of people who have
             none (Mann and Whitney, where there are such), which is the harder for their being compared with the best.
    Assumes: people were not chosen by what their records say.
    """

    name: ClassVar[str] = "fuzzy_linkage"
    summary: ClassVar[str] = "Find a person's record in sparse data from a few inexact clues (Netflix)."
    eccentricity: float = 1.5
    seed: int = 1  # of the guess among records that fit alike

    def run(
        self,
        ratings: Ratings,
        inside: Sequence[tuple[int, Clues]],
        outside: Sequence[Clues],
        target: str = "released ratings",
        names: Sequence[str] | None = None,
    ) -> Finding:
        """`inside`: whose record it is, each once, and what is known of that person; `outside`: what is known of people
        without a record."""
        invariant(len({person for person, _ in inside}) == len(inside), "a person is looked for once")

        weights = ratings.weights()
        generator = np.random.default_rng(self.seed)
        found = [(person, scoreboard(ratings, clues, weights, generator, person)) for person, clues in inside]
        strange = [scoreboard(ratings, clues, weights, generator) for clues in outside]
        named = [(person, best) for person, best in found if best.eccentricity > self.eccentricity]
        right, rightly = (sum(person == best.person for person, best in some) for some in (found, named))
        expected = len(found) / max(1, ratings.people)
        figures = {
            "best_guess_right": right,
            "right_by_chance": expected,
            "eccentricity": self.eccentricity,
            "named": len(named),
            "named_rightly": rightly,
            "outsiders_named": sum(best.eccentricity > self.eccentricity for best in strange),
            "outsiders": len(strange),
            "records": ratings.people,
            "ratings": len(ratings.person),
            "first_named": [names[person] if names is not None else person for person, _ in named[:SHOWN]],
        }
        tests = [_against_chance(found, right, ratings.people)] + (
            [_against_outsiders(found, strange)] if strange else []
        )
        told = f"The best guess is right for {share(right, len(found))} people among {ratings.people:,} records"
        beside = f"where {expected:.3g} would be by chance"
        return judged(
            self.name, target, Rate(right, len(found)), 1 / max(1, ratings.people), figures=figures, tests=tests,
            leak=f"{told}, {beside}: records without names are not anonymous.",
            quiet=f"{told}, {beside}: that is not surely more.",
        )  # fmt: skip

    @staticmethod
    def planted(generator: np.random.Generator) -> Finding:
        """Ratings with their dates, as they are; the attacker knows eight of each, of which two are wrong, within
        two weeks.
        """
        made = film_ratings(generator, people=1500, films=800, each=60)
        return FuzzyLinkage().run(*_known(generator, made, released=1400), target="planted")

    @staticmethod
    def honest(generator: np.random.Generator) -> Finding:
        """The same records, of which each belongs to somebody else than is thought."""
        made = film_ratings(generator, people=1500, films=800, each=60)
        ratings, inside, outside = _known(generator, made, released=1400)
        return FuzzyLinkage().run(ratings, [((p + 7) % 1400, clues) for p, clues in inside], outside, "honest")


def _known(
    generator: np.random.Generator, made: Film, released: int
) -> tuple[Ratings, list[tuple[int, Clues]], list[Clues]]:
    ratings = made.released(released)
    inside = [(p, clues_about(generator, made, p)) for p in range(100)]
    return ratings, inside, [clues_about(generator, made, p) for p in range(released, released + 100)]


def _against_chance(found: Found, right: int, records: int) -> SignificanceTest:
    guessed = Counter(best.person for _, best in found if best.person >= 0)
    p = at_least_right(right, Counter((times, 1) for times in guessed.values()), records)
    return SignificanceTest("best guess against chance", p, at_least_right(len(found), {(1, 1): len(found)}, records))


def _against_outsiders(found: Found, strange: Sequence[Match]) -> SignificanceTest:
    p = rank_sum(np.array([best.own for _, best in found]), np.array([best.fit for best in strange]))
    words = "own records against the best of people who have none, by how well they fit"
    return SignificanceTest(words, p, fisher_at_best(len(found), len(strange)))
