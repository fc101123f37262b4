"""Tables as sums of effects: the total, each attribute's own deviations, those of pairs, and so on.

Let e_A be the table of the attributes A, centred in each of them (every sum along an attribute is zero). A table W is
the sum over A within W of e_A spread evenly over the rest: divided by the number of cells of W without A. Effects of
different sets of attributes are orthogonal, so estimates of them can be made one by one.

Weights that make the asked tables' errors least: of effects under Gaussian noise, of whole tables under Laplace noise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from obverse.publish.workload import CELLS_MAX, Table, Workload, subsets

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
    Proof:   orthogonal effects split the problem. Added up over the c cells of S that fall into one of A, and centred,
             table S gives e_A with noise c var_S times the projection; several such are averaged by their precisions.
    Assumes: each effect is within one of the tables.
    """
    found = {}
    for part in effects:
        weighted = None
        precision = 0.0
        for table, (values, variance) in measured.items():
            if set(part) <= set(table):
                one = 1 / (variance * (workload.cells(table) // workload.cells(part)))
                seen = one * within(values, table, part)
                weighted = seen if weighted is None else weighted + seen
                precision = precision + one
        assert weighted is not None
        found[part] = Effect(weighted / precision, 1 / precision)
    return found


def pooled_variances(
    workload: Workload, variances: Mapping[Table, float], effects: tuple[Table, ...]
) -> dict[Table, float]:
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


CANDIDATES_MAX = 48
STEPS = 400
LEAST = 1e-3  # a table with a smaller share is not measured
STEP = 1 << 24  # weights are whole multiples of 1/STEP


def rational(weight: float) -> Fraction:
    """A weight as a fraction with few digits; never zero."""
    return Fraction(max(1, round(weight * STEP)), STEP)


def wanted(workload: Workload, effects: tuple[Table, ...]) -> dict[Table, float]:
    """How much one unit of an effect's variance adds to the mean over tables of a cell's variance."""
    found = dict.fromkeys(effects, 0.0)
    for table in workload.tables:
        for part in effects:
            if set(part) <= set(table):
                found[part] += centred_share(workload, part) / (workload.cells(table) // workload.cells(part)) ** 2
    return {part: weight / len(workload.tables) for part, weight in found.items()}


def of_effects(workload: Workload, effects: tuple[Table, ...], norm: Callable[[Table], float]) -> dict[Table, Fraction]:
    """Shares of rho; `norm` is the squared norm of a unit's move of e_A by itself, in units of its noise.

    Claim:   where a unit comes or goes, no other shares have a smaller mean variance.
    Proof:   minimise sum v_A s_A under sum c_A / s_A = 2 rho, with c_A = norm(A): by Cauchy and Schwarz (sum sqrt(v
             c))^2 <= sum v s sum c / s, and they are equal where s_A is proportional to sqrt(c_A / v_A).
    Assumes: nothing. Where a unit is replaced, variances have the same proportions, but that of the total, which does
             not move when a unit has another cell instead: it is made as small as costs nothing more.
    """
    value = wanted(workload, effects)
    left = {part: centred_share(workload, part) for part in effects}
    precision = {part: math.sqrt(value[part] / left[part]) for part in effects}
    if norm(()) * 2 <= max(norm(part) / left[part] for part in effects):
        precision[()] = max(precision[()], sum(left[part] * precision[part] for part in effects if part))
    found = {part: norm(part) * precision[part] for part in effects}
    most = max(found.values())
    return {part: rational(share / most) for part, share in found.items()}


def candidates(workload: Workload) -> tuple[Table, ...]:
    """Tables that may be measured: those asked for, and unions of them."""
    found = dict.fromkeys(workload.tables)
    everything = tuple(sorted({i for table in workload.tables for i in table}))
    if workload.cells(everything) <= CELLS_MAX:
        found[everything] = None
    for a, b in itertools.combinations(workload.tables, 2):
        both = tuple(sorted({*a, *b}))
        if len(found) < CANDIDATES_MAX and workload.cells(both) <= CELLS_MAX:
            found[both] = None
    return tuple(found)


def of_tables(workload: Workload, effects: tuple[Table, ...]) -> dict[Table, Fraction]:
    """Shares of epsilon for whole tables with Laplace noise, whose variances are 2 / share^2.

    Least squares pools the tables. The mean variance is not convex in the shares, so descent begins from several
    places: each candidate alone where it holds everything, the tables asked for, and all candidates; the best end is
    kept.
    """
    tables = candidates(workload)
    value = wanted(workload, effects)
    worth = np.array([value[part] for part in effects])
    precision = np.array(
        [
            [1 / (2 * (workload.cells(t) // workload.cells(p))) if set(p) <= set(t) else 0.0 for t in tables]
            for p in effects
        ]
    )
    starts = [np.full(len(tables), 1 / len(tables))]
    asked = np.array([t in workload.tables for t in tables], dtype=float)
    starts.append(0.9 * asked / asked.sum() + 0.1 / len(tables))
    starts += [
        0.05 / len(tables) + 0.95 * np.eye(len(tables))[i] for i in range(len(tables)) if (precision[:, i] > 0).all()
    ]
    best = min((_descended(start, precision, worth) for start in starts), key=lambda end: _mean(end, precision, worth))
    kept = _pruned(best, precision)
    return {table: rational(float(share)) for table, share in zip(tables, kept) if share > 0}


def _mean(shares: Floats, precision: Floats, worth: Floats) -> float:
    return float((worth / (precision @ shares**2)).sum())


def _descended(shares: Floats, precision: Floats, worth: Floats) -> Floats:
    """Exponentiated gradient, with steps that shorten where they do not help."""
    now = _mean(shares, precision, worth)
    rate = 0.5
    for _ in range(STEPS):
        held = precision @ shares**2
        gradient = -2 * shares * (precision.T @ (worth / held**2))
        moved = shares * np.exp(-rate * gradient / np.abs(gradient).max())
        moved /= moved.sum()
        then = _mean(moved, precision, worth)
        if then < now:
            shares = moved
            now = then
            rate = min(2.0, rate * 1.2)
        else:
            rate /= 2
            if rate < 1e-6:
                break
    return shares


def _pruned(shares: Floats, precision: Floats) -> Floats:
    """Without tables of hardly any weight, where the others hold everything."""
    kept = np.where(shares >= LEAST, shares, 0.0)
    if not (precision @ kept**2 > 0).all():
        kept = shares
    found: Floats = kept / kept.sum()
    return found
