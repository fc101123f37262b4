"""Quantiles through the door: one debit, exact norms on neighbouring databases, leaves from the schema, and the
folder.
"""

from __future__ import annotations

import csv
import itertools
import json
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import obverse
from obverse.cli.main import cli
from obverse.core.errors import Refused
from obverse.plan.pricing import MatrixStrategy
from obverse.publish.folder.check import check
from obverse.publish.folder.write import publish
from obverse.publish.pipeline import measured
from obverse.publish.quantiles.method import Quantiles
from obverse.publish.quantiles.request import Distribution, quantile_release
from obverse.testing import synthetic
from obverse.testing.spies import diff, spy_on, state
from tests.unit.publish.published import Made, exact_counts, head, made_of, rows

TOML = (
    head("spread", "0.5", "2")
    + """\
[tables.people]
source = "people.parquet"
unit = "person_id"
{size}
[tables.people.columns]
age = {{ type = "integer", bounds = [0, 11] }}
sex = {{ type = "text", values = ["F", "M"], nullable = false }}
pay = {{ type = "double", bounds = [0, 100], nullable = false }}
cost = {{ type = "double", bounds = [0, 1], grid = 0.1 }}
wide = {{ type = "double", bounds = [0, 500000], grid = 0.01 }}
huge = {{ type = "integer", bounds = [-50000, 50000] }}
note = {{ type = "text" }}
since = {{ type = "date", bounds = ["2020-01-01", "2020-12-31"] }}
free = {{ type = "double" }}
[tables.visits]
source = "visits.parquet"
unit = "person_id -> people.person_id"
limits = {{ rows = 2 }}
[tables.visits.columns]
day = {{ type = "integer", bounds = [1, 6] }}
[tables.towns]
source = "towns.parquet"
public = true
"""
)
PEOPLE: dict[str, list[Any]] = {
    "person_id": list(range(6)), "age": [3, 11, None, 0, 7, 200], "sex": ["F", "M", "F", "M", "F", "M"],
    "pay": [0.0, 49.99, 50.0, 99.99, 100.0, -5.0], "cost": [0.0, 0.1, 0.3, 0.7, 1.0, None],
    "wide": [0.0, 499.99, 500.0, 250000.0, 500000.0, None], "huge": [-50000, -1, 0, 1, 50000, None],
    "note": ["x"] * 6, "since": [None] * 6, "free": [0.5] * 6,
}  # fmt: skip
VISITS = {"person_id": [0, 0, 0, 1, 2, 2, 3], "day": [1, 6, 3, 2, 1, None, 9]}
AGES = Distribution("people", "age", ("sex",), "0.4,0.6", ("3,7",), single=True)
DAYS = Distribution("visits", "day", at="0.5")
made = made_of(TOML, {"people": PEOPLE, "visits": VISITS, "towns": {"name": ["a"]}}, 6)


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("told", [AGES, DAYS], ids=["people", "visits"])
def test_units_taken_out_or_replaced_cost_no_more_than_the_price(
    made: Made, accounting: str, neighbours: str, told: Distribution
) -> None:
    """Every person of the made-up tables: missing numbers, numbers out of bounds, rows over the limit; exact
    numbers.
    """
    session = made(accounting, neighbours)
    release = quantile_release(session, told)
    costed = release.priced.planned.costed
    assert isinstance(costed.noise, MatrixStrategy)
    whole = exact_counts(session, release.priced.planned)
    moved = []
    for person in range(6):
        without = {}
        for name, own in (("people", PEOPLE), ("visits", VISITS)):
            without[name] = {k: [v for v, who in zip(vs, own["person_id"]) if who != person] for k, vs in own.items()}
        other = made(accounting, "add-remove", **without)
        gone = whole - exact_counts(other, quantile_release(other, told).priced.planned)
        moved.append(costed.noise.strategy.apply(costed.root.public, gone))
    nothing = [np.zeros_like(part) for part in moved[0]]
    pairs = [(a, nothing) for a in moved] if neighbours == "add-remove" else list(itertools.combinations(moved, 2))
    most = Fraction(0)
    for a, b in pairs:
        cost = Fraction(0)
        for x, y, noise in zip(a, b, costed.mechanisms):
            if accounting == "pure":
                cost += int(np.abs(x - y).sum()) / noise.scale  # type: ignore[union-attr]
            else:
                cost += sum(int(z) ** 2 for z in x - y) / (2 * noise.sigma_squared)  # type: ignore[union-attr]
        most = max(most, cost)
    paid = costed.loss.epsilon if accounting == "pure" else costed.loss.rho  # type: ignore[union-attr]
    assert paid / 3 < most <= paid


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
def test_everything_is_one_debit_and_planning_is_free(made: Made, accounting: str) -> None:
    session = made(accounting)
    log = spy_on(session)
    before = state(session.ledger)
    release = quantile_release(session, AGES)
    assert log.events == []
    assert diff(before, session.ledger).empty
    measured(session, release.priced)
    assert [entry.kind for entry in diff(before, session.ledger).entries] == ["catalog", "charge", "settle"]
    assert measured(session, quantile_release(session, AGES).priced).stored
    if accounting == "pure":
        assert session.ledger.spent().amount == Fraction(1, 2)


