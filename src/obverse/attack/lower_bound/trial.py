"""A mechanism on trial: it is sampled on neighbouring inputs, and whoever claims too small an epsilon is refuted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from obverse.attack.lower_bound.events import Event
from obverse.attack.lower_bound.evidence import Evidence, choose, epsilon_lower_bound, strongest
from obverse.attack.lower_bound.outputs import Form, counted, form_of, written
from obverse.attack.lower_bound.reachable import WHOLE_MAX, Supposed
from obverse.core.errors import Refused, invariant

Draw = Callable[[Any, int], Any]  # an input and a number n: n independent outputs
Pair = tuple[Any, Any]
BLOCK = 1 << 18  # numbers that are drawn at a time where outputs are counted
CHOOSING_MAX = 1 << 22  # numbers of a side that choose the event
SEARCHED = 2  # half as many outputs again are spent on finding the worst pair
PILOT_MIN, PILOT_ALPHA = 1000, 0.5  # pairs are compared by what they rather show than not
ALPHA = 0.05
WORDS, WORD_MAX = 4, 60  # of an event of outputs that are no numbers


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found on the worst of some pairs of inputs. It never says that a claim is true."""

    evidence: Evidence
    pair: Pair
    pairs: int
    claimed: float | None = None  # the epsilon that is on trial

    @property
    def refuted(self) -> bool:
        return self.claimed is not None and self.evidence.epsilon > self.claimed

    @property
    def sentence(self) -> str:
        found = self.evidence
        sure, least = confidence_words(found.alpha), f"{found.epsilon:.4g}"
        at = f" at delta {found.delta:g}" if found.delta else ""
        if self.refuted:
            return (
                f"Refuted: the claim of epsilon {self.claimed:g}{at} is false with confidence {sure}. Epsilon is at least "
                f"{least}: the event '{found.event}' happened {found.hits[0]:,} of {found.trials[0]:,} times on one input and "
                f"{found.hits[1]:,} of {found.trials[1]:,} times on its neighbour."
            )
        stands = f"Epsilon {self.claimed:g}{at} is not refuted" if self.claimed is not None else "No claim was tried"
        tried = "these two" if self.pairs == 1 else f"the {self.pairs:,} pairs tried"
        return (
            f"{stands}: from {found.trials[0]:,} counted outputs of each input, epsilon{at} is at least {least} with "
            f"confidence {sure}. Other inputs than {tried}, and rarer events, may tell more."
        )

    def as_json(self) -> dict[str, Any]:
        found = self.evidence
        return {
            "claimed": self.claimed,
            "refuted": self.refuted,
            "epsilon_at_least": found.epsilon,
            "delta": found.delta,
            "confidence": 1 - found.alpha,
            "event": found.event,
            "hits": list(found.hits),
            "trials": list(found.trials),
            "inputs": [_plain(one) for one in self.pair],
            "pairs": self.pairs,
            "sentence": self.sentence,
        }


def trial(
    draw: Draw,
    pairs: Sequence[Pair],
    samples: int,
    *,
    claimed: float | None = None,
    delta: float = 0.0,
    alpha: float = ALPHA,
    progress: Callable[[float], None] = lambda share: None,
) -> Verdict:
    """Look for the worst pair on outputs of its own, then measure it on fresh ones.

    Claim:   if the mechanism is (epsilon, delta)-DP and the pairs are neighbours, the bound exceeds epsilon with a chance of
             at most alpha.
    Proof:   the pair, the form and the events are chosen on other outputs than those that are counted, and the form writes
             each output by itself, which is post-processing; then as epsilon_lower_bound.
    Assumes: outputs are independent draws.
    """
    invariant(len(pairs) >= 1 and samples >= 8, "a trial needs a pair of inputs and some outputs")
    if not 0 <= delta < 1 or (claimed is not None and not 0 <= claimed < math.inf):
        raise Refused("bad_parameter", "a claim has an epsilon of at least 0 and a delta from 0 to below 1.")
    drawn = _Counted(draw, samples * 2 + (2 * _pilot(samples, len(pairs)) * len(pairs) if len(pairs) > 1 else 0), progress)
    pair = pairs[0] if len(pairs) == 1 else _worst(drawn, pairs, _pilot(samples, len(pairs)), delta)
    supposed = Supposed(claimed, _truths(pair)) if claimed else None
    return Verdict(_measured(drawn, pair, samples, delta, alpha, supposed), pair, len(pairs), claimed)


