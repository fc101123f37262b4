"""Quantiles, ranges and CDFs: what a unit can move, least squares, variances, intervals and bands, against brute
force.
"""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from obverse.core.errors import Refused
from obverse.core.rng import Rng
from obverse.core.units import Neighbours
from obverse.plan.strategy.pricing import noise_of
from obverse.publish.folder.metadata import cells_of
from obverse.publish.method import Draft, Entries, Measured, Terms
from obverse.publish.quantiles.leaves import Leaves
from obverse.publish.quantiles.lines import Branches, Line, Sums
from obverse.publish.quantiles.method import Quantiles
from obverse.publish.workload import Attribute, Workload

AT = (Fraction(1, 10), Fraction(1, 2), Fraction(4, 5))
TERMS = [Terms(accounting, neighbours) for accounting in ("pure", "zcdp") for neighbours in Neighbours]  # type: ignore[arg-type]
PURE, ZCDP = (Terms(accounting, Neighbours.ADD_REMOVE) for accounting in ("pure", "zcdp"))  # type: ignore[arg-type]


def method(
    leaves: int = 12, groups: int = 1, *, missing: bool = False, ranges: Any = (), single: bool = False
) -> Quantiles:
    ends = tuple(Fraction(n) for n in range(leaves))
    first = Attribute("x", (*map(str, range(leaves)), *((None,) if missing else ())))
    rest = (Attribute("g", tuple("abcdef"[:groups])),) if groups > 1 else ()
    workload = Workload((first, *rest), (tuple(range(1 + len(rest))),))
    return Quantiles(workload, Leaves(ends, ends, closed=True), AT, ranges, single)


def measured(made: Quantiles, terms: Terms, counts: Any, rng: Rng | None, draft: Draft | None = None) -> Measured:
    """The draft measured on made-up counts, leaves by groups; without noise where no generator is given."""
    draft = draft or made.draft(terms)
    squared = terms.accounting == "zcdp"
    price = Fraction(1, 8) if terms.accounting == "zcdp" else Fraction(1, 2)
    cells = cells_of(made.workload, draft, total=True)
    noise = noise_of(draft.strategy, cells, terms.neighbours, price, 1, squared=squared)
    found = []
    for block, mechanism, exact in zip(draft.strategy.blocks, noise, draft.strategy.apply(cells, counts.reshape(-1))):
        found.append(Entries(block, mechanism, 1.0, exact if rng is None else mechanism.sample(exact, rng)))
    return tuple(found)


def measuring(made: Quantiles, terms: Terms, line: Line) -> Draft:
    """A draft that measures this line, with shares of its parts that differ."""
    names = [f"groups:{part}" for part in line.parts]
    names += [f"all:{part}" for part in line.parts] if made.groups > 1 else []
    return made.weighted(terms, {name: Fraction(1 + n, 7) for n, name in enumerate(names)})


def truth(made: Quantiles) -> Any:
    found = np.arange(made.size * made.groups).reshape(made.size, made.groups) * 7 % 11
    found[3:4] = 0
    return found


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("terms", TERMS, ids=str)
@pytest.mark.parametrize("line", [Sums(5), Branches(5, 2), Branches(5, 4)], ids=str)
@pytest.mark.parametrize("groups", [1, 2])
def test_no_unit_costs_more_than_the_price_and_some_unit_nearly_as_much(
    line: Line, groups: int, terms: Terms, rows: int
) -> None:
    """Every unit of one or two rows on five leaves, added or replaced by every other, all blocks together; exact
    numbers.
    """
    made = method(5, groups)
    draft = measuring(made, terms, line)
    squared = terms.accounting == "zcdp"
    cells = cells_of(made.workload, draft, total=True)
    price = Fraction(1, 3)
    noise = noise_of(draft.strategy, cells, terms.neighbours, price, rows, squared=squared)
    per = [1 / (2 * one.sigma_squared) if squared else 1 / one.scale for one in noise]  # type: ignore[attr-defined]
    size = 5 * groups
    units = [np.bincount(u, minlength=size) for u in itertools.combinations_with_replacement(range(size), rows)]
    units.append(np.zeros(size, dtype=np.int64))
    moved = [draft.strategy.apply(cells, unit.astype(np.int64)) for unit in units]
    pairs = (
        itertools.combinations(moved, 2)
        if terms.neighbours is Neighbours.REPLACE
        else ((one, moved[-1]) for one in moved)
    )
    most = Fraction(0)
    for a, b in pairs:
        most = max(most, sum(p * int((np.abs(x - y) ** (1 + squared)).sum()) for p, x, y in zip(per, a, b)))
    assert price / 2 < most <= price
    exact = squared and (groups == 1 or not isinstance(line, Sums))
    if terms.neighbours is Neighbours.ADD_REMOVE or exact:
        assert most > price * Fraction(999, 1000)


