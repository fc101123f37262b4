"""Errors of local protocols beside what they say of themselves; `python bench/local_error.py` prints them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import asking
import numpy as np
import people
from stream import Stream

from obverse.collect.protocols import PROTOCOLS, Direct, LocalProtocol, Several, WordProtocol
from obverse.collect.protocols.base import MeanProtocol
from obverse.collect.protocols.words import bits_for
from obverse.collect.randomness.hashing import mixed

EPSILONS = (Fraction(1), Fraction(3))
PLACES = 64  # of a numeric grid
ROUNDS = 30
PEOPLE = 20_000
SDS = 4.9  # of 40 comparisons one is off by chance in fewer than 2 of 1,000 runs, sds being those of 30 rounds


def keys(codes: Any, protocol: LocalProtocol) -> Any:
    """Items as the protocol takes them: their numbers, or as many hashes of 64 bits, or words of as many bits as
    those have.
    """
    if isinstance(protocol, WordProtocol):
        return mixed(codes.astype(np.uint64)) >> np.uint64(64 - protocol.letters * bits_for(protocol.symbols))
    return mixed(codes.astype(np.uint64)) if protocol.coded == "key" else codes.astype(np.uint64)


def of_shares(protocol: LocalProtocol) -> tuple[float, float]:
    """Squared errors over the variance that is stated, averaged over items and rounds; and the sd of that.

    Items of one round hang together where they share hashes, so the sd is that over rounds, if it is more than for
    errors that are normal and independent.
    """
    rng = Stream()
    size = people.ITEMS
    held = people.items(PEOPLE, people.ITEMS)
    truth = np.bincount(held, minlength=size) / PEOPLE
    items = keys(np.arange(size), protocol)
    ratios = []
    for _ in range(ROUNDS):
        found = protocol.estimate(protocol.fold(protocol.reports(keys(held, protocol), rng)), PEOPLE, items)
        inner = protocol.parts[0] if isinstance(protocol, Several) else protocol  # of one question, as they are fitted
        variance = of_direct(inner, truth) if isinstance(inner, Direct) else found.variance
        ratios.append(float(((found.value - truth) ** 2).sum() / variance.sum()))
    alone = math.sqrt(2 / (ROUNDS * size))
    return float(np.mean(ratios)), max(alone, float(np.std(ratios, ddof=1)) / math.sqrt(ROUNDS))


def of_direct(protocol: Direct, truth: Any) -> Any:
    """The variance of direct response for these shares.

    What is stated has estimates in their place, which are noise here.
    """
    p = float(protocol.own)
    q = float(protocol.other)
    return (truth * p * (1 - p) + (1 - truth) * q * (1 - q)) / (PEOPLE * (p - q) ** 2)


def of_mean(protocol: MeanProtocol) -> tuple[float, float]:
    """Squared errors of the mean over its exact variance, for these people; and the sd of that."""
    rng = Stream()
    rounds = 20 * ROUNDS
    held = people.items(PEOPLE // 10, protocol.size).astype(np.uint64)
    n = len(held)
    truth = float(held.mean()) / (protocol.size - 1)
    counted = np.bincount(held.view(np.int64), minlength=protocol.size)
    exact = sum(float(protocol.spread(place)) * int(many) for place, many in enumerate(counted)) / n**2
    errors = []
    for _ in range(rounds):
        found = protocol.estimate(protocol.fold(protocol.reports(held, rng)), n, held[:0])
        errors.append(found.value[0] - truth)
    return float(np.mean(np.square(errors))) / exact, math.sqrt(2 / rounds)


def bars() -> list[dict[str, Any]]:
    found = []
    for kind in PROTOCOLS:
        for epsilon in EPSILONS:
            protocol = kind.fitted(PLACES if kind.told == "mean" else people.ITEMS, epsilon)
            ratio, sd = of_mean(protocol) if isinstance(protocol, MeanProtocol) else of_shares(protocol)
            what = f"{kind.name}, epsilon {epsilon}: mse / theory"
            found.append(asking.bar(what, f"{ratio:.3f}", f"1 +- {SDS * sd:.3f}", abs(ratio - 1) <= SDS * sd))
    return found


if __name__ == "__main__":
    raise SystemExit(0 if asking.print_bars(bars()) else 1)