def _pilot(samples: int, pairs: int) -> int:
    return max(PILOT_MIN, samples // (SEARCHED * pairs))


def _worst(draw: _Counted, pairs: Sequence[Pair], samples: int, delta: float) -> Pair:
    found = []
    for a, b in pairs:
        both = draw(a, samples), draw(b, samples)
        left, right = map(form_of(both).array, both)
        found.append(epsilon_lower_bound(left, right, delta=delta, alpha=PILOT_ALPHA).epsilon)
    return pairs[found.index(max(found))]


def _truths(pair: Pair) -> tuple[float, float] | None:
    """The inputs, where each is a number: a mechanism may add its noise to it as it is."""
    plain = [one[0] if isinstance(one, (list, tuple)) and len(one) == 1 else one for one in pair]
    fits = all(isinstance(one, (int, float)) and abs(one) <= WHOLE_MAX for one in plain)
    return (float(plain[0]), float(plain[1])) if fits else None


def _measured(draw: _Counted, pair: Pair, samples: int, delta: float, alpha: float, supposed: Supposed | None) -> Evidence:
    form = form_of([draw(side, min(64, samples // 2)) for side in pair])
    choosing = min(samples // 2, max(10_000, CHOOSING_MAX // form.width))
    seen = [draw(side, choosing) for side in pair]
    chosen = choose(*map(form.array, seen), delta=delta, alpha=alpha, supposed=supposed)
    first = chosen[0][0]
    said = _named(form, first, seen) if form.shape is None and isinstance(first, Event) else None
    del seen
    hits, left = [[0, 0] for _ in chosen], samples - choosing
    while left:
        some = min(left, max(1, BLOCK // form.width))
        for place, side in enumerate(pair):
            outputs = form.array(draw(side, some))
            for counts, (event, _) in zip(hits, chosen):
                counts[place] += event.hits(outputs)
        left -= some
    found = strongest(chosen, [(a, b) for a, b in hits], (samples - choosing,) * 2, delta=delta, alpha=alpha)
    return found if said is None else replace(found, event=said)


def _named(form: Form, event: Event, seen: Sequence[Any]) -> str:
    """An event of outputs that are no numbers, by some of those that it holds; in itself it is about their hashes."""
    distinct = {written(one): one for side in seen for one in side}
    holds = event.holds(form.array(list(distinct.values()))).tolist()
    held = sorted((word for word, held in zip(distinct, holds) if held), key=lambda word: (len(word), word))
    shown = ", ".join(word[:WORD_MAX] for word in held[:WORDS])
    return f"output among {{{shown}{', ...' if len(held) > WORDS else ''}}}"


@dataclass(slots=True)
class _Counted:
    """Draws outputs, and tells how far it has come."""

    draw: Draw
    planned: int
    progress: Callable[[float], None]
    done: int = 0

    def __call__(self, given: Any, n: int) -> Any:
        found = counted(self.draw(given, n), n)
        self.done += n
        self.progress(min(1.0, self.done / self.planned))
        return found


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value if isinstance(value, (int, float, str, bool, type(None))) else repr(value)


def confidence_words(alpha: float) -> str:
    """1 - alpha, rounded down, with as many digits as tell it from 1."""
    digits = 1 - math.floor(math.log10(alpha)) if alpha > 0 else 4
    return f"{math.floor(round((1 - alpha) * 10**digits, 6)) / 10**digits:.{digits}g}"