SHAPES = [
    method(),
    method(9, 3, missing=True, ranges=((0, 3), (2, 7)), single=True),
    method(40, missing=True, ranges=((1, 1),)),
    method(2, 2),
]


@pytest.mark.parametrize("terms", TERMS, ids=str)
@pytest.mark.parametrize("made", SHAPES, ids=["plain", "groups", "missing", "tiny"])
def test_without_noise_the_truth_comes_back(made: Quantiles, terms: Terms) -> None:
    counts = truth(made)
    outcome = made.finish(measured(made, terms, counts, None), terms)
    known = np.cumsum(counts[: made.leaves.count], axis=0)
    for place, table in enumerate(outcome.tables[: len(made.titles())]):
        exact = known.T.reshape(-1) if place else known.sum(axis=1)
        assert np.allclose(table.values, exact)
        assert (table.whole == exact).all()
    line = known.sum(axis=1)
    whole = known.sum(axis=1)[-1]
    wanted = [next(n for n, up in enumerate(line) if up >= at * whole) for at in AT]
    assert outcome.further[0].columns["value"].tolist() == wanted
    for table, (first, last) in zip(outcome.tables[len(made.titles()) :: len(made.titles())], made.ranges[:1]):
        assert table.whole[0] == line[last] - (line[first - 1] if first else 0)


@pytest.mark.parametrize("terms", [PURE, ZCDP], ids=str)
@pytest.mark.parametrize("made", SHAPES, ids=["plain", "groups", "missing", "tiny"])
def test_noisy_numbers_rise_add_up_and_come_back_from_json(made: Quantiles, terms: Terms) -> None:
    found = measured(made, terms, truth(made), Rng())
    outcome = made.finish(found, terms)
    laws = made.laws([{"count": one.whole, "estimate": one.values} for one in outcome.tables], True)
    assert all(law.holds for law in laws), laws
    broken = [{"count": one.whole.copy(), "estimate": one.values.copy()} for one in outcome.tables]
    broken[0]["count"][0] += 10_000
    assert not all(law.holds for law in made.laws(broken, True))
    again = Quantiles.from_json(json.loads(json.dumps(made.as_json())))
    assert (again.workload, again.leaves, again.at, again.ranges) == (made.workload, made.leaves, made.at, made.ranges)
    for n, one in enumerate(outcome.tables):
        assert all(len(values) == len(one.values) for values in made.labels(n)[0].values())
    for entries in found:
        assert all(len(values) == entries.block.entries for values in made.block_labels(entries.block.name)[0].values())
    for sheet in outcome.further:
        assert len({len(values) for values in sheet.columns.values()}) == 1


@pytest.mark.parametrize("terms", [PURE, ZCDP], ids=str)
@pytest.mark.parametrize("line", [None, Sums(10), Branches(10, 3)], ids=str)
def test_estimates_and_variances_are_those_of_a_dense_least_squares(line: Line | None, terms: Terms) -> None:
    """Nine leaves and one for what is missing, three groups: everything measured, solved as one system."""
    made = method(9, 3, missing=True, ranges=((0, 3), (2, 7)), single=True)
    counts = truth(made)
    draft = made.draft(terms) if line is None else measuring(made, terms, line)
    found = measured(made, terms, counts, Rng(), draft)
    cells = cells_of(made.workload, draft, total=True)
    each = [draft.strategy.apply(cells, cell) for cell in np.eye(30, dtype=np.int64)]
    design = np.vstack([np.array([e[n] for e in each]).T / math.sqrt(one.variance) for n, one in enumerate(found)])
    answers = np.concatenate([one.counts().reshape(-1) / math.sqrt(one.variance) for one in found])
    solved = np.linalg.lstsq(design, answers, rcond=None)[0]
    covariance = np.linalg.inv(design.T @ design)
    outcome = made.finish(found, terms)
    values = np.eye(30).reshape(30, 10, 3)[:, :9]  # of each cell: what it adds to leaves that are told, by group
    within = np.cumsum(values, axis=1).transpose(2, 1, 0).reshape(27, 30)
    rows = {0: within.reshape(3, 9, 30).sum(axis=0), 1: within}
    rows |= {4: values.sum(axis=2).T, 5: values.transpose(2, 1, 0).reshape(27, 30)}
    rows[2] = np.stack([rows[0][3], rows[0][7] - rows[0][1]])
    rows[3] = np.stack([w for g in within.reshape(3, 9, 30) for w in (g[3], g[7] - g[1])])
    for place, adds in rows.items():
        table = outcome.tables[place]
        assert np.allclose(table.values, adds @ solved), place
        assert np.allclose(table.stddev**2, np.diag(adds @ covariance @ adds.T)), place
    for told, at in zip([one for one in made.errors(found, terms) if one.kind == "rank"], AT):
        moved = rows[0] - float(at) * rows[0][-1]
        assert math.isclose(told.stddev, math.sqrt(np.diag(moved @ covariance @ moved.T).mean()))


