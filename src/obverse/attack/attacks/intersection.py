"""Intersection: two releases about overlapping people, each of them anonymous, together leave one secret."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from obverse.attack.examples import two_hospitals
from obverse.attack.finding import Finding, Rate, SignificanceTest, judged, share
from obverse.attack.tables.classes import coded, column, held_at_most, rows
from obverse.attack.tables.matching import Matching, matched
from obverse.attack.targets import Table

Bools = NDArray[np.bool_]
Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Intersection:
    """Keeps the secrets that both releases allow for a person who is known to be in both.

    A trial is such a person; it is won if one secret is left, which neither release left alone. Where the truth is
    told, that must be the right one, and the control is the same attack with the second release's secrets shuffled
    among its rows: its mean. Else the releases are taken at their word, and where the second adds nothing it never
    wins: a chance of zero.

    Claim:   where the truth is told, a second release whose secrets lie in its rows by chance is blamed with a chance
             of at most alpha.
    Proof:   p is the place of the wins that were seen among those of `shuffles` shuffles, which are all alike. That
             people of one class win or lose together matters to none of it.
    Assumes: nothing more.
    """

    name: ClassVar[str] = "intersection"
    summary: ClassVar[str] = "Combine two releases about the same people: which secrets do both allow?"
    seed: int = 1  # of the shuffles
    shuffles: int = 99

    def run(
        self,
        first: Table,
        second: Table,
        known: Table,
        on: Sequence[str],
        secret: str,
        *,
        truth: str | None = None,
        target: str = "two releases",
    ) -> Finding:
        """`truth` names the column of `known` that holds the secret."""
        told = [column(first, secret), column(second, secret), *([column(known, truth)] if truth is not None else [])]
        value = coded(np.concatenate(told))
        parts = np.split(value.codes, np.cumsum([len(part) for part in told])[:-1])
        width = len(value.texts)
        people = rows(known)
        search = matched(second, known, on)
        one = _allowed(matched(first, known, on), parts[0], width)
        two = _allowed(search, parts[1], width)
        won = _decided(one, two, None if truth is None else parts[2])
        control = 0.0
        tests = []
        if truth is not None and people:
            shuffled = self._shuffled(one, search, parts[1], parts[2])
            control = float(shuffled.mean()) / people
            tests = [_against_shuffles(int(won.sum()), shuffled, parts[1])]
        sizes = (one & two).sum(axis=1)
        figures = {
            "secrets_left_by_each": [float(one.sum(axis=1).mean()), float(two.sum(axis=1).mean())] if people else [],
            "secrets_left_by_both": float(sizes.mean()) if people else 0.0,
            "told": [value.texts[int(np.argmax(row))] for row in (one & two)[won][:20]],
        }
        wins = int(won.sum())
        said = f"{share(wins, people)} people have one {secret} that both releases allow, and several that each does"
        return judged(
            self.name, target, Rate(wins, people), control, figures=figures, tests=tests,
            leak=f"{said}: together they give it away.",
            quiet=f"{said}: together they tell not surely more than chance does.",
        )  # fmt: skip

    def _shuffled(self, one: Bools, search: Matching, secrets: Codes, right: Codes) -> Codes:
        """The wins of each shuffle of the second release's secrets."""
        generator = np.random.default_rng(self.seed)
        width = one.shape[1]
        drawn = (_allowed(search, generator.permutation(secrets), width) for _ in range(self.shuffles))
        return np.array([int(_decided(one, two, right).sum()) for two in drawn])

    @staticmethod
    def planted(generator: np.random.Generator) -> Finding:
        """Two hospitals, each of which publishes classes of several secrets about its patients; some went to both."""
        first, second, both = two_hospitals(generator, 800)
        return Intersection().run(first, second, both, ("zip", "age"), "secret", truth="secret", target="planted")

    @staticmethod
    def honest(generator: np.random.Generator) -> Finding:
        """The second hospital's rows are not of these people."""
        first, second, both = two_hospitals(generator, 800)
        strange = {**second, "secret": generator.permutation(second["secret"])}
        return Intersection().run(first, strange, both, ("zip", "age"), "secret", truth="secret", target="honest")


def _allowed(search: Matching, secrets: Codes, width: int) -> Bools:
    """Of each known person: the secrets of the rows that may be the person's."""
    held_at_most(max(len(search.released), len(search.people.codes)), width)
    held = np.zeros((len(search.released), width), dtype=bool)
    held[search.released.codes, secrets] = True
    allowed = np.zeros((len(search.people), width), dtype=bool)
    for described, found in search.pairs():
        who, place = np.unique(described, return_inverse=True)
        for value in range(width):
            allowed[who, value] |= np.bincount(place, held[found, value], len(who)) > 0
    return np.asarray(allowed[search.people.codes], dtype=bool)


def _decided(one: Bools, two: Bools, right: Codes | None) -> Bools:
    """Who is left with one secret by both, and by neither alone; with the right one, where that is known."""
    both = one & two
    won = (both.sum(axis=1) == 1) & (one.sum(axis=1) > 1) & (two.sum(axis=1) > 1)
    if right is not None:
        won &= both[np.arange(len(right)), right]
    return np.asarray(won, dtype=bool)


def _against_shuffles(wins: int, shuffled: Codes, secrets: Codes) -> SignificanceTest:
    """The place of the wins among those of the shuffles; where secrets lie in few ways, no place says much."""
    as_many = 1 + len(shuffled)
    ways = math.lgamma(len(secrets) + 1) - sum(math.lgamma(times + 1) for times in np.bincount(secrets).tolist())
    words = f"against {len(shuffled)} shuffles of the second release's secrets"
    return SignificanceTest(words, (1 + int((shuffled >= wins).sum())) / as_many, max(1 / as_many, math.exp(-ways)))
