"""VAR_POP, VAR_SAMP, STDDEV_POP, STDDEV_SAMP."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from obverse.core.types import Type
from obverse.plan.aggregates.base import Estimate, Noisy, Served, Setting, capped, sums
from obverse.plan.intervals import Floats, half_width, ratio
from obverse.plan.measures import Measure, count_term, square_term, sum_term
from obverse.plan.query import AggregateCall


@dataclass(frozen=True, slots=True)
class Variance:
    """Variance or standard deviation of a bounded number, from noisy count, sum and sum of squares about the middle.

    Claim:   the interval holds the bounded variance with at least the stated level; never negative.
    Proof:   with N, S, Q the true measures, m = S/N and v = Q/N - m^2: Q - 2 m S + (m^2 - v) N = 0, so the same form of
             the noisy ones is pure noise of scales (b_Q, 2|m| b_S, |m^2 - v| b_N), inside q with level 1 - a. Writing
             m' for the noisy mean, that form is N'(v' - v) + N'(m' - m)^2, so v lies in [v' - q/N', v' + d^2 + q/N']
             when
             |m' - m| <= d. A tenth of the error pays for d (Fieller), a tenth for a first interval of v that bounds the
             coefficients, the rest for q.
    Assumes: the argument has bounds; sum and squares are weighted as the count is.
    """

    name: str
    spoken: str
    sample: bool
    root: bool

    def type(self, call: AggregateCall) -> Type:
        return Type.DOUBLE

    def measures(self, call: AggregateCall, setting: Setting) -> tuple[Measure, ...]:
        argument = call.argument
        assert argument is not None
        return (
            capped("count", count_term(argument), setting),
            capped("sum", sum_term(argument, setting.rows, centred=True), setting, paired=True),
            capped("squares", square_term(argument, setting.rows), setting, paired=True),
        )

    def finish(self, served: tuple[Served, ...], call: AggregateCall, setting: Setting, level: float) -> Estimate:
        argument = call.argument
        noisy = sums(served)
        assert argument is not None
        term = sum_term(argument, setting.rows, centred=True)
        radius = float(term.magnitude * term.unit)
        spare = 0.02 * (1 - level) if self.sample else 0.0  # of the error pays for how many there are at least
        estimate = population(noisy, radius, level + spare)
        if self.sample:
            count = np.maximum(noisy[0].values, 2.0)
            fewest = np.maximum(noisy[0].values - noisy[0].half_width(1 - spare), 2.0)
            stretch = count / (count - 1), fewest / (fewest - 1)
            estimate = Estimate(estimate.value * stretch[0], estimate.low, estimate.high * stretch[1])
        if self.root:
            return Estimate(*(np.sqrt(x) for x in (estimate.value, estimate.low, estimate.high)))
        return estimate


def population(noisy: tuple[Noisy, ...], radius: float, level: float) -> Estimate:
    """The population variance and its interval, within [0, radius^2]."""
    count, total, squares = noisy
    gaussian = total.gaussian
    most = radius * radius
    error = 1 - level
    low, high = ratio(total.values, count.values, (total.noise, count.noise), radius, 1 - error / 10, gaussian=gaussian)
    least = count.half_width(1 - error / 10)
    safe = count.values > 2 * least
    divisor = np.where(safe, count.values, 1.0)
    mean = total.values / divisor
    variance = squares.values / divisor - mean**2
    apart = np.maximum(np.abs(mean - low), np.abs(high - mean)) ** 2
    far = np.maximum(np.abs(low), np.abs(high))

    def width(coefficient: Floats, confidence: float) -> Floats:
        noises = [(np.ones_like(mean), squares.noise), (2 * far, total.noise), (coefficient, count.noise)]
        return half_width(noises, confidence, gaussian=gaussian) / divisor

    wide = width(np.full_like(mean, most), 1 - error / 10)
    first = np.clip(variance - wide, 0, most), np.clip(variance + apart + wide, 0, most)
    coefficient = np.maximum(np.maximum(first[1], far**2 - first[0]), 0.0)
    narrow = width(coefficient, 1 - error * 8 / 10)
    ends = np.clip(variance - narrow, 0, most), np.clip(variance + apart + narrow, 0, most)
    value = np.clip(np.where(safe, variance, most / 2), 0, most)
    return Estimate(value, np.where(safe, ends[0], 0.0), np.where(safe, ends[1], most))
