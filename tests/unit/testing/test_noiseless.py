"""The product without noise: exact over what our generators signed, and over nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

import obverse
from obverse.core.errors import InvariantBroken, Refused
from obverse.demo.project import write_demo
from obverse.testing import noiseless, synthetic
from obverse.testing.noiseless import Identity

TOML = """\
[project]
name = "small"
[privacy]
accounting = "{accounting}"
delta = 1e-8
[budget]
epsilon = 1
delta = 1e-6
[tables.people]
source = "people.parquet"
unit = "id"
[tables.people.columns]
age = {{ type = "integer", bounds = [0, 100] }}
[tables.visits]
source = "visits.parquet"
unit = "id -> people.id"
limits = {{ rows = 2 }}
[tables.visits.columns]
cost = {{ type = "double", bounds = [0, 100], grid = 0.25 }}
ward = {{ type = "text", values = ["a", "b"] }}
"""
TABLES = {
    "people": {"id": [1, 2, 3, None], "age": [10, None, 300, 40]},
    "visits": {"id": [1, 1, 1, 2, None], "cost": [1.25, 2.5, 3.0, 10.0, 50.0], "ward": ["a", "a", "b", "b", "b"]},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return synthetic(TABLES, TOML.format(accounting="pure"), tmp_path / "small")


def test_clamps_and_units_stay_while_noise_is_gone(folder: Path) -> None:
    with noiseless(folder) as session:
        (row,) = session.ask("SELECT COUNT(*), COUNT(age), SUM(age), AVG(age) FROM people")
    assert row == (3, 2, 110, 55.0)


def test_contribution_limits_stay_unless_they_are_lifted(folder: Path) -> None:
    sql = "SELECT COUNT(*), SUM(cost) FROM visits"
    with noiseless(folder) as session:
        assert list(session.ask(sql)) == [(3, 16.75)]
    with noiseless(folder, limits=None) as session:
        assert list(session.ask(sql)) == [(4, 16.75)], "rows without a unit stay left out"
        assert list(session.ask("SELECT ward, COUNT(*), AVG(cost) FROM visits GROUP BY ward")) == [
            ("a", 2, 1.875),
            ("b", 2, 6.5),
        ]


def test_nothing_is_charged_and_nothing_is_remembered(folder: Path) -> None:
    with noiseless(folder) as session:
        for i in range(30):
            session.ask(f"SELECT COUNT(*) FROM people WHERE age < {i}", epsilon=1)
        assert session.ledger.spent().amount == 0
        assert session.ask("SELECT COUNT(*) FROM people WHERE age < 3", epsilon=1).price.stored
    assert not (folder / ".obverse").exists()


def test_the_claim_says_that_there_is_no_privacy(folder: Path) -> None:
    with noiseless(folder) as session:
        answer = session.ask("SELECT COUNT(*) FROM people")
        batch = session.ask_all(["SELECT COUNT(*) FROM people", "SELECT SUM(age) FROM people"], delta=0)
    for one in (answer, *batch):
        assert one.claim.sentence.startswith("No privacy")
        assert (one.claim.epsilon, one.claim.mechanisms, one.price.epsilon) == ("infinity", ("identity",), "0")


def test_concentrated_accounting_has_the_same_limit(tmp_path: Path) -> None:
    with noiseless(synthetic(TABLES, TOML.format(accounting="zcdp"), tmp_path / "zcdp")) as session:
        assert session.ask("SELECT SUM(age) FROM people").value == 110


def test_refusals_are_those_of_the_product(folder: Path) -> None:
    with noiseless(folder) as session:
        for sql in (
            "SELECT * FROM people",
            "SELECT MAX(name) FROM people",
            "SELECT id, COUNT(*) FROM people GROUP BY id",
        ):
            with pytest.raises(Refused):
                session.ask(sql)


def test_the_sample_is_opened_until_a_byte_of_it_changes(tmp_path: Path) -> None:
    write_demo(tmp_path / "demo")
    with noiseless(tmp_path / "demo") as session:
        assert session.ask("SELECT COUNT(*) FROM people").value == 20_000
    with (tmp_path / "demo" / "clinics.csv").open("a") as file:
        file.write("Real,Place\n")
    with pytest.raises(Refused) as refused:
        noiseless(tmp_path / "demo")
    assert refused.value.code == "not_synthetic"


def test_tables_that_nobody_signed_are_not_opened(folder: Path, tmp_path: Path) -> None:
    (folder / "manifest.json").unlink()
    with pytest.raises(Refused) as refused:
        noiseless(folder)
    assert refused.value.code == "not_synthetic"
    real = tmp_path / "real"
    real.mkdir()
    (real / "people.csv").write_text("id,age\n1,30\n")
    source = (
        'source = "people.csv"\nunit = "id"\n[tables.people.columns]\nage = { type = "integer", bounds = [0, 100] }\n'
    )
    (real / "obverse.toml").write_text('[project]\nname = "real"\n[budget]\nepsilon = 1\n[tables.people]\n' + source)
    with pytest.raises(Refused) as refused:
        noiseless(real)
    assert refused.value.code == "not_synthetic"


def test_objects_handed_over_in_python_are_never_synthetic(tmp_path: Path) -> None:
    toml = '[project]\nname = "object"\n[budget]\nepsilon = 1\n[tables.people]\nsource = "python"\nunit = "row"\n'
    (tmp_path / "obverse.toml").write_text(toml)
    with pytest.raises(Refused) as refused:
        noiseless(tmp_path)
    assert refused.value.code == "not_synthetic"


def test_the_product_draws_noise_over_the_same_tables(folder: Path) -> None:
    with obverse.open(folder) as session:
        answer = session.ask("SELECT SUM(age) FROM people", epsilon=1e-6)
    assert answer.claim.mechanisms == ("discrete_laplace",)
    assert answer.value != 110, "false alarm 5e-9: the scale is 100,000,000"


def test_no_loss_covers_the_identity() -> None:
    with pytest.raises(InvariantBroken):
        Identity().loss()
    assert (Identity().stddev(), Identity().interval(0.999), Identity().mass(0)[0], Identity().mass(1)[1]) == (
        0,
        0,
        1,
        0,
    )
