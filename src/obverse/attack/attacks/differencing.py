"""Differencing: two counts over sets that differ in one person; their difference is that person's secret."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from obverse.attack.finding import Finding, Rate, judged, share
from obverse.attack.targets import Counting, Person

Bools = NDArray[np.bool_]
Numbers = NDArray[np.float64]


SETS_AT_ONCE = 1024


@dataclass(frozen=True, slots=True)
class Differencing:
    """Finds all pairs of answered sets that differ in one person, and takes half of one or more for a yes.

    A trial is a person for whom there is a pair; it is won if the secret is guessed. The control always says what most
    of these people have: nobody does better who does not know whom the answers are about.
    """

    name: ClassVar[str] = "differencing"
    summary: ClassVar[str] = "Subtract two counts whose people differ in one."

    def run(self, sets: Bools, answers: Numbers, truth: Bools, target: str = "answers") -> Finding:
        """Row j of `sets` says who is counted by answer j; an answer that was refused is not a number."""
        given = ~np.isnan(answers)
        person, difference = differences(sets[given], answers[given])
        known, place = np.unique(person, return_inverse=True)
        total = np.bincount(place, difference, len(known))
        pairs = np.bincount(place, minlength=len(known))
        guess = total >= pairs / 2
        right = truth[known]
        tried = len(known)
        wins = int((guess == right).sum())
        usual = float(max(right.mean(), 1 - right.mean())) if tried else 1.0
        figures = {"sets": int(given.sum()), "refused": int((~given).sum()), "pairs": len(person)}
        told = f"{len(person):,} pairs of the answered sets differ in one person; {share(wins, tried)} secrets follow"
        return judged(
            self.name, target, Rate(wins, tried), usual, figures=figures,
            leak=f"{told}: each answer was about a crowd, and two of them are about one person.",
            quiet=f"{told}: not surely more than by guessing what is usual.",
        )  # fmt: skip

    def ask(self, counting: Counting, secret: str, people: Sequence[Person], target: str = "an interface") -> Finding:
        """Counts everybody who has the secret, and everybody but one named person, one by one."""
        sets = ~np.vstack([np.zeros(len(people), dtype=bool), np.eye(len(people), dtype=bool)])
        questions = [(secret,), *((secret, f"NOT ({counting.one(person)})") for person in people)]
        found = [counting.count(*conditions) for conditions in questions]
        answers = np.array([np.nan if answer is None else answer for answer in found])
        return self.run(sets, answers, np.array([person.secret for person in people]), target)

    @staticmethod
    def planted(generator: np.random.Generator) -> Finding:
        """Exact counts over sets that nobody chose for the attack; some pairs differ in one person."""
        sets, truth = _answered(generator)
        return Differencing().run(sets, sets @ truth.astype(float), truth, "planted")

    @staticmethod
    def honest(generator: np.random.Generator) -> Finding:
        """The same with noise for each answer that hides one person."""
        sets, truth = _answered(generator)
        return Differencing().run(
            sets, sets @ truth.astype(float) + generator.laplace(0, 50, len(sets)), truth, "honest"
        )


def differences(sets: Bools, answers: Numbers) -> tuple[NDArray[np.int64], Numbers]:
    """People in whom two sets differ alone, and the larger set's answer less the smaller one's; every pair once."""
    ones = sets.astype(np.float32)
    sizes = sets.sum(axis=1)
    people: list[NDArray[np.int64]] = []
    found: list[Numbers] = []
    for start in range(0, len(sets), SETS_AT_ONCE):
        some = slice(start, start + SETS_AT_ONCE)
        shared = np.rint(ones[some] @ ones.T).astype(np.int64)
        large, small = np.nonzero((shared == sizes) & (sizes[some, None] == sizes + 1))
        people.append(
            np.argmax(sets[some][large] & ~sets[small], axis=1) if len(large) else np.zeros(0, dtype=np.int64)
        )
        found.append(answers[some][large] - answers[small])
    return (np.concatenate(people), np.concatenate(found)) if people else (np.zeros(0, dtype=np.int64), np.zeros(0))


def posterior(difference: float, people: int) -> float:
    """The chance that one of the people in whom two sets differ has the secret, once the two counts are known.

    One person: it is certain. Several: certain where all or none have it, else a share, which is theirs and not the
    crowd's.
    """
    return min(max(difference / people, 0.0), 1.0)


def _answered(generator: np.random.Generator) -> tuple[Bools, Bools]:
    """Sets of two hundred people, and for sixty of them the same set without one member."""
    truth = generator.permutation(np.arange(200) < 100)
    sets = generator.random((60, 200)) < 0.5
    without = sets.copy()
    for row, place in enumerate(generator.permutation(200)[:60]):
        sets[row, place] = True
        without[row, place] = False
    return np.vstack([sets, without])[generator.permutation(120)], truth
