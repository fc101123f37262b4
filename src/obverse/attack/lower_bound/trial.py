"""A mechanism on trial: it is sampled on neighbouring inputs, and whoever claims too small an epsilon is refuted.

Outputs as arrays of numbers. Each is turned into its numbers by itself: what was drawn beside it must not matter.

Else two inputs could be told apart by how a whole batch is written, and an honest mechanism that sometimes says "none"
in place of a number would be refuted.

Pairs of inputs worth trying: where mechanisms over lists of numbers usually break.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from obverse.attack.lower_bound.events import Event
from obverse.attack.lower_bound.evidence import Evidence, choose, epsilon_lower_bound, strongest
from obverse.attack.lower_bound.floating_point import WHOLE_MAX, Supposed
from obverse.core.errors import Refused, invariant

Vector = tuple[float, ...]
VectorPair = tuple[Vector, Vector]
Moves = Literal["one", "all"]  # which numbers neighbours may differ in: one of them, or every one


def pairs(length: int, move: float = 1.0, moves: Moves = "all", base: float = 0.0) -> tuple[VectorPair, ...]:
    """Neighbouring lists of this length in which a number moves by at most `move`.

    All but one flipped, all up, one up, half up and half down, one above while all others are below; each pair is to be
    tried in both directions, which the evidence does.
    """
    invariant(length >= 1, "an input has numbers")
    low: Vector = (base,) * length
    up = base + move

    def raised(places: range) -> Vector:
        return tuple(up if i in places else base for i in range(length))

    found: list[VectorPair] = [(low, raised(range(1))), (low, raised(range(length - 1, length)))]
    if moves == "all" and length > 1:
        half = length // 2
        found += [
            (low, raised(range(length))),
            (low, raised(range(1, length))),
            (raised(range(1)), raised(range(1, length))),
            (raised(range(length - 1)), raised(range(length - 1, length))),
            (raised(range(half)), raised(range(half, length))),
        ]
    return tuple(dict.fromkeys(found))


INT64_END = 2.0**63


@dataclass(frozen=True, slots=True)
class Form:
    """How each output is written: numbers of one shape, as they are; without a shape, a number that stands for its
    words.

    In a form of numbers an output that is no such number, or of another shape, is the number of its words, in every
    place.
    """

    shape: tuple[int, ...] | None
    whole: bool = False  # single whole numbers

    @property
    def width(self) -> int:
        return max(1, math.prod(self.shape or ()))

    def array(self, found: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
        """These outputs. The same output gives the same numbers, in whatever company."""
        if self.shape is None:
            return np.array([_word(one) for one in found], dtype=np.int64)
        numbers = _numbers(found)
        if numbers is not None and numbers.shape[1:] == self.shape and (numbers.dtype.kind in "iu" or not self.whole):
            return numbers if self.shape else numbers.astype(np.int64 if self.whole else np.float64)
        kind = np.int64 if self.whole else np.float64
        return np.array([self._alone(one) for one in found], dtype=kind).reshape(len(found), *self.shape)

    def _alone(self, one: Any) -> Any:
        numbers = _numbers([one])
        if numbers is None or numbers.shape[1:] != self.shape:
            return np.full(self.shape or (), _word(one))
        if self.whole and numbers.dtype.kind == "f":
            value = float(numbers[0])
            return int(value) if value.is_integer() and -INT64_END <= value < INT64_END else _word(one)
        return numbers[0].astype(np.int64) if self.whole else numbers[0]


def form_of(batches: Sequence[Any]) -> Form:
    """The form that fits these; it is to be chosen on other outputs than those that are counted.

    Where some outputs are no numbers, or of several lengths, it is that of most of those that are: the others are told
    apart by their words, and noise on the numbers is seen all the same.
    """
    found = [_numbers(batch) for batch in batches]
    whole = [one for one in found if one is not None]
    if len(whole) < len(found):
        alone = (_numbers([one]) for batch in batches for one in batch)
        whole = [one for one in alone if one is not None and 0 not in one.shape]
    elif len({one.shape[1:] for one in whole}) != 1 or any(0 in one.shape[1:] for one in whole):
        fix = "Give inputs of one length, at least 1. If these are neighbours, the length alone tells them apart."
        raise Refused("bad_outputs", "outputs of the two inputs are not of one length, or empty.", fix=fix)
    shapes = Counter(one.shape[1:] for one in whole)
    if not shapes:
        return Form(None)
    shape = min(shapes, key=lambda one: (-shapes[one], one))
    return Form(shape, shape == () and all(one.dtype.kind in "iu" for one in whole if one.shape[1:] == ()))


def counted(found: Any, n: int) -> Any:
    """What a target gave, if it is n outputs."""
    try:
        fits = len(found) == n and not isinstance(found, (str, bytes, dict, set, frozenset))
    except TypeError:
        fits = False
    if not fits:
        raise Refused("bad_outputs", f"the target was asked for {n} outputs and gave something else.",
                      fix="Return a list or an array of n outputs: numbers, rows of numbers, or texts.")  # fmt: skip
    return found


def _numbers(found: Any) -> NDArray[Any] | None:
    """As an array of numbers; None where one of them is something else, or their lengths differ."""
    try:
        array = np.asarray(found)
    except ValueError:
        return None
    if array.dtype.kind == "b":
        return array.astype(np.int64)
    if array.dtype.kind == "O" and all(isinstance(one, (Real, Decimal)) for one in array.flat):
        with suppress(OverflowError):  # fractions, and whole numbers beyond 64 bits
            return array.astype(np.float64)
    return array if array.dtype.kind in "iuf" else None


def written(one: Any) -> str:
    """An output in words."""
    return repr(one.tolist() if hasattr(one, "tolist") else one)


def _word(one: Any) -> int:
    return int.from_bytes(hashlib.blake2b(written(one).encode(), digest_size=8).digest(), "little", signed=True)


Draw = Callable[[Any, int], Any]  # an input and a number n: n independent outputs
Pair = tuple[Any, Any]
BLOCK = 1 << 18  # numbers that are drawn at a time where outputs are counted
CHOOSING_MAX = 1 << 22  # numbers of a side that choose the event
SEARCHED = 2  # half as many outputs again are spent on finding the worst pair
# pairs are compared by what they rather show than not
PILOT_MIN = 1000
PILOT_ALPHA = 0.5
ALPHA = 0.05
# of an event of outputs that are no numbers
WORDS = 4
WORD_MAX = 60


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
        sure = confidence_words(found.alpha)
        least = f"{found.epsilon:.4g}"
        at = f" at delta {found.delta:g}" if found.delta else ""
        if self.refuted:
            return (
                f"Refuted: the claim of epsilon {self.claimed:g}{at} is false with confidence {sure}. Epsilon is at "
                "least "
                f"{least}: the event '{found.event}' happened {found.hits[0]:,} of {found.trials[0]:,} times on one "
                "input and "
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

    Claim:   if the mechanism is (epsilon, delta)-DP and the pairs are neighbours, the bound exceeds epsilon with a
             chance of at most alpha.
    Proof:   the pair, the form and the events are chosen on other outputs than those that are counted, and the form
             writes each output by itself, which is post-processing; then as epsilon_lower_bound.
    Assumes: outputs are independent draws.
    """
    invariant(len(pairs) >= 1 and samples >= 8, "a trial needs a pair of inputs and some outputs")
    if not 0 <= delta < 1 or (claimed is not None and not 0 <= claimed < math.inf):
        raise Refused("bad_parameter", "a claim has an epsilon of at least 0 and a delta from 0 to below 1.")
    drawn = _Counted(
        draw, samples * 2 + (2 * _pilot(samples, len(pairs)) * len(pairs) if len(pairs) > 1 else 0), progress
    )
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


def _measured(
    draw: _Counted, pair: Pair, samples: int, delta: float, alpha: float, supposed: Supposed | None
) -> Evidence:
    form = form_of([draw(side, min(64, samples // 2)) for side in pair])
    choosing = min(samples // 2, max(10_000, CHOOSING_MAX // form.width))
    seen = [draw(side, choosing) for side in pair]
    chosen = choose(*map(form.array, seen), delta=delta, alpha=alpha, supposed=supposed)
    first = chosen[0][0]
    said = _named(form, first, seen) if form.shape is None and isinstance(first, Event) else None
    del seen
    hits = [[0, 0] for _ in chosen]
    left = samples - choosing
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
