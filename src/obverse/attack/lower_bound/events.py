"""Events by which an observer may tell two databases apart by a whole number: half-lines, single values, low bits,
sets.

Events for real numbers and vectors: the tails of a score, with a coin for outputs that lie exactly at the cut.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from obverse.attack.lower_bound.scores import learned

if TYPE_CHECKING:
    from obverse.attack.lower_bound.scores import Score


Outputs = NDArray[np.int64]
Floats = NDArray[np.float64]


CUTS_MAX = 256  # half-lines and single values that are tried
SET_MAX = 4096  # distinct values up to which sets are tried
LOW_BITS_MAX = 8


class AnyEvent(Protocol):
    """A set of outputs, perhaps with a coin of its own for some of them."""

    @property
    def words(self) -> str: ...

    def hits(self, samples: Any) -> int: ...


@dataclass(frozen=True, slots=True)
class Candidates:
    """Events that may be chosen, by how often each happened in the two samples that choose."""

    left: Floats
    right: Floats
    trials: tuple[int, int]
    event: Callable[[int], AnyEvent]


@dataclass(frozen=True, slots=True)
class Event:
    """A set of outputs: those at least or at most a value, a remainder modulo a power of two, or a list."""

    kind: Literal["at_least", "at_most", "remainder", "among"]
    values: tuple[int, ...]  # the cut; (remainder, modulus); the list

    @property
    def words(self) -> str:
        match self.kind:
            case "at_least":
                return f"output >= {self.values[0]}"
            case "at_most":
                return f"output <= {self.values[0]}"
            case "remainder":
                return f"output mod {self.values[1]} = {self.values[0]}"
            case "among":
                shown = ", ".join(map(str, self.values[:8]))
                return f"output among {{{shown}{', ...' if len(self.values) > 8 else ''}}}"

    def holds(self, outputs: Outputs) -> NDArray[np.bool_]:
        match self.kind:
            case "at_least":
                return outputs >= self.values[0]
            case "at_most":
                return outputs <= self.values[0]
            case "remainder":
                low_bits: Outputs = outputs & (self.values[1] - 1)
                return np.equal(low_bits, self.values[0])
            case "among":
                return np.isin(outputs, np.array(self.values, dtype=np.int64))

    def hits(self, samples: Outputs) -> int:
        return int(np.count_nonzero(self.holds(samples)))


@dataclass(frozen=True, slots=True)
class Tally:
    """The distinct outputs of two samples, and how often each sample has them."""

    values: Outputs
    left: Outputs
    right: Outputs

    def hits(self, event: Event) -> tuple[int, int]:
        held = event.holds(self.values)
        return int(self.left[held].sum()), int(self.right[held].sum())


def tally(left: Outputs, right: Outputs) -> Tally:
    values, place = np.unique(np.concatenate((left, right)), return_inverse=True)
    size = len(values)
    counted_left = np.bincount(place[: len(left)], minlength=size)
    return Tally(values, counted_left, np.bincount(place[len(left) :], minlength=size))


def events(seen: Tally) -> tuple[Event, ...]:
    """The family worth trying on samples like these; chosen on samples that do not judge it."""
    values = seen.values
    counts_left = seen.left
    counts_right = seen.right
    cuts = values[np.unique(np.linspace(0, len(values) - 1, CUTS_MAX).astype(np.int64))]
    common = values[np.argsort(-(counts_left + counts_right), kind="stable")[:CUTS_MAX]]
    found = [Event("at_least", (int(c),)) for c in cuts] + [Event("at_most", (int(c),)) for c in cuts]
    found += [Event("among", (int(c),)) for c in common]
    for bits in range(1, LOW_BITS_MAX + 1):
        found += [Event("remainder", (r, 1 << bits)) for r in range(1 << bits)]
    if len(values) <= SET_MAX:
        order = np.argsort(-(counts_left + 0.5) / (counts_right + 0.5), kind="stable")
        for size in np.unique(np.geomspace(1, len(values), 48).astype(np.int64)):
            found.append(Event("among", tuple(sorted(int(v) for v in values[order[:size]]))))
            found.append(Event("among", tuple(sorted(int(v) for v in values[order[::-1][:size]]))))
    return tuple(found)


def candidates(left: Outputs, right: Outputs) -> Candidates:
    """The family of whole numbers, counted."""
    seen = tally(left, right)
    family = events(seen)
    hits = np.array([seen.hits(event) for event in family], dtype=np.float64)
    return Candidates(hits[:, 0], hits[:, 1], (len(left), len(right)), lambda i: family[i])


Places = NDArray[np.int64]


TRAINED = 0.4  # of the samples that choose: scores are learned on these, cuts are taken from the others
WIDTH_MAX = 32  # numbers of an output that are looked at
MASSES = 40  # cuts of a score for each sample and direction
MASS_LEAST = 1e-3
MASS_MOST = 0.95
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
        values = self.sign * self.score(numbers(samples, self.places))
        beyond = int(np.count_nonzero(values > self.cut))
        at = int(np.count_nonzero(values == self.cut))
        if self.ties in (0.0, 1.0):
            return beyond + at * int(self.ties)
        return beyond + int(np.random.default_rng().binomial(at, self.ties))


def tails(left: NDArray[np.generic], right: NDArray[np.generic]) -> list[Candidates]:
    """Tails of every score, with cuts from both samples: an output that only one side has must not be missed."""
    halves = [int(len(side) * TRAINED) for side in (left, right)]
    places = _telling(left[: halves[0]], right[: halves[1]])
    one = numbers(left, places)
    other = numbers(right, places)
    scores = learned(one[: halves[0]], other[: halves[1]])
    rest = one[halves[0] :], other[halves[1] :]
    return [_cut(Tail(name, score, sign, 0.0, 0.0, places), *rest) for name, score in scores for sign in (1, -1)]


def _telling(left: NDArray[np.generic], right: NDArray[np.generic]) -> Places | None:
    """Of wide outputs the numbers whose means differ most, in standard deviations; None where all can be looked at."""
    if left.ndim < 2 or left[0].size <= WIDTH_MAX:
        return None
    sides = [numbers(side) for side in (left, right)]
    means = [side.mean(axis=0) for side in sides]
    spread = np.sqrt(sides[0].var(axis=0) + sides[1].var(axis=0)) + 1e-9
    return np.sort(np.argsort(-np.abs(means[0] - means[1]) / spread)[:WIDTH_MAX])


def _cut(tail: Tail, left: Floats, right: Floats) -> Candidates:
    sign = tail.sign
    sides = [np.sort(sign * tail.score(side)) for side in (left, right)]
    masses = np.geomspace(MASS_LEAST, MASS_MOST, MASSES)
    places = [np.minimum((len(side) * (1 - masses)).astype(np.int64), len(side) - 1) for side in sides]
    cuts = np.unique(np.concatenate([side[place] for side, place in zip(sides, places)]))
    beyond, reached = (
        np.stack([len(s) - np.searchsorted(s, cuts, side=way) for s in sides]) for way in ("right", "left")
    )
    ties = [np.ones(len(cuts)), np.zeros(len(cuts))]
    likelier = 0 if sign > 0 else 1
    at = reached[likelier] - beyond[likelier]
    for mass in (0.01, 0.05, 0.2):  # a share of an atom that makes the event as likely as this
        ties.append(np.clip((mass * len(sides[likelier]) - beyond[likelier]) / np.maximum(at, 1), 0.0, 1.0))
    share = np.concatenate(ties)
    cut = np.tile(cuts, len(ties))
    hits = np.tile(beyond, len(ties)) + share * np.tile(reached - beyond, len(ties))
    trials = len(left), len(right)
    return Candidates(hits[0], hits[1], trials, lambda i: replace(tail, cut=float(cut[i]), ties=float(share[i])))


def numbers(samples: NDArray[np.generic], places: Places | None = None) -> Floats:
    """Outputs as rows of finite numbers, or some places of them; what is no number is a value of its own."""
    flat = samples[:, None] if samples.ndim == 1 else samples.reshape(len(samples), -1)
    rows = np.asarray(flat if places is None else flat[:, places], dtype=np.float64)
    return np.where(np.isnan(rows), -2 * HUGE, np.clip(rows, -HUGE, HUGE))
