"""Hierarchies through the door: levels that add up, invariants from public tables alone, refusals that cost nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import obverse
from obverse.cli.main import cli
from obverse.core.errors import Refused
from obverse.plan.pricing import MatrixStrategy
from obverse.publish.folder.check import check, opened
from obverse.publish.folder.write import publish
from obverse.publish.hierarchy.method import Hierarchy, variances_of
from obverse.publish.hierarchy.request import Along, hierarchy_release, shares_of
from obverse.publish.report import truth
from obverse.testing import synthetic
from obverse.testing.spies import diff, state
from tests.unit.publish.published import head

TOML = (
    head("places", "2", "4")
    + """\
[tables.people]
source = "people.parquet"
unit = "row"
[tables.people.columns]
tract = {{ type = "text", values = "tracts.tract", nullable = {nullable} }}
race = {{ type = "text", values = ["a", "b", "c"], nullable = false }}
[tables.tracts]
source = "tracts.csv"
public = true
[tables.tracts.columns]
state = {{ type = "text" }}
county = {{ type = "text" }}
tract = {{ type = "text" }}
people = {{ type = "integer" }}
beds = {{ type = "integer" }}
"""
)
PLACES: dict[str, Any] = {
    "state": ["NC"] * 5,
    "county": ["Wake", "Ash", "Wake", "Ash", "Wake"],
    "tract": ["t5", "t1", "t3", "t2", "t4"],
    "people": [100, 40, 0, 60, 20],
    "beds": [30, 12, 0, 19, 6],
}
COUNTS = {"t5": 100, "t1": 40, "t3": 0, "t2": 60, "t4": 20}
PEOPLE = {
    "tract": [tract for tract, n in COUNTS.items() for _ in range(n)],
    "race": ["abc"[(i * i) % 3] for n in COUNTS.values() for i in range(n)],
}
ALONG = Along("people", ("state", "county", "tract"), "tracts", ("race",))


def project(folder: Path, accounting: str = "zcdp", neighbours: str = "add-remove", nullable: str = "false") -> Path:
    toml = TOML.format(accounting=accounting, neighbours=neighbours, nullable=nullable)
    if neighbours == "replace":
        toml = toml.replace('unit = "row"', f'unit = "row"\nsize = {sum(COUNTS.values())}')
    return synthetic({"people": PEOPLE, "tracts": PLACES}, toml, folder)


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
def test_levels_add_up_and_the_folder_holds(tmp_path: Path, accounting: str) -> None:
    with obverse.open(project(tmp_path / "p", accounting)) as session:
        release = hierarchy_release(session, ALONG)
        done = publish(session, release, tmp_path / "r")
    assert isinstance(release.method, Hierarchy)
    assert release.method.spine.names == ("state", "county", "tract")
    assert release.method.nodes == (("NC",), ("Ash", "Wake"), ("t1", "t2", "t3", "t4", "t5"))
    tract, county, state_ = (table.whole.reshape(-1, 3) for table in reversed(done.outcome.tables))
    assert (tract[:2].sum(axis=0) == county[0]).all()
    assert (tract[2:].sum(axis=0) == county[1]).all()
    assert (county.sum(axis=0) == state_[0]).all()
    assert all(one.holds for one in check(tmp_path / "r"))
    assert {"children", "sums", "price"} <= {one.name for one in check(tmp_path / "r")}


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
def test_estimates_are_unbiased_with_the_variance_that_is_told(tmp_path: Path, accounting: str) -> None:
    """400 releases of noise alone: each mean of squares within 6 of its standard deviations, sqrt(5 / 400) of the
    variance at
    most for Laplace noise, has a false alarm below 1e-6 for each of three levels; cells are compared as if they were
    one."""
    from obverse.core.rng import Rng

    with obverse.open(project(tmp_path / "p", accounting)) as session:
        release = hierarchy_release(session, ALONG)
    method = release.method
    terms = release.priced.terms
    rng = Rng()
    told = method.errors(release.priced.measured, terms)
    squares: list[list[float]] = [[] for _ in told]
    for _ in range(400):
        noise = tuple(
            replace(one, values=one.mechanism.noise(one.block.entries, rng)) for one in release.priced.measured
        )
        for level, table in enumerate(method.finish(noise, terms).tables):
            squares[level].append(float(np.mean(table.values**2)))
    for found, expected in zip(squares, told):
        assert abs(np.mean(found) / expected.stddev**2 - 1) < 6 * np.sqrt(5 / 400)


def test_public_totals_are_held_under_replace_and_refused_otherwise(tmp_path: Path) -> None:
    held = replace(ALONG, invariant="county=people")
    with obverse.open(project(tmp_path / "p", neighbours="replace")) as session:
        without = publish(session, hierarchy_release(session, ALONG), tmp_path / "without")
        done = publish(session, hierarchy_release(session, held), tmp_path / "r")
    assert done.receipted.stored, "what is held costs nothing"
    assert without.receipted.claim["sentence"].startswith("Protects one row")
    assert done.outcome.tables[1].whole.reshape(-1, 3).sum(axis=1).tolist() == [100, 120]
    assert all(one.holds for one in done.checks)
    assert "invariants" in {one.name for one in done.checks}
    text = (tmp_path / "r" / "statement.md").read_text()
    assert "could be replaced by another of the same invariant cell, and every outcome" in text
    claim = json.loads((tmp_path / "r" / "metadata.json").read_text())["claim"]
    assert claim["sentence"].startswith(
        "Between people of the same invariant cell, here of the same county: protects one row"
    )
    assert "all of this between people of the same invariant cell" in claim["limits"]
    assert "Totals of each county are held as given, so they and their sums have no error." in text
    rows = opened(tmp_path / "r").tables[1]
    assert np.allclose(rows["estimate"].reshape(-1, 3).sum(axis=1), [100, 120], atol=1e-3)
    assert all(one.holds for one in check(tmp_path / "r"))
    with obverse.open(project(tmp_path / "q")) as session:
        before = state(session.ledger)
        with pytest.raises(Refused) as refused:
            hierarchy_release(session, held)
        assert refused.value.code == "invariant_needs_replace"
        assert diff(before, session.ledger).empty


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_public_bounds_are_kept_said_and_checked(tmp_path: Path, neighbours: str) -> None:
    """In every tract at least as many of race a as it has beds, and at most as many people as are listed; at little
    epsilon.
    """
    along = replace(ALONG, at_least=("tract=beds@race:a",), at_most=("tract=people", "county=people"))
    along = replace(along, invariant="state=people") if neighbours == "replace" else along
    with obverse.open(project(tmp_path / "p", neighbours=neighbours)) as session:
        done = publish(session, hierarchy_release(session, along, Fraction(1, 20)), tmp_path / "r")
        exact = truth(session, opened(tmp_path / "r"), "a look")
    assert all(one.holds for one in done.checks)
    assert {"bounds", "children"} <= {one.name for one in done.checks}
    tracts = done.outcome.tables[-1].whole.reshape(-1, 3)
    beds = [12, 19, 0, 6, 30]
    people = [40, 60, 0, 20, 100]
    assert (tracts[:, 0] >= beds).all()
    assert (tracts.sum(axis=1) <= people).all()
    assert round(float(exact[0].sum())) == 220
    assert "at least beds of tracts in each tract, of race:a" in (tmp_path / "r/statement.md").read_text()
    path = tmp_path / "r/data/03-tract.csv"
    path.write_text(path.read_text().replace("t3,a,0,", "t3,a,1,"))
    assert not {one.name: one.holds for one in check(tmp_path / "r")}["bounds"]


def test_bounds_without_room_for_sums_are_reported_and_nothing_else_is_excused(tmp_path: Path) -> None:
    """Each tract has exactly so many of race a, and exactly so many people: at little epsilon, counties' cells fit
    neither.
    """
    same = ("tract=beds@race:a", "tract=people", "tract=beds@race:b")
    with obverse.open(project(tmp_path / "p")) as session:
        release = hierarchy_release(session, replace(ALONG, at_least=same[:2], at_most=same), Fraction(1, 100))
        done = publish(session, release, tmp_path / "r")
    assert all(one.holds for one in done.checks), [one for one in done.checks if not one.holds]
    children = next(one.words for one in done.checks if one.name == "children")
    assert bool(done.outcome.notes) == ("no room" in children)
    for note in done.outcome.notes:
        assert note in (tmp_path / "r/statement.md").read_text()
    tracts = done.outcome.tables[-1].whole.reshape(-1, 3)
    assert tracts.sum(axis=1).tolist() == [40, 60, 0, 20, 100]
    counties = tmp_path / "r/data/02-county.csv"
    lines = counties.read_text().splitlines()
    parts = lines[1].split(",")
    counties.write_text(
        "\n".join([lines[0], ",".join([*parts[:2], str(int(parts[2]) + 1), *parts[3:]]), *lines[2:]]) + "\n"
    )
    assert not all(one.holds for one in check(tmp_path / "r"))


@pytest.mark.parametrize(
    ("along", "code"),
    [
        (replace(ALONG, at_least=("tract",)), "bad_bounds"),
        (replace(ALONG, at_least=("tract=county",)), "bad_bounds"),
        (replace(ALONG, at_least=("tract=beds@race:z",)), "bad_bounds"),
        (replace(ALONG, at_least=("tract=people",), at_most=("tract=beds",)), "bad_bounds"),
        (replace(ALONG, places="people"), "bad_spine"),
        (replace(ALONG, places="nowhere"), "bad_spine"),
        (replace(ALONG, spine=()), "bad_spine"),
        (replace(ALONG, spine=("state", "state", "tract")), "bad_spine"),
        (replace(ALONG, cells=(ALONG.spine[-1],)), "bad_workload"),
        (replace(ALONG, cells=("race", "race")), "bad_workload"),
        (replace(ALONG, shares="1,2"), "bad_shares"),
        (replace(ALONG, shares="1,x,2"), "bad_shares"),
        (replace(ALONG, shares="1,0,2"), "bad_shares"),
        (replace(ALONG, shares="census2020"), "bad_shares"),
        (replace(ALONG, invariant="people"), "bad_invariant"),
        (replace(ALONG, invariant="county=tract"), "bad_invariant"),
    ],
)
def test_what_is_no_hierarchy_is_refused(tmp_path: Path, along: Along, code: str) -> None:
    with obverse.open(project(tmp_path / "p")) as session, pytest.raises(Refused) as refused:
        hierarchy_release(session, along)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("where", "limits"), [("race = 'a'", ""), ("", "limits = { rows = 2 }"), ("", 'limits = "auto"')]
)
def test_totals_are_held_only_of_everything_that_is_counted(tmp_path: Path, where: str, limits: str) -> None:
    """Published with totals of all races, race a was 147 people too many, and no error was stated; so were rows of
    units.
    """
    folder = project(tmp_path / "p", neighbours="replace")
    toml = (folder / "obverse.toml").read_text()
    unit = f'unit = "race"\n{limits}' if limits else 'unit = "row"'
    (folder / "obverse.toml").write_text(toml.replace('unit = "row"', unit))
    with obverse.open(folder) as session:
        before = state(session.ledger)
        with pytest.raises(Refused) as refused:
            hierarchy_release(session, replace(ALONG, invariant="county=people", where=where))
        assert (refused.value.code, diff(before, session.ledger).empty) == ("bad_invariant", True)


def test_bounds_that_contradict_what_is_held_are_refused_for_nothing(tmp_path: Path) -> None:
    for bounds in ({"at_most": ("tract=beds",)}, {"at_least": ("state=beds",)}):
        with obverse.open(project(tmp_path / next(iter(bounds)), neighbours="replace")) as session:
            before = state(session.ledger)
            with pytest.raises(Refused) as refused:
                hierarchy_release(session, replace(ALONG, invariant="county=people", **bounds))
            assert refused.value.code == "bad_bounds"
            assert diff(before, session.ledger).empty


def test_a_leaf_that_may_be_missing_is_refused(tmp_path: Path) -> None:
    with obverse.open(project(tmp_path / "p", nullable="true")) as session, pytest.raises(Refused) as refused:
        hierarchy_release(session, ALONG)
    assert refused.value.code == "bad_spine"


def test_shares_of_levels_are_exact_and_add_up(tmp_path: Path) -> None:
    with obverse.open(project(tmp_path / "p")) as session:
        release = hierarchy_release(session, replace(ALONG, shares="1,2,5"))
    noise = release.priced.planned.costed.noise
    assert isinstance(noise, MatrixStrategy)
    levels = [sum(noise.strategy.shares[n : n + 2], Fraction(0)) for n in (0, 2, 4)]
    assert levels == [Fraction(1, 8), Fraction(1, 4), Fraction(5, 8)]


def test_the_preset_is_the_split_of_the_production_run_and_totals_have_a_tree_of_their_own(tmp_path: Path) -> None:
    """nation, state, county, tract, block group, block: 104:1440:447:687:1256:165 of 4099."""
    shares = shares_of("census2020", 6)
    assert [share * 4099 for share in shares] == [104, 1440, 447, 687, 1256, 165]
    assert sum(shares) == 1
    with obverse.open(project(tmp_path / "p")) as session:
        release = hierarchy_release(session, ALONG)
    assert isinstance(release.method, Hierarchy)
    cells, totals = variances_of(release.method.spine, release.method.cells, release.priced.measured, None)
    assert all(total < 3 * cell for cell, total in zip(cells, totals))  # less than the sum of a place's three cells


def test_the_command_publishes_and_checks(tmp_path: Path) -> None:
    folder = str(project(tmp_path / "p"))
    out = str(tmp_path / "r")
    args = [
        "publish",
        "hierarchy",
        "people",
        "--spine",
        "state,county,tract",
        "--places",
        "tracts",
        "--cells",
        "race",
        "-p",
        folder,
    ]
    assert "no private row was read" in CliRunner().invoke(cli, [*args, "--plan"]).stdout
    made = CliRunner().invoke(cli, [*args, "--out", out, "--json"])
    assert made.exit_code == 0, made.output
    assert all(one["holds"] for one in json.loads(made.stdout)["checks"])
    assert CliRunner().invoke(cli, ["publish", "check", out]).exit_code == 0
