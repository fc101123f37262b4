"""Rows on conditions of their own: the model's chances given each row's columns, and what is done where it has none."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from obverse.publish.synthetic import sampling as conditions
from obverse.publish.synthetic.check import drawn_apart
from obverse.publish.synthetic.model import Grouped, Network, fitted, independent, junction, margin
from obverse.publish.synthetic.sampling import Shuffle, conditioned

SIZES = (2, 3, 2, 3, 2)
EDGES = ((0, 1), (1, 2), (0, 2), (2, 3), (3, 4))
ROWS = 20_000


def model(*, apart: bool = False) -> tuple[Network, Any]:
    """A circle of three columns and a tail; and the whole distribution, cell by cell."""
    random = np.random.default_rng(8)
    whole = random.dirichlet(np.full(int(np.prod(SIZES)), 0.7)).reshape(SIZES)
    if apart:
        whole[1, 2] = 0
        whole /= whole.sum()
    tree = junction(SIZES, EDGES)
    axes = tuple(range(len(SIZES)))
    margins = [margin(whole, axes, (i,)) for i in axes]
    tables = fitted(tree, independent(tree, margins), {edge: margin(whole, axes, edge) for edge in EDGES})
    columns = tuple(Grouped(np.arange(size), np.ones(size), margins[i]) for i, size in enumerate(SIZES))
    found = Network(columns, tree, tuple(tables), 1.0)
    joint = np.ones(SIZES)
    for n, clique in enumerate(tree.cliques):
        joint = joint * found.given(n).reshape([SIZES[i] if i in clique else 1 for i in axes])
    return found, joint


@pytest.mark.parametrize("held", [(1, 3), (0, 1), (4,), (0, 1, 2, 3)])
@pytest.mark.parametrize("at_once", [1, 1 << 22])
def test_rows_have_the_models_chances_given_their_own_columns(
    held: tuple[int, ...], at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As near to them as drawing rows one by one explains; the seed is fixed, so that it holds or does not."""
    monkeypatch.setattr(conditions, "AT_ONCE", at_once)
    found, joint = model()
    kinds = np.array(list(product(*(range(SIZES[i]) for i in held))))
    of = np.repeat(np.arange(len(kinds)), ROWS)
    given = {i: kinds[of, n] for n, i in enumerate(held)}
    drawn = conditioned(found, given, Shuffle(b"seed"))
    free = [i for i in range(len(SIZES)) if i not in held]
    assert sorted(drawn) == free
    for n, kind in enumerate(kinds):
        want = joint[tuple(kind[held.index(i)] if i in held else slice(None) for i in range(len(SIZES)))]
        own = np.ravel_multi_index([drawn[i][of == n] for i in free], want.shape)
        have = np.bincount(own, minlength=want.size) / ROWS
        chances = (want / want.sum()).reshape(-1)
        assert 0.5 * np.abs(have - chances).sum() <= drawn_apart(chances, ROWS, len(kinds))


def test_where_the_model_holds_no_such_row_columns_have_their_own_chances() -> None:
    found, _ = model(apart=True)
    rows = np.zeros(ROWS, dtype=np.int64)
    drawn = conditioned(found, {0: rows + 1, 1: rows + 2}, Shuffle(b"seed"))
    have = np.bincount(drawn[2], minlength=2) / ROWS
    assert np.abs(have - found.columns[2].margin).max() < 2 / ROWS


def test_no_row_is_no_row() -> None:
    found, _ = model()
    drawn = conditioned(found, {0: np.zeros(0, dtype=np.int64)}, Shuffle(b"seed"))
    assert {len(one) for one in drawn.values()} == {0}
