"""Linear and integer programs by HiGHS: bits that agree with noisy sums, and proofs that a bit cannot be otherwise."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from obverse.core.errors import Refused

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bits = NDArray[np.bool_]
    Numbers = NDArray[np.float64]

FEASIBLE, TIME_IS_UP = 0, 1


@dataclass(frozen=True, slots=True)
class Certificate:
    """Bits that all databases which agree with the answers have in common. `decided` tells whether all were settled in time."""

    bits: Bits | None  # some database that agrees; None where there is none, or none was found in time
    certain: Bits
    decided: bool


def bits_by_linear_program(subsets: Bits, answers: Numbers, timeout_s: float = 60.0) -> Bits | None:
    """The x in [0, 1]^n with the least sum of absolute errors, rounded; None where time is up."""
    import numpy as np

    optimize, sparse = _scipy()
    count, people = subsets.shape
    sums, slack = sparse.csc_matrix(subsets.astype(np.float64)), sparse.identity(count, format="csc")
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

    Proof: after some database that agrees, look for one that differs from it in as many open bits as possible. Those that
    differ are not certain. Where no open bit can differ at all, every open bit is proved.
    """
    import numpy as np

    optimize, _ = _scipy()
    people, until = subsets.shape[1], time.monotonic() + timeout_s
    agree = optimize.LinearConstraint(subsets.astype(np.float64), answers - error, answers + error)

    def solved(cost: Numbers) -> Any:
        left = {"time_limit": max(0.01, until - time.monotonic()), "mip_rel_gap": 0.0}  # else nearly the best would do
        return optimize.milp(cost, constraints=agree, integrality=np.ones(people), bounds=optimize.Bounds(0, 1), options=left)

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
        raise Refused("extra_missing", "linear and integer programs need scipy.", fix="pip install 'obverse[attack]'") from None
    return optimize, sparse
