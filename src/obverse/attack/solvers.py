"""Linear and integer programs by HiGHS: bits that agree with noisy sums, and proofs that a bit cannot be otherwise.

Least squares on the box [0, 1]^n by accelerated projection: secret bits from subset sums, at scale.

All 2^n candidates at once: which databases of n bits agree with every answer? Bits of a word, and counts of ones in it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.core.errors import Refused, invariant

Numbers = NDArray[np.float64]


STEPS_MAX = 2000
STILL = 1e-4  # of a bit: a largest move after which hardly anything is rounded differently


def bits_by_least_squares(subsets: NDArray[np.bool_], answers: Numbers) -> NDArray[np.bool_]:
    """The x in [0, 1]^n that comes closest to the answers, rounded."""
    return box_least_squares(*_normal(subsets, answers)) > 0.5


def box_least_squares(overlaps: Numbers, wanted: Numbers) -> Numbers:
    """Nesterov's steps, projected to the box, and begun anew where they overshoot."""
    steepest = _steepest(overlaps)
    x = np.full(len(wanted), 0.5)
    ahead = x
    momentum = 1.0
    for _ in range(STEPS_MAX):
        moved = np.clip(ahead - (overlaps @ ahead - wanted) / steepest, 0, 1)
        if (ahead - moved) @ (moved - x) > 0:
            momentum = 1.0
        later = (1 + (1 + 4 * momentum * momentum) ** 0.5) / 2
        ahead = moved + (momentum - 1) / later * (moved - x)
        still = np.abs(moved - x).max(initial=0.0) < STILL
        x = moved
        momentum = later
        if still:
            break
    return np.asarray(x)


def _normal(subsets: NDArray[np.bool_], answers: Numbers) -> tuple[Numbers, Numbers]:
    """The normal equations, so that a step costs n^2 however many answers there are.

    What all subsets have in common is taken out, and put back as one equation of ordinary weight: it would else make
    the sum of all bits a thousand times steeper than each of them, and the steps as much smaller.
    """
    rows = subsets.astype(np.float32)  # sums of up to 2^24 ones are exact
    mean = subsets.mean(axis=0)
    middle = float(answers.mean())
    overlaps = (rows.T @ rows).astype(np.float64) - len(rows) * np.outer(mean, mean)
    wanted = rows.T @ (answers - middle).astype(np.float32).astype(np.float64)
    length = float(mean @ mean)
    weight = float(np.trace(overlaps)) / len(mean) / length if length else 0.0
    return overlaps + weight * np.outer(mean, mean), wanted + weight * middle * mean


def _steepest(overlaps: Numbers) -> float:
    """A little more than the largest eigenvalue, by powers from a fixed start."""
    vector = np.cos(np.arange(len(overlaps)))
    size = 1.0
    for _ in range(40):
        vector = overlaps @ vector
        size = float(np.linalg.norm(vector))
        if size == 0:
            return 1.0
        vector /= size
    return 1.05 * size


PEOPLE_MAX = 26
CHUNK = 1 << 20


def consistent(subsets: NDArray[np.bool_], answers: NDArray[np.float64], error: float) -> NDArray[np.uint32]:
    """Every candidate, person i in bit i, whose sums are all within `error` of the answers.

    Proof of its worth (Dinur and Nissim): with all 2^n subsets answered, two candidates that agree within E differ from
    each other in at most 4E people: the sets where one exceeds the other would else tell them apart.
    """
    people = subsets.shape[1]
    invariant(people <= PEOPLE_MAX, "too many people to try every candidate")
    masks = subsets @ (np.uint32(1) << np.arange(people, dtype=np.uint32))
    least = np.ceil(answers - error - 1e-9)
    most = np.floor(answers + error + 1e-9)
    kept = []
    for start in range(0, 1 << people, CHUNK):
        alive = np.arange(start, min(start + CHUNK, 1 << people), dtype=np.uint32)
        for mask, low, high in zip(masks.astype(np.uint32), least, most):
            ones = np.bitwise_count(alive & mask)
            alive = alive[(ones >= low) & (ones <= high)]
            if not len(alive):
                break
        kept.append(alive)
    return np.concatenate(kept)


def bits_of(candidates: NDArray[np.uint32], people: int) -> NDArray[np.bool_]:
    """Candidates as rows of bits."""
    return np.asarray((candidates[:, None] >> np.arange(people, dtype=np.uint32)) & 1 == 1)


Bits = NDArray[np.bool_]


FEASIBLE = 0
TIME_IS_UP = 1


@dataclass(frozen=True, slots=True)
class Certificate:
    """Bits that all databases which agree with the answers have in common.

    `decided` tells whether all were settled in time.
    """

    bits: Bits | None  # some database that agrees; None where there is none, or none was found in time
    certain: Bits
    decided: bool


def bits_by_linear_program(subsets: Bits, answers: Numbers, timeout_s: float = 60.0) -> Bits | None:
    """The x in [0, 1]^n with the least sum of absolute errors, rounded; None where time is up."""
    optimize, sparse = _scipy()
    count, people = subsets.shape
    sums = sparse.csc_matrix(subsets.astype(np.float64))
    slack = sparse.identity(count, format="csc")
    found = optimize.linprog(
        np.concatenate([np.zeros(people), np.ones(count)]),
        A_ub=sparse.vstack([sparse.hstack([sums, -slack]), sparse.hstack([-sums, -slack])], format="csc"),
        b_ub=np.concatenate([answers, -answers]),
        bounds=[(0, 1)] * people + [(0, None)] * count,
        method="highs-ipm",
        options={"time_limit": timeout_s},
    )
    return None if found.x is None else np.asarray(found.x[:people] > 0.5)


def certain_bits(subsets: Bits, answers: Numbers, error: float, timeout_s: float = 60.0) -> Certificate:
    """Which bits are the same in every database whose sums are all within `error` of the answers.

    Proof: after some database that agrees, look for one that differs from it in as many open bits as possible. Those
           that
    differ are not certain. Where no open bit can differ at all, every open bit is proved.
    """
    optimize, _ = _scipy()
    people = subsets.shape[1]
    until = time.monotonic() + timeout_s
    agree = optimize.LinearConstraint(subsets.astype(np.float64), answers - error, answers + error)

    def solved(cost: Numbers) -> Any:
        left = {"time_limit": max(0.01, until - time.monotonic()), "mip_rel_gap": 0.0}  # else nearly the best would do
        return optimize.milp(
            cost, constraints=agree, integrality=np.ones(people), bounds=optimize.Bounds(0, 1), options=left
        )

    first = solved(np.zeros(people))
    if first.x is None:
        return Certificate(None, np.zeros(people, dtype=bool), first.status != TIME_IS_UP)
    bits = first.x > 0.5
    unsettled = np.ones(people, dtype=bool)
    while unsettled.any():
        found = solved(np.where(unsettled, np.where(bits, 1.0, -1.0), 0.0))
        differing = np.zeros(people, dtype=bool) if found.x is None else unsettled & ((found.x > 0.5) != bits)
        if found.status == FEASIBLE and not differing.any():
            return Certificate(bits, unsettled, True)
        unsettled &= ~differing
        if found.status != FEASIBLE and not differing.any():
            return Certificate(bits, np.zeros(people, dtype=bool), False)
    return Certificate(bits, unsettled, True)


def _scipy() -> tuple[Any, Any]:
    try:
        from scipy import optimize, sparse
    except ModuleNotFoundError:
        raise Refused(
            "extra_missing", "linear and integer programs need scipy.", fix="pip install 'obverse[attack]'"
        ) from None
    return optimize, sparse
