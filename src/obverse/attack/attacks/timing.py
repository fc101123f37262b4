"""Timing: how long a reply takes tells whether somebody's rows are there.

Breaks interfaces that reply as soon as they can.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from obverse.attack.finding import Finding, Rate, judged, share
from obverse.core.errors import Refused

Times = NDArray[np.float64]
Reply = Callable[[int], object]  # asks the question of this number; nothing where it is not answered


@dataclass(frozen=True, slots=True)
class Timing:
    """Tells from the time of a reply whether it came from the data with one person, or from the data without.

    Every other reply of each side teaches one limit, and on which side of it "with" is said; those between are guessed.
    A trial is one of these; it is won if the guess is right. Both sides are as many, so blind guesses are half right.

    Claim:   two interfaces whose replies do not depend on the side are blamed with a chance of at most alpha.
    Proof:   `measured` draws by chance, from all orders, which of the guessed replies come from which side. Whatever
             the times are, drift and bursts included, of the k that lie above the limit hypergeometrically many are
             "with"; the chance that these win too often is summed for all k in
             tests/unit/attack/attacks/test_timing.py.
    Assumes: a reply is not slower for the side that was asked before it. Times given to `run` were taken in such an
             order.
    """

    name: ClassVar[str] = "timing"
    summary: ClassVar[str] = "Tell from the time of a reply whether somebody's rows are there."
    replies: int = 200  # of each side

    def run(self, present: Times, absent: Times, target: str = "two interfaces") -> Finding:
        """Seconds that replies took, in the order in which they were taken, with one person in the data and without."""
        count = min(len(present), len(absent)) // 2
        limit, slower = learned(present[0 : 2 * count : 2], absent[0 : 2 * count : 2])
        guessed = present[1 : 2 * count : 2], absent[1 : 2 * count : 2]
        wins = int(((guessed[0] > limit) == slower).sum() + ((guessed[1] > limit) != slower).sum())
        figures = {
            "auc": chance_of_slower(present, absent),
            "median_with_ms": 1000 * float(np.median(present)) if len(present) else None,
            "median_without_ms": 1000 * float(np.median(absent)) if len(absent) else None,
            "limit_ms": 1000 * limit,
        }
        told = f"{share(wins, 2 * count)} replies are told apart by how long they took"
        way = f"with the person they are {'slower' if slower else 'faster'}"
        return judged(
            self.name, target, Rate(wins, 2 * count), 0.5, figures=figures,
            leak=f"{told}, where half would be chance: {way}, so a reply's time is an answer without noise.",
            quiet=f"{told}, where half is chance.",
        )  # fmt: skip

    def ask(self, present: Reply, absent: Reply, target: str = "two interfaces", seed: int = 1) -> Finding:
        """Takes the times itself. Each side gets the same questions, in an order that is drawn by chance."""
        return self.run(*measured(present, absent, self.replies, seed), target)

    @staticmethod
    def planted(generator: np.random.Generator) -> Finding:
        """One person's rows cost 0.3 ms, and a reply of about 4 ms varies by half a millisecond, sometimes by much
        more.
        """
        return Timing().run(0.0003 + _played(generator, 2000), _played(generator, 2000), "planted")

    @staticmethod
    def honest(generator: np.random.Generator) -> Finding:
        """The same work, but replies leave at the next tenth of a second; only the way back varies."""
        ticked = [np.ceil(10 * (extra + _played(generator, 2000))) / 10 for extra in (0.0003, 0.0)]
        back = generator.lognormal(-8, 0.5, (2, 2000))
        return Timing().run(ticked[0] + back[0], ticked[1] + back[1], "honest")


def learned(present: Times, absent: Times) -> tuple[float, bool]:
    """The limit that parts the two best, and whether times above it are those with the person.

    Times may be few and equal, as ticks are: a limit lies half way between two of them, as far as can be from both, and
    equal times always lie on the same side of it.
    """
    limits = np.unique(np.concatenate([present, absent]))
    if not len(limits):
        return 0.0, True
    above = [1 - np.searchsorted(np.sort(side), limits, "right") / len(side) for side in (present, absent)]
    gap = above[0] - above[1]
    best = int(np.argmax(np.abs(gap)))
    return float(limits[best : best + 2].mean()), bool(gap[best] > 0)


def chance_of_slower(present: Times, absent: Times) -> float:
    """The chance that a reply with the person takes longer than one without, equal times halved: the area under the
    curve.
    """
    if not len(present) or not len(absent):
        return 0.5
    ordered = np.sort(absent)
    below = np.searchsorted(ordered, present, "left") + np.searchsorted(ordered, present, "right")
    return float(below.mean() / 2 / len(absent))


def measured(present: Reply, absent: Reply, replies: int, seed: int) -> tuple[Times, Times]:
    """Seconds of so many replies of each side, an even number: by turns one that teaches and one to be guessed.

    The two kinds take turns, so that both meet the same drift; the sides of each kind have an order of their own, by
    chance.
    """
    generator = np.random.default_rng(seed)
    half = replies // 2
    orders = np.stack([generator.permutation(np.arange(2 * half) % 2) for _ in ("teaches", "guessed")], axis=1)
    taken = np.zeros((2, half, 2))  # side, which, kind
    given = np.zeros((2, 2), dtype=np.int64)
    for pair in orders.tolist():
        for kind, side in enumerate(pair):
            number = int(given[side].sum()) + 1
            taken[side, given[side, kind], kind] = _elapsed((present, absent)[side], number)
            given[side, kind] += 1
    return taken[0].ravel(), taken[1].ravel()


def _elapsed(reply: Reply, number: int) -> float:
    begun = time.perf_counter()
    answered = reply(number)
    elapsed = time.perf_counter() - begun
    if answered is None:
        raise Refused(
            "not_answered", f"reply {number:,} was not given, so that there are too few times to compare.",
            why="refusals take a time of their own, which says nothing of answers.",
            fix="Ask for fewer replies, or attack a project with a larger budget.",
        )  # fmt: skip
    return elapsed


def _played(generator: np.random.Generator, replies: int) -> Times:
    """Replies of about 4 ms: a bell curve, and every twentieth meets something that takes longer."""
    slow = np.where(generator.random(replies) < 0.05, generator.exponential(0.01, replies), 0.0)
    return np.asarray(generator.normal(0.004, 0.0005, replies) + slow, dtype=np.float64)
