"""Events for real numbers and vectors: the tails of a score, with a coin for outputs that lie exactly at the cut."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from obverse.attack.lower_bound.events import Candidates
from obverse.attack.lower_bound.scores import learned

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from obverse.attack.lower_bound.scores import Floats, Score

    Places = NDArray[np.int64]

TRAINED = 0.4  # of the samples that choose: scores are learned on these, cuts are taken from the others
WIDTH_MAX = 32  # numbers of an output that are looked at
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
    places: Places | None = None  # of wide outputs: the numbers that the score looks at

    @property
    def words(self) -> str:
        side = (">" if self.sign > 0 else "<") + ("=" if self.ties == 1 else "")
        some = f", and {self.ties:.0%} of ties" if 0 < self.ties < 1 else ""
        return f"{self.name} {side} {self.sign * self.cut:.6g}{some}"

    def hits(self, samples: NDArray[np.generic]) -> int:
        import numpy as np

        values = self.sign * self.score(numbers(samples, self.places))
        beyond, at = int(np.count_nonzero(values > self.cut)), int(np.count_nonzero(values == self.cut))
        if self.ties in (0.0, 1.0):
            return beyond + at * int(self.ties)
        return beyond + int(np.random.default_rng().binomial(at, self.ties))


def tails(left: NDArray[np.generic], right: NDArray[np.generic]) -> list[Candidates]:
    """Tails of every score, with cuts from both samples: an output that only one side has must not be missed."""
    halves = [int(len(side) * TRAINED) for side in (left, right)]
    places = _telling(left[: halves[0]], right[: halves[1]])
    one, other = numbers(left, places), numbers(right, places)
    scores = learned(one[: halves[0]], other[: halves[1]])
    rest = one[halves[0] :], other[halves[1] :]
    return [_cut(Tail(name, score, sign, 0.0, 0.0, places), *rest) for name, score in scores for sign in (1, -1)]


def _telling(left: NDArray[np.generic], right: NDArray[np.generic]) -> Places | None:
    """Of wide outputs the numbers whose means differ most, in standard deviations; None where all can be looked at."""
    import numpy as np

    if left.ndim < 2 or left[0].size <= WIDTH_MAX:
        return None
    sides = [numbers(side) for side in (left, right)]
    means = [side.mean(axis=0) for side in sides]
    spread = np.sqrt(sides[0].var(axis=0) + sides[1].var(axis=0)) + 1e-9
    return np.sort(np.argsort(-np.abs(means[0] - means[1]) / spread)[:WIDTH_MAX])


def _cut(tail: Tail, left: Floats, right: Floats) -> Candidates:
    import numpy as np

    sign = tail.sign
    sides = [np.sort(sign * tail.score(side)) for side in (left, right)]
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
    return Candidates(hits[0], hits[1], trials, lambda i: replace(tail, cut=float(cut[i]), ties=float(share[i])))


def numbers(samples: NDArray[np.generic], places: Places | None = None) -> Floats:
    """Outputs as rows of finite numbers, or some places of them; what is no number is a value of its own."""
    import numpy as np

    flat = samples[:, None] if samples.ndim == 1 else samples.reshape(len(samples), -1)
    rows = np.asarray(flat if places is None else flat[:, places], dtype=np.float64)
    return np.where(np.isnan(rows), -2 * HUGE, np.clip(rows, -HUGE, HUGE))
