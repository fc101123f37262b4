"""Tables measured together: least squares, variances, and agreement, against dense algebra and simulation."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from obverse.core.bounds import Interval
from obverse.core.rng import Rng
from obverse.core.types import Type
from obverse.core.units import Neighbours
from obverse.mechanisms.base import Additive
from obverse.mechanisms.discrete_gaussian import DiscreteGaussian
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.plan.expressions import ColumnFacts, Ref
from obverse.plan.relation import Cells, Key
from obverse.plan.strategy.matrix import Block, Kept, Strategy, Summed
from obverse.plan.strategy.pricing import noise_of
from obverse.publish.method import Draft, Entries, Measured, Terms
from obverse.publish.tables.method import Tables
from obverse.publish.workload import Attribute, Table, Workload

SIZES = (3, 4, 2)
TERMS = [Terms(accounting, neighbours) for accounting in ("pure", "zcdp") for neighbours in Neighbours]  # type: ignore[arg-type]
WORKLOADS: list[tuple[Table, ...]] = [
    ((0,),),
    ((0, 1, 2),),
    ((0,), (1,), (2,)),
    ((0,), (0, 1), (1, 2)),
    ((0, 1), (0, 2), (1, 2), ()),
]


def workload(tables: tuple[Table, ...], sizes: tuple[int, ...] = SIZES) -> Workload:
    return Workload(tuple(Attribute(name, tuple(range(n))) for name, n in zip("abcdef", sizes)), tables)


def cells_of(made: Workload, sets: tuple[Table, ...]) -> Cells:
    """The workload's attributes as keys of a question."""
    keys = []
    for one in made.attributes:
        facts = ColumnFacts(Type.INTEGER, False, Interval(Fraction(0), Fraction(one.cells - 1)), Fraction(1))
        keys.append(Key(one.name, Ref(one.name, facts), one.values, null_cell=False))
    return Cells(tuple(keys), sets)


def noises(draft: Draft, terms: Terms, made: Workload) -> tuple[Additive, ...]:
    squared = terms.accounting == "zcdp"
    price = Fraction(1, 2) if terms.accounting == "zcdp" else Fraction(1)
    return noise_of(draft.strategy, cells_of(made, draft.sets), terms.neighbours, price, 1, squared=squared)


def measured(method: Tables, terms: Terms, counts: Any, rng: Rng | None) -> Measured:
    """The method's draft measured on made-up counts of all attributes; without noise where no generator is given."""
    draft = method.draft(terms)
    found = []
    for block, mechanism in zip(draft.strategy.blocks, noises(draft, terms, method.workload)):
        entries = block.apply(margin(counts, draft.sets[block.of]).reshape(-1))
        found.append(Entries(block, mechanism, 1.0, entries if rng is None else mechanism.sample(entries, rng)))
    return tuple(found)


def margin(counts: Any, table: Table) -> Any:
    return counts.sum(axis=tuple(axis for axis in range(counts.ndim) if axis not in table))


@pytest.mark.parametrize("terms", TERMS, ids=str)
@pytest.mark.parametrize("tables", WORKLOADS, ids=str)
def test_without_noise_the_truth_comes_back(tables: tuple[Table, ...], terms: Terms) -> None:
    counts = np.arange(24).reshape(SIZES) * 7 % 11
    method = Tables(workload(tables))
    outcome = method.finish(measured(method, terms, counts, None), terms)
    assert outcome.agree
    for table, one in zip(tables, outcome.tables):
        assert np.allclose(one.values, margin(counts, table).reshape(-1))
        assert one.whole.sum() == counts.sum()


@pytest.mark.parametrize("terms", TERMS, ids=str)
@pytest.mark.parametrize("tables", WORKLOADS, ids=str)
def test_tables_agree_with_each_other(tables: tuple[Table, ...], terms: Terms) -> None:
    counts = np.arange(24).reshape(SIZES) * 7 % 11
    method = Tables(workload(tables))
    outcome = method.finish(measured(method, terms, counts, Rng()), terms)
    assert outcome.agree
    for (a, left), (b, right) in itertools.combinations(zip(tables, outcome.tables), 2):
        for x, y in ((left.values, right.values), (left.whole, right.whole)):
            one = x.reshape([SIZES[i] for i in a]).sum(axis=tuple(n for n, i in enumerate(a) if i not in b))
            other = y.reshape([SIZES[i] for i in b]).sum(axis=tuple(n for n, i in enumerate(b) if i not in a))
            assert np.allclose(one, other)
    for one in outcome.tables:
        assert one.whole.dtype == np.int64
        assert one.whole.min() >= 0


def dense(entries: Entries, of: Table) -> Any:
    cells = np.eye(24, dtype=np.int64).reshape(24, *SIZES)
    return np.array([entries.block.apply(margin(cell, of).reshape(-1)) for cell in cells]).T.astype(float)


@pytest.mark.parametrize("terms", TERMS, ids=str)
@pytest.mark.parametrize("tables", WORKLOADS, ids=str)
def test_estimates_and_variances_are_those_of_a_dense_least_squares(tables: tuple[Table, ...], terms: Terms) -> None:
    counts = np.arange(24).reshape(SIZES) * 7 % 11
    method = Tables(workload(tables))
    found = measured(method, terms, counts, Rng())
    sets = method.draft(terms).sets
    design = np.vstack([dense(one, sets[one.block.of]) / math.sqrt(one.variance) for one in found])
    answers = np.concatenate([one.counts().reshape(-1) / math.sqrt(one.variance) for one in found])
    solved = np.linalg.lstsq(design, answers, rcond=None)[0].reshape(SIZES)
    covariance = np.linalg.pinv(design.T @ design, rcond=1e-10)
    for table, one in zip(tables, method.finish(found, terms).tables):
        assert np.allclose(one.values, margin(solved, table).reshape(-1), atol=1e-6)
        adds = np.array([margin(cell.reshape(SIZES), table).reshape(-1) for cell in np.eye(24)]).T
        assert np.allclose(np.diag(adds @ covariance @ adds.T), one.stddev**2)