@pytest.mark.parametrize(
    ("column", "bins", "places"),
    [
        ("age", "", [3, 11, None, 0, 7, 11]),
        ("age", "5", [0, 2, None, 0, 1, 2]),
        ("age", "4,8", [0, 2, None, 0, 1, 2]),
        ("pay", "50", [0, 0, 1, 1, 1, 0]),
        ("pay", "10,50", [0, 1, 2, 2, 2, 0]),
        ("cost", "", [0, 1, 3, 7, 10, None]),
        ("cost", "0.2", [0, 0, 1, 3, 4, None]),
        ("wide", "", [0, 0, 1, 500, 999, None]),
        ("huge", "", [0, 499, 500, 500, 1000, None]),
        ("huge", "25000", [0, 1, 2, 2, 4, None]),
    ],
)
def test_each_row_is_in_its_leaf_and_a_missing_number_in_one_of_its_own(
    made: Made, column: str, bins: str, places: list[int | None]
) -> None:
    session = made()
    release = quantile_release(session, Distribution("people", column, bins={column: bins} if bins else {}))
    method = release.method
    assert isinstance(method, Quantiles)
    assert method.size == method.leaves.count + (column != "pay")
    wanted = [method.leaves.count if place is None else place for place in places]
    assert exact_counts(session, release.priced.planned).tolist() == np.bincount(wanted, minlength=method.size).tolist()
    for value, place in zip(PEOPLE[column], places):
        if value is not None and place is not None:
            held = min(max(Fraction(str(value)), method.leaves.lows[0]), method.leaves.highs[-1])
            assert method.leaves.lows[place] <= held <= method.leaves.highs[place]


@pytest.mark.parametrize(
    ("told", "code"),
    [
        (Distribution("nowhere", "age"), "unknown_table"),
        (Distribution("towns", "name"), "unknown_table"),
        (Distribution("people", "nobody"), "unknown_column"),
        (Distribution("people", "note"), "no_domain"),
        (Distribution("people", "free"), "no_domain"),
        (Distribution("people", "since"), "no_domain"),
        (Distribution("people", "age", ("age",)), "bad_workload"),
        (Distribution("people", "age", ("note",)), "no_domain"),
        (Distribution("people", "age", at="0.5,x"), "bad_quantile"),
        (Distribution("people", "age", at="1.5"), "bad_quantile"),
        (Distribution("people", "age", ranges=("3",)), "bad_range"),
        (Distribution("people", "age", ranges=("3,12",)), "bad_range"),
        (Distribution("people", "age", bins={"age": "5"}, ranges=("3,9",)), "bad_range"),
        (Distribution("people", "age", bins={"age": "0.5"}), "bad_bins"),
        (Distribution("people", "age", bins={"age": "100"}), "bad_bins"),
        (Distribution("people", "age", bins={"age": "-1"}), "bad_bins"),
        (Distribution("people", "age", bins={"age": "x"}), "bad_bins"),
        (Distribution("people", "age", bins={"age": "8,4"}), "bad_bins"),
        (Distribution("people", "age", bins={"age": "50,60"}), "bad_bins"),
        (Distribution("people", "age", bins={"age": "3.2,3.4"}), "bad_bins"),
        (Distribution("people", "pay", bins={"pay": "0.001"}), "bad_bins"),
        (Distribution("people", "age", bins={"sex": "3"}), "bad_bins"),
        (Distribution("people", "age", where="nobody > 3"), "column_not_declared"),
    ],
)
def test_what_cannot_be_told_is_refused_with_its_fix_and_for_nothing(made: Made, told: Distribution, code: str) -> None:
    session = made()
    before = state(session.ledger)
    with pytest.raises(Refused) as refused:
        quantile_release(session, told)
    assert refused.value.code == code
    assert diff(before, session.ledger).empty


MANY = {name: [values[i % 5] for i in range(4000)] for name, values in PEOPLE.items()} | {
    "person_id": list(range(4000))
}


