"""Cliques in a tree: running intersections, exact fits, and any pair's table, against the whole distribution."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from obverse.publish.synthetic.check import drawn_apart
from obverse.publish.synthetic.model import Grouped, Junction, Network, cells, fitted, grown, independent, junction
from obverse.publish.synthetic.sampling import Shuffle, sampled

SIZES = (3, 2, 4, 3, 2, 2)
GRAPHS: list[tuple[tuple[int, int], ...]] = [
    (),
    ((0, 1),),
    ((0, 1), (1, 2), (2, 3)),
    ((0, 1), (1, 2), (0, 2), (4, 5)),
    ((0, 1), (1, 2), (2, 3), (0, 3)),  # a circle of four gets a chord
    ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5), (1, 4)),
    tuple(combinations(range(4), 2)),
]


def whole(random: Any) -> Any:
    return random.dirichlet(np.full(int(np.prod(SIZES)), 0.05)).reshape(SIZES)  # far from independent


def margin(joint: Any, part: tuple[int, ...]) -> Any:
    return joint.sum(axis=tuple(i for i in range(len(SIZES)) if i not in part))


def raked(tree: Junction, truth: Any, edges: tuple[tuple[int, int], ...]) -> list[Any]:
    """From independent columns on."""
    start = independent(tree, [margin(truth, (i,)) for i in range(6)])
    return fitted(tree, start, {edge: margin(truth, edge) for edge in edges})


def joint_of(tree: Junction, tables: list[Any]) -> Any:
    """The product of all cliques given their parents."""
    found = np.ones(SIZES)
    for n, clique in enumerate(tree.cliques):
        shared = tree.shared(n)
        above = tables[n].sum(axis=tuple(a for a, i in enumerate(clique) if i not in shared), keepdims=True)
        given = np.divide(tables[n], above, out=np.zeros_like(tables[n]), where=above > 0)
        found = found * given.reshape([SIZES[i] if i in clique else 1 for i in range(len(SIZES))])
    return found


@pytest.mark.parametrize("edges", GRAPHS, ids=str)
def test_every_pair_is_in_a_clique_and_what_two_share_is_in_all_between_them(
    edges: tuple[tuple[int, int], ...],
) -> None:
    tree = junction(SIZES, edges)
    for edge in edges:
        assert any({*edge} <= {*clique} for clique in tree.cliques)
    assert {i for clique in tree.cliques for i in clique} == {*range(6)}
    for n, clique in enumerate(tree.cliques):
        before = {i for one in tree.cliques[:n] for i in one}
        assert {*clique} & before == {*tree.shared(n)}  # running intersection
        assert tree.parents[n] is None or tree.parents[n] < n  # type: ignore[operator]
    assert cells(tree.cliques, SIZES) == sum(int(np.prod([SIZES[i] for i in clique])) for clique in tree.cliques)


@pytest.mark.parametrize("edges", GRAPHS, ids=str)
def test_fits_have_the_wanted_pairs_and_agree_where_cliques_meet(edges: tuple[tuple[int, int], ...]) -> None:
    """Pairs of one distribution can all hold at once; raking comes near in a few walks."""
    truth = whole(np.random.default_rng(len(edges)))
    tree = junction(SIZES, edges)
    tables = raked(tree, truth, edges)
    joint = joint_of(tree, tables)
    assert joint.sum() == pytest.approx(1)
    for n, clique in enumerate(tree.cliques):
        assert np.allclose(margin(joint, clique), tables[n], atol=1e-9)
    for edge in edges:
        assert np.abs(margin(joint, edge) - margin(truth, edge)).sum() < 5e-3
    for i in range(6):
        assert np.abs(margin(joint, (i,)) - margin(truth, (i,))).sum() < 5e-3


@pytest.mark.parametrize("edges", GRAPHS, ids=str)
def test_fits_are_those_of_raking_the_whole_distribution(edges: tuple[tuple[int, int], ...]) -> None:
    """Over all cells at once, from independence on: the nearest to it that has these pairs."""
    truth = whole(np.random.default_rng(len(edges)))
    margins = [margin(truth, (i,)) for i in range(6)]
    dense = np.ones(())
    for one in margins:
        dense = np.multiply.outer(dense, one)
    for _ in range(100):
        for edge in edges:
            ratio = np.divide(margin(truth, edge), margin(dense, edge), where=margin(dense, edge) > 0, out=np.zeros(
                [SIZES[i] for i in edge]))  # fmt: skip
            dense = dense * ratio.reshape([SIZES[i] if i in edge else 1 for i in range(6)])
    tree = junction(SIZES, edges)
    joint = joint_of(tree, fitted(tree, independent(tree, margins), {edge: margin(truth, edge) for edge in edges}))
    assert np.abs(joint - dense).sum() < 0.02


def network(edges: tuple[tuple[int, int], ...]) -> tuple[Network, Any]:
    truth = whole(np.random.default_rng(9))
    tree = junction(SIZES, edges)
    tables = raked(tree, truth, edges)
    joint = joint_of(tree, tables)
    columns = tuple(Grouped(np.arange(n), np.ones(n), margin(joint, (i,))) for i, n in enumerate(SIZES))
    return Network(columns, tree, tuple(tables), 1000.0), joint


@pytest.mark.parametrize("edges", GRAPHS, ids=str)
def test_any_pairs_table_is_that_of_the_whole_distribution(edges: tuple[tuple[int, int], ...]) -> None:
    model, joint = network(edges)
    for a, b in combinations(range(6), 2):
        assert np.allclose(model.pair(a, b), margin(joint, (a, b)), atol=1e-9), (a, b)
        assert np.allclose(model.pair(b, a), margin(joint, (a, b)).T, atol=1e-9), (a, b)


@pytest.mark.parametrize("held", [{}, {2: [1]}, {0: [0, 2], 5: [1]}])
@pytest.mark.parametrize("edges", GRAPHS[3:], ids=str)
def test_rows_have_the_models_distribution_on_any_condition(
    edges: tuple[tuple[int, int], ...], held: dict[int, list[int]]
) -> None:
    """Bounds of rows drawn one by one, but for 1e-9 of all pairs together."""
    model, joint = network(edges)
    for place, values in held.items():
        closed = np.ones(SIZES[place])
        closed[values] = 0
        joint = joint * (1 - closed).reshape([-1 if i == place else 1 for i in range(6)])
    rows, likely = sampled(model, 20_000, Shuffle(b"k"), {i: np.array(values) for i, values in held.items()})
    assert likely == pytest.approx(joint.sum())
    for a, b in combinations(range(6), 2):
        want = margin(joint, (a, b)) / joint.sum()
        have = np.bincount(rows[a] * SIZES[b] + rows[b], minlength=want.size).reshape(want.shape) / 20_000
        assert 0.5 * np.abs(have - want).sum() < drawn_apart(want, 20_000, 15), (a, b)


def test_a_value_of_a_group_is_held_once_however_many_cliques_have_its_column() -> None:
    model, joint = network(GRAPHS[2])  # the second column is in two cliques
    grouped = Grouped(np.array([0, 1, 1]), np.array([1, 0.6, 0.4]), model.columns[1].margin)
    again = Network((model.columns[0], grouped, *model.columns[2:]), model.tree, model.tables, 1000.0)
    rows, likely = sampled(again, 500, Shuffle(b"g"), {1: np.array([2])})
    assert likely == pytest.approx(0.4 * margin(joint, (1,))[1])
    assert {*rows[1].tolist()} == {2}


@pytest.mark.parametrize("edges", GRAPHS, ids=str)
def test_any_triples_table_is_that_of_the_whole_distribution(edges: tuple[tuple[int, int], ...]) -> None:
    model, joint = network(edges)
    for part in combinations(range(6), 3):
        assert np.allclose(model.group_table(part), margin(joint, part), atol=1e-9), part
    assert np.allclose(model.group_table((1, 3, 4, 5)), margin(joint, (1, 3, 4, 5)), atol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_a_tree_that_grows_holds_every_part_and_is_no_larger_than_was_told(seed: int) -> None:
    random = np.random.default_rng(seed)
    parts = []
    for _ in range(6):
        part = tuple(sorted(random.choice(6, size=random.integers(2, 4), replace=False).tolist()))
        told = cells(grown(SIZES, junction(SIZES, tuple(parts)), part), SIZES)
        parts.append(part)
        tree = junction(SIZES, tuple(parts))
        assert cells(tree.cliques, SIZES) <= told
        assert all(any({*one} <= {*clique} for clique in tree.cliques) for one in parts)
        for n, clique in enumerate(tree.cliques):
            before = {i for one in tree.cliques[:n] for i in one}
            assert {*clique} & before == {*tree.shared(n)}  # running intersection
