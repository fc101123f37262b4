"""Graph kernels: each bound by brute force over all networks of six people, by search up to 18, and the traps of
cutting.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from obverse.attack.lower_bound.evidence import epsilon_lower_bound
from obverse.core.errors import Refused
from obverse.mechanisms.ladder import Ladder
from obverse.plan.strategy.graph.counts import EdgeCount, Mixing, People
from obverse.plan.strategy.graph.degrees import Degrees, MostConnected, Stars
from obverse.plan.strategy.graph.network import Blocks, Graph, GraphFacts, GraphKernel, Norms, graph_of, projected
from obverse.plan.strategy.graph.registry import GRAPH_KERNELS, kernel_of
from obverse.plan.strategy.graph.triangles import MostShared, Triangles, most_shared, triangles
from obverse.testing.noiseless import SeededRng

PAIRS6 = list(itertools.combinations(range(6), 2))
ALL6 = (np.arange(2**15)[:, None] >> np.arange(15)) & 1 == 1  # every network of six people, a row each
Vectors = Any


def blocks(people: int) -> dict[str, Blocks]:
    return {"party": Blocks(("x", "y"), (np.arange(people) // 2 % 2).astype(np.int64))}


def made(people: int, pairs: Any, here: Any = None) -> Graph:
    """A network by its pairs."""
    facts = GraphFacts("node", people, cap=1, listed=here is not None)
    rows = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
    own = np.array(sorted(here) if here is not None else [], dtype=np.int64)
    columns = {"u": np.concatenate([rows[:, 0], own]), "v": np.concatenate([rows[:, 1], np.full(len(own), -1)])}
    return graph_of(columns, facts)


def moved(norms: Norms, left: Vectors, right: Vectors) -> tuple[float, float]:
    """How much of its bounds a kernel's vectors differ by."""
    gap = np.abs(left - right)
    return gap.sum(axis=-1).max() / norms.l1, (gap**2).sum(axis=-1).max() / norms.squares


def vectors6(kernel: GraphKernel, facts: GraphFacts, edges: Any, here: Any) -> Vectors:
    """The kernel of every network of six people at once; written anew, one person and one pair after the other."""
    many = len(edges)
    kept = edges.copy()
    degrees = np.zeros((many, 6), dtype=np.int64)
    if facts.unit == "node" and not isinstance(kernel, (Mixing, Triangles, Stars)):
        cap = facts.capped("")
        order = np.argsort(_numbers(), kind="stable")
        for e in order:
            a, b = PAIRS6[e]
            kept[:, e] &= (degrees[:, a] < cap) & (degrees[:, b] < cap)
            degrees[:, a] += kept[:, e]
            degrees[:, b] += kept[:, e]
    degrees = np.stack(
        [sum(kept[:, e] for e, pair in enumerate(PAIRS6) if x in pair) for x in range(6)], axis=1
    ).astype(int)
    match kernel:
        case EdgeCount():
            return kept.sum(axis=1, keepdims=True)
        case People():
            return (here if facts.listed else degrees > 0).sum(axis=1, keepdims=True)
        case Degrees():
            code = kernel.blocks(facts).code
            groups = [np.flatnonzero(code == b) for b in range(len(kernel.blocks(facts).labels))]
            if facts.unit == "edge":
                return np.concatenate([np.sort(degrees[:, group], axis=1) for group in groups], axis=1)
            steps = range(kernel.steps(facts))
            at_most = [((degrees <= k) & here)[:, group].sum(axis=1) for group in groups for k in steps]
            return np.stack(at_most, axis=1)
        case Mixing():
            code = facts.blocks["party"].code
            cells = [tuple(sorted((code[a], code[b]))) for a, b in PAIRS6]
            return np.stack(
                [kept[:, [c == cell for c in cells]].sum(axis=1) for cell in ((0, 0), (0, 1), (1, 1))], axis=1
            )
        case Triangles():
            at = {pair: e for e, pair in enumerate(PAIRS6)}
            trios = itertools.combinations(range(6), 3)
            return sum(kept[:, at[x, y]] & kept[:, at[y, z]] & kept[:, at[x, z]] for x, y, z in trios)[:, None].astype(
                int
            )
        case Stars():
            return np.vectorize(lambda d: math.comb(d, kernel.k))(degrees).sum(axis=1, keepdims=True)
    raise AssertionError


