"""Released integers become rows: keys in public order, HAVING, ORDER BY and LIMIT on noisy values, bars that fit
them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import obverse
from obverse.plan.pricing import Plan, with_mechanisms
from obverse.plan.release.noise import Released
from obverse.plan.release.postprocess import Finished, finish
from obverse.session.planning import Planned
from obverse.testing.noiseless import Identity

SRC = Path(obverse.__file__).parent


@pytest.fixture
def finished(planned: Callable[..., Planned]) -> Callable[..., Finished]:
    """What becomes of these released integers, one list per measure; without noise unless a plan's own is asked for."""

    def make(text: str, *released: list[int], noisy: bool = False, unit: str = "row") -> Finished:
        costed: Plan = planned(text, unit).costed
        if not noisy:
            costed = with_mechanisms(costed, tuple(Identity() for _ in costed.mechanisms))
        sums = {i: np.array(values, dtype=np.int64) for i, values in enumerate(released)}
        return finish(Released(len(released[0]), sums, {}), costed)

    return make


def test_keys_stand_in_public_order_with_null_last(finished: Callable[..., Finished]) -> None:
    found = finished("SELECT kind, sex, COUNT(*) FROM visits GROUP BY kind, sex", list(range(8)))
    assert found.rows == (
        *(("a", "F", 0), ("a", "M", 1), ("b", "F", 2), ("b", "M", 3)),
        *(("c", "F", 4), ("c", "M", 5), (None, "F", 6), (None, "M", 7)),
    )
    assert [(c.name, c.role) for c in found.columns] == [("kind", "key"), ("sex", "key"), ("count", "value")]
    assert found.intervals[0][:2] == (None, None)


def test_having_order_and_limit_read_noisy_values_and_ties_keep_public_order(finished: Callable[..., Finished]) -> None:
    text = "SELECT kind, COUNT(*) AS n FROM visits GROUP BY kind HAVING COUNT(*) > -2 ORDER BY n DESC LIMIT 3"
    assert finished(text, [5, 9, 5, -4]).rows == (("b", 9), ("a", 5), ("c", 5))
    ordered = "SELECT kind, COUNT(*) AS n FROM visits GROUP BY kind ORDER BY kind DESC NULLS FIRST, n LIMIT 2 OFFSET 1"
    assert finished(ordered, [1, 2, 3, 4]).rows == (("c", 3), ("b", 2))


def test_values_come_back_in_their_own_units(finished: Callable[..., Finished]) -> None:
    assert finished("SELECT SUM(cost) FROM visits", [12_345]).rows == ((123.45,),)
    assert finished("SELECT SUM(age) FROM visits", [77]).rows == ((77,),)
    assert finished("SELECT AVG(age) FROM visits", [10], [-200]).rows == ((40.0,),)  # centred at 60


@pytest.mark.parametrize("count", [-3, 0, 1])
def test_an_average_of_nobody_is_some_number_within_the_bounds(count: int, finished: Callable[..., Finished]) -> None:
    found = finished("SELECT AVG(age), VAR_POP(age), STDDEV(age) FROM visits", [count], [50], [90], noisy=True)
    mean, variance, deviation = found.rows[0]
    assert 0 <= mean <= 120  # type: ignore[operator]
    assert 0 <= variance <= 3600  # type: ignore[operator]
    assert 0 <= deviation <= 61  # type: ignore[operator]


def test_a_bar_surrounds_its_value_and_arithmetic_carries_it(finished: Callable[..., Finished]) -> None:
    text = "SELECT COUNT(*), COUNT(*) * 2 + 1, COUNT(*) / SUM(age), SUM(age) > 3 FROM visits"
    found = finished(text, [1000], [40_000], noisy=True)
    count, scaled, ratio, truth = found.rows[0]
    bars = found.intervals[0]
    for value, bar in ((count, bars[0]), (scaled, bars[1]), (ratio, bars[2])):
        assert bar is not None
        assert bar[0] <= value <= bar[1]  # type: ignore[operator]
    assert bars[1] == (2 * bars[0][0] + 1, 2 * bars[0][1] + 1)  # type: ignore[index]
    assert truth is True
    assert bars[3] is None


def test_two_aggregates_in_one_output_are_each_held_more_surely(finished: Callable[..., Finished]) -> None:
    alone = finished("SELECT COUNT(*), SUM(age) FROM visits", [1000], [5000], noisy=True).intervals[0]
    both = finished("SELECT COUNT(*) + SUM(age), COUNT(*), SUM(age) FROM visits", [1000], [5000], noisy=True).intervals[
        0
    ]
    assert both[1:] == alone
    widths = [bar[1] - bar[0] for bar in (both[0], *alone)]  # type: ignore[index]
    assert widths[0] > widths[1] + widths[2]


def test_a_division_by_a_noisy_zero_is_null_without_a_bar(finished: Callable[..., Finished]) -> None:
    found = finished("SELECT SUM(age) / COUNT(*) FROM visits", [10], [0])
    assert found.rows == ((None,),)
    assert found.intervals == ((None,),)


def test_rounding_to_hundreds_rounds_the_bar_too(finished: Callable[..., Finished]) -> None:
    found = finished("SELECT ROUND(SUM(age), -2) FROM visits", [1250], noisy=True)
    low, high = found.intervals[0][0]  # type: ignore[misc]
    assert low <= found.rows[0][0] <= high  # type: ignore[operator]
    assert low % 100 == high % 100 == 0


def test_finishing_cannot_reach_what_is_exact() -> None:
    """Neither the module nor what it calls for estimates names the box around exact values, or an engine."""
    for name in (
        "plan/release/postprocess.py",
        "plan/release/postprocess.py",
        "plan/intervals.py",
        "answers/answer.py",
        *(f"plan/aggregates/{p.name}" for p in (SRC / "plan/aggregates").glob("*.py")),
    ):
        tree = ast.parse((SRC / name).read_text())
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
        assert not imported & {"Exact", "Engine", "Columns"}, name


def test_only_randomize_opens_the_box_and_only_the_doors_run_an_engine() -> None:
    reveals = set()
    runs = set()
    for path in SRC.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                place = path.relative_to(SRC).as_posix()
                if node.func.attr == "reveal":
                    reveals.add(place)
                keywords = {keyword.arg for keyword in node.keywords}
                if (
                    node.func.attr in ("run", "batches")
                    and "timeout_s" in keywords
                    and not place.startswith("testing/")
                ):
                    runs.add(place)
    assert reveals == {"plan/release/noise.py"}
    assert runs <= {"session/execution.py", "session/custody.py"}
    assert "session/execution.py" in runs


def test_alike_rows_are_told_once_before_the_limit_counts_them(finished: Callable[..., Finished]) -> None:
    found = finished("SELECT DISTINCT COUNT(*) > 5 FROM visits GROUP BY kind ORDER BY 1 LIMIT 2", [1, 2, 9, 3])
    assert found.rows == ((False,), (True,))
