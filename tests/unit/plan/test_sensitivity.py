"""How a table's declaration bounds a unit, and which measures serve which aggregate."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from obverse.core.errors import Refused
from obverse.plan.relation import Shape
from obverse.session.learned_limits import noise_per_cap
from obverse.session.planning import Planned

GROUPED = "SELECT sex, COUNT(*) FROM visits GROUP BY sex"


@pytest.mark.parametrize(
    ("unit", "text", "shape"),
    [
        ("row", "SELECT COUNT(*) FROM visits", Shape.ROW),
        ("row", GROUPED, Shape.ROW),
        ("one", "SELECT COUNT(*) FROM visits", Shape.ONE),
        ("one", GROUPED, Shape.ONE),
        ("many", "SELECT COUNT(*) FROM visits", Shape.TOTAL),
        ("many", GROUPED, Shape.WEIGHTED),
    ],
)
def test_the_declaration_decides_the_shape(unit: str, text: str, shape: Shape, planned: Callable[..., Planned]) -> None:
    assert planned(text, unit).costed.setting.shape is shape


def test_equal_measures_are_noised_once(planned: Callable[..., Planned]) -> None:
    text = "SELECT COUNT(age), AVG(age), VAR_POP(age), STDDEV_POP(age), SUM(age) FROM visits"
    costed = planned(text).costed
    assert [measure.name for measure in costed.measures] == ["count", "sum", "squares", "sum"]
    assert costed.serves == ((0,), (0, 1), (0, 1, 2), (0, 1, 2), (3,))
    assert costed.joint.l1 <= 4


def test_a_declared_cap_on_a_sum_lowers_its_sensitivity(planned: Callable[..., Planned]) -> None:
    text = "SELECT SUM(cost) FROM visits"
    for unit, cap in (("many", 50_000), ("capped", 2_500)):
        (measure,) = planned(text, unit).costed.measures
        assert measure.proven.l1 * measure.unit == cap
    (whole,) = planned("SELECT SUM(cost + 0) FROM visits", "capped").costed.measures
    assert whole.proven.l1 * whole.unit == Fraction(50_000), "the cap is that of the column, not of what is made of it"


def test_an_average_over_a_public_size_is_one_measure_of_the_spread_over_the_size(
    planned: Callable[..., Planned],
) -> None:
    (measure,) = planned("SELECT AVG(height) FROM visits", "sized", "replace").costed.measures
    assert measure.proven.l1 * measure.unit == Fraction(48, 100)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT AVG(age) FROM visits",
        "SELECT AVG(height) FROM visits WHERE age > 3",
        "SELECT sex, AVG(height) FROM visits GROUP BY sex",
        "SELECT AVG(CASE WHEN smoker THEN height END) FROM visits",
        "SELECT CASE WHEN age > 3 THEN 'a' ELSE 'a' END, AVG(height) FROM visits GROUP BY 1",
    ],
)
def test_with_nulls_filters_or_groups_the_size_is_of_no_use(text: str, planned: Callable[..., Planned]) -> None:
    assert len(planned(text, "sized", "replace").costed.measures) == 2


def test_a_filtered_aggregate_keeps_its_arguments_bounds_and_grid(planned: Callable[..., Planned]) -> None:
    """The branch that is NULL adds no zero to the bounds, which would double the noise of an average."""
    (_, total) = planned("SELECT AVG(height) FILTER (WHERE smoker) FROM visits").costed.measures
    assert total.proven.l1 * total.unit == 24
    (cost,) = planned("SELECT SUM(cost) FILTER (WHERE smoker) FROM visits").costed.measures
    assert cost.term.grid is not None
    assert cost.term.grid.step == Fraction(1, 100)


def test_limits_that_have_to_be_learned_are_refused_before_any_charge(planned: Callable[..., Planned]) -> None:
    with pytest.raises(Refused) as refused:
        planned("SELECT COUNT(*) FROM visits", "auto")
    assert refused.value.code == "limits_not_learned"


def test_a_sum_without_bounds_is_refused_at_its_place(planned: Callable[..., Planned]) -> None:
    with pytest.raises(Refused) as refused:
        planned("SELECT SUM(age / (height - 50)) FROM visits")
    assert refused.value.code == "no_bounds"
    assert refused.value.span is not None


def test_noise_for_each_row_of_a_cap_is_that_of_all_cells_and_of_all_that_is_added_up(
    planned: Callable[..., Planned],
) -> None:
    one = planned("SELECT COUNT(*) FROM visits", "many").costed
    several = planned("SELECT kind, COUNT(*) FROM visits GROUP BY kind", "many").costed  # three kinds and NULL
    assert noise_per_cap(one) == pytest.approx(one.mechanisms[0].stddev() / 5)  # type: ignore[union-attr]
    assert noise_per_cap(several) == pytest.approx(4 * noise_per_cap(one), rel=1e-3)
    ranks = planned("SELECT MEDIAN(age) FROM visits", "many").costed
    leaves = ranks.measures[0].term.leaves
    assert leaves is not None
    node = ranks.mechanisms[0].stddev() / (5 << ranks.measures[0].bits)  # type: ignore[union-attr]
    assert noise_per_cap(ranks) == pytest.approx(node * (leaves.height * leaves.branching / 2) ** 0.5)