def _numbers() -> Any:
    from obverse.plan.strategy.graph.network import _order

    return _order(Graph(6, *(np.array(ends, dtype=np.int64) for ends in zip(*PAIRS6))))


def ends_of(person: int) -> list[int]:
    return [e for e, pair in enumerate(PAIRS6) if person in pair]


NODE = [
    (EdgeCount(), {"cap": 1}), (EdgeCount(), {"cap": 3}), (People(), {"cap": 1}), (People(), {"cap": 3}),
    (Degrees(), {"cap": 1}), (Degrees(), {"cap": 2}), (Degrees(), {"cap": 4}), (Degrees("party"), {"cap": 2}),
    (Mixing("party"), {"degree": 2}), (Mixing("party"), {"degree": 4}), (Triangles(), {"degree": 3}),
    (Triangles(), {"degree": 5}), (Stars(2), {"degree": 3}), (Stars(3), {"degree": 4}),
]  # fmt: skip
EDGE = [
    (EdgeCount(), {}), (People(), {}), (Degrees(), {}), (Degrees("party"), {}), (Mixing("party"), {}),
    (Triangles(), {"degree": 3}), (Triangles(), {"degree": 5}), (Stars(2), {"degree": 4}), (Stars(3), {"degree": 3}),
]  # fmt: skip


def named(case: Any) -> str:
    return f"{case[0].text}-{case[1]}"


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("case", NODE, ids=named)
def test_one_node_moves_a_kernel_by_at_most_its_norms_in_every_network_of_six(case: Any, listed: bool) -> None:
    """All networks of six people and each of them taken away: everybody's place in the order of pairs is tried."""
    kernel, told = case
    facts = GraphFacts("node", 6, listed=listed, blocks=blocks(6), **told)
    norms = kernel.norms(facts)
    here = np.ones((len(ALL6), 6), dtype=bool)
    whole = vectors6(kernel, facts, ALL6, here)
    tight = 0.0
    for person in range(6):
        without = ALL6.copy()
        gone = here.copy()
        without[:, ends_of(person)] = False
        gone[:, person] = not listed  # who is not listed stays, without a connection
        fits = _degrees_of(ALL6).max(axis=1) <= (facts.degree if kernel.promised(facts) else 6)
        found = moved(norms, whole[fits], vectors6(kernel, facts, without, gone)[fits])
        assert max(found) <= 1
        tight = max(tight, found[0])
    assert tight > 0.75  # at a bound of 3/4 the test would fail


def _degrees_of(edges: Any) -> Any:
    return np.stack([edges[:, ends_of(person)].sum(axis=1) for person in range(6)], axis=1)


@pytest.mark.parametrize("case", EDGE, ids=named)
def test_one_edge_moves_a_kernel_by_at_most_its_norms_in_every_network_of_six(case: Any) -> None:
    kernel, told = case
    facts = GraphFacts("edge", 6, blocks=blocks(6), **told)
    norms = kernel.norms(facts)
    here = np.ones((len(ALL6), 6), dtype=bool)
    whole = vectors6(kernel, facts, ALL6, here)
    fits = _degrees_of(ALL6).max(axis=1) <= (facts.degree or 6)
    found = []
    for e in range(15):
        more = np.flatnonzero(fits & ALL6[:, e])
        found.append(moved(norms, whole[more], whole[more - 2**e]))
    assert max(map(max, found)) <= 1
    assert max(one[0] for one in found) > 0.75


