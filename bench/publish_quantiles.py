"""Errors of CDFs against the square-root factorisation, and speed of quantile releases: `python
bench/publish_quantiles.py`.
"""

from __future__ import annotations

import math
import os
import time
from fractions import Fraction
from typing import Any

import asking
import numpy as np

from obverse.core.rng import Rng
from obverse.core.units import Neighbours
from obverse.plan.strategy.matrix import Running
from obverse.plan.strategy.pricing import noise_of
from obverse.publish.folder.metadata import cells_of
from obverse.publish.method import Draft, Entries, Measured, Terms
from obverse.publish.quantiles.leaves import Leaves, isotonic
from obverse.publish.quantiles.lines import Asked, Branches, Sums, variances_of
from obverse.publish.quantiles.method import Quantiles
from obverse.publish.workload import Attribute, Workload

LEAVES = 1024
ROWS = 100_000
RUNS = 40
WITHIN = 1.05  # of the square root's own error


def line(groups: int = 1) -> Quantiles:
    ends = tuple(Fraction(n) for n in range(LEAVES))
    attributes = [Attribute("x", tuple(map(str, range(LEAVES)))), Attribute("g", tuple(map(str, range(groups))))]
    kept = tuple(attributes[: 2 if groups > 1 else 1])
    at = tuple(Fraction(n, 20) for n in range(1, 20))
    return Quantiles(Workload(kept, (tuple(range(len(kept))),)), Leaves(ends, ends, closed=True), at)


def measured(made: Quantiles, draft: Draft, terms: Terms, counts: Any, rng: Rng | None) -> Measured:
    """At rho = 1/2, or epsilon 1."""
    squared = terms.accounting == "zcdp"
    cells = cells_of(made.workload, draft, total=True)
    price = Fraction(1, 2) if squared else Fraction(1)
    noise = noise_of(draft.strategy, cells, terms.neighbours, price, 1, squared=squared)
    exact = draft.strategy.apply(cells, counts.reshape(-1))
    return tuple(
        Entries(b, m, 1.0, None if rng is None else m.sample(e, rng))
        for b, m, e in zip(draft.strategy.blocks, noise, exact)
    )


def square_root(neighbours: Neighbours) -> float:
    """The root of the mean variance of a prefix by the exact square root of the prefix matrix, with real weights,
    rho = 1/2.
    """
    weights = np.cumprod([1.0, *((2 * k - 1) / (2 * k) for k in range(1, LEAVES))])
    columns = np.array([np.concatenate([np.zeros(j), weights[: LEAVES - j]]) for j in range(LEAVES)])
    squares = (columns**2).sum(axis=1)
    moved = squares.max()
    if neighbours is Neighbours.REPLACE:
        moved = (squares[:, None] + squares[None] - 2 * columns @ columns.T).max()
    return math.sqrt(float(moved) * float(np.cumsum(weights**2).mean()))


def least() -> float:
    """What no factorisation of the prefix matrix can beat where a unit comes or goes: its nuclear norm over n."""
    return float((0.5 / np.sin((2 * np.arange(1, LEAVES + 1) - 1) * np.pi / (4 * LEAVES + 2))).sum()) / LEAVES


def rows() -> Any:
    """Made-up incomes: a long tail, many leaves without anybody."""
    random = np.random.default_rng(3)
    return np.bincount(np.minimum(random.lognormal(4.6, 0.7, ROWS), LEAVES - 1).astype(int), minlength=LEAVES)


