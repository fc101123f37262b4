"""Made-up rows whose columns hang together in a known tree, and courses walked over their counts."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from obverse.core.rng import Rng
from obverse.core.types import Type
from obverse.core.units import Neighbours
from obverse.plan.strategy.adaptive import Chosen, Ground, Noised, Step, Taken, Walked, walk
from obverse.publish.folder.metadata import cells_of
from obverse.publish.method import Entries, Measured, Terms
from obverse.publish.synthetic.method import Synthetic
from obverse.publish.synthetic.selection import Picking
from obverse.publish.workload import Attribute, Workload

SIZES = (3, 4, 2, 5)
EDGES = ((0, 1), (1, 2), (2, 3))  # a chain, of which each column is mostly the one before it
ROWS = 4000


def planted(rows: int = ROWS, sizes: tuple[int, ...] = SIZES) -> Any:
    random = np.random.default_rng(rows)
    found = [random.integers(0, sizes[0], rows)]
    for size in sizes[1:]:
        kept = random.random(rows) < 0.8
        found.append(np.where(kept, found[-1] % size, random.integers(0, size, rows)))
    return np.array(found).T


def independent(rows: int = ROWS, sizes: tuple[int, ...] = SIZES) -> Any:
    random = np.random.default_rng(rows)
    return np.array([random.integers(0, size, rows) for size in sizes]).T


def method(sizes: tuple[int, ...] = SIZES) -> Synthetic:
    attributes = tuple(Attribute(name, tuple(range(n)), Type.INTEGER) for name, n in zip("abcdefgh", sizes))
    return Synthetic(Workload(attributes, tuple((i,) for i in range(len(sizes)))))


def ground(picking: Picking, terms: Terms, weight: int = 1) -> Ground:
    cells = cells_of(method(picking.sizes).workload, method(picking.sizes).draft(terms), total=True)
    return Ground(cells, terms.neighbours, weight, terms.accounting == "zcdp")


def counts(rows: Any, sizes: tuple[int, ...] = SIZES, weight: int = 1) -> Any:
    found = []
    for part in Picking(sizes).sets:
        shape = [sizes[i] for i in part]
        codes = np.ravel_multi_index([rows[:, i] for i in part], shape)
        found.append(weight * np.bincount(codes, minlength=int(np.prod(shape))))
    return np.concatenate(found)


def releasing(on: Ground, exact: Any, rng: Rng | None) -> Callable[[Step], Taken]:
    """With noise, or without it: then of candidates the best."""

    def release(step: Step) -> Taken:
        if isinstance(step, Chosen):
            scores = step.kernel.scores(on.cells, exact)
            return (np.array([int(scores.argmax())]) if rng is None else step.mechanism.sample(scores, rng),)
        entries = step.strategy.apply(on.cells, exact)
        return tuple(entries if rng is None else [m.sample(e, rng) for m, e in zip(step.mechanisms, entries)])

    return release


def walked(rows: Any, terms: Terms, price: Fraction, rng: Rng | None = None, sizes: tuple[int, ...] = SIZES) -> Walked:
    on = ground(Picking(sizes), terms)
    return walk(Picking(sizes), on, price, releasing(on, counts(rows, sizes), rng))


def read(found: Walked, terms: Terms, price: Fraction, sizes: tuple[int, ...] = SIZES) -> tuple[Synthetic, Measured]:
    """The method with what was chosen, and what was measured."""
    entries = []
    choices = []
    for step, taken in zip(found.steps, found.taken):
        if isinstance(step, Noised):
            entries += [Entries(b, m, 1.0, v) for b, m, v in zip(step.strategy.blocks, step.mechanisms, taken)]
        else:
            choices.append(int(taken[0][0]))
    first = found.steps[0]
    assert isinstance(first, Noised)
    seen = Picking(sizes).look(first, found.taken[0], ground(Picking(sizes), terms), price)
    edges = Picking(sizes).chosen(ground(Picking(sizes), terms), price, found.taken)
    made = method(sizes)
    return Synthetic(made.workload, edges, seen.groups, tuple(choices)), tuple(entries)


TERMS = [Terms(accounting, neighbours) for accounting in ("pure", "zcdp") for neighbours in Neighbours]  # type: ignore[arg-type]
