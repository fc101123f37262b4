"""From noisy columns and tables to a model: least squares, shrinking towards independence, projection and raking.

Tables of three columns: what they tell of pairs, and what they tell beside them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from obverse.publish.rounding import on_simplex
from obverse.publish.synthetic.model import (
    Clique,
    Edge,
    Forest,
    Grouped,
    Network,
    fitted,
    independent,
    junction,
    margin,
    rooted,
    scaled,
)
from obverse.publish.tables.effects import centred

Floats = NDArray[np.float64]


TRIPLE_SWEEPS = 20  # sweeps


@dataclass(frozen=True, slots=True, eq=False)
class Noisy:
    """Counts with noise of one variance."""

    counts: Floats
    variance: float


def pooled(several: Sequence[Noisy]) -> Noisy:
    """Of the same counts, by precision."""
    precision = sum(1 / one.variance for one in several)
    counts: Floats = sum((one.counts / one.variance for one in several), start=0 * several[0].counts) / precision
    return Noisy(counts, 1 / precision)


def pairs_of(tables: Mapping[Clique, Noisy]) -> dict[Edge, Noisy]:
    """All that tables tell of every pair within them.

    Claim:   unbiased, of the variance that is told.
    Proof:   a triple's sums over its third column have its variance times that column's groups; different tables have
             noise of their own, and are averaged by precision.
    Assumes: noise of all cells is independent, and of one variance in each table.
    """
    found: dict[Edge, list[Noisy]] = {}
    for part, table in tables.items():
        for a, b in combinations(part, 2):
            counts = margin(table.counts, part, (a, b))
            found.setdefault((a, b), []).append(Noisy(counts, table.variance * table.counts.size / counts.size))
    return {edge: pooled(several) for edge, several in found.items()}


def third(plain: Floats, noisy: Noisy) -> Floats:
    """A triple's table with the pairs of `plain`, and with what no pair tells as far as it stands out of the noise.

    The deviations that are left when all sums over one column are taken off are shrunk as James and Stein do, made
    non-negative and raked to all three pairs.
    """
    apart = centred(noisy.counts) - centred(plain)
    square = float((apart**2).sum())
    free = math.prod(n - 1 for n in plain.shape)
    kept = max(0.0, 1 - noisy.variance * free / square) if square > 0 else 0.0
    return raked(
        np.maximum(plain + kept * apart, 0), {e: margin(plain, (0, 1, 2), e) for e in combinations(range(3), 2)}
    )


def raked(table: Floats, pairs: Mapping[Edge, Floats], sweeps: int = TRIPLE_SWEEPS) -> Floats:
    for _ in range(sweeps):
        for edge, wanted in pairs.items():
            table = scaled(table, (0, 1, 2), edge, wanted)
    return table


def ratio(wanted: Floats, have: Floats) -> Floats:
    found: Floats = np.divide(wanted, have, out=np.zeros_like(have), where=have > 0)
    return found


Integers = NDArray[np.int64]


# sweeps; independence mixed in, so that no cell is kept out by noise
RAKED = 50
SOFT = 1e-4
SURE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Estimated:
    """One column's unbiased estimates and their variances."""

    counts: Floats
    variances: Floats


def estimated(place: int, own: Noisy, groups: Integers, tables: Mapping[Clique, Noisy]) -> Estimated:
    """A column from its own measurement and from the sums of every table that has it.

    Claim:   least squares of all measurements that have the column, with exact variances.
    Proof:   a table's sum over k cells of the others tells each of the column's groups with k times its cells'
             variance; noise of groups is independent. So is the column's own sum of a group of m values: m times its
             variance. These are averaged by precision; what the group gained goes to its values in equal parts, as
             their variances are equal.
    Assumes: noise of all cells is independent, and of one variance in each table.
    """
    many = int(groups.max()) + 1
    sizes = np.bincount(groups, minlength=many).astype(np.float64)
    sums = added(groups, own.counts)
    precision = 1 / (sizes * own.variance)
    told = sums * precision
    for part, table in tables.items():
        if place in part:
            one = many / (table.variance * table.counts.size)
            told = told + margin(table.counts, part, (place,)) * one
            precision = precision + one
    best = told / precision
    counts = own.counts + ((best - sums) / sizes)[groups]
    variances = own.variance * (1 - 1 / sizes[groups]) + (1 / precision / sizes**2)[groups]
    return Estimated(counts, variances)


def added(groups: Integers, values: Floats) -> Floats:
    """The sum of each group's values."""
    return np.bincount(groups, weights=values, minlength=int(groups.max()) + 1).astype(np.float64)


def total_of(tables: Sequence[Noisy]) -> float:
    """The number of rows, from all tables' sums by precision."""
    weights = [1 / (one.variance * one.counts.size) for one in tables]
    return sum(w * float(one.counts.sum()) for w, one in zip(weights, tables)) / sum(weights)