def gaussian(neighbours: Neighbours) -> list[dict[str, Any]]:
    made = line()
    terms = Terms("zcdp", neighbours)
    counts = rows()
    rng = Rng()
    draft = made.draft(terms)
    told = made.errors(measured(made, draft, terms, counts, None), terms)[0].stddev
    best = square_root(neighbours)
    exact = np.cumsum(counts)
    squares = []
    risen = []
    for _ in range(RUNS):
        found = measured(made, draft, terms, counts, rng)
        over = made.split(found).prefixes(found)[0]
        squares.append(((over - exact) ** 2).mean())
        risen.append(((isotonic(over[None])[0] - exact) ** 2).mean())
    name = f"CDF of {LEAVES:,} leaves, Gaussian, {neighbours.value}"
    seen = math.sqrt(np.mean(squares))
    smooth = math.sqrt(np.mean(risen))
    print(f"{name}: told {told:.4f}, square root {best:.4f}, {RUNS} releases {seen:.3f}, isotonic {smooth:.3f}")
    if neighbours is Neighbours.ADD_REMOVE:
        print(f"  no factorisation errs less than {least():.4f}")
    ratio = told / best
    return [asking.bar(f"{name}: error / square root's", f"{ratio:.4f}", f"<= {WITHIN}", ratio <= WITHIN)]


def laplace() -> list[dict[str, Any]]:
    made = line()
    terms = Terms("pure", Neighbours.ADD_REMOVE)
    draft = made.draft(terms)
    told = made.errors(measured(made, draft, terms, rows(), None), terms)[0].stddev
    tree = Branches(LEAVES, 16)
    equal = variances_of(tree, [1 / len(tree.parts)] * len(tree.parts), squared=False)
    plain = math.sqrt(Asked(LEAVES).errors(tree, equal)[0])
    print(f"CDF of {LEAVES:,} leaves, Laplace: told {told:.3f} by {', '.join(b.name for b in draft.strategy.blocks)}")
    name = f"CDF of {LEAVES:,} leaves, Laplace, epsilon 1: error, 16 branches at equal shares"
    return [asking.bar(name, f"{told:.2f}", f"< {plain:.2f}", told < plain)]


def bands() -> list[dict[str, Any]]:
    """Standard deviations that hold the whole CDF with 95 %: what is used, and what 4,000 made-up noises needed."""
    flat = Sums(LEAVES)
    draws = np.random.default_rng(1).normal(0, 1, (4000, LEAVES))
    wide = np.sqrt(flat.against([1.0], np.zeros(LEAVES))[0])
    needed = float(np.quantile(np.abs(flat.prefixes([draws], [1.0]) / wide).max(axis=1), 0.95))
    used = Terms("zcdp", Neighbours.ADD_REMOVE).together(LEAVES)
    (one,) = flat.maps()
    assert isinstance(one, Running)
    saved = 1 - math.sqrt(one.gap / (2 * one.column_squares))
    print(f"replaced units: {saved:.1%} less noise than twice the longest column has")
    name = f"band of {LEAVES:,} leaves, Gaussian: standard deviations used / needed"
    return [asking.bar(name, f"{used:.2f} / {needed:.2f}", "1 to 1.1", needed < used < 1.1 * needed)]


def speed(groups: int, most_s: float) -> list[dict[str, Any]]:
    """CPU of choosing, measuring made-up counts, and everything after: bands and 19 quantiles of every group."""
    random = np.random.default_rng(groups)
    found = []
    for accounting in ("zcdp", "pure"):
        made = line(groups)
        terms = Terms(accounting, Neighbours.ADD_REMOVE)
        counts = random.poisson(5, (LEAVES, groups))
        begun = time.process_time()
        draft = made.draft(terms)
        planned = time.process_time()
        noisy = measured(made, draft, terms, counts, Rng())
        drawn = time.process_time()
        made.finish(noisy, terms)
        after = time.process_time() - drawn
        name = f"quantiles, {LEAVES:,} leaves x {groups} groups, {accounting}"
        print(f"{name}: choosing {planned - begun:.2f} s, noise {drawn - planned:.2f} s, after it {after:.2f} s")
        cpu = time.process_time() - begun
        found.append(asking.bar(f"{name}: CPU", f"{cpu:.2f} s", f"< {most_s:.0f} s", cpu < most_s))
    return found


def main() -> None:
    print(f"load {os.getloadavg()[0]:.1f} at the start", flush=True)
    bars = [bar for one in Neighbours for bar in gaussian(one)]
    raise SystemExit(0 if asking.print_bars(bars + laplace() + bands() + speed(1, 2.0) + speed(50, 10.0)) else 1)


if __name__ == "__main__":
    main()
