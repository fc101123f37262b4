"""Bins and values that a release finds out first: one debit, exact shares, and nothing that is not paid for."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

from obverse.accounting.pure import total as pure_total
from obverse.accounting.zcdp import epsilon_of
from obverse.accounting.zcdp import total as zcdp_total
from obverse.cli.main import cli
from obverse.core.errors import BudgetExceeded, Failed, Refused
from obverse.publish.folder.check import check, opened
from obverse.publish.folder.write import publish
from obverse.publish.report import truth
from obverse.publish.tables.private_domains import measured_release
from obverse.publish.tables.release import table_release
from obverse.publish.tables.request import Wanted
from obverse.testing.spies import diff, spy_on, state
from tests.unit.publish.published import Made, head, made_of

TOML = (
    head("first", "2", "3")
    + """\
[tables.people]
source = "people.parquet"
unit = "row"
{size}
[tables.people.columns]
pay = {{ type = "double", bounds = [0, 1000] }}
age = {{ type = "integer", bounds = [0, 90], nullable = false }}
zip = {{ type = "text" }}
sex = {{ type = "text", values = ["F", "M"], nullable = false }}
on = {{ type = "date" }}
"""
)
MANY = 4000
PEOPLE = {
    "pay": [float(i % 100) for i in range(MANY)],
    "age": [i % 40 for i in range(MANY)],
    "zip": ["alone" if i == 0 else f"z{i % 4}" for i in range(MANY)],
    "sex": ["F", "M"] * (MANY // 2),
    "on": [None] * MANY,
}
WANTED = Wanted("people", (("pay", "sex"), ("zip",)), {"pay": "quantiles:4"}, "", {"zip": "0.2"})
made = made_of(TOML, {"people": PEOPLE}, MANY, columns_of="people")


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("discover", [{}, {"zip": "0.2"}], ids=["bins", "bins and values"])
def test_the_shares_are_one_debit_and_add_up_exactly(
    made: Made, accounting: str, neighbours: str, discover: dict[str, str]
) -> None:
    session = made(accounting, neighbours)
    log = spy_on(session)
    before = state(session.ledger)
    release = table_release(session, WANTED if discover else replace(WANTED, by=(("pay", "sex"),), discover={}))
    assert log.events == []
    _, found = measured_release(session, release)
    assert log.events == ["reserve", *["run"] * (2 + len(discover)), "settle"]
    assert [entry.kind for entry in diff(before, session.ledger).entries] == ["catalog", "charge", "settle"]
    losses = release.priced.planned.losses
    spent = session.ledger.spent()
    delta = Fraction(1, 10**6)
    shares = [one.share for one in release.first]
    assert shares == [Fraction(1, 10), *([Fraction(1, 5)] if discover else [])]
    if accounting == "pure":
        assert [pure_total(loss)[0] / 2 for loss in losses] == [*shares, 1 - sum(shares)]
        assert (spent.amount, spent.delta) == (2, delta if discover else 0)
    else:
        rho = sum(zcdp_total(loss)[0] for loss in losses)
        hidden = sum(zcdp_total(loss)[1] for loss in losses)
        assert (spent.amount, spent.delta) == (rho, hidden)
        assert hidden == (delta / 2 if discover else 0)
        assert Fraction(199, 100) < epsilon_of(rho, delta - hidden) <= 2
    assert found.claim["epsilon"] == "2"
    assert (found.claim["delta"] == "0") == (accounting == "pure" and not discover)
    assert ("key_threshold" in found.claim["mechanisms"]) == bool(discover)


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
def test_what_was_found_stands_in_the_folder_and_the_same_release_again_is_free(
    made: Made, tmp_path: Path, accounting: str
) -> None:
    session = made(accounting)
    done = publish(session, table_release(session, WANTED), tmp_path / "r")
    assert all(one.holds for one in done.checks)
    assert "debit" in {one.name for one in done.checks}
    fields = json.loads((tmp_path / "r" / "metadata.json").read_text())
    edges = [float(edge) for edge in fields["recipe"]["bins"]["pay"].split(",")]
    assert edges == sorted(set(edges))
    assert (edges[0], edges[-1]) == (0, 1000)
    assert fields["recipe"]["values"]["zip"] == ["z0", "z1", "z2", "z3"]  # a thousand each; but for a chance below 1e-6
    assert [one["share"] for one in fields["before"]] == ["1/10", "1/5"]
    statement = (tmp_path / "r" / "statement.md").read_text()
    for words in (
        fields["recipe"]["bins"]["pay"].replace(",", ", "),
        "there are others than those listed",
        "1/5 of the price",
    ):
        assert words in statement
    with (tmp_path / "r" / "data" / "02-zip.csv").open(newline="") as file:
        assert [row["zip"] for row in csv.DictReader(file)] == ["z0", "z1", "z2", "z3", ""]
    spent = session.ledger.spent()
    again = publish(session, table_release(session, WANTED), tmp_path / "again")
    assert again.receipted.stored
    assert session.ledger.spent() == spent
    assert (tmp_path / "again/data/01-pay-sex.csv").read_text() == (tmp_path / "r/data/01-pay-sex.csv").read_text()
    (exact, zips) = truth(session, opened(tmp_path / "r"), "a look")
    assert (round(exact.sum()), round(zips[-1])) == (MANY, 1)  # the one that stands alone is counted as missing
    other = table_release(session, replace(WANTED, discover={"zip": "0.1"}))
    if accounting == "pure":
        with pytest.raises(BudgetExceeded):
            measured_release(session, other)
    else:
        assert not measured_release(session, other)[1].stored


def test_bins_hold_about_as_many_each(made: Made) -> None:
    """At epsilon 0.2 a tree's rank is within 400 of 4,000 but for a chance below 1e-6: 4 levels, Laplace noise of
    scale 20.
    """
    settled, _ = measured_release(made(), table_release(made(), WANTED, Fraction(2)))
    inner = [float(edge) for edge in settled.recipe["bins"]["pay"].split(",")][1:-1]
    assert all(abs(edge - goal) < 12 for edge, goal in zip(inner, (25, 50, 75), strict=True))


def test_edges_that_fall_together_are_one_and_nothing_found_is_one_cell(made: Made, tmp_path: Path) -> None:
    """Each of 4,000 values of one row is found with a chance of delta at most: 4e-9 together."""
    session = made(age=[7] * MANY, zip=[str(i) for i in range(MANY)])
    wanted = Wanted("people", (("age",), ("zip", "sex")), {"age": "quantiles:8"}, "", {"zip": "0.1"})
    done = publish(session, table_release(session, wanted, Fraction(2), Fraction(1, 10**12)), tmp_path / "r")
    assert all(one.holds for one in done.checks)
    assert len(done.outcome.tables[0].values) < 8
    assert len(done.outcome.tables[1].values) == 2


def test_more_share_than_claimed_is_caught(made: Made, tmp_path: Path) -> None:
    session = made()
    publish(session, table_release(session, WANTED), tmp_path / "r")
    path = tmp_path / "r" / "metadata.json"
    fields = json.loads(path.read_text())
    fields["before"][0]["loss"] = str(Fraction(fields["before"][0]["loss"]) + Fraction(1, 10**12))
    path.write_text(json.dumps(fields))
    assert not {one.name: one.holds for one in check(tmp_path / "r")}["debit"]


def test_a_follower_of_another_price_is_stopped_at_the_door(made: Made) -> None:
    session = made()
    release = table_release(session, WANTED)
    cheaper = table_release(session, WANTED, Fraction(1))
    with pytest.raises(Failed) as failed:
        measured_release(session, replace(release, then=cheaper.then))
    assert failed.value.code == "engine_failure"


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (replace(WANTED, bins={"pay": "quantiles:1"}), "bad_bins"),
        (replace(WANTED, bins={"pay": "quantiles:x"}), "bad_bins"),
        (replace(WANTED, bins={"pay": "quantiles:4@2"}), "bad_shares"),
        (replace(WANTED, bins={"pay": "quantiles:4@0.8"}), "bad_shares"),
        (replace(WANTED, discover={"zip": "none"}), "bad_shares"),
        (replace(WANTED, bins={"sex": "quantiles:4"}), "bad_bins"),
        (replace(WANTED, discover={"sex": "0.1"}), "bad_discovery"),
        (replace(WANTED, discover={"on": "0.1"}), "bad_discovery"),
        (replace(WANTED, where="zip LIKE 'z%' OR sex = 'F'"), "bad_discovery"),
        (Wanted("people", (("zip",),), {}), "no_domain"),
        (Wanted("nowhere", (("zip",),), {}, "", {"zip": "0.1"}), "unknown_table"),
    ],
)
def test_what_cannot_be_found_out_is_refused_for_nothing(made: Made, wanted: Wanted, code: str) -> None:
    session = made()
    before = state(session.ledger)
    with pytest.raises(Refused) as refused:
        table_release(session, wanted)
    assert refused.value.code == code
    assert diff(before, session.ledger).empty


def test_values_without_a_delta_are_refused(made: Made) -> None:
    with pytest.raises(Refused) as refused:
        table_release(made(), WANTED, Fraction(1), Fraction(0))
    assert refused.value.code == "keys_not_public"


def test_the_command_says_what_is_found_out_first(made: Made, tmp_path: Path) -> None:
    made().close()
    tables = ["--by", "pay,sex", "--by", "zip", "--bins", "pay=quantiles:4", "--discover", "zip=0.2"]
    shown = CliRunner().invoke(cli, ["publish", "table", "people", *tables, "-p", str(tmp_path / "p0"), "--plan"])
    assert shown.exit_code == 0, shown.output
    assert "which values zip has, for 1/5 of the price" in " ".join(shown.stdout.split())