def test_the_kernels_are_what_they_are_written_anew() -> None:
    some = np.random.default_rng(0).choice(2**15, 150, replace=False)
    for unit, cases in (("node", NODE), ("edge", EDGE)):
        for kernel, told in cases:
            facts = GraphFacts(unit, 6, listed=unit == "node", blocks=blocks(6), **told)
            here = np.ones((len(some), 6), dtype=bool)
            expected = vectors6(kernel, facts, ALL6[some], here)
            for row, graph in zip(expected, some):
                chosen = [pair for e, pair in enumerate(PAIRS6) if ALL6[graph, e]]
                found = kernel.exact(made(6, chosen, range(6) if unit == "node" else None), facts)
                assert found.tolist() == row.tolist()
                assert len(found) == kernel.entries(facts)


def searched(seed: int, count: int) -> Iterator[tuple[int, set[tuple[int, int]], int]]:
    """Networks of 7 to 18 people, sparse, dense, stars and chains, and one of their people."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        people = int(random.integers(7, 19))
        every = list(itertools.combinations(range(people), 2))
        chosen = {every[i] for i in np.flatnonzero(random.random(len(every)) < random.choice([0.1, 0.3, 0.6]))}
        if random.random() < 0.3:
            chosen = {(i, i + 1) for i in range(people - 1)} | {p for p in chosen if random.random() < 0.1}
        yield people, chosen, int(random.integers(people))


def test_the_search_up_to_18_people_finds_no_node_that_moves_more() -> None:
    for people, chosen, person in searched(1, 120):
        rest = {pair for pair in chosen if person not in pair}
        most = max(np.bincount(np.array(sorted(chosen) or [(0, 1)]).ravel()).max(), 2)
        for kernel in (EdgeCount(), People(), Degrees(), Degrees("party"), Mixing("party"), Triangles(), Stars(2)):
            for listed in (True, False):
                cap = 1 + person % 6
                facts = GraphFacts("node", people, degree=int(most), cap=cap, listed=listed, blocks=blocks(people))
                everybody = set(range(people)) if listed else None
                left = kernel.exact(made(people, chosen, everybody), facts)
                others = everybody - {person} if everybody is not None else None
                right = kernel.exact(made(people, rest, others), facts)
                norms = kernel.norms(facts)
                assert norms is not None
                assert max(moved(norms, left, right)) <= 1, (kernel, people, chosen, person, listed)


def test_the_search_up_to_18_people_finds_no_edge_that_moves_more() -> None:
    for people, chosen, person in searched(2, 120):
        edge = tuple(sorted((person, (person + 1) % people)))
        more = made(people, chosen | {edge})
        rest = made(people, chosen - {edge})
        facts = GraphFacts("edge", people, degree=int(more.degrees.max()), blocks=blocks(people))
        for kernel in (EdgeCount(), Degrees(), Degrees("party"), Mixing("party"), Triangles(), Stars(2), Stars(3)):
            norms = kernel.norms(facts)
            assert norms is not None
            assert max(moved(norms, kernel.exact(more, facts), kernel.exact(rest, facts))) <= 1
        bare = GraphFacts("edge", people)
        for count, reach, step in ((Triangles(), MostShared(), 1), (Stars(2), MostConnected(), 2)):
            assert count.norms(bare) is None
            near = [int(reach.exact(one, bare)[0]) for one in (more, rest)]
            assert abs(near[0] - near[1]) <= 1
            assert abs(count.exact(more, bare)[0] - count.exact(rest, bare)[0]) <= step * min(min(near), people - 2)


# -- the traps: a projection followed by a fixed bound


def test_cutting_bounds_degrees_but_not_what_else_is_counted_of_the_kept_pairs() -> None:
    """A path of 200 people at a cap of 1, one more at its end: all kept pairs change, and 198 move in the mixing
    matrix.
    """
    path = [(i, i + 1) for i in range(1, 200)]
    colour = np.array([0] + [(i - 1) // 2 % 2 for i in range(1, 201)], dtype=np.int64)
    facts = GraphFacts("node", 201, cap=1, degree=2, blocks={"c": Blocks(("a", "b"), colour)})

    def in_order(pairs: list[tuple[int, int]]) -> Graph:
        kept = []
        used = set()
        for pair in pairs:
            if not used & set(pair):
                kept.append(pair)
                used |= set(pair)
        return made(201, kept)

    before = in_order(path)
    after = in_order([(0, 1), *path])
    gap = Mixing("c").exact(before, facts) - Mixing("c").exact(after, facts)
    assert np.abs(gap).sum() == 198
    norms = Mixing("c").norms(facts)
    assert norms is not None
    assert norms.l1 == 2  # of the promise: nothing is cut for it
    assert np.abs(before.degrees - after.degrees)[1:].sum() <= 1  # what cutting does bound


@pytest.mark.parametrize(("cap", "many"), [(2, 2), (3, 4), (4, 6)])
def test_triangles_after_cutting_move_by_twice_what_the_cap_says(cap: int, many: int) -> None:
    """Two groups of cap + 1 who all know each other, and one edge between them that comes first: both lose an edge
    for it.
    """
    from obverse.plan.strategy.graph.network import _order

    every = made(30, itertools.combinations(range(30), 2))
    first = int(np.argmin(_order(every)))
    one = int(every.low[first])
    other = int(every.high[first])
    rest = [person for person in range(30) if person not in (one, other)]
    groups = [one, *rest[:cap]], [other, *rest[cap : 2 * cap]]
    chosen = {tuple(sorted(pair)) for group in groups for pair in itertools.combinations(group, 2)}
    before = triangles(projected(made(30, chosen), cap))
    assert before - triangles(projected(made(30, chosen | {(one, other)}), cap)) == many
    assert many == 2 * (cap - 1)


def test_nothing_but_degrees_and_their_sum_is_cut() -> None:
    """A kernel that counts anything else of a network whose nodes are protected holds under the promise, of uncut
    edges.
    """
    star = made(8, [(0, i) for i in range(1, 8)], range(8))
    facts = GraphFacts("node", 8, degree=7, cap=2, listed=True, blocks=blocks(8))
    for kernel in (Mixing("party"), Triangles(), Stars(2)):
        assert kernel.promised(facts)
        assert (
            kernel.exact(star, facts).tolist() == kernel.exact(star, GraphFacts("edge", 8, blocks=blocks(8))).tolist()
        )
    assert EdgeCount().exact(star, facts).tolist() == [2]


# -- counting


def test_triangles_and_shared_friends_are_counted_as_by_hand() -> None:
    for people, chosen, _ in searched(4, 60):
        table = np.zeros((people, people), dtype=int)
        for a, b in chosen:
            table[a, b] = table[b, a] = 1
        graph = made(people, chosen)
        square = table @ table
        assert triangles(graph) == int((square * table).sum()) // 6
        assert most_shared(graph) == int((square - np.diag(np.diag(square))).max())


def test_shared_friends_of_many_people_are_counted_beyond_the_first_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("obverse.plan.strategy.graph.triangles.AT_ONCE", 50)
    monkeypatch.setattr("obverse.plan.strategy.graph.triangles.DENSE", 70)
    ring = {tuple(sorted((i, (i + step) % 300))) for i in range(300) for step in (1, 2, 3)}
    assert most_shared(made(300, ring)) == 4
    assert triangles(made(300, ring)) == 3 * 300


def test_cutting_in_rounds_is_cutting_one_after_the_other() -> None:
    from obverse.plan.strategy.graph.network import _order

    for people, chosen, person in searched(5, 120):
        graph = made(people, chosen)
        cap = 1 + person % 4
        used = np.zeros(people, dtype=int)
        kept = set()
        for e in np.argsort(_order(graph)):
            a = int(graph.low[e])
            b = int(graph.high[e])
            if used[a] < cap and used[b] < cap:
                used[[a, b]] += 1
                kept.add((a, b))
        found = projected(graph, cap)
        assert set(zip(found.low.tolist(), found.high.tolist())) == kept


def test_rows_are_pairs_whatever_their_direction_and_number() -> None:
    facts = GraphFacts("edge", 4)
    graph = graph_of({"u": np.array([1, 0, 1, 2, 3]), "v": np.array([0, 1, 0, 2, -1])}, facts)
    assert (graph.low.tolist(), graph.high.tolist()) == ([0], [1])
    listed = GraphFacts("node", 4, cap=2, listed=True)
    graph = graph_of({"u": np.array([0, 0, 0, 1]), "v": np.array([1, 2, -1, -1])}, listed)
    assert (graph.low.tolist(), graph.high.tolist()) == ([0], [1])  # 2 has no row of their own
    assert graph.here is not None
    assert graph.here.tolist() == [True, True, False, False]


# -- the ladder


def test_the_ladder_of_two_neighbours_stays_within_its_claim_and_half_of_its_noise_does_not() -> None:
    """A triangle more, on a network where two people share a friend. False alarm: 1e-9."""
    ladder = Ladder.for_epsilon(Fraction(1), 40)
    for factor, holds in ((Fraction(1), True), (Fraction(1, 2), False)):
        noisy = ladder.scaled(factor)
        sides = [noisy.draws(side, 400_000, SeededRng(7)) for side in ((0, 1), (1, 2))]
        assert (epsilon_lower_bound(*sides).epsilon <= 1) is holds


def test_an_error_bar_of_the_ladder_covers_what_it_says() -> None:
    """Simulated with 40,000 draws; 0.5 % of slack is 4.6 standard deviations (false alarm 4e-6)."""
    for epsilon, top, step, reach in (
        (Fraction(1, 2), 1000, 1, 6),
        (Fraction(2), 50, 2, 50),
        (Fraction(5), 10**5, 1, 0),
    ):
        ladder = Ladder.for_epsilon(epsilon, top, step)
        drawn = ladder.draws((100, reach), 4_000 if top == 10**5 else 40_000, SeededRng(3))
        assert np.mean(np.abs(drawn - 100) > ladder.half_width(reach, 0.05)) <= 0.055


def test_rungs_are_told_by_how_far_an_integer_is() -> None:
    ladder = Ladder(Fraction(2), 3)
    assert [ladder.rung(away, 1) for away in range(8)] == [0, 1, 2, 2, 3, 3, 3, 4]


# -- refusals


def test_a_kernel_without_its_promise_or_cap_is_refused() -> None:
    asked: list[tuple[Callable[[GraphFacts], object], str]] = [
        (Triangles().norms, "no_degree_promise"),
        (Stars(2).norms, "no_degree_promise"),
        (Degrees().norms, "no_degree_cap"),
        (EdgeCount().norms, "no_degree_cap"),
    ]
    for call, code in asked:
        with pytest.raises(Refused) as refused:
            call(GraphFacts("node", 9))
        assert refused.value.code == code
    with pytest.raises(Refused) as refused:
        Stars(3).norms(GraphFacts("edge", 9))
    assert refused.value.code == "no_degree_promise"


@pytest.mark.parametrize("text", ["stars:1", "stars:99", "stars:x", "mixing", "mixing:age", "degrees:age", "diameter"])
def test_what_is_no_statistic_is_refused(text: str) -> None:
    with pytest.raises(Refused) as refused:
        kernel_of(text, ("party",))
    assert refused.value.code == "bad_statistic"


def test_every_kernel_is_found_by_its_own_text() -> None:
    told = (
        EdgeCount(),
        People(),
        Degrees(),
        Degrees("p"),
        Mixing("p"),
        Triangles(),
        MostShared(),
        Stars(4),
        MostConnected(),
    )
    for kernel in told:
        assert kernel_of(kernel.text, ("p",)) == kernel
        assert type(kernel) in GRAPH_KERNELS
