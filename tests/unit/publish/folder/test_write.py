"""The folder of a release: complete, checked by itself, and caught when anything in it is changed."""

from __future__ import annotations

import csv
import functools
import json
import re
import shutil
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import obverse
from obverse._version import __version__
from obverse.cli.main import cli
from obverse.core.errors import Refused
from obverse.publish.folder.check import check
from obverse.publish.folder.files import hashes
from obverse.publish.folder.write import publish
from obverse.publish.tables.release import table_release
from obverse.publish.tables.request import Wanted
from obverse.testing import synthetic
from tests.unit.publish.published import held, rows

TOML = """\
[project]
name = "folder"
[privacy]
accounting = "{accounting}"
epsilon = 1
delta = 1e-6
[budget]
epsilon = 3
delta = 1e-5
[tables.people]
source = "people.parquet"
unit = "row"
[tables.people.columns]
age = {{ type = "integer", bounds = [0, 90] }}
sex = {{ type = "text", values = ["F", "M", "<b>"], nullable = false }}
count = {{ type = "boolean" }}
"""
SECRET = 4711
PEOPLE = {"age": [i % 91 for i in range(SECRET)], "sex": ["F", "M", "F"] * (SECRET // 3) + ["F"],
          "count": [i % 3 == 0 for i in range(SECRET)]}  # fmt: skip
WANTED = Wanted("people", (("age", "sex"), ("sex", "count"), ("age",)), {"age": "30"})
ARGS = ["publish", "table", "people", "--by", "age,sex", "--by", "sex,count", "--by", "age", "--bins", "age=30"]


@pytest.fixture(params=["pure", "zcdp"])
def accounting(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def project(accounting: str, tmp_path: Path) -> Path:
    return synthetic({"people": PEOPLE}, TOML.format(accounting=accounting), tmp_path / "p")


@pytest.fixture
def session(project: Path) -> Iterator[obverse.Session]:
    with obverse.open(project) as opened:
        yield opened


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of one release for each accounting, made once."""

    @functools.cache
    def made(accounting: str) -> Path:
        folder = tmp_path_factory.mktemp(accounting)
        project = synthetic({"people": PEOPLE}, TOML.format(accounting=accounting), folder / "p")
        with obverse.open(project) as session:
            publish(session, table_release(session, WANTED), folder / "release")
        return folder / "release"

    return made


@pytest.fixture
def out(released: Callable[[str], Path], accounting: str, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    return shutil.copytree(released(accounting), tmp_path / "release")


def test_a_release_is_complete_and_holds(out: Path) -> None:
    files = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    tables = ("01-age-sex", "02-sex-count", "03-age")
    assert {f"data/{name}.{end}" for name in tables for end in ("csv", "parquet")} <= files
    assert {"errors.csv", "metadata.json", "statement.md", "statement.html", "verify.json", "plots/03-age.svg"} <= files
    assert all(held(out).values())
    assert len(held(out)) == 12
    assert list(rows(out / "data/02-sex-count.csv")[0]) == ["sex", "count (key)", "count", "estimate", "low", "high"]
    written = json.loads((out / "verify.json").read_text())
    assert all(one["holds"] for one in written["checks"])


def test_nothing_private_stands_outside_the_noise(out: Path) -> None:
    """The exact number of rows, which nobody may know, is in no file but as noise would have it."""
    for name in ("metadata.json", "statement.md", "statement.html", "verify.json", "errors.csv"):
        assert not re.search(rf"(?<![\da-f]){SECRET:,}|(?<![\da-f]){SECRET}(?![\da-f])", (out / name).read_text()), name


def test_the_statement_says_who_what_how_much_and_how_wrong(out: Path) -> None:
    text = (out / "statement.md").read_text()
    for words in (
        "One row of people",
        "added or removed",
        "epsilon 1",
        "attacker",
        "Ledger entry",
        "age x sex",
        "standard deviation",
    ):
        assert words in text
    page = (out / "statement.html").read_text()
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert "<b>" not in page
    assert "&lt;b&gt;" in (out / "plots/01-age-sex.svg").read_text()


@pytest.mark.parametrize(
    ("file", "column", "by", "caught"),
    [
        ("data/03-age.csv", "count", -10_000, {"non_negative", "totals", "sums", "rounding"}),
        ("data/03-age.csv", "estimate", 3, {"estimates", "intervals", "sums"}),
        ("data/03-age.csv", "high", 1, {"intervals"}),
        ("data/03-age.csv", "high", 2e-6, {"intervals"}),
        ("data/03-age.csv", "estimate", 2e-6, {"estimates"}),
        ("measurements/01.csv", "value", 50, {"estimates"}),
    ],
)
def test_a_changed_number_is_caught(out: Path, file: str, column: str, by: float, caught: set[str]) -> None:
    found = rows(out / file)
    found[0][column] = str((int if column in ("count", "value") else float)(found[0][column]) + by)
    with (out / file).open("w", encoding="utf-8", newline="") as written:
        writer = csv.DictWriter(written, list(found[0]))
        writer.writeheader()
        writer.writerows(found)
    held_now = held(out)
    assert caught <= {name for name, holds in held_now.items() if not holds}
    assert not held_now["files"]


def test_less_noise_than_the_price_claims_is_caught_in_exact_fractions(out: Path) -> None:
    fields = json.loads((out / "metadata.json").read_text())
    fields["blocks"][0]["parameter"] = str(Fraction(fields["blocks"][0]["parameter"]) * Fraction(10**9 - 1, 10**9))
    (out / "metadata.json").write_text(json.dumps(fields))
    assert not held(out)["price"]


@pytest.mark.parametrize(
    "changed", [{"epsilon": "0.999"}, {"delta": "9e-7", "epsilon": "0.999"}, {"neighbours": "replace"}]
)
def test_a_claim_of_less_than_the_noise_costs_is_caught(out: Path, changed: dict[str, str]) -> None:
    """Although the list of files was made anew."""
    fields, written = (json.loads((out / name).read_text()) for name in ("metadata.json", "verify.json"))
    fields["claim"] |= changed
    (out / "metadata.json").write_text(json.dumps(fields))
    (out / "verify.json").write_text(json.dumps(written | {"files": hashes(out)}))
    assert {name for name, holds in held(out).items() if not holds} == {"price", "statement"}


def test_a_folder_without_its_list_of_files_does_not_hold(out: Path) -> None:
    (out / "verify.json").unlink()
    assert {name for name, holds in held(out).items() if not holds} == {"files"}


@pytest.mark.parametrize(
    ("change", "caught"),
    [
        (lambda out: _put(out / "statement.md", "epsilon 1", "epsilon 0.1"), "statement"),
        (lambda out: _put(out / "statement.html", "epsilon 1", "epsilon 0.1"), "statement"),
        (lambda out: (out / "statement.md").unlink(), "statement"),
        (lambda out: _put(out / "metadata.json", "costs epsilon 1", "costs epsilon 0.1"), "statement"),
        (lambda out: _put(out / "metadata.json", "Nothing: every number", "The total: each other number"), "statement"),
        (lambda out: _put(out / "data/03-age.csv", "0 to 29", "30 to 59"), "names"),
        (lambda out: _put(_measured(out, "30 to 59"), "30 to 59", "0 to 29"), "names"),
        (lambda out: _put(out / "errors.csv", "0.95", "0.99"), "names"),
        (lambda out: (out / "errors.csv").unlink(), "names"),
        (lambda out: (out / "data/truth.csv").write_text("exact"), "complete"),
        (lambda out: (out / "plots/03-age.svg").unlink(), "complete"),
    ],
)
def test_words_that_do_not_fit_the_numbers_are_caught(out: Path, change: Callable[[Path], None], caught: str) -> None:
    """Although the list of files was made anew: a statement of less than was paid, a table whose cells changed
    names.
    """
    change(out)
    written = json.loads((out / "verify.json").read_text())
    (out / "verify.json").write_text(json.dumps(written | {"files": hashes(out)}))
    held_now = held(out)
    assert not held_now[caught]
    assert held_now["files"]


def test_a_statement_of_another_version_is_held_to_price_and_receipt(out: Path) -> None:
    _put(out / "metadata.json", f'"version": "{__version__}"', '"version": "0.0.9"')
    _put(out / "statement.md", "Who is protected", "Whom this protects")
    assert held(out)["statement"]
    _put(out / "statement.md", "epsilon 1", "epsilon 0.1")
    assert not held(out)["statement"]


def _measured(out: Path, named: str) -> Path:
    return next(path for path in sorted((out / "measurements").glob("*.csv")) if named in path.read_text())


def _put(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize("spoil", ["missing", "garbage", "format", "noise", "1/0", "-1", "claim", "name", "before"])
def test_what_is_no_release_is_refused(out: Path, spoil: str) -> None:
    path = out / "metadata.json"
    fields = json.loads(path.read_text())
    if spoil == "missing":
        (out / "data/03-age.csv").unlink()
    elif spoil == "garbage":
        path.write_text("{")
    elif spoil == "format":
        path.write_text(json.dumps(fields | {"format": 99}))
    elif spoil in ("claim", "before"):
        path.write_text(json.dumps(fields | {spoil: 3}))
    elif spoil != "noise":
        fields["blocks"][0] |= {"name": 3} if spoil == "name" else {"parameter": spoil}
        path.write_text(json.dumps(fields))
    else:
        fields["blocks"][0]["mechanism"] = "none"
        path.write_text(json.dumps(fields))
    with pytest.raises(Refused) as refused:
        check(out)
    assert refused.value.code == "bad_release"


def test_a_folder_with_something_in_it_is_refused_before_the_charge(session: obverse.Session, out: Path) -> None:
    before = session.ledger.spent()
    with pytest.raises(Refused) as refused:
        publish(session, table_release(session, WANTED, Fraction(1, 2)), out)
    assert refused.value.code == "folder_not_empty"
    assert session.ledger.spent() == before


def test_a_folder_that_cannot_be_written_after_the_charge_is_made_again_for_nothing(
    session: obverse.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "no space")

    with monkeypatch.context() as patched:
        patched.setattr("obverse.publish.folder.write.write_csv", full)
        with pytest.raises(Refused) as refused:
            publish(session, table_release(session, WANTED), tmp_path / "a")
    assert refused.value.code == "cannot_write"
    assert refused.value.charged
    spent = session.ledger.spent()
    done = publish(session, table_release(session, WANTED), tmp_path / "b")
    assert done.receipted.stored
    assert session.ledger.spent() == spent


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, args)


def test_the_command_plans_for_nothing_publishes_and_checks(project: Path, tmp_path: Path) -> None:
    planned = run(*ARGS, "-p", str(project), "--plan", "--json")
    assert planned.exit_code == 0, planned.output
    plan = json.loads(planned.stdout)
    out = str(tmp_path / "r")
    made = run(*ARGS, "-p", str(project), "--out", out, "--json")
    assert made.exit_code == 0, made.output
    errors = rows(Path(out) / "errors.csv")
    assert [float(row["stddev"]) for row in errors] == [table["stddev"] for table in plan["tables"]]
    checked = run("publish", "check", out)
    assert (checked.exit_code, checked.stdout.count("Holds")) == (0, 12)
    (Path(out) / "errors.csv").write_text("")
    assert run("publish", "check", out, "--json").exit_code == 3


def test_a_report_that_fails_beside_a_new_release_says_that_the_charge_stays(project: Path, tmp_path: Path) -> None:
    file = project / "obverse.toml"
    args = [*ARGS, "-p", str(project), "--report", str(file / "x.html"), "--reason", "error before the press release"]
    made = run(*args, "--out", str(tmp_path / "r"))
    assert "cannot_write" in made.output
    assert "The charge stays." in made.output
    assert "Nothing was spent." in run(*args, "--out", str(tmp_path / "again")).output


def test_the_command_prints_for_people(project: Path, tmp_path: Path) -> None:
    planned = run(*ARGS, "-p", str(project), "--plan")
    assert "no private row was read" in planned.stdout
    made = run(*ARGS, "-p", str(project), "--out", str(tmp_path / "r"))
    assert "all 11 hold" in made.stdout
    again = run(*ARGS, "-p", str(project), "--out", str(tmp_path / "again"))
    assert "the same release was stored" in again.stdout


@pytest.mark.parametrize("args", [[], ["--plan", "--out", "x"], ["--bins", "age", "--plan"]])
def test_a_command_that_cannot_be_meant_is_a_usage_error(project: Path, args: list[str]) -> None:
    assert run("publish", "table", "people", "--by", "age", *args, "-p", str(project)).exit_code == 2
