"""How much privacy a mechanism surely loses: a lower bound of its epsilon from samples on two neighbouring inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from obverse.attack import binomial
from obverse.attack.events import Event, events, tally
from obverse.core.errors import invariant

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Samples = NDArray[np.int64]


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
    """The largest epsilon that the samples refute at this delta.

    Claim:   if the two samples come from an (epsilon, delta)-DP mechanism on neighbouring inputs, the bound exceeds
             epsilon with chance at most alpha.
    Proof:   an event and a direction are chosen on the first halves, so the counts of the second halves are binomial.
             P, the event's probability on the likelier side, is below its Clopper-Pearson bound `low` with chance at
             most alpha / 2; Q, on the other side, is above `high` with as much. Otherwise P <= exp(epsilon) Q + delta
             gives epsilon >= ln((low - delta) / high).
    Assumes: samples are independent.
    """
    invariant(min(len(left), len(right)) >= 4, "evidence needs samples of both sides")
    event, likelier_is_right = _choose(left[: len(left) // 2], right[: len(right) // 2], delta, alpha)
    likelier, other = left[len(left) // 2 :], right[len(right) // 2 :]
    if likelier_is_right:
        likelier, other = other, likelier
    hits, trials = (event.hits(likelier), event.hits(other)), (len(likelier), len(other))
    return Evidence(refuted(hits, trials, delta=delta, alpha=alpha), delta, alpha, event.words, hits, trials)


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


def _choose(left: Samples, right: Samples, delta: float, alpha: float) -> tuple[Event, bool]:
    """The event that promises the largest bound, and whether it is the likelier one on the right."""
    seen = tally(left, right)
    ranked: list[tuple[float, int, bool]] = []
    family = events(seen)
    for i, event in enumerate(family):
        a, b = seen.hits(event)
        ranked.append((_promise((a, b), (len(left), len(right)), delta, alpha), i, False))
        ranked.append((_promise((b, a), (len(right), len(left)), delta, alpha), i, True))
    _, best, likelier_is_right = max(ranked)
    return family[best], likelier_is_right


def _promise(hits: tuple[int, int], trials: tuple[int, int], delta: float, alpha: float) -> float:
    """About what `refuted` would give, by Bernstein's form of the bounds; only the choice of the event rests on it."""
    weight = math.log(2 / alpha)
    p, q = hits[0] / trials[0], hits[1] / trials[1]
    low = p - math.sqrt(2 * weight * p * (1 - p) / trials[0]) - weight / trials[0] - delta
    high = q + math.sqrt(2 * weight * q * (1 - q) / trials[1]) + weight / trials[1]
    return math.log(low / high) if low > 0 else low - 1e6