@pytest.fixture(scope="module", params=["pure", "zcdp"])
def once(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    tables = {"people": MANY, "visits": VISITS, "towns": {"name": ["a"]}}
    toml = TOML.format(accounting=request.param, neighbours="add-remove", size="")
    with obverse.open(synthetic(tables, toml, folder / "p")) as session:
        publish(session, quantile_release(session, AGES), folder / "release")
    return folder / "release"


@pytest.fixture
def out(once: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(once, tmp_path / "release"))


def test_the_folder_is_complete_and_holds(out: Path) -> None:
    files = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    names = (
        "01-cdf-age",
        "02-cdf-age-sex",
        "03-ranges-age",
        "05-leaves-age",
        "quantiles-age",
        "band-age",
        "band-age-sex",
    )
    assert {f"data/{name}.{end}" for name in names for end in ("csv", "parquet")} <= files
    assert {"plots/cdf-age.svg", "plots/cdf-age-sex-2.svg", "plots/quantiles-age-sex.svg"} <= files
    assert all(one.holds for one in check(out))
    (low, high) = rows(out / "data/quantiles-age.csv")
    assert (low["value"], high["value"]) == ("3.0", "7.0")
    assert float(low["band_low"]) <= float(low["low"]) <= 3 <= float(low["high"]) <= float(low["band_high"])
    text = (out / "statement.md").read_text()
    for words in ("all of the sheet at once", "each one by itself", "rank of quantile 0.4, in rows", "isotonic"):
        assert words in text


@pytest.mark.parametrize(
    ("file", "column", "by", "caught"),
    [
        ("data/quantiles-age.csv", "value", 1, {"further"}),
        ("data/quantiles-age-sex.csv", "high", 1, {"further"}),
        ("data/band-age.csv", "band_low", 0.5, {"further"}),
        ("data/01-cdf-age.csv", "count", 50, {"rounding", "sums", "differences"}),
        ("data/01-cdf-age.csv", "estimate", 3, {"estimates", "intervals", "sums", "differences"}),
        ("data/03-ranges-age.csv", "estimate", 3, {"estimates", "differences"}),
        ("measurements/01.csv", "value", 9000, {"estimates"}),
    ],
)
def test_a_changed_number_is_caught(out: Path, file: str, column: str, by: float, caught: set[str]) -> None:
    found = rows(out / file)
    found[0][column] = str((int if column in ("count",) or "measure" in file else float)(found[0][column]) + by)
    with (out / file).open("w", encoding="utf-8", newline="") as written:
        writer = csv.DictWriter(written, list(found[0]))
        writer.writeheader()
        writer.writerows(found)
    assert caught <= {one.name for one in check(out) if not one.holds}


@pytest.mark.parametrize("spoil", ["missing", "empty", "name", "price"])
def test_a_folder_that_was_spoiled_is_refused_or_caught(out: Path, spoil: str) -> None:
    path = out / "metadata.json"
    fields = json.loads(path.read_text())
    if spoil == "missing":
        (out / "data/quantiles-age.csv").unlink()
    elif spoil == "empty":
        (out / "data/quantiles-age.csv").write_text("quantile\nx\n")
    elif spoil == "name":
        fields["blocks"][0]["name"] = "groups:bush"
        path.write_text(json.dumps(fields))
    else:
        fields["blocks"][0]["parameter"] = str(Fraction(fields["blocks"][0]["parameter"]) * Fraction(10**9 - 1, 10**9))
        path.write_text(json.dumps(fields))
        assert "price" in {one.name for one in check(out) if not one.holds}
        return
    with pytest.raises(Refused) as refused:
        check(out)
    assert refused.value.code == "bad_release"


def test_a_group_without_rows_is_told_like_any_other(made: Made, tmp_path: Path) -> None:
    """Where its noisy total is not above zero a quantile has no value, and its interval is as wide as the noise
    says.
    """
    session = made(people=PEOPLE | {"age": [None] * 6})
    done = publish(session, quantile_release(session, replace(AGES, single=False)), tmp_path / "r")
    assert all(one.holds for one in done.checks)
    sheet = done.outcome.further[2].columns
    assert list(sheet) == ["sex", "quantile", "value", "low", "high", "band_low", "band_high"]
    assert not np.ma.is_masked(sheet["low"])


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, args)


def test_the_command_plans_for_nothing_publishes_and_checks(made: Made, tmp_path: Path) -> None:
    made("zcdp", people=MANY)
    project = str(tmp_path / "p0")
    out = str(tmp_path / "r")
    args = ("publish", "quantiles", "people", "age", "--by", "sex", "--range", "3,7", "--at", "0.5", "-p", project)
    planned = run(*args, "--plan", "--json")
    assert planned.exit_code == 0, planned.output
    assert "no private row was read" in run(*args, "--plan").stdout
    assert run(*args, "--out", out).exit_code == 0
    told = [(t["name"], t["stddev"]) for t in json.loads(planned.stdout)["tables"]]
    assert [(row["table"], float(row["stddev"])) for row in rows(Path(out) / "errors.csv")] == told
    assert run("publish", "check", out).exit_code == 0
    assert run(*args, "--bins", "age", "--plan").exit_code == 2
