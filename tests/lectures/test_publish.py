"""Releases: a histogram costs one epsilon, the census of North Carolina, and post-processing that costs nothing."""

from __future__ import annotations

import csv
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import obverse
from obverse.core.rng import Rng
from obverse.core.types import Type
from obverse.core.units import Neighbours
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.plan.strategy.pricing import noise_of
from obverse.publish.folder.metadata import cells_of
from obverse.publish.folder.write import publish
from obverse.publish.hierarchy.request import spine_of
from obverse.publish.method import Entries, Measured, Terms
from obverse.publish.registry import Hierarchy
from obverse.publish.tables.release import table_release
from obverse.publish.tables.request import Wanted
from obverse.publish.workload import Attribute, Workload

TRACTS = Path(__file__).parents[3] / "shared" / "data" / "nc_tracts_2020_rc_eth.csv"
RACES = ("rc_white", "rc_black", "rc_am_indian", "rc_asian", "rc_pac_isl", "rc_other", "rc_multi")
TOML = """\
[project]
name = "ages"
[budget]
epsilon = 2
[tables.people]
source = "people.parquet"
unit = "row"
[tables.people.columns]
age = { type = "integer", bounds = [0, 99], nullable = false }
smokes = { type = "boolean", nullable = false }
"""
PEOPLE = {"age": [i % 100 for i in range(300)], "smokes": [i % 4 == 0 for i in range(300)]}


def test_a_histogram_costs_one_epsilon_not_one_per_bin(tmp_path: Path) -> None:
    """Lecture 4: a hundred bins at epsilon 1 have noise of scale 1 each; one by one they would have had scale 100."""
    from obverse.testing import synthetic

    with obverse.open(synthetic({"people": PEOPLE}, TOML, tmp_path / "p")) as session:
        release = table_release(session, Wanted("people", (("age",),), {}), Fraction(1))
        (entries,) = release.priced.measured
        assert isinstance(entries.mechanism, DiscreteLaplace)
        assert (entries.block.entries, entries.mechanism.scale) == (100, 1)
        publish(session, release, tmp_path / "r")
        assert session.ledger.spent().amount == 1


def test_rounding_and_any_post_processing_cost_nothing(tmp_path: Path) -> None:
    """Privacy engineering (post-processing): estimates, whole numbers and another folder are one debit, being made
    of noise.
    """
    from obverse.testing import synthetic

    with obverse.open(synthetic({"people": PEOPLE}, TOML, tmp_path / "p")) as session:
        wanted = Wanted("people", (("age", "smokes"), ("smokes",)), {"age": "20"})
        for name in ("one", "two"):
            done = publish(session, table_release(session, wanted, Fraction(1)), tmp_path / name)
            assert min(int(table.whole.min()) for table in done.outcome.tables) >= 0
        assert session.ledger.spent().amount == 1
    assert (tmp_path / "one/data/02-smokes.csv").read_text() == (tmp_path / "two/data/02-smokes.csv").read_text()


def north_carolina() -> tuple[Hierarchy, Any]:
    """State, counties, tracts by race; and the counts of each tract."""
    with TRACTS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    spine, nodes, paths = spine_of(
        ("state", "county", "tract"), [(r["state"], r["county"], r["geocode"]) for r in rows]
    )
    number = {path[-1]: n for n, path in enumerate(paths)}
    leaves = Attribute("tract", tuple(r["geocode"] for r in rows), Type.TEXT)
    workload = Workload((leaves, Attribute("race", RACES)), ((0, 1),))
    leaf = np.array([number[r["geocode"]] for r in rows])
    third = Fraction(1, 3)
    return Hierarchy(workload, spine, nodes, leaf, (third, third, third)), np.array(
        [[int(r[c]) for c in RACES] for r in rows]
    )


def measured(method: Hierarchy, counts: Any, rho: Fraction, rng: Rng) -> Measured:
    draft = method.draft(Terms("zcdp", Neighbours.ADD_REMOVE))
    cells = cells_of(method.workload, draft, total=True)
    noise = noise_of(draft.strategy, cells, Neighbours.ADD_REMOVE, rho, 1, squared=True)
    exact = draft.strategy.apply(cells, counts.reshape(-1))
    return tuple(Entries(b, m, 1.0, m.sample(e, rng)) for b, m, e in zip(draft.strategy.blocks, noise, exact))


@pytest.mark.skipif(not TRACTS.exists(), reason="the census file is not at hand")
def test_north_carolinas_counties_and_tracts_at_several_budgets() -> None:
    """Statistical privacy tools (Census 2020). Published counts stand for rows. A cell's mean error falls by the root
    of rho; whole numbers add up at every level. One comparison for each level and pair of budgets: the error is a mean
    over at least 700 cells (7 of the state are left out), so a ratio beyond a factor of 1.3 of the root is below
    1e-6."""
    method, counts = north_carolina()
    assert method.spine.sizes == (1, 100, 2672)
    terms = Terms("zcdp", Neighbours.ADD_REMOVE)
    rng = Rng()
    truth = np.zeros((2672, len(RACES)), dtype=np.int64)
    truth[method.leaf] = counts
    levels = [np.add.reduceat(np.add.reduceat(truth, method.spine.starts(2)), method.spine.starts(1)),
              np.add.reduceat(truth, method.spine.starts(2)), truth]  # fmt: skip
    errors = []
    for rho in (Fraction(1, 100), Fraction(1, 10), Fraction(1)):
        outcome = method.finish(measured(method, counts, rho, rng), terms)
        tables = [{"count": one.whole, "estimate": one.values} for one in outcome.tables]
        assert all(law.holds for law in method.laws(tables, True))
        errors.append([float(np.abs(t.values.reshape(-1, 7) - x).mean()) for t, x in zip(outcome.tables, levels)])
    for wide, narrow in pairwise(errors):
        for level in (1, 2):
            assert 10**0.5 / 1.3 < wide[level] / narrow[level] < 10**0.5 * 1.3
    assert errors[-1][1] < 3
    assert levels[0].sum() == 10_439_388


def test_what_is_learned_about_smokers_is_learned_whether_or_not_one_takes_part(tmp_path: Path) -> None:
    """Responsible data science: with Alice and without her, the share of smokers is the same within noise: what is
    learned of
    them is not learned from her. Ten standard deviations: below 1e-6 for Laplace noise of this size."""
    from obverse.testing import synthetic

    shares = []
    for name, people in (("with", PEOPLE), ("without", {key: values[1:] for key, values in PEOPLE.items()})):
        with obverse.open(synthetic({"people": people}, TOML, tmp_path / name)) as session:
            release = table_release(session, Wanted("people", (("smokes",),), {}), Fraction(2))
            done = publish(session, release, tmp_path / f"{name}-release")
        table = done.outcome.tables[0]
        shares.append(table.values[1] / table.values.sum())
        spread = float(table.stddev[0])
    assert abs(shares[0] - shares[1]) < 2 * 10 * spread / 280
