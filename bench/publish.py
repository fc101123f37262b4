"""Speed and error of hierarchies, made again from noise: `python bench/publish.py`."""

from __future__ import annotations

import os
import resource
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import asking
import numpy as np
import publish_solvers

from obverse.core.types import Type
from obverse.engines.files import columns, write_csv, write_parquet
from obverse.publish.hierarchy.spine import Spine, fitted
from obverse.publish.hierarchy.topdown import constrained

SIZES = (1, 50, 3_000, 70_000, 200_000)
SHARES = (0.10, 0.15, 0.20, 0.25, 0.30)  # of rho = 1
TIMES = 100
READ_S = 10.0
LEAST_GAIN = 0.10  # of the cell error at counties and tracts, against one-directional top-down


def made_up(cells: int) -> tuple[Spine, list[Any], list[Any], list[float]]:
    """A spine, the true counts of every level, measurements with continuous noise (for speed and error only), and
    variances.

    Places differ much in how many others they hold, as counties do, and each county has a profile of its own.
    """
    random = np.random.default_rng(cells)
    parents = []
    for above, here in pairwise(SIZES):
        weights = random.pareto(1.5, above) + 0.2
        parents.append(np.repeat(np.arange(above), 1 + random.multinomial(here - above, weights / weights.sum())))
    spine = Spine(("nation", "state", "county", "tract", "block"), tuple(parents))
    people = random.lognormal(3.8, 1.2, SIZES[-1])
    profile = random.dirichlet(np.full(cells, 0.3), SIZES[2])[spine.groups(2)]
    truth = [random.poisson(people * profile.T).astype(np.int64)]
    for level in range(len(SIZES) - 1, 0, -1):
        truth.insert(0, np.add.reduceat(truth[0], spine.starts(level), axis=-1))
    own = [1 / (2 * share) for share in SHARES]
    return spine, truth, [one + random.normal(0, v**0.5, one.shape) for one, v in zip(truth, own)], own


def errors(found: list[Any], truth: list[Any]) -> list[float]:
    return [float(np.abs(a - b).mean()) for a, b in zip(found, truth)]


def speed(cells: int, most_s: float) -> list[dict[str, Any]]:
    """CPU of least squares, projection and rounding over the whole tree, and the gain over top-down alone."""
    spine, truth, measured, own = made_up(cells)
    begun = time.process_time()
    estimates = fitted(spine, measured, own)
    whole = constrained(spine, estimates, None, ())[0]
    cpu = time.process_time() - begun
    for level in range(1, len(SIZES)):
        assert (np.add.reduceat(whole[level], spine.starts(level), axis=-1) == whole[level - 1]).all()
        assert whole[level].min() >= 0
    ours = errors(whole, truth)
    plain = errors(constrained(spine, measured, None, ())[0], truth)
    gain = min(1 - ours[level] / plain[level] for level in (2, 3))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    quadratic, linear = publish_solvers.per_parent(spine, estimates, whole)
    times = (quadratic + linear) / cpu
    print(f"programs for each parent: {quadratic:,.0f} s quadratic, {linear:,.0f} s linear")
    print(f"{cells} cells: error by level {[round(e, 3) for e in ours]}, top-down alone {[round(e, 3) for e in plain]}")
    name = f"hierarchy, {spine.nodes:,} nodes x {cells} cells"
    return [
        asking.bar(f"{name}: CPU", f"{cpu:.2f} s", f"< {most_s:.0f} s", cpu < most_s),
        asking.bar(f"{name}: peak of this process", f"{peak:.2f} GB", "< 1.5 GB", peak < 1.5),
        asking.bar(f"{name}: a QP and an LP per parent", f"{times:,.0f} times", f">= {TIMES} times", times >= TIMES),
        asking.bar(f"{name}: error below top-down alone", f"{gain:.1%}", f">= {LEAST_GAIN:.0%}", gain >= LEAST_GAIN),
    ]


def reading(cells: int) -> list[dict[str, Any]]:
    """How fast `publish check` reads a table back, from CSV and Parquet."""
    random = np.random.default_rng(1)
    values = random.normal(50, 20, cells)
    rows = {"count": np.rint(values).astype(np.int64), "estimate": values, "low": values - 3, "high": values + 3}
    kinds = {"count": int, "estimate": float, "low": float, "high": float}
    types = {name: Type.INTEGER if kind is int else Type.DOUBLE for name, kind in kinds.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        write_csv(rows, types, path)
        write_parquet(rows, types, path.with_suffix(".parquet"))
        begun = time.process_time()
        columns(path, kinds)
        cpu = time.process_time() - begun
    name = f"check, {cells:,} cells read as CSV and Parquet: CPU"
    return [asking.bar(name, f"{cpu:.2f} s", f"< {READ_S:.0f} s", cpu < READ_S)]


def main() -> None:
    print(f"load {os.getloadavg()[0]:.1f} at the start", flush=True)
    raise SystemExit(0 if asking.print_bars(speed(8, 1.0) + speed(64, 10.0) + reading(2_000_000)) else 1)


if __name__ == "__main__":
    main()
