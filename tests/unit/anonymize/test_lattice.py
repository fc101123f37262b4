"""The optimal search finds what looking at every node finds."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.anonymize.hierarchies import Hierarchy, Recipe, built, guessed
from obverse.anonymize.lattice import LOSSES, NODES_MAX, Judge, Judged, Search
from obverse.anonymize.measures import utility
from obverse.anonymize.models import Close, Distinct, Entropy, Large, Model, Recursive, Unsure
from obverse.anonymize.recoding import at_node
from obverse.anonymize.table import Table
from obverse.core.errors import Refused
from tests.unit.anonymize.tables import table, tables

ADULT = Path(__file__).parents[4] / "shared" / "data"


def hierarchies_of(given: Table) -> list[Hierarchy]:
    return [built(guessed(c.name, c.values), c.name, c.values) for c in given.quasi]


def every(
    given: Table, hierarchies: Sequence[Hierarchy], models: Sequence[Model], limit: int, loss: str
) -> list[Judged]:
    judge = Judge(given, hierarchies, models, limit, loss == "columns")
    return [judge.judge(node) for node in itertools.product(*(range(h.height) for h in hierarchies))]


def whole(given: Table) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    people = np.bincount(given.sensitive[0].codes, minlength=given.sensitive[0].size)
    return people / people.sum()


def demands(given: Table) -> list[list[Model]]:
    return [
        [Large(2)],
        [Large(3)],
        [Large(2), Distinct(0, "disease", 2)],
        [Large(2), Entropy(0, "disease", 1.7)],
        [Large(2), Recursive(0, "disease", 2.0, 2)],
        [Large(2), Close(0, "disease", 0.4, "equal", whole(given))],
        [Large(2), Close(0, "disease", 0.3, "ordered", whole(given))],
        [Large(2), Unsure(0, "disease", 0.6)],
    ]


@settings(max_examples=40, deadline=None)
@given(given=tables(), which=st.integers(0, 7), share=st.sampled_from([0.0, 0.1, 0.3]), loss=st.sampled_from(LOSSES))
def test_the_search_finds_the_optimum_of_all_nodes(given: Table, which: int, share: float, loss: str) -> None:
    hierarchies = hierarchies_of(given)
    models = demands(given)[which]
    limit = int(share * given.rows)
    judged = [one for one in every(given, hierarchies, models, limit, loss) if one.holds]
    if not judged:
        with pytest.raises(Refused) as refused:
            Search(given, hierarchies, models, limit, loss).run()
        assert refused.value.code == "not_reachable"
        return
    best = min(judged, key=lambda one: (one.loss.whole, one.node))
    found = Search(given, hierarchies, models, limit, loss).run()
    assert found.loss == pytest.approx(best.loss.whole, rel=1e-12)
    assert loss == "columns" or found.judged.node == best.node  # where losses are whole numbers, ties are exact
    assert found.looked_at <= found.nodes


@settings(max_examples=25, deadline=None)
@given(given=tables(), which=st.integers(0, 7), share=st.sampled_from([0.0, 0.3]), loss=st.sampled_from(LOSSES))
def test_the_optimum_is_that_of_tables_that_are_written(given: Table, which: int, share: float, loss: str) -> None:
    """Every node is released and measured, past the collapsed tables and the prices by which the search judges."""
    hierarchies = hierarchies_of(given)
    models = demands(given)[which]
    limit = int(share * given.rows)
    losses = []
    for node in itertools.product(*(range(h.height) for h in hierarchies)):
        recoded = at_node(given, hierarchies, node, models)
        if recoded.suppressed <= limit:
            lost = utility(recoded, 2)
            losses.append(
                lost.discernibility if loss == "discernibility" else float(np.mean(list(lost.columns.values())))
            )
    if losses:
        assert Search(given, hierarchies, models, limit, loss).run().loss == pytest.approx(min(losses), rel=1e-9)


@settings(max_examples=25, deadline=None)
@given(given=tables(), which=st.integers(0, 7), share=st.sampled_from([0.0, 0.2]))
def test_what_is_concluded_from_a_node_to_others_is_true(given: Table, which: int, share: float) -> None:
    """A hopeless node has only failing nodes below it; bases never fall on the way up, fees never on the way down."""
    hierarchies = hierarchies_of(given)
    models = demands(given)[which]
    limit = int(share * given.rows)
    judged = {one.node: one for one in every(given, hierarchies, models, limit, "discernibility")}
    for node, one in judged.items():
        for j, level in enumerate(node):
            below = judged.get((*node[:j], level - 1, *node[j + 1 :]))
            if below is None:
                continue
            assert not (one.hopeless and below.holds)
            assert below.hopeless or not one.hopeless
            assert below.loss.base <= one.loss.base
            assert below.loss.fee >= one.loss.fee
            assert one.loss.whole >= one.loss.base


def test_a_table_that_no_generalisation_helps_is_refused() -> None:
    given = table({"age": ["20", "30"]})
    with pytest.raises(Refused) as refused:
        Search(given, hierarchies_of(given), [Large(3)], 0).run()
    assert refused.value.code == "not_reachable"


def test_a_lattice_that_is_too_large_is_refused() -> None:
    names = [f"c{i}" for i in range(40)]
    given = table({name: ["a", "b"] for name in names})
    assert 2 ** len(names) > NODES_MAX
    with pytest.raises(Refused) as refused:
        Search(given, hierarchies_of(given), [Large(1)], 0)
    assert refused.value.code == "too_many_nodes"


@pytest.mark.soak
@pytest.mark.skipif(not ADULT.exists(), reason="the Adult table is not at hand")
@pytest.mark.parametrize("loss", LOSSES)
def test_the_optimum_of_adult_is_that_of_all_12960_nodes(loss: str) -> None:
    lines = [line.split(";") for line in (ADULT / "adult.csv").read_text().splitlines()]
    given = table({name: values for name, *values in zip(*lines)})
    hierarchies = []
    for one in given.quasi:
        rows = (ADULT / "adult_hierarchies" / f"{one.name}.csv").read_text().splitlines()
        hierarchies.append(
            built(Recipe("file", lines=tuple(tuple(row.split(";")) for row in rows)), one.name, one.values)
        )
    judged = every(given, hierarchies, [Large(5)], int(0.05 * given.rows), loss)
    assert len(judged) == 12_960
    best = min((one for one in judged if one.holds), key=lambda one: (one.loss.whole, one.node))
    found = Search(given, hierarchies, [Large(5)], int(0.05 * given.rows), loss).run()
    assert (found.judged.node, found.loss) == (best.node, pytest.approx(best.loss.whole))
