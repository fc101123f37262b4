"""A network's plan: one price in exact fractions, noise that its norms say, and evidence that it holds."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from obverse.accounting import zcdp
from obverse.attack.lower_bound.evidence import epsilon_lower_bound
from obverse.core.errors import InvariantBroken, Refused
from obverse.core.loss import PureLoss, ZcdpLoss
from obverse.mechanisms.ladder import Ladder
from obverse.plan.strategy.graph.network import Blocks, GraphFacts, graph_of
from obverse.plan.strategy.graph.pricing import GraphPlan, part_loss, released_parts, verify_graph, weigh_graph
from obverse.plan.strategy.graph.registry import REACHES, kernel_of
from obverse.testing.noiseless import Identity, SeededRng

PARTY = {"party": Blocks(("x", "y"), np.array([0, 0, 0, 1, 1, 1, 0, 1], dtype=np.int64))}
EDGE = GraphFacts("edge", 8, blocks=PARTY)
PROMISED = GraphFacts("edge", 8, degree=4, blocks=PARTY)
NODE = GraphFacts("node", 8, degree=4, cap=3, listed=True, blocks=PARTY)
ALL = ("edges", "people", "degrees:party", "mixing:party", "triangles", "stars:2")
STAR = {"u": np.array([0, 0, 0, 0, 1, 2]), "v": np.array([1, 2, 3, 4, 2, 3])}


def less_noisy(plan: GraphPlan, factor: Fraction) -> GraphPlan:
    """The same plan at another noise, for what puts it on trial: it does not verify."""
    return replace(plan, parts=tuple(replace(one, noise=one.noise.scaled(factor)) for one in plan.parts))


def planned(facts: GraphFacts, accounting: Any = "pure", stats: tuple[str, ...] = ALL, epsilon: Any = 1) -> GraphPlan:
    weights = {kernel_of(text, ("party",)): Fraction(n + 1, 3) for n, text in enumerate(stats)}
    return weigh_graph(facts, weights, Fraction(epsilon), Fraction(1, 10**6), accounting)


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
@pytest.mark.parametrize("facts", [EDGE, PROMISED, NODE], ids=["edge", "promised", "node"])
def test_all_parts_together_cost_the_price_and_never_more(facts: GraphFacts, accounting: Any) -> None:
    for epsilon in (Fraction(1), Fraction(1, 7), Fraction(17, 3)):
        plan = planned(facts, accounting, epsilon=epsilon)
        spent = sum(part_loss(one, facts, accounting) for one in plan.parts)
        if accounting == "pure":
            assert plan.loss == PureLoss(epsilon)
            assert epsilon * Fraction(999_999, 10**6) < spent <= epsilon
        else:
            rho = zcdp.rho_for(epsilon, Fraction(1, 10**6))
            assert plan.loss == ZcdpLoss(rho)
            assert rho * Fraction(999_999, 10**6) < spent <= rho
        assert sum(one.share for one in plan.parts) == 1
        for one in plan.parts:
            assert part_loss(one, facts, accounting) <= one.share * (epsilon if accounting == "pure" else rho)


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
@pytest.mark.parametrize("facts", [EDGE, PROMISED, NODE], ids=["edge", "promised", "node"])
def test_less_noise_than_the_price_is_not_released(facts: GraphFacts, accounting: Any) -> None:
    plan = planned(facts, accounting)
    with pytest.raises(InvariantBroken, match="noise covers the price"):
        verify_graph(less_noisy(plan, Fraction(1, 2)))
    first = replace(plan.parts[0], noise=plan.parts[0].noise.scaled(Fraction(999_999, 10**6)))
    with pytest.raises(InvariantBroken, match="noise covers the price"):
        verify_graph(replace(plan, parts=(first, *plan.parts[1:])))
    with pytest.raises(InvariantBroken):
        verify_graph(replace(plan, epsilon=plan.epsilon * Fraction(99, 100)))


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
@pytest.mark.parametrize(("ladder", "reach"), [("triangles", "most_shared"), ("stars:2", "most_connected")])
def test_a_reach_that_is_asked_for_itself_too_is_measured_once_and_paid_once(
    ladder: str, reach: str, accounting: Any
) -> None:
    for stats in ((ladder, reach), (reach, ladder)):
        weights = {kernel_of(text, ()): Fraction(1) for text in stats}
        plan = weigh_graph(EDGE, weights, Fraction(1), Fraction(1, 10**6), accounting)
        assert [one.kernel.text for one in plan.parts] == [ladder, reach]
        assert [one.share for one in plan.parts] == [Fraction(3, 7), Fraction(4, 7)]  # 3/4 and the larger of 1/4 and 1
        assert [one.serves for one in plan.parts] == ["", ladder]
        assert [len(one) for one in released_parts(STAR, plan, SeededRng(1))] == [1, 1]
    alone = planned(EDGE, accounting, (ladder,))
    assert [one.share for one in alone.parts] == [Fraction(3, 4), Fraction(1, 4)]
    assert not any(one.serves for one in alone.parts)
    small = {kernel_of(ladder, ()): Fraction(1), kernel_of(reach, ()): Fraction(1, 10)}
    plan = weigh_graph(EDGE, small, Fraction(1), Fraction(1, 10**6), accounting)
    assert [one.share for one in plan.parts] == [Fraction(3, 4), Fraction(1, 4)]  # never less than the ladder needs


def test_under_a_promise_no_ladder_needs_a_reach_and_both_are_measured() -> None:
    plan = planned(PROMISED, stats=("most_shared", "triangles"))
    assert [(one.kernel.text, one.share, one.serves) for one in plan.parts] == [
        ("most_shared", Fraction(1, 3), ""), ("triangles", Fraction(2, 3), ""),
    ]  # fmt: skip


class Foot(Identity):
    """A ladder without noise: its foot."""

    def sample(self, exact: Any, rng: Any) -> Any:
        return exact[:1]


@pytest.mark.parametrize("facts", [EDGE, PROMISED, NODE], ids=["edge", "promised", "node"])
def test_without_noise_the_truth_comes_out(facts: GraphFacts) -> None:
    rows = STAR
    if facts.listed:
        rows = {"u": np.concatenate([STAR["u"], np.arange(6)]), "v": np.concatenate([STAR["v"], np.full(6, -1)])}
    plan = planned(facts)
    bare: Any = tuple(replace(one, noise=Foot() if isinstance(one.noise, Ladder) else Identity()) for one in plan.parts)
    found = dict(
        zip([one.kernel.text for one in plan.parts], released_parts(rows, replace(plan, parts=bare), SeededRng(1)))
    )
    assert found["triangles"].tolist() == [2]  # 0 1 2, 0 2 3
    assert found["stars:2"].tolist() == [6 + 1 + 3 + 1]
    assert found["mixing:party"].tolist() == [3, 3, 0]
    if facts.listed:
        assert found["people"].tolist() == [6]
        assert found["edges"].tolist() == [5]  # the cap of 3 cuts one of the four of person 0
        assert found["degrees:party"].reshape(2, 4)[:, -1].tolist() == [3, 3]
    else:
        assert found["people"].tolist() == [5]
        assert found["edges"].tolist() == [6]
        assert found["degrees:party"].tolist() == [0, 2, 3, 4, 0, 0, 1, 2]


def likelihood(plan: GraphPlan, left: list[Any], right: list[Any], exact: list[Any], n: int, rng: Any) -> Any:
    """n releases of what is exact, each as how much likelier it is on the left: what the best attacker looks at."""
    score = np.zeros(n)
    for one, a, b, here in zip(plan.parts, left, right, exact):
        if isinstance(one.noise, Ladder):
            drawn = one.noise.draws(here, n, rng)
            values, place = np.unique(drawn, return_inverse=True)
            ends = [[float(one.noise.probability(side, int(z))[0]) for z in values] for side in (a, b)]
            score += (np.log(ends[0]) - np.log(ends[1]))[place]
            continue
        drawn = one.noise.sample(np.tile(here, n), rng).reshape(n, len(here))
        score += ((np.abs(drawn - b) - np.abs(drawn - a)) / float(one.noise.scale)).sum(axis=1)  # type: ignore[union-attr]
    return score


def exact_parts(plan: GraphPlan, rows: Any) -> list[Any]:
    graph = graph_of(rows, plan.facts)
    found = []
    for one in plan.parts:
        values = one.kernel.exact(graph, plan.facts)
        if isinstance(one.noise, Ladder):
            values = np.concatenate([values, REACHES[one.kernel.name].exact(graph, plan.facts)])
        found.append(values)
    return found


def without(rows: Any, gone: Any) -> Any:
    kept = [n for n, pair in enumerate(zip(rows["u"], rows["v"])) if not gone(pair)]
    return {name: values[kept] for name, values in rows.items()}


OWN = {"u": np.concatenate([STAR["u"], np.arange(8)]), "v": np.concatenate([STAR["v"], np.full(8, -1)])}


@pytest.mark.parametrize(
    ("facts", "rows", "gone", "stats"),
    [
        (PROMISED, STAR, lambda pair: pair == (0, 2), ("triangles", "degrees", "mixing:party")),
        (EDGE, STAR, lambda pair: pair == (0, 2), ("triangles", "edges", "mixing:party")),
        (NODE, OWN, lambda pair: 0 in pair, ("people", "edges", "degrees", "mixing:party")),
    ],
    ids=["promised edge", "edge", "node"],
)
def test_no_attacker_is_surer_of_one_unit_than_the_price_allows(facts: Any, rows: Any, gone: Any, stats: Any) -> None:
    """The best statistic of whole releases with and without one unit; false alarm 1e-9.

    With half of the noise it is caught.
    """
    plan = planned(facts, stats=stats)
    sides = [exact_parts(plan, rows), exact_parts(plan, without(rows, gone))]
    for factor, holds in ((Fraction(1), True), (Fraction(1, 2), False)):
        noisy = less_noisy(plan, factor)
        drawn = [likelihood(noisy, *sides, side, 60_000, SeededRng(9 + n)) for n, side in enumerate(sides)]
        found = epsilon_lower_bound(*drawn).epsilon
        assert (found <= 1) is holds, found
        assert found > 0.35


def test_zcdp_without_a_delta_is_refused() -> None:
    with pytest.raises(Refused) as refused:
        weigh_graph(EDGE, {kernel_of("edges", ()): Fraction(1)}, Fraction(1), Fraction(0), "zcdp")
    assert refused.value.code == "bad_parameter"
