"""How much privacy a mechanism surely loses: a lower bound of its epsilon from samples on two neighbouring inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.attack.lower_bound import binomial
from obverse.attack.lower_bound.events import AnyEvent, Candidates, candidates, tails
from obverse.attack.lower_bound.floating_point import Supposed, last_bits, reachable
from obverse.core.errors import invariant

Samples = NDArray[Any]
Floats = NDArray[np.float64]


Chosen = tuple[AnyEvent, bool]  # an event, and whether it is the likelier one on the right
MASS_MIN = 1e-3  # of an event on its likelier side: what is rarer is chance, or needs more samples


@dataclass(frozen=True, slots=True)
class Evidence:
    """Whoever claims (e, delta)-DP with e < epsilon is refuted by this event; wrongly with chance at most alpha."""

    epsilon: float  # zero: nothing is refuted
    delta: float
    alpha: float
    event: str
    hits: tuple[int, int]  # of the event, on the likelier side first
    trials: tuple[int, int]


def epsilon_lower_bound(left: Samples, right: Samples, *, delta: float = 0.0, alpha: float = 1e-9) -> Evidence:
    """The largest epsilon that the samples refute at this delta; outputs are whole numbers, real numbers or rows of
    them.

    Claim:   if the two samples come from an (epsilon, delta)-DP mechanism on neighbouring inputs, the bound exceeds
             epsilon with chance at most alpha.
    Proof:   one event of each group, with a direction, is chosen on the first halves, so the counts of the second
             halves are binomial. P, an event's probability on the likelier side, is below its Clopper-Pearson bound
             `low` with chance at most alpha / 2 over the number of events judged; Q, on the other side, is above `high`
             with as much. Otherwise P <= exp(epsilon) Q + delta gives epsilon >= ln((low - delta) / high). A coin of
             ours for ties is post-processing.
    Assumes: samples are independent.
    """
    invariant(min(len(left), len(right)) >= 4, "evidence needs samples of both sides")
    chosen = choose(left[: len(left) // 2], right[: len(right) // 2], delta=delta, alpha=alpha)
    sides = left[len(left) // 2 :], right[len(right) // 2 :]
    hits = [(event.hits(sides[0]), event.hits(sides[1])) for event, _ in chosen]
    return strongest(chosen, hits, (len(sides[0]), len(sides[1])), delta=delta, alpha=alpha)


def strongest(
    chosen: Sequence[Chosen], hits: Sequence[tuple[int, int]], trials: tuple[int, int], *, delta: float, alpha: float
) -> Evidence:
    """What the strongest of these events refutes, chosen without the samples that are counted here; they share
    alpha.
    """
    found: list[Evidence] = []
    for (event, likelier_is_right), (left, right) in zip(chosen, hits):
        counts, tried = ((right, left), trials[::-1]) if likelier_is_right else ((left, right), trials)
        bound = refuted(counts, tried, delta=delta, alpha=alpha / len(chosen))
        found.append(Evidence(bound, delta, alpha, event.words, counts, tried))
    return max(found, key=lambda evidence: evidence.epsilon)


def evidence_from_counts(
    left: Sequence[int], right: Sequence[int], trials: tuple[int, int], *, delta: float = 0.0, alpha: float = 1e-9
) -> Evidence:
    """The same from counts of events fixed in advance: left[i] and right[i] are how often event i happened.

    Claim:   as epsilon_lower_bound.
    Proof:   the union bound over the events and both directions: each is judged at alpha / (2 * events).
    Assumes: the events were fixed before the samples were drawn.
    """
    invariant(len(left) == len(right) >= 1, "each event is counted on both sides")
    share = alpha / (2 * len(left))
    found: list[Evidence] = []
    for i, (a, b) in enumerate(zip(left, right)):
        for hits, tried in (((a, b), trials), ((b, a), trials[::-1])):
            bound = refuted(hits, tried, delta=delta, alpha=share)
            found.append(Evidence(bound, delta, alpha, f"event {i}", hits, tried))
    return max(found, key=lambda evidence: evidence.epsilon)


def refuted(hits: tuple[int, int], trials: tuple[int, int], *, delta: float, alpha: float) -> float:
    """The largest epsilon that one event, fixed in advance, refutes: ln((low - delta) / high), or zero."""
    low = binomial.lower(hits[0], trials[0], alpha / 2) - delta
    high = binomial.upper(hits[1], trials[1], alpha / 2)
    return max(0.0, math.log(low / high) * (1 - 1e-12)) if low > 0 else 0.0


def choose(
    left: Samples, right: Samples, *, delta: float, alpha: float, supposed: Supposed | None = None
) -> list[Chosen]:
    """Of each group the event that promises the largest bound: tails, last bits, and what the textbook's sampler can
    reach.

    The last two are of real numbers; the third where an attacker supposes something of the noise. What they see is rare
    beside tails, and would not be chosen over them.
    """
    whole = left.ndim == right.ndim == 1 and left.dtype.kind in "biu" and right.dtype.kind in "biu"
    groups = [[candidates(left.astype(np.int64), right.astype(np.int64))]] if whole else [tails(left, right)]
    groups += last_bit_groups(left, right, supposed)
    return [best(group, delta=delta, alpha=alpha) for group in groups]


def last_bit_groups(left: Samples, right: Samples, supposed: Supposed | None) -> list[list[Candidates]]:
    """The groups that look at how real numbers are written; none of whole numbers."""
    groups = [last_bits(left, right), reachable(left, right, supposed) if supposed else []]
    return [group for group in groups if group]


def best(families: Sequence[Candidates], *, delta: float, alpha: float) -> Chosen:
    """The most promising event of some families, and whether it is the likelier one on the right.

    All events share alpha here, so that the best of many by chance is not preferred; and none is rarer than MASS_MIN.
    """
    weight = math.log(4 * sum(len(one.left) for one in families) / alpha)
    found: tuple[float, Candidates, int, bool] | None = None
    for one in families:
        n, m = one.trials
        p = one.left / n
        q = one.right / m
        for swapped in (False, True):
            promised = _promise(q, p, (m, n), delta, weight) if swapped else _promise(p, q, (n, m), delta, weight)
            place = int(np.argmax(promised))
            if found is None or promised[place] > found[0]:
                found = float(promised[place]), one, place, swapped
    invariant(found is not None, "there are events to choose from")
    assert found is not None
    return found[1].event(found[2]), found[3]


def _promise(p: Floats, q: Floats, trials: tuple[int, int], delta: float, weight: float) -> Floats:
    """About what `refuted` would give, by Bernstein's form of the bounds; only the choice of the event rests on it."""
    low = p - np.sqrt(2 * weight * p * (1 - p) / trials[0]) - weight / trials[0] - delta
    high = q + np.sqrt(2 * weight * q * (1 - q) / trials[1]) + weight / trials[1]
    found: Floats = np.where(low > 0, np.log(np.maximum(low, 1e-300) / high), low - 1e6)
    return np.where(p >= MASS_MIN, found, found - 1e7)
