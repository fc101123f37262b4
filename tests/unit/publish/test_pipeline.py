"""Releases through the door: one debit for all tables, exact norms on neighbouring databases, refusals that cost
nothing.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import obverse
from obverse.core.errors import BudgetExceeded, InvariantBroken, Refused
from obverse.plan.pricing import MatrixStrategy, with_mechanisms
from obverse.plan.verify import verify
from obverse.publish.pipeline import Release, measured, packed, unpacked
from obverse.publish.tables.release import table_release
from obverse.publish.tables.request import Wanted
from obverse.testing.spies import diff, spy_on, state
from tests.unit.publish.published import Made, exact_counts, head, made_of

TOML = (
    head("release", "0.5", "1")
    + """\
[tables.people]
source = "people.parquet"
unit = "person_id"
{size}
[tables.people.columns]
age = {{ type = "integer", bounds = [0, 90] }}
sex = {{ type = "text", values = ["F", "M"], nullable = false }}
pay = {{ type = "double", bounds = [0, 100] }}
note = {{ type = "text" }}
[tables.visits]
source = "visits.parquet"
unit = "person_id -> people.person_id"
limits = {{ rows = 2 }}
[tables.visits.columns]
ward = {{ type = "text", values = ["a", "b", "c"] }}
day = {{ type = "integer", bounds = [1, 3] }}
"""
)
PEOPLE = {"person_id": list(range(6)), "age": [3, 30, None, 80, 90, 200], "sex": ["F", "M", "F", "M", "F", "M"],
          "pay": [1.0, 20.0, None, 99.0, 100.0, -5.0], "note": ["x"] * 6}  # fmt: skip
VISITS = {
    "person_id": [0, 0, 0, 1, 2, 2, 3],
    "ward": ["a", "a", "a", "b", "c", None, "?"],
    "day": [1, 2, 3, 1, 1, 1, 9],
}
TABLES = Wanted("people", (("age",), ("age", "sex"), ("pay",)), {"age": "30", "pay": "0,10,50"})
VISITED = Wanted("visits", (("ward",), ("ward", "day")), {})
EMPTY = Wanted("people", (("age",), ("age", "sex")), {"age": "30"}, zeros="sex = 'M' AND age < 30")
made = made_of(TOML, {"people": PEOPLE, "visits": VISITS}, 6)


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
def test_all_tables_are_one_debit_and_one_receipt(made: Made, accounting: str) -> None:
    session = made(accounting)
    log = spy_on(session)
    before = state(session.ledger)
    release = table_release(session, TABLES)
    assert log.events == []
    assert diff(before, session.ledger).empty
    found = measured(session, release.priced)
    assert log.events == ["reserve", "run", "settle"]
    assert [entry.kind for entry in diff(before, session.ledger).entries] == ["catalog", "charge", "settle"]
    assert found.claim["receipt"]
    assert (found.claim["epsilon"], found.stored) == ("0.5", False)
    if accounting == "pure":
        assert session.ledger.spent().amount == Fraction(1, 2)


def test_the_same_release_again_is_the_stored_one_and_another_is_charged(made: Made) -> None:
    session = made()
    first = measured(session, table_release(session, TABLES).priced)
    again = measured(session, table_release(session, TABLES).priced)
    assert again.stored
    assert [one.values.tolist() for one in again.measured] == [one.values.tolist() for one in first.measured]  # type: ignore[union-attr]
    assert session.ledger.spent().amount == Fraction(1, 2)
    other = measured(session, table_release(session, replace(TABLES, by=(("age",),), bins={"age": "30"})).priced)
    assert not other.stored
    assert session.ledger.spent().amount == 1
    with pytest.raises(BudgetExceeded):
        measured(session, table_release(session, replace(TABLES, where="age > 5")).priced)


def entries(session: obverse.Session, release: Release) -> list[Any]:
    """The exact entries of all blocks: made-up rows are public, and are read as such."""
    costed = release.priced.planned.costed
    assert isinstance(costed.noise, MatrixStrategy)
    return costed.noise.strategy.apply(costed.root.public, exact_counts(session, release.priced.planned))


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("wanted", [TABLES, VISITED, EMPTY], ids=["people", "visits", "empty cells"])
@pytest.mark.parametrize("sets", [1 << 20, 1], ids=["one set", "several sets"])
def test_units_taken_out_or_replaced_cost_no_more_than_the_price(
    made: Made, monkeypatch: pytest.MonkeyPatch, accounting: str, neighbours: str, wanted: Wanted, sets: int
) -> None:
    """Every person of the made-up tables, their rows over the limit and beyond the cells included; exact numbers."""
    monkeypatch.setattr("obverse.publish.tables.method.ONE_SET_MAX", sets)
    session = made(accounting, neighbours)
    release = table_release(session, wanted)
    costed = release.priced.planned.costed
    whole = entries(session, release)
    moved = []
    for person in range(6):
        people = {
            name: [v for v, who in zip(values, PEOPLE["person_id"]) if who != person] for name, values in PEOPLE.items()
        }
        visits = {
            name: [v for v, who in zip(values, VISITS["person_id"]) if who != person] for name, values in VISITS.items()
        }
        without = made(accounting, "add-remove", people=people, visits=visits)
        moved.append(
            [a - b for a, b in zip(whole, entries(without, release_like(without, wanted, release, accounting)))]
        )
    pairs = [(a, None) for a in moved] if neighbours == "add-remove" else list(itertools.combinations(moved, 2))
    most = Fraction(0)
    for a, b in pairs:
        cost = Fraction(0)
        for n, mechanism in enumerate(costed.mechanisms):
            change = a[n] if b is None else a[n] - b[n]
            if accounting == "pure":
                cost += int(np.abs(change).sum()) / mechanism.scale  # type: ignore[union-attr]
            else:
                cost += sum(int(x) ** 2 for x in change) / (2 * mechanism.sigma_squared)  # type: ignore[union-attr]
        most = max(most, cost)
    paid = costed.loss.epsilon if accounting == "pure" else costed.loss.rho  # type: ignore[union-attr]
    assert paid / 3 < most <= paid


def release_like(session: obverse.Session, wanted: Wanted, release: Release, accounting: str) -> Release:
    """The same question of another database."""
    assert session.catalog.accounting == accounting
    found = table_release(session, wanted)
    planned = replace(found.priced.planned, costed=release.priced.planned.costed)
    return replace(found, priced=replace(found.priced, planned=planned))


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
def test_noise_that_does_not_cover_the_price_is_stopped_before_the_debit(made: Made, accounting: str) -> None:
    session = made(accounting)
    release = table_release(session, TABLES).priced
    costed = release.planned.costed
    weaker = tuple(one.scaled(Fraction(9, 10)) for one in costed.mechanisms)
    with pytest.raises(InvariantBroken):
        verify(with_mechanisms(costed, weaker))
    before = state(session.ledger)
    with pytest.raises(InvariantBroken):
        measured(session, replace(release, planned=replace(release.planned, costed=with_mechanisms(costed, weaker))))
    assert not any(entry.kind == "charge" for entry in diff(before, session.ledger).entries)


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (replace(TABLES, bins={}), "no_domain"),
        (Wanted("people", (("note",),), {}), "no_domain"),
        (Wanted("people", (("sex",),), {"age": "10"}), "bad_bins"),
        (Wanted("people", (("age",),), {"age": "9,3"}), "bad_bins"),
        (Wanted("people", (("age",),), {"age": "x"}), "bad_bins"),
        (Wanted("people", (("sex",),), {"sex": "10"}), "bad_bins"),
        (Wanted("people", (("nobody",),), {}), "unknown_column"),
        (Wanted("nowhere", (("age",),), {}), "unknown_table"),
        (Wanted("people", (), {}), "bad_workload"),
        (Wanted("people", (("sex",), ("sex",)), {}), "bad_workload"),
        (Wanted("people", (("pay",),), {"pay": "0.03"}), "bad_bins"),
        (Wanted("people", (("sex",),), {}, "TRUE) GROUP BY GROUPING SETS ((sex, age)) --"), "parse_error"),
    ],
)
def test_what_cannot_be_released_is_refused_with_its_fix_and_for_nothing(made: Made, wanted: Wanted, code: str) -> None:
    session = made()
    before = state(session.ledger)
    with pytest.raises(Refused) as refused:
        table_release(session, wanted)
    assert refused.value.code == code
    assert diff(before, session.ledger).empty


def test_bins_follow_the_declared_bounds_and_missing_values_have_a_cell(made: Made) -> None:
    workload = table_release(made(), TABLES).method.workload
    assert [one.values for one in workload.attributes] == [
        ("0 to 29", "30 to 59", "60 to 90", None),
        ("F", "M"),
        ("0 to below 10", "10 to below 50", "50 to 100", None),
    ]


@pytest.mark.parametrize("values", [[], [0], [-128, 127], [300, -5], [2**40, -(2**62)]])
def test_packed_integers_come_back(values: list[int]) -> None:
    assert unpacked(packed(np.array(values, dtype=np.int64))).tolist() == values


def test_a_condition_on_a_listed_column_leaves_the_cells_that_it_leaves(made: Made) -> None:
    session = made(people=PEOPLE | {"age": [3, 30, None, 2, 1, 3]})
    wanted = Wanted("people", (("age", "sex"),), {}, where="age BETWEEN 2 AND 30 AND sex IN ('F')")
    release = table_release(session, wanted)
    assert [one.values for one in release.method.workload.attributes] == [tuple(range(2, 31)), ("F",)]
    (entries,) = [one.values for one in measured(session, release.priced).measured]
    assert entries is not None
    assert len(entries) == 29


def test_a_condition_that_narrows_numbered_cells_is_refused(made: Made) -> None:
    from obverse.publish.quantiles.request import Distribution, quantile_release

    session = made()
    with pytest.raises(Refused) as refused:
        quantile_release(session, Distribution("people", "age", where="age < 50"), Fraction(1, 10))
    assert refused.value.code == "condition_narrows"
    there = quantile_release(session, Distribution("people", "age", where="age IS NOT NULL"), Fraction(1, 10))
    assert there.method.workload.attributes[0].cells == 91
