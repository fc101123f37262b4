"""Events for real numbers and vectors: the tails of a score, with a coin for outputs that lie exactly at the cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from obverse.attack.events import Candidates
from obverse.attack.scores import learned

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from obverse.attack.scores import Floats, Score

TRAINED = 0.4  # of the samples that choose: scores are learned on these, cuts are taken from the others
MASSES = 40  # cuts of a score for each sample and direction
MASS_LEAST, MASS_MOST = 1e-3, 0.95
HUGE = 1e60  # stands for infinity and what is near it; minus twice it for what is no number


@dataclass(frozen=True, slots=True)
class Tail:
    """Outputs whose score is beyond the cut, and of those exactly at it a share, by a coin of our own."""

    name: str
    score: Score
    sign: int  # 1: the score is above the cut; -1: below
    cut: float
    ties: float

    @property
    def words(self) -> str:
        side = (">" if self.sign > 0 else "<") + ("=" if self.ties == 1 else "")
        some = f", and {self.ties:.0%} of ties" if 0 < self.ties < 1 else ""
        return f"{self.name} {side} {self.sign * self.cut:.6g}{some}"

    def hits(self, samples: NDArray[np.generic]) -> int:
        import numpy as np

        values = self.sign * self.score(numbers(samples))
        beyond, at = int(np.count_nonzero(values > self.cut)), int(np.count_nonzero(values == self.cut))
        if self.ties in (0.0, 1.0):
            return beyond + at * int(self.ties)
        return beyond + int(np.random.default_rng().binomial(at, self.ties))


def tails(left: NDArray[np.generic], right: NDArray[np.generic]) -> list[Candidates]:
    """Tails of every score, with cuts from both samples: an output that only one side has must not be missed."""
    one, other = numbers(left), numbers(right)
    halves = [int(len(side) * TRAINED) for side in (one, other)]
    scores = learned(one[: halves[0]], other[: halves[1]])
    return [
        _cut(name, score, sign, one[halves[0] :], other[halves[1] :]) for name, score in scores for sign in (1, -1)
    ]


def _cut(name: str, score: Score, sign: int, left: Floats, right: Floats) -> Candidates:
    import numpy as np

    sides = [np.sort(sign * score(side)) for side in (left, right)]
    masses = np.geomspace(MASS_LEAST, MASS_MOST, MASSES)
    places = [np.minimum((len(side) * (1 - masses)).astype(np.int64), len(side) - 1) for side in sides]
    cuts = np.unique(np.concatenate([side[place] for side, place in zip(sides, places)]))
    beyond, reached = (np.stack([len(s) - np.searchsorted(s, cuts, side=way) for s in sides]) for way in ("right", "left"))
    ties = [np.ones(len(cuts)), np.zeros(len(cuts))]
    likelier = 0 if sign > 0 else 1
    at = reached[likelier] - beyond[likelier]
    for mass in (0.01, 0.05, 0.2):  # a share of an atom that makes the event as likely as this
        ties.append(np.clip((mass * len(sides[likelier]) - beyond[likelier]) / np.maximum(at, 1), 0.0, 1.0))
    share, cut = np.concatenate(ties), np.tile(cuts, len(ties))
    hits = np.tile(beyond, len(ties)) + share * np.tile(reached - beyond, len(ties))
    trials = len(left), len(right)
    return Candidates(hits[0], hits[1], trials, lambda i: Tail(name, score, sign, float(cut[i]), float(share[i])))


def numbers(samples: NDArray[np.generic]) -> Floats:
    """Outputs as rows of finite numbers; what is no number is a value of its own."""
    import numpy as np

    rows = np.asarray(samples, dtype=np.float64)
    rows = rows[:, None] if rows.ndim == 1 else rows.reshape(len(rows), -1)
    return np.where(np.isnan(rows), -2 * HUGE, np.clip(rows, -HUGE, HUGE))
