"""Distributions: every threshold for one epsilon, and a median that is off in rank though one person may move it
far.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import obverse
from obverse.publish.folder.write import publish
from obverse.publish.quantiles.request import Distribution, quantile_release
from obverse.testing import synthetic

TOML = """\
[project]
name = "heights"
[budget]
epsilon = 2
[tables.people]
source = "people.parquet"
unit = "row"
[tables.people.columns]
height = { type = "integer", bounds = [100, 220], nullable = false }
"""
HEIGHTS = [140 + (7 * i) % 60 for i in range(3000)]


def test_all_thresholds_and_all_quantiles_cost_one_epsilon_not_one_each(tmp_path: Path) -> None:
    """Lecture 4 (a histogram costs one epsilon): so do "how many are at most x", for every x, and nineteen
    quantiles.
    """
    told = Distribution("people", "height", at=",".join(str(n / 20) for n in range(1, 20)))
    with obverse.open(synthetic({"people": {"height": HEIGHTS}}, TOML, tmp_path / "p")) as session:
        release = quantile_release(session, told, Fraction(1))
        done = publish(session, release, tmp_path / "r")
        assert session.ledger.spent().amount == 1
    assert (len(done.outcome.tables[0].values), len(done.outcome.further[0].columns["value"])) == (121, 19)
    alone = 121 * 2**0.5  # of each threshold, asked one by one at an equal part of the epsilon
    assert release.method.errors(release.priced.measured, release.priced.terms)[0].stddev < alone / 20


def test_the_median_height_is_off_in_rank_by_the_noise_not_by_the_range_of_heights(tmp_path: Path) -> None:
    """Differential privacy 2024, 3.2: one person can move the median by the whole range, so noise on the median itself
    is of no
    use. In rank one person moves it by one. The test looks at 12 standard deviations (below 1e-6 for Laplace noise)."""
    with obverse.open(synthetic({"people": {"height": HEIGHTS}}, TOML, tmp_path / "p")) as session:
        release = quantile_release(session, Distribution("people", "height", at="0.5"), Fraction(1))
        (rank,) = [
            one for one in release.method.errors(release.priced.measured, release.priced.terms) if one.kind == "rank"
        ]
        done = publish(session, release, tmp_path / "r")
    median = float(done.outcome.further[0].columns["value"][0])
    off = abs(sum(height <= median for height in HEIGHTS) - len(HEIGHTS) / 2)
    assert off <= 12 * rank.stddev + 50  # 50 rows share a height
    assert abs(median - 169) < 12
