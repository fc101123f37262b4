"""Decoding of Bloom filters by regression: which candidates explain the bits that were sent, how many people each has,
and which share of people none of them explains.

Words that nobody listed: which of them reports tell, how surely, and how many people it takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.collect.protocols import WordProtocol
from obverse.collect.protocols.base import Bits, Codes, Counts, Doubles
from obverse.collect.protocols.rappor import Rappor
from obverse.collect.protocols.words import Discovered
from obverse.collect.spec import Spec
from obverse.collect.tally import Tally
from obverse.core.errors import Refused
from obverse.core.numbers import several

MISSED = 0.05
USUAL = 0.01  # a share for which the people are told that it takes
PEOPLE_MAX = 10**15


@dataclass(frozen=True, slots=True)
class Discovery:
    """How words were found, and what could have been."""

    found: int
    tested: int  # whole words, in the last step
    false_alarm: float  # the chance that one which nobody sent is among them
    visible: float  # the least share that is nearly always found, among so many reports
    needed: int  # people, for a share of USUAL
    full: bool

    def as_json(self) -> dict[str, Any]:
        return {field: getattr(self, field) for field in self.__slots__}

    def words(self) -> tuple[tuple[str, str], ...]:
        """The same for people: titles and sentences."""
        alarm = f"one that nobody sent is among them with a chance of at most {100 * self.false_alarm:.3g} %"
        found = (
            f"{several(self.found, 'word')} of {self.tested:,} tested; {alarm}" if self.found else "no word stands out"
        )
        seen = (
            f"of so many reports a word of share {self.visible:.2g} is found 19 times in 20"
            if self.visible < 1
            else ("so few reports find no word")
        )
        told = (("Found", found), ("Power", f"{seen}; a share of {USUAL:.0%} takes {self.needed:,} people"))
        return (*told, ("Full", "more stood out than are followed; there may be others")) if self.full else told


def discover(spec: Spec, tally: Tally, false_alarm: float) -> tuple[Discovered, Discovery]:
    """The words that stand out among all reports."""
    protocol = spec.protocol
    if not isinstance(protocol, WordProtocol):
        raise Refused(
            "no_items", "any text may have been sent.", fix="Name the texts whose shares you want: --items FILE."
        )
    found = protocol.discover(tally.counts, tally.n, false_alarm)
    visible = protocol.visible(tally.n, false_alarm, MISSED)
    told = Discovery(len(found.codes), found.tested, false_alarm, visible, people_for(protocol, USUAL), found.full)
    return found, told


def people_for(protocol: WordProtocol, share: float, false_alarm: float = MISSED) -> int:
    """How many people it takes to find a word of this share, with one chance in twenty of missing it."""
    low = 1
    high = PEOPLE_MAX
    while low < high:
        middle = (low + high) // 2
        if protocol.visible(middle, false_alarm, MISSED) <= share:
            high = middle
        else:
            low = middle + 1
    return low


Matrix = NDArray[np.float64]


SCREENED_MAX = 2000  # candidates that the regression takes up, those of the highest score
SOME = 200  # candidates at a time, that memory stays small
SWEEPS_MAX = 500
TIGHT = 1e-7
CHOSEN_AT = 2.5  # standard errors; what is chosen by chance is tested afterwards


@dataclass(frozen=True, slots=True)
class Decoded:
    """For each candidate its share, standard error and p-value, and whether it is found; and the share of those not
    found.

    `leverage` is by how many people's number one crafted report can move a share.
    """

    value: Doubles
    sd: Doubles
    p_value: Doubles
    found: Bits
    unexplained: float
    unexplained_sd: float
    leverage: float


def decode(protocol: Rappor, counts: Counts, candidates: Codes, *, false_alarm: float = 0.05) -> Decoded:
    """Shares of candidates by least squares on those that a non-negative lasso chooses.

    Claim:   the chance that any candidate nobody has is found is about `false_alarm`, whatever the list lacks.
    Proof:   let y be the estimated share of a cohort's people who have a bit, and b the chance that an item has it.
             Shares of all items sum to one, so E[y] - b is the sum of f_v (x_v - b), x_v the bits of v; items that are
             not listed have x_v - b of mean zero over hashes and add to the noise only, which the residuals measure.
             Candidates that are not chosen have share zero and p-value one; p-values of the others, one-sided, are
             compared by Holm's rule as though all candidates had been tested. A bit's weight is that of the rate which
             the chosen ones give it, and of all bits alike while they are chosen: by its own count, bits that are low
             by chance would weigh most.
    Assumes: people enough for normal errors (some thousand); the choice is made on the counts that are tested, so that
             the chance is approximate.
    """
    cohorts, shares, people = _response(protocol, counts)
    weights = _weights(protocol, people, np.full_like(shares, shares.mean()))
    target = shares * weights
    scores = np.zeros(len(candidates))
    for start in range(0, len(candidates), SCREENED_MAX):
        some = _design(protocol, cohorts, weights, candidates[start : start + SCREENED_MAX])
        scores[start : start + SCREENED_MAX] = some.T @ target / np.sqrt((some**2).sum(axis=0))
    kept = np.sort(np.argsort(-scores, kind="stable")[:SCREENED_MAX])
    scaled = _design(protocol, cohorts, weights, candidates[kept])
    gram = scaled.T @ scaled
    taken = _lasso(gram, scaled.T @ target, CHOSEN_AT * np.sqrt(np.diag(gram))) > 0
    chosen = kept[taken]
    likely = scaled[:, taken] @ _least_squares(scaled[:, taken], target)[0] / weights
    first = weights
    weights = _weights(protocol, people, likely)
    scaled *= (weights / first)[:, None]
    target = shares * weights
    own = (scaled**2).sum(axis=0)
    value = np.zeros(len(candidates))
    sd = np.zeros(len(candidates))
    p_value = np.ones(len(candidates))
    value[chosen], covariance = _least_squares(scaled[:, taken], target)
    sd[chosen] = np.sqrt(np.diag(covariance))
    p_value[chosen] = [NormalDist().cdf(-z) for z in value[chosen] / sd[chosen]]
    found = holm(p_value, false_alarm)
    explained, covariance = _least_squares(scaled[:, found[kept]], target)
    unexplained = 1 - float(explained.sum()), float(np.sqrt(covariance.sum()))
    together = np.linalg.pinv(scaled[:, taken])
    moved = _moved(protocol, counts, cohorts, together * weights)
    for start in range(0, len(kept), SOME):  # each as if it were the only one
        alone = scaled[:, start : start + SOME].T / own[start : start + SOME, None]
        moved = max(moved, _moved(protocol, counts, cohorts, alone * weights))
    return Decoded(value, sd, p_value, found, *unexplained, moved)


def _moved(protocol: Rappor, counts: Counts, cohorts: Counts, slopes: Matrix) -> float:
    """By how many people's number one report moves a share at the most, whose slope is known for each bit of each
    cohort.

    Claim:   the largest sum of slopes of one cohort, in absolute value, times max(1 - q, p) / (p - q), times the people
             of all cohorts over those of this one.
    Proof:   a bit counts in its cohort as (bit - q) / (p - q), and people's honest bits are q or p on average; liars
             choose their cohort and all of its bits.
    Assumes: which candidates are chosen, and the weights of bits, stay as they are.
    """
    p = float(protocol.own)
    q = float(protocol.other)
    people = counts[:, -1].sum() / counts[cohorts, -1]
    sums = np.abs(slopes).reshape(len(slopes), len(cohorts), protocol.bits).sum(axis=2)
    return float((sums * people).max(initial=0.0)) * max(1 - q, p) / (p - q)


def _least_squares(scaled: Matrix, target: Doubles) -> tuple[Doubles, Matrix]:
    """The fit and its covariance, which is widened where residuals are larger than coins make them."""
    inverse = np.linalg.pinv(scaled.T @ scaled, hermitian=True)
    fitted = inverse @ (scaled.T @ target)
    freedom = max(1, scaled.shape[0] - scaled.shape[1])
    return fitted, inverse * max(1.0, float(((target - scaled @ fitted) ** 2).sum()) / freedom)


def holm(p_values: Doubles, false_alarm: float) -> Bits:
    """Which of many tests reject, so that none that should not does with more than this chance, however they hang
    together.
    """
    order = np.argsort(p_values, kind="stable")
    limits = false_alarm / np.arange(len(order), 0, -1)
    first = int(np.argmin(np.append(p_values[order] <= limits, False)))
    found = np.zeros(len(order), dtype=np.bool_)
    found[order[:first]] = True
    return found


def _response(protocol: Rappor, counts: Counts) -> tuple[Counts, Doubles, Doubles]:
    """Cohorts with reports; for each of their bits the estimated share less the expected one, and the people of the
    cohort.
    """
    (cohorts,) = np.nonzero(counts[:, -1])
    bits = counts[cohorts, :-1].astype(np.float64)
    people = counts[cohorts, -1:].astype(np.float64)
    p = float(protocol.own)
    q = float(protocol.other)
    shares = (bits / people - q) / (p - q) - _held(protocol)
    return cohorts, shares.reshape(-1), np.broadcast_to(people, bits.shape).reshape(-1)


def _weights(protocol: Rappor, people: Doubles, shares: Doubles) -> Doubles:
    """One over the standard errors of the shares of bits, less the expected one, if these are the true ones."""
    p = float(protocol.own)
    q = float(protocol.other)
    rate = q + (p - q) * np.clip(shares + _held(protocol), 0.0, 1.0)
    found: Doubles = (p - q) * np.sqrt(people / (rate * (1 - rate)))
    return found


def _design(protocol: Rappor, cohorts: Counts, weights: Doubles, candidates: Codes) -> Matrix:
    """Bits of candidates less the expected one, times weights: a row for each bit of each cohort."""
    held = _held(protocol)
    design = np.full((len(cohorts), protocol.bits, len(candidates)), -held)
    rows = np.arange(len(cohorts))[:, None]
    places = np.arange(len(candidates))
    for own in protocol.places(candidates, cohorts.astype(np.uint64)[:, None]):
        design[rows, own, places] = 1 - held
    return design.reshape(-1, len(candidates)) * weights[:, None]


def _held(protocol: Rappor) -> float:
    """The chance that an item has a bit."""
    missed: float = (1 - 1 / protocol.bits) ** protocol.hashes
    return 1 - missed


def _lasso(gram: Matrix, moments: Doubles, penalty: Doubles) -> Doubles:
    """The f >= 0 with the least f gram f / 2 - f (moments - penalty): one coordinate at a time, until none moves."""
    found = np.zeros(len(moments))
    gradient = moments - penalty
    own = np.diag(gram)
    for sweep in range(SWEEPS_MAX):
        moved = 0.0
        for place in range(len(found)) if sweep % 10 == 0 else np.nonzero(found)[0]:
            step = max(float(gradient[place]) / float(own[place]), -float(found[place]))
            if step:
                found[place] += step
                gradient -= step * gram[place]
                moved = max(moved, abs(step))
        if moved < TIGHT and sweep % 10 == 0:
            break
    return found