@pytest.mark.parametrize("terms", TERMS, ids=str)
def test_a_cells_variance_and_interval_are_as_told(terms: Terms) -> None:
    """600 releases. A mean of squares strays by more than 6 of its standard deviations, which for Laplace noise
    (kurtosis up to 6) are at most sqrt(5 / 600) of the variance, with a chance below 1e-6 for each of 12 comparisons;
    coverage below 0.95 by 6 sqrt(0.0475 / 600) likewise. Cells of one table are dependent, so they are compared as if
    they were one."""
    counts = np.arange(24).reshape(SIZES) * 7 % 11
    method = Tables(workload(WORKLOADS[3]))
    rng = Rng()
    errors: dict[Table, list[Any]] = {table: [] for table in method.workload.tables}
    told = method.errors(measured(method, terms, counts, None), terms)
    for _ in range(600):
        for table, one in zip(errors, method.finish(measured(method, terms, counts, rng), terms).tables):
            errors[table].append(one.values - margin(counts, table).reshape(-1))
    for found, expected in zip(errors.values(), told):
        stddev = expected.stddev
        half = expected.half_width
        assert abs(np.mean(np.square(found)) / stddev**2 - 1) < 6 * math.sqrt(5 / 600)
        assert abs(np.mean(found)) < 6 * stddev / math.sqrt(600)
        assert np.mean(np.abs(found) <= half) > 0.95 - 6 * math.sqrt(0.0475 / 600)


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
@pytest.mark.parametrize("many", [1, 2, 5])
def test_an_interval_holds_sums_of_whole_noise_whatever_its_scale(accounting: Any, many: int) -> None:
    """By the exact law: noise of a few steps strays beyond as many deviations more often than noise without steps."""
    terms = Terms(accounting, Neighbours.ADD_REMOVE)
    for size in np.geomspace(0.05, 12, 120).round(3):
        parameter = Fraction(round(size * 1000), 1000)
        one = DiscreteLaplace(1, parameter) if accounting == "pure" else DiscreteGaussian(Fraction(1), parameter**2)
        ends = np.arange(-400, 401)
        law = np.exp(-np.abs(ends) / size) if accounting == "pure" else np.exp(-(ends**2) / (2 * size**2))
        law /= law.sum()
        sum_ = law
        for _ in range(many - 1):
            sum_ = np.convolve(sum_, law, mode="same")
        half = float(terms.half(np.array(one.stddev() * math.sqrt(many)), 1.0))
        assert sum_[np.abs(ends) <= half].sum() >= 0.95, f"{size}, ± {half}"


def test_one_table_of_laplace_noise_has_intervals_that_hold() -> None:
    method = Tables(workload(((0,),)))
    terms = TERMS[0]
    (one,) = method.draft(terms).strategy.blocks
    noise = DiscreteLaplace.for_epsilon(1, Fraction("2.39"))
    (told,) = method.errors((Entries(one, noise, 1.0),), terms)
    assert 2.118 * told.stddev < 1, "nothing but no noise at all, which is seen in 83 of 100 releases"
    assert told.half_width >= 1


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("tables", WORKLOADS, ids=str)
def test_effects_err_no_more_than_tables_measured_as_they_are(
    tables: tuple[Table, ...], neighbours: Neighbours
) -> None:
    terms = Terms("zcdp", neighbours)
    made = workload(tables)
    method = Tables(made)
    counts = np.zeros(SIZES, dtype=np.int64)
    errors = method.errors(measured(method, terms, counts, None), terms)
    mean = np.mean([one.stddev**2 for one in errors])
    plain = []
    for table in tables:
        block = Block("", 0, tuple(Kept(n) if i in table else Summed(n) for i, n in enumerate(SIZES)), Fraction(1))
        plain.append(block)
    draft = Draft(((0, 1, 2),), Strategy(tuple(plain)))
    assert mean <= np.mean([one.stddev() ** 2 for one in noises(draft, terms, made)]) * 1.001


@pytest.mark.parametrize("tables", WORKLOADS, ids=str)
def test_laplace_weights_err_no_more_than_equal_ones(tables: tuple[Table, ...]) -> None:
    terms = Terms("pure", Neighbours.ADD_REMOVE)
    made = workload(tables)
    method = Tables(made)
    counts = np.zeros(SIZES, dtype=np.int64)
    errors = method.errors(measured(method, terms, counts, None), terms)
    mean = np.mean([one.stddev**2 for one in errors])
    assert mean <= DiscreteLaplace.for_epsilon(len(tables), Fraction(1)).stddev() ** 2 * 1.01


def test_tables_too_wide_to_be_read_as_one_are_counted_by_grouping_sets() -> None:
    made = workload(((0, 1), (1, 2), (2,)), (300, 400, 500))
    method = Tables(made)
    for accounting in ("zcdp", "pure"):
        draft = method.draft(Terms(accounting, Neighbours.ADD_REMOVE))  # type: ignore[arg-type]
        assert set(draft.sets) <= {(0, 1), (1, 2), (0, 1, 2)}
        assert all(len(block.maps) == len(draft.sets[block.of]) for block in draft.strategy.blocks)