REPEATS = 500


@pytest.mark.parametrize("terms", [PURE, ZCDP], ids=str)
@pytest.mark.parametrize("groups", [1, 3])
def test_variances_intervals_and_bands_are_as_told(groups: int, terms: Terms) -> None:
    """500 releases. A mean of squares of numbers of one table strays from its expectation by more than 6 standard
    deviations, at most sqrt(5 / 500) of it (kurtosis up to 6, all of a table taken as one), with a chance below 1e-6; a
    share of releases below 0.95 by 6 sqrt(0.0475 / 500) likewise. At most 10 such comparisons in each of four cases."""
    made = method(40, groups)
    rng = Rng()
    counts = np.random.default_rng(7).poisson(30, (40, groups))
    exact = [np.cumsum(counts.sum(axis=1))[None], np.cumsum(counts, axis=0).T][: len(made.titles())]
    wanted = [[[int(np.argmax(line >= float(q) * line[-1])) for q in AT] for line in one] for one in exact]
    told = [one for one in made.errors(measured(made, terms, counts, None), terms) if one.kind == "count"]
    squares, inside, bands, apart, joint = ([[] for _ in exact] for _ in range(5))  # type: ignore[var-annotated]
    draft = made.draft(terms)
    for _ in range(REPEATS):
        outcome = made.finish(measured(made, terms, counts, rng, draft), terms)
        for n, true in enumerate(exact):
            table = outcome.tables[n]
            sheet = outcome.further[2 * n].columns
            band = outcome.further[2 * n + 1].columns
            off = table.values - true.reshape(-1)
            squares[n].append((off**2).mean())
            inside[n].append((np.abs(off) <= table.half_width).mean())
            over = band["band_high"] - true.reshape(-1)
            under = true.reshape(-1) - band["band_low"]
            bands[n].append(min(over.min(), under.min()) >= -1e-9)
            at = np.array(wanted[n]).reshape(-1)
            apart[n].append(((sheet["low"] <= at) & (at <= sheet["high"])).mean())
            joint[n].append(bool(((sheet["band_low"] <= at) & (at <= sheet["band_high"])).all()))
    least = 0.95 - 6 * math.sqrt(0.0475 / REPEATS)
    for n, one in enumerate(told):
        assert abs(np.mean(squares[n]) / one.stddev**2 - 1) < 6 * math.sqrt(5 / REPEATS)
        assert min(np.mean(shares[n]) for shares in (inside, bands, apart, joint)) > least


def test_a_bands_reach_covers_many_numbers_and_one_as_before() -> None:
    for terms in (PURE, ZCDP):
        assert math.isclose(terms.together(1), 1.959964 if terms == ZCDP else 2.118290, rel_tol=1e-4)
        assert terms.together(1000) > terms.together(10) > terms.together(1)


def test_quantiles_are_between_0_and_1_and_different() -> None:
    for at in ((), (Fraction(0),), (Fraction(3, 2),), (AT[0], AT[0])):
        with pytest.raises(Refused) as refused:
            Quantiles(method().workload, method().leaves, at)
        assert refused.value.code == "bad_quantile"


def test_groups_named_like_our_own_columns_keep_both() -> None:
    made = method(4, 2)
    first, second = made.workload.attributes
    named = Quantiles(Workload((first, Attribute("quantile", second.values)), made.workload.tables), made.leaves, AT)
    outcome = named.finish(measured(named, ZCDP, truth(named), Rng()), ZCDP)
    assert list(outcome.further[2].columns)[:3] == ["quantile (key)", "quantile", "value"]
    assert all(len(svg) > 100 for _, svg in named.pictures(outcome).values())
