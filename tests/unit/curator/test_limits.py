"""limits = "auto": refused until learned; then each question picks its own caps, and says what they cost."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

import obverse
from obverse.core.errors import CatalogError, Refused
from obverse.curator.limits import learn, shown
from obverse.plan.private_bounds import Histogram, Learned, row_caps, sum_caps
from obverse.session.learned_limits import keep, path_of
from obverse.testing import noiseless, synthetic

TOML = """
[project]
name = "trips"
[privacy]
epsilon = 1
delta = 1e-8
[budget]
epsilon = 100
delta = 1e-6
[tables.trips]
source = "trips.parquet"
unit = "user"
limits = {limits}
[tables.trips.columns]
user = {{ type = "integer" }}
city = {{ type = "text", values = ["a", "b"] }}
fare = {{ type = "double", bounds = [0, 100], grid = 0.5 }}
"""
BY_CITY = "SELECT city, COUNT(*), SUM(fare) FROM trips GROUP BY city"


def project(folder: Path, limits: str = '"auto"') -> Path:
    """Two thousand users with 3 trips, forty with 60: a cap of 3 loses a quarter, a cap of 64 nothing."""
    users = [u for u in range(2000) for _ in range(3)] + [u for u in range(5000, 5040) for _ in range(60)]
    cities = ["a" if i % 3 else "b" for i in range(len(users))]
    frame = {"user": users, "city": cities, "fare": [float(i % 20) for i in range(len(users))]}
    return synthetic({"trips": frame}, TOML.format(limits=limits), folder)


def test_before_learning_every_question_is_refused_for_nothing(tmp_path: Path) -> None:
    with obverse.open(project(tmp_path / "p")) as session:
        for ask in (session.ask, session.explain):
            with pytest.raises(Refused) as refused:
                ask(BY_CITY)
            assert refused.value.code == "limits_not_learned"
            assert "obverse limits learn" in refused.value.fix
        assert session.ledger.spent().amount == 0


def test_learning_is_charged_once_and_kept(tmp_path: Path) -> None:
    folder = project(tmp_path / "p")
    learned, path = learn(folder, "trips", 4)
    assert json.loads(path.read_text())["receipt"] == learned.receipt
    assert shown(folder) == {"trips": learned}
    with obverse.open(folder) as session:
        assert session.ledger.spent().amount == 4
    with pytest.raises(Refused) as refused:
        learn(folder, "trips", 4)
    assert refused.value.code == "already_learned"


def test_a_table_that_is_kept_for_a_purpose_is_learned_for_it(tmp_path: Path) -> None:
    file = project(tmp_path / "p") / "obverse.toml"
    text = file.read_text(encoding="utf-8").replace('limits = "auto"', 'limits = "auto"\npurposes = ["quality"]')
    file.write_text(f"{text}\n[purposes.quality]\nepsilon = 5\n", encoding="utf-8")
    folder = file.parent
    with pytest.raises(Refused) as refused:
        learn(folder, "trips", 4)
    assert refused.value.code == "purpose_not_allowed"
    learn(folder, "trips", 4, "quality")
    with obverse.open(folder) as session:
        assert session.ledger.spent(purpose="quality").amount == 4


def test_the_histograms_are_those_of_the_table(tmp_path: Path) -> None:
    """Noise of deviation about 0.7 at epsilon 4 over 2 histograms: beyond 20 with probability below 1e-12."""
    learned, _ = learn(project(tmp_path / "p"), "trips", 4)
    near = dict(zip(learned.rows.caps, learned.rows.units))
    assert near[4.0] == pytest.approx(2000, abs=20)
    assert near[64.0] == pytest.approx(40, abs=20)
    assert sum(abs(n) for cap, n in near.items() if cap not in (4.0, 64.0)) < 100
    assert sum(learned.sums["fare"].units) == pytest.approx(2040, abs=100)


def test_a_dear_question_takes_a_high_cap_and_a_cheap_one_a_low_cap(tmp_path: Path) -> None:
    """From histograms without noise, so that nothing but the price decides."""
    folder = project(tmp_path / "p")
    caps = row_caps()
    fares = sum_caps(Fraction(100))
    rows = Histogram(tuple(map(float, caps)), tuple({4: 2000.0, 64: 40.0}.get(cap, 0.0) for cap in caps), 1.0)
    sums = Histogram(fares, tuple({25.0: 2000.0, 800.0: 40.0}.get(cap, 0.0) for cap in fares), 1.0)
    with obverse.open(folder) as session:
        keep(session.catalog, Learned("trips", rows, {"fare": sums}, "4", "none"))
    with obverse.open(folder) as session:
        chosen = [[m["linf"] for m in session.explain(BY_CITY, epsilon=e).measures] for e in (5, 0.01)]
        assert chosen == [[64, 800], [4, 25]]
        bias = session.ask(BY_CITY, epsilon=0.01).claim.bias
        assert "a cap of 4 rows of trips" in bias
        assert "not valid after joins" in bias


def test_rows_that_a_cap_leaves_out_are_told_apart_from_noise() -> None:
    histogram = Histogram((1.0, 2.0, 4.0), (0.0, 100.0, 10.0), 1.0)
    assert histogram.clipped(4) == 0
    assert histogram.clipped(2) == 10 * (3 - 2)
    assert histogram.clipped(1) == 100 * 0.5 + 10 * 2
    assert histogram.share(2) == pytest.approx(10 / 180)
    assert histogram.best(0.1) == 4
    assert histogram.best(1000.0) == 1


def test_a_count_that_noise_alone_may_make_is_not_believed() -> None:
    assert Histogram((1.0, 65536.0), (500.0, 3.0), 1.0).clipped(1) == 0


def test_declared_limits_are_not_learned(tmp_path: Path) -> None:
    for table in ("trips", "nothing"):
        with pytest.raises(Refused) as refused:
            learn(project(tmp_path / table, "{ rows = 3 }"), table, 1)
        assert refused.value.code == "bad_parameter"


def test_a_learned_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    folder = project(tmp_path / "p")
    with obverse.open(folder) as session:
        path = path_of(session.catalog, "trips")
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    with pytest.raises(CatalogError) as refused:
        obverse.open(folder)
    assert refused.value.code == "bad_values"


def test_a_units_own_aggregates_are_capped_by_what_was_learned(tmp_path: Path) -> None:
    folder = project(tmp_path / "p")
    learn(folder, "trips", 4)
    with noiseless(folder) as session:
        found = session.ask("SELECT MAX(n) FROM (SELECT user, COUNT(*) AS n FROM trips GROUP BY user) AS t")
    assert found.value == 60


def test_the_best_cap_weighs_what_is_lost_as_the_aggregates_do() -> None:
    found = Histogram((1.0, 2.0, 4.0), (0.0, 100.0, 10.0), 1.0)
    assert found.best(0.5, 1, 0) == 4  # ten units lose a row each
    assert found.best(0.5, 0, 1) == 2  # and are taken to differ little from the others
    assert Histogram((1.0, 2.0), (0.0, 0.0), 1.0).best(1.0) == 1
