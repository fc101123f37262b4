"""Tables as sums of effects: the total, each attribute's own deviations, those of pairs, and so on.

Let e_A be the table of the attributes A, centred in each of them (every sum along an attribute is zero). A table W is the
sum over A within W of e_A spread evenly over the rest: divided by the number of cells of W without A. Effects of different
sets of attributes are orthogonal, so estimates of them can be made one by one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from obverse.publish.workload import Table, Workload, subsets

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Effect:
    """An unbiased estimate of e_A, whose noise has covariance variance x (the projection that centres)."""

    values: Floats
    variance: float


def centred(values: Floats, axes: tuple[int, ...] | None = None) -> Floats:
    """Less its means along each axis."""
    for axis in range(values.ndim) if axes is None else axes:
        values = values - values.mean(axis=axis, keepdims=True)
    return values


def within(table: Floats, of: Table, part: Table) -> Floats:
    """The effect of `part` in a table of the attributes `of`: added up over the rest, then centred."""
    rest = tuple(axis for axis, name in enumerate(of) if name not in part)
    return centred(table.sum(axis=rest) if rest else table)


def rebuilt(workload: Workload, table: Table, effects: Mapping[Table, Effect]) -> Floats:
    """The table from its effects."""
    import numpy as np

    found = np.zeros(workload.shape(table))
    for part in subsets(table):
        if part in effects:
            spread = workload.cells(table) // workload.cells(part)
            shape = [workload.attributes[i].cells if i in part else 1 for i in table]
            found = found + effects[part].values.reshape(shape) / spread
    return found


def centred_share(workload: Workload, part: Table) -> float:
    """The diagonal of the projection that centres: what is left of a cell's variance."""
    return math.prod(1 - 1 / workload.attributes[i].cells for i in part)


def cell_variance(workload: Workload, table: Table, variances: Mapping[Table, float]) -> float:
    """Of each cell of the table, exactly: effects have independent noise, each its own part of the cell."""
    found = 0.0
    for part in subsets(table):
        if part in variances:
            spread = workload.cells(table) // workload.cells(part)
            found += variances[part] * centred_share(workload, part) / spread**2
    return found


def pooled(
    workload: Workload, measured: Mapping[Table, tuple[Floats, float]], effects: tuple[Table, ...]
) -> dict[Table, Effect]:
    """Generalised least squares from noisy tables whose cells have independent noise of one variance each.

    Claim:   the estimates are those of least squares with the tables' variances as weights.
    Proof:   orthogonal effects split the problem. Added up over the c cells of S that fall into one of A, and centred, table S
             gives e_A with noise c var_S times the projection; several such are averaged by their precisions.
    Assumes: each effect is within one of the tables.
    """
    found = {}
    for part in effects:
        weighted, precision = None, 0.0
        for table, (values, variance) in measured.items():
            if set(part) <= set(table):
                one = 1 / (variance * (workload.cells(table) // workload.cells(part)))
                seen = one * within(values, table, part)
                weighted, precision = seen if weighted is None else weighted + seen, precision + one
        assert weighted is not None
        found[part] = Effect(weighted / precision, 1 / precision)
    return found


def pooled_variances(workload: Workload, variances: Mapping[Table, float], effects: tuple[Table, ...]) -> dict[Table, float]:
    """The variances of `pooled`, before anything is measured."""
    found = {}
    for part in effects:
        precision = sum(
            1 / (variance * (workload.cells(table) // workload.cells(part)))
            for table, variance in variances.items()
            if set(part) <= set(table)
        )
        found[part] = 1 / precision
    return found
