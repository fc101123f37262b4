"""How much privacy a mechanism surely loses: a lower bound of its epsilon from samples on two neighbouring inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from obverse.attack import binomial
from obverse.attack.events import AnyEvent, Candidates, candidates
from obverse.attack.tails import tails
from obverse.core.errors import invariant

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Samples = NDArray[Any]
    Floats = NDArray[np.float64]

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
    """The largest epsilon that the samples refute at this delta; outputs are whole numbers, real numbers or rows of them.

    Claim:   if the two samples come from an (epsilon, delta)-DP mechanism on neighbouring inputs, the bound exceeds
             epsilon with chance at most alpha.
    Proof:   an event and a direction are chosen on the first halves, so the counts of the second halves are binomial.
             P, the event's probability on the likelier side, is below its Clopper-Pearson bound `low` with chance at
             most alpha / 2; Q, on the other side, is above `high` with as much. Otherwise P <= exp(epsilon) Q + delta
             gives epsilon >= ln((low - delta) / high). A coin of ours for ties is post-processing.
    Assumes: samples are independent.
    """
    invariant(min(len(left), len(right)) >= 4, "evidence needs samples of both sides")
    event, likelier_is_right = choose(left[: len(left) // 2], right[: len(right) // 2], delta=delta, alpha=alpha)
    likelier, other = left[len(left) // 2 :], right[len(right) // 2 :]
    if likelier_is_right:
        likelier, other = other, likelier
    return evidence(event, (event.hits(likelier), event.hits(other)), (len(likelier), len(other)), delta=delta, alpha=alpha)


def evidence(event: AnyEvent, hits: tuple[int, int], trials: tuple[int, int], *, delta: float, alpha: float) -> Evidence:
    """What one event, chosen without these samples, refutes."""
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


def choose(left: Samples, right: Samples, *, delta: float, alpha: float) -> tuple[AnyEvent, bool]:
    """The event that promises the largest bound, and whether it is the likelier one on the right.

    All events share alpha here, so that the best of many by chance is not preferred; and none is rarer than MASS_MIN.
    """
    import numpy as np

    whole = left.ndim == right.ndim == 1 and left.dtype.kind in "biu" and right.dtype.kind in "biu"
    families = [candidates(left.astype(np.int64), right.astype(np.int64))] if whole else tails(left, right)
    weight = math.log(4 * sum(len(one.left) for one in families) / alpha)
    best: tuple[float, Candidates, int, bool] | None = None
    for one in families:
        n, m = one.trials
        p, q = one.left / n, one.right / m
        for swapped in (False, True):
            promised = _promise(q, p, (m, n), delta, weight) if swapped else _promise(p, q, (n, m), delta, weight)
            place = int(np.argmax(promised))
            if best is None or promised[place] > best[0]:
                best = float(promised[place]), one, place, swapped
    invariant(best is not None, "there are events to choose from")
    assert best is not None
    return best[1].event(best[2]), best[3]


def _promise(p: Floats, q: Floats, trials: tuple[int, int], delta: float, weight: float) -> Floats:
    """About what `refuted` would give, by Bernstein's form of the bounds; only the choice of the event rests on it."""
    import numpy as np

    low = p - np.sqrt(2 * weight * p * (1 - p) / trials[0]) - weight / trials[0] - delta
    high = q + np.sqrt(2 * weight * q * (1 - q) / trials[1]) + weight / trials[1]
    found: Floats = np.where(low > 0, np.log(np.maximum(low, 1e-300) / high), low - 1e6)
    return np.where(p >= MASS_MIN, found, found - 1e7)
