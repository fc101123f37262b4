"""Rates of our exact samplers beside OpenDP's, measured in the same run: `python bench/samplers.py`."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction

from obverse.core.rng import Rng
from obverse.mechanisms.samplers import discrete_gaussian, discrete_laplace

DRAWS = 100_000
SCALES = (2, 1000, 2**30)


def rate(call: Callable[[], object], repeats: int) -> float:
    """Draws per second, the median of the repeats."""
    call()
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return DRAWS / sorted(taken)[len(taken) // 2]


def opendp_calls() -> dict[tuple[str, int], Callable[[], object]]:
    """OpenDP's samplers of the same noise on a vector of integers; none when it is not installed."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return {}
    dp.enable_features("contrib")
    integers = dp.vector_domain(dp.atom_domain(T=int))
    zeros = [0] * DRAWS
    calls: dict[tuple[str, int], Callable[[], object]] = {}
    for scale in SCALES:
        laplace = dp.m.make_laplace(integers, dp.l1_distance(T=int), scale=float(scale))
        gaussian = dp.m.make_gaussian(integers, dp.l2_distance(T=float), scale=float(scale))
        calls["laplace", scale] = lambda measurement=laplace: measurement(zeros)
        calls["gaussian", scale] = lambda measurement=gaussian: measurement(zeros)
    return calls


def main() -> None:
    rng = Rng()
    theirs = opendp_calls()
    print(f"{DRAWS:,} draws at a time, draws per second (median)")
    print(f"{'noise':<10}{'scale':>12}{'obverse':>14}{'opendp':>12}{'ratio':>8}")
    for name in ("laplace", "gaussian"):
        for scale in SCALES:
            ours = rate(
                (lambda s=scale: discrete_laplace(Fraction(s), DRAWS, rng))
                if name == "laplace"
                else (lambda s=scale: discrete_gaussian(Fraction(s) ** 2, DRAWS, rng)),
                11,
            )
            other = theirs.get((name, scale))
            measured = rate(other, 3) if other else None
            shown = f"{measured:>12,.0f}{ours / measured:>7.0f}x" if measured else f"{'-':>12}{'-':>8}"
            print(f"{name:<10}{scale:>12}{ours:>14,.0f}{shown}")


if __name__ == "__main__":
    main()
