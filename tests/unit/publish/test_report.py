"""A release beside the truth: exact numbers, recorded, for the curator alone, and never in the folder."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

import obverse
from obverse.cli.main import cli
from obverse.core.errors import Refused
from obverse.publish.folder.check import check, opened
from obverse.publish.folder.write import publish
from obverse.publish.quantiles.request import Distribution, quantile_release
from obverse.publish.report import report, truth
from obverse.publish.synthetic.request import Rows, publish_synthetic, synthetic_release
from obverse.publish.tables.release import table_release
from obverse.publish.tables.request import Wanted
from obverse.testing import synthetic

TOML = """\
[project]
name = "beside"
[privacy]
accounting = "{accounting}"
epsilon = 5
delta = 1e-6
[budget]
epsilon = 20
delta = 1e-4
[tables.people]
source = "people.parquet"
unit = "person_id"
[tables.people.columns]
age = {{ type = "integer", bounds = [0, 89], nullable = false }}
sex = {{ type = "text", values = ["F", "M"], nullable = false }}
[tables.visits]
source = "visits.parquet"
unit = "person_id -> people.person_id"
limits = {{ rows = 1 }}
[tables.visits.columns]
ward = {{ type = "text", values = ["a", "b"], nullable = false }}
"""
PEOPLE = {"person_id": list(range(300)), "age": [i % 30 for i in range(300)], "sex": ["F", "M", "M"] * 100}
VISITS = {"person_id": [i // 2 for i in range(300)], "ward": ["a"] * 200 + ["b"] * 100}
WANTED = Wanted("people", (("age", "sex"), ("age",)), {"age": "10"}, "age < 25")
REASON = "a look before the press release"
# standard deviations: where one Laplace noise makes all of a table's error, beyond with a chance of e^-17 = 4e-8
FAR = 12


@pytest.fixture(params=["pure", "zcdp"])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return synthetic({"people": PEOPLE, "visits": VISITS}, TOML.format(accounting=request.param), tmp_path / "p")


@pytest.fixture
def out(project: Path, tmp_path: Path) -> Path:
    with obverse.open(project) as session:
        publish(session, table_release(session, WANTED), tmp_path / "release")
    return tmp_path / "release"


def test_the_truth_is_exact_whatever_the_noise_and_the_limits(project: Path, out: Path, tmp_path: Path) -> None:
    with obverse.open(project) as session:
        tables = truth(session, opened(out), REASON)
        assert [round(x, 6) for x in tables[1]] == [100, 100, 50, 0, 0, 0, 0, 0, 0]
        assert [round(x) for x in tables[0][:4]] == [40, 60, 30, 70]
        visits = Wanted("visits", (("ward",),), {})
        publish(session, table_release(session, visits, Fraction(1)), tmp_path / "v")
        (wards,) = truth(session, opened(tmp_path / "v"), REASON)
    assert [round(x, 6) for x in wards] == [200, 100]


def test_it_is_recorded_costs_nothing_and_leaves_the_folder_as_it_was(project: Path, out: Path, tmp_path: Path) -> None:
    before = check(out)
    with obverse.open(project) as session:
        spent = session.ledger.spent()
    made = report(project, out, tmp_path / "mine" / "internal.html", REASON)
    with obverse.open(project) as session:
        *_, last = session.ledger.entries()
        assert session.ledger.spent() == spent
    assert (last.kind, last.fields["what"], last.fields["reason"]) == ("custody", "publish report", REASON)
    assert last.fields["columns"] == ["age", "sex"]
    assert check(out) == before
    page = made.out.read_text()
    assert "INTERNAL: not for release" in page
    assert made.out.stat().st_mode & 0o077 == 0
    assert [table.title for table in made.tables] == ["age x sex", "age"]
    for table in made.tables:
        assert 0 <= table.covered <= 1
        assert table.found < FAR * table.told
        assert sum(band.cells for band in table.bands) == table.cells


@pytest.mark.parametrize(
    "place",
    [
        "release/internal.html",
        "release/data/x.json",
        "link/internal.html",
        "other/internal.html",
        "releases/mine/internal.md",
    ],
)
def test_a_report_in_a_release_is_refused_before_anything_is_read(
    project: Path, out: Path, tmp_path: Path, place: str
) -> None:
    (tmp_path / "link").symlink_to(out)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "metadata.json").write_text("{}")
    with pytest.raises(Refused) as refused:
        report(project, out, tmp_path / place, REASON)
    assert refused.value.code == "report_in_release"
    with obverse.open(project) as session:
        assert not any(entry.kind == "custody" for entry in session.ledger.entries())


def test_another_projects_release_one_without_a_recipe_and_no_reason_are_refused(
    project: Path, out: Path, tmp_path: Path
) -> None:
    other = synthetic({"people": PEOPLE, "visits": VISITS}, TOML.format(accounting="pure"), tmp_path / "q")
    with pytest.raises(Refused) as refused:
        report(other, out, tmp_path / "a.html", REASON)
    assert refused.value.code == "not_our_release"
    with pytest.raises(Refused) as refused:
        report(project, out, tmp_path / "a.html", " ")
    assert refused.value.code == "no_reason"
    path = out / "metadata.json"
    fields = json.loads(path.read_text())
    path.write_text(json.dumps(fields | {"recipe": {}}))
    with pytest.raises(Refused) as refused:
        report(project, out, tmp_path / "a.html", REASON)
    assert refused.value.code == "no_recipe"
    path.write_text(json.dumps(fields | {"recipe": fields["recipe"] | {"bins": {"age": "30"}}}))
    with pytest.raises(Refused) as refused:
        report(project, out, tmp_path / "a.html", REASON)
    assert refused.value.code == "project_changed"
    assert not (tmp_path / "a.html").exists()


def test_leaves_and_quantiles_are_compared_with_exact_ones(project: Path, tmp_path: Path) -> None:
    told = Distribution("people", "age", ("sex",), "0.5", ("0,9",), single=True, bins={"age": "10"})
    with obverse.open(project) as session:
        publish(session, quantile_release(session, told), tmp_path / "q")
        spent = session.ledger.spent()
        tables = truth(session, opened(tmp_path / "q"), REASON)
        *_, last = session.ledger.entries()
        assert session.ledger.spent() == spent
    assert (last.kind, last.fields["what"], last.fields["columns"]) == ("custody", "publish report", ["age", "sex"])
    rounded = [[round(x, 5) for x in table] for table in tables]
    assert rounded[0] == [100, 200, 300, 300, 300, 300, 300, 300, 300]  # up to each leaf, over all rows
    assert rounded[1][:9] == [40, 70, 100, 100, 100, 100, 100, 100, 100]  # of women
    assert rounded[2] == [100]  # the range
    assert rounded[4] == [100, 100, 100, 0, 0, 0, 0, 0, 0]  # leaves by themselves
    made = report(project, tmp_path / "q", tmp_path / "internal.html", REASON)
    assert len(made.tables) == 6
    # what adds up errs together
    assert all(table.found < FAR * table.told for table in made.tables if table.cells >= 9)


def test_synthetic_rows_are_compared_with_exact_columns_and_pairs(project: Path, tmp_path: Path) -> None:
    rows = Rows("people", ("age", "sex"), {"age": "10"}, "age < 25")
    with obverse.open(project) as session:
        publish_synthetic(session, synthetic_release(session, rows, Fraction(10)), tmp_path / "s")
        spent = session.ledger.spent()
        release = opened(tmp_path / "s")
        tables = truth(session, release, REASON)
        *_, last = session.ledger.entries()
        assert session.ledger.spent() == spent
    assert (last.kind, last.fields["what"]) == ("custody", "publish report")
    assert [round(x, 5) for x in tables[0]] == [100, 100, 50, 0, 0, 0, 0, 0, 0]
    assert [round(x, 5) for x in tables[1]] == [90, 160]
    assert len(tables) == len(release.tables)
    made = report(project, tmp_path / "s", tmp_path / "internal.md", REASON)
    assert made.out.stat().st_mode & 0o077 == 0
    with pytest.raises(Refused) as refused:
        report(project, tmp_path / "s", tmp_path / "s" / "internal.md", REASON)
    assert refused.value.code == "report_in_release"


def test_synthetic_rows_and_their_report_come_from_one_command(project: Path, tmp_path: Path) -> None:
    args = ["publish", "synthetic", "people", "--columns", "age,sex", "--bins", "age=30", "-p", str(project)]
    args += ["--out", str(tmp_path / "s"), "--reason", REASON]
    assert CliRunner().invoke(cli, [*args, "--report", str(tmp_path / "s" / "in.html")]).exit_code == 3
    assert not (tmp_path / "s").exists()
    found = CliRunner().invoke(cli, [*args, "--report", str(tmp_path / "in.html")])
    assert found.exit_code == 0, found.output
    assert "INTERNAL" in (tmp_path / "in.html").read_text()


def test_a_place_that_cannot_be_written_is_refused(project: Path, out: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused) as refused:
        report(project, out, tmp_path / "file" / "a.html", REASON)
    assert refused.value.code == "cannot_write"


def test_the_commands_compare(project: Path, out: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke
    args = ["publish", "report", str(out), "-p", str(project), "--reason", REASON]
    shown = run(cli, [*args, "--out", str(tmp_path / "a.md")])
    assert shown.exit_code == 0, shown.output
    assert "INTERNAL" in shown.stdout
    assert (tmp_path / "a.md").read_text().startswith("# INTERNAL")
    told = json.loads(run(cli, [*args, "--out", str(tmp_path / "a.json"), "--json"]).stdout)
    assert told == json.loads((tmp_path / "a.json").read_text())
    table = ["publish", "table", "people", "--by", "sex", "-p", str(project), "--out", str(tmp_path / "r2")]
    assert run(cli, [*table, "--report", str(tmp_path / "r2" / "in.html"), "--reason", REASON]).exit_code == 3
    assert (
        run(cli, [*table, "--report", str(tmp_path / "b.html"), "--reason", REASON, "--analyst", "ana"]).exit_code == 2
    )
    assert not (tmp_path / "r2").exists()
    assert run(cli, [*table, "--report", str(tmp_path / "b.html"), "--reason", REASON]).exit_code == 0
    assert "INTERNAL" in (tmp_path / "b.html").read_text()


def test_a_triple_that_no_pair_shows_stands_in_the_folder_and_is_compared(tmp_path: Path) -> None:
    """c is a xor b. Its score is 2,000 of 2,000 rows, noise a few tens: a miss is far rarer than 1e-6."""
    columns = "\n".join(f'{name} = {{ type = "boolean", nullable = false }}' for name in "abc")
    head = TOML.format(accounting="zcdp").partition("[tables.people.columns]")[0]
    bits = [(i % 2 == 1, i // 2 % 2 == 1) for i in range(2000)]
    rows: dict[str, list[int]] = {"person_id": list(range(2000)), "c": [a != b for a, b in bits]}
    rows |= {"a": [a for a, _ in bits], "b": [b for _, b in bits]}
    made = synthetic({"people": rows}, f"{head}[tables.people.columns]\n{columns}\n", tmp_path / "p")
    with obverse.open(made) as session:
        done = publish_synthetic(
            session, synthetic_release(session, Rows("people", ("a", "b", "c"), {})), tmp_path / "s"
        )
        assert all(one.holds for one in done.checks)
        release = opened(tmp_path / "s")
        exact = truth(session, release, REASON)
    assert (tmp_path / "s/data/triple-1-2-3-a-b-c.csv").exists()
    assert "a with b with c" in (tmp_path / "s/statement.md").read_text()
    assert [round(x) for x in exact[-1]] == [500, 0, 0, 500, 0, 500, 500, 0]
    found = report(made, tmp_path / "s", tmp_path / "internal.json", REASON).tables[-1]
    assert (found.title, found.cells) == ("a x b x c", 8)
    assert found.found < 6 * found.told  # eight cells: far beyond 1e-6
