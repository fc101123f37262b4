"""What a quadratic and a linear program for each parent would take: timed on sampled parents of each level, times their
number.

The quadratic program is scipy's non-negative least squares over all cells of all children: their estimates, the places'
own totals, and the parent's sums as rows of large weight. Above JOINT_MAX numbers it goes cell by cell without totals,
which takes less, so that the whole is told too small rather than too large. The linear one, by HiGHS, is controlled
rounding of all cells: each number up or down, cells' sums exact, places' totals near.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy import optimize, sparse

from obverse.publish.hierarchy.spine import Spine

SAMPLED = 24  # parents of each level
HEAVY = 1e3
JOINT_MAX = 600


def quadratic(estimates: Any, sums: Any) -> Any:
    """The nearest numbers without negatives that add up to each cell's sum."""
    cells, nodes = estimates.shape
    if cells * nodes > JOINT_MAX:
        design = np.vstack([np.eye(nodes), np.full((1, nodes), HEAVY)])
        return np.array([optimize.nnls(design, np.append(row, HEAVY * sum_))[0] for row, sum_ in zip(estimates, sums)])
    totals = np.kron(np.ones((1, cells)), np.eye(nodes))
    adding = np.kron(np.eye(cells), np.ones((1, nodes)))
    design = np.vstack([np.eye(cells * nodes), totals, HEAVY * adding])
    goal = np.concatenate([estimates.reshape(-1), estimates.sum(axis=0), HEAVY * sums])
    return optimize.nnls(design, goal)[0].reshape(cells, nodes)


def linear(near: Any, sums: Any) -> Any:
    """Whole numbers next to them that add up."""
    cells, nodes = near.shape
    floors = np.floor(near)
    fraction = (near - floors).reshape(-1)
    adding = sparse.kron(sparse.eye_array(cells), np.ones((1, nodes)))
    totals = sparse.csr_array(sparse.kron(np.ones((1, cells)), sparse.eye_array(nodes)))
    rest = np.clip(sums - floors.sum(axis=1), 0, nodes)
    most = np.ceil(totals @ fraction) + 1
    found = optimize.linprog(
        1 - 2 * fraction,
        A_eq=sparse.csr_array(adding),
        b_eq=rest,
        A_ub=totals,
        b_ub=most,
        bounds=(0, 1),
        method="highs",
    )
    return floors if found.x is None else floors + np.rint(found.x).reshape(cells, nodes)


def per_parent(spine: Spine, estimates: list[Any], whole: list[Any]) -> tuple[float, float]:
    """CPU of both for all parents, by the mean of sampled ones: of quadratic programs, and of linear ones."""
    random = np.random.default_rng(1)
    total = [0.0, 0.0]
    for level in range(1, len(spine.sizes)):
        starts = np.append(spine.starts(level), spine.sizes[level])
        chosen = random.choice(spine.sizes[level - 1], min(SAMPLED, spine.sizes[level - 1]), replace=False)
        took = np.zeros(2)
        for parent in chosen.tolist():
            here = slice(int(starts[parent]), int(starts[parent + 1]))
            sums = whole[level - 1][:, parent].astype(float)
            begun = time.process_time()
            near = quadratic(estimates[level][:, here], sums)
            between = time.process_time()
            linear(near, sums)
            took += [between - begun, time.process_time() - between]
        each = took / len(chosen)
        print(f"  {spine.names[level]}: {1e3 * each[0]:.1f} ms and {1e3 * each[1]:.1f} ms for a parent", flush=True)
        total = [a + float(b) * spine.sizes[level - 1] for a, b in zip(total, each)]
    return total[0], total[1]