def fitted_columns(
    groups: Sequence[Integers], ones: Sequence[Noisy], tables: Mapping[Clique, Noisy], estimates: Sequence[Estimated]
) -> tuple[tuple[Grouped, ...], float]:
    """Each column on the simplex, and the number of rows."""
    total = max(1.0, total_of([*ones, *tables.values()]))
    columns = []
    for of, found in zip(groups, estimates):
        missing = (total - found.counts.sum()) * found.variances / found.variances.sum()
        values = on_simplex(found.counts + missing, total) / total
        margin = added(of, values)
        sizes = np.bincount(of, minlength=len(margin))
        within = np.where(margin[of] > 0, values / np.where(margin[of] > 0, margin[of], 1), 1 / sizes[of])
        columns.append(Grouped(of, within, margin))
    return tuple(columns), total


def forest(
    groups: Sequence[Integers], ones: Sequence[Noisy], pairs: Mapping[Clique, Noisy], estimates: Sequence[Estimated]
) -> Forest:
    """Of pairs that close no circle: each fitted to its two columns."""
    columns, total = fitted_columns(groups, ones, pairs, estimates)
    order, parents = rooted(len(columns), tuple((a, b) for a, b in pairs))
    tables = {}
    for child, parent in parents.items():
        edge = (min(child, parent), max(child, parent))
        seen = pairs[edge].counts if edge[0] == parent else pairs[edge].counts.T
        noisy = Noisy(seen / total, pairs[edge].variance / total**2)
        tables[child] = linked(columns[parent].margin, columns[child].margin, noisy)
    return Forest(columns, order, parents, tables, total)


def network(
    groups: Sequence[Integers], ones: Sequence[Noisy], tables: Mapping[Clique, Noisy], estimates: Sequence[Estimated]
) -> Network:
    """Of any tables: each pair fitted to its two columns, all pairs together in a tree of cliques; then triples beside
    them.

    A triple tells of its pairs by its sums, and by itself what no pair tells: that is added to what its pairs make of
    it.
    """
    columns, total = fitted_columns(groups, ones, tables, estimates)
    margins = [one.margin for one in columns]
    wanted: dict[Clique, Floats] = {}
    for (a, b), pair in pairs_of(tables).items():
        wanted[a, b] = linked(margins[a], margins[b], Noisy(pair.counts / total, pair.variance / total**2))
    tree = junction(tuple(len(one) for one in margins), tuple(tables))
    found = fitted(tree, independent(tree, margins), wanted)
    triples: dict[Clique, Floats] = {}
    for part, noisy in tables.items():
        if len(part) > 2:
            at = next(n for n, clique in enumerate(tree.cliques) if {*part} <= {*clique})
            plain = margin(found[at], tree.cliques[at], part)
            triples[part] = third(plain, Noisy(noisy.counts / total, noisy.variance / total**2))
    if triples:
        inside = {pair for part in triples for pair in combinations(part, 2)}
        found = fitted(tree, found, triples | {pair: table for pair, table in wanted.items() if pair not in inside})
    return Network(columns, tree, tuple(found), total)


def linked(above: Floats, here: Floats, pair: Noisy) -> Floats:
    """A pair's table with exactly these margins: its own deviations, as far as they stand out of the noise.

    Deviations from independence are shrunk by the positive part of James and Stein's factor, 1 - variance x degrees of
    freedom / their square. Rows are then projected on what is not negative, and raked to both margins.
    """
    plain = np.outer(above, here)
    rows, columns = plain.shape
    apart = centred(pair.counts) - centred(plain)
    square = float((apart**2).sum())
    kept = max(0.0, 1 - pair.variance * (rows - 1) * (columns - 1) / square) if square > 0 else 0.0
    table = on_simplex_rows(plain + kept * apart, above) + SOFT * plain
    for _ in range(RAKED):
        table = table * ratio(here, table.sum(axis=0))[None, :]
        sums = table.sum(axis=1)
        table = table * ratio(above, sums)[:, None]
        if float(np.abs(sums - above).sum()) < SURE:
            break
    return table


def on_simplex_rows(values: Floats, sums: Floats) -> Floats:
    """Each row's nearest one without negatives that adds up to its sum."""
    rows, many = values.shape
    falling = -np.sort(-values, axis=1)
    above = np.cumsum(falling, axis=1) - sums[:, None]
    count = np.maximum((falling * np.arange(1, many + 1) > above).sum(axis=1), 1)
    level = above[np.arange(rows), count - 1] / count
    found: Floats = np.where(sums[:, None] > 0, np.maximum(values - level[:, None], 0), 0.0)
    return found
