"""Synthetic rows through the door: one debit, exact sensitivities on neighbouring databases, a folder that checks
itself.
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

from obverse.cli.main import cli
from obverse.core.errors import BudgetExceeded, Failed, InvariantBroken, Refused
from obverse.plan.pricing import Adaptive
from obverse.plan.strategy.adaptive import Chosen, Ground, Noised, Step, Taken, cost, walk
from obverse.plan.verify import verify
from obverse.publish.folder.check import check, made_again
from obverse.publish.synthetic.method import Synthetic
from obverse.publish.synthetic.request import Rows, publish_synthetic, synthesized, synthetic_release, write_sample
from obverse.testing.spies import diff, spy_on, state
from tests.unit.publish.published import Made, exact_counts, head, made_of

TOML = (
    head("rows", "2", "5")
    + """\
[tables.people]
source = "people.parquet"
unit = "person_id"
{size}
[tables.people.columns]
age = {{ type = "integer", bounds = [0, 90] }}
sex = {{ type = "text", values = ["F", "M"], nullable = false }}
smokes = {{ type = "boolean", nullable = false }}
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
# so many that age and sex are chosen first but for a chance of 3e-8: exp(-epsilon * score / 2) at 0.05 and 700
N = 1200
PEOPLE: dict[str, list[Any]] = {
    "person_id": list(range(N)),
    "age": [None if i % 50 == 0 else (i * 7) % 91 for i in range(N)],
    "sex": ["F" if (i * 7) % 91 < 45 else "M" for i in range(N)],
    "smokes": [i % 3 == 0 for i in range(N)],
    "note": ["x"] * N,
}
VISITS = {
    "person_id": [0, 0, 0, 1, 1, 2, 2, 3],
    "ward": ["a", "a", "a", "b", "b", "c", None, "?"],
    "day": [1, 1, 1, 2, 2, 1, 1, 9],
}
ROWS = Rows("people", ("age", "sex", "smokes"), {"age": "30"})
VISITED = Rows("visits", ("ward", "day"), {})
made = made_of(TOML, {"people": PEOPLE, "visits": VISITS}, N, accounting="zcdp")


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
def test_all_steps_are_one_debit_and_one_reading(made: Made, accounting: str) -> None:
    session = made(accounting)
    log = spy_on(session)
    before = state(session.ledger)
    release = synthetic_release(session, ROWS)
    assert log.events == []
    assert diff(before, session.ledger).empty
    method, found = synthesized(session, release)
    assert log.events == ["reserve", "run", "settle"]
    assert [entry.kind for entry in diff(before, session.ledger).entries] == ["catalog", "charge", "settle"]
    assert (found.claim["epsilon"], found.stored) == ("2", False)
    assert method.edges
    noise = "discrete_laplace" if accounting == "pure" else "discrete_gaussian"
    assert found.claim["mechanisms"] == [noise, "exponential"]
    if accounting == "pure":
        assert session.ledger.spent().amount == 2


def test_the_same_release_again_is_the_stored_one_whatever_sample_is_drawn_of_it(made: Made) -> None:
    session = made("pure")
    first, one = synthesized(session, synthetic_release(session, ROWS))
    second, two = synthesized(session, synthetic_release(session, replace(ROWS, given=(("sex", "F"),), wanted=7)))
    assert two.stored
    assert [e.values.tolist() for e in one.measured] == [e.values.tolist() for e in two.measured]  # type: ignore[union-attr]
    assert (first.edges, first.choices) == (second.edges, second.choices)
    assert session.ledger.spent().amount == 2
    synthesized(session, synthetic_release(session, replace(ROWS, columns=("age", "sex"))))
    assert session.ledger.spent().amount == 4
    with pytest.raises(BudgetExceeded):
        synthesized(session, synthetic_release(session, replace(ROWS, where="age > 5")))


def test_a_crash_between_two_steps_leaves_the_charge(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    session = made("pure")
    release = synthetic_release(session, ROWS)

    def broken(*_: Any) -> Any:
        raise RuntimeError("in the middle")

    monkeypatch.setattr("obverse.plan.strategy.candidates.Distances.scores", broken)
    with pytest.raises(Failed) as failed:
        synthesized(session, release)
    assert failed.value.code == "engine_failure"
    assert "middle" not in str(failed.value)
    assert session.ledger.spent().amount == 2


class Cheap:
    """A course with half of the noise, which says the same of itself."""

    def __init__(self, course: Any) -> None:
        self.course = course

    @property
    def identity(self) -> str:
        return str(self.course.identity)

    def step(self, ground: Ground, price: Fraction, taken: tuple[Taken, ...]) -> Step | None:
        step = self.course.step(ground, price, taken)
        if isinstance(step, Noised) and taken:
            return Noised(step.strategy, tuple(one.scaled(Fraction(1, 2)) for one in step.mechanisms))
        return step  # type: ignore[no-any-return]


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
def test_a_course_that_overspends_is_stopped_before_the_debit(made: Made, accounting: str) -> None:
    session = made(accounting)
    release = synthetic_release(session, ROWS)
    costed = replace(release.planned.costed, noise=Adaptive(Cheap(release.method.course)))
    with pytest.raises(InvariantBroken):
        verify(costed)
    before = state(session.ledger)
    with pytest.raises(InvariantBroken):
        synthesized(session, replace(release, planned=replace(release.planned, costed=costed)))
    assert not any(entry.kind == "charge" for entry in diff(before, session.ledger).entries)


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("rows", [ROWS, VISITED], ids=["people", "visits"])
def test_units_taken_out_or_replaced_cost_no_more_than_the_price(
    made: Made, accounting: str, neighbours: str, rows: Rows
) -> None:
    """Persons with no, one, and too many rows, on the path that exact values take; every step's move, in exact
    fractions.
    """
    few = {name: values[:6] for name, values in PEOPLE.items()}
    session = made(accounting, neighbours, people=few)
    release = synthetic_release(session, rows)
    ground = release.ground
    whole = exact_counts(session, release.planned)

    def best(step: Step) -> Taken:
        if isinstance(step, Chosen):
            return (np.array([int(step.kernel.scores(ground.cells, whole).argmax())]),)
        return tuple(step.strategy.apply(ground.cells, whole * 1000))  # as if there were many, so that pairs are chosen

    steps = walk(release.method.course, ground, release.paid, best).steps
    assert any(isinstance(step, Chosen) for step in steps)
    moved = []
    for person in range(6):
        people = {
            name: [v for v, who in zip(values, few["person_id"]) if who != person] for name, values in few.items()
        }
        visits = {
            name: [v for v, who in zip(values, VISITS["person_id"]) if who != person] for name, values in VISITS.items()
        }
        other = made(accounting, "add-remove", people=people, visits=visits)
        moved.append(exact_counts(other, synthetic_release(other, rows).planned))
    pairs = [(a, whole) for a in moved] if neighbours == "add-remove" else list(itertools.permutations(moved, 2))
    most = Fraction(0)
    told = sum((cost(step, ground) for step in steps), Fraction(0))
    for a, b in pairs:
        most = max(most, sum((lost(step, ground, a, b, accounting) for step in steps), Fraction(0)))
    assert release.paid / 3 < most <= told <= release.paid


def lost(step: Step, ground: Ground, a: Any, b: Any, accounting: str) -> Fraction:
    """What one step loses between two exact databases."""
    if isinstance(step, Chosen):
        moved = int(np.abs(step.kernel.scores(ground.cells, a) - step.kernel.scores(ground.cells, b)).max())
        epsilon = step.mechanism.epsilon * Fraction(moved, step.mechanism.sensitivity)
        return epsilon if accounting == "pure" else epsilon**2 / 8
    found = Fraction(0)
    for mechanism, x, y in zip(
        step.mechanisms, step.strategy.apply(ground.cells, a), step.strategy.apply(ground.cells, b)
    ):
        change: Any = mechanism
        if accounting == "pure":
            found += int(np.abs(x - y).sum()) / change.scale
        else:
            found += sum(int(d) ** 2 for d in x - y) / (2 * change.sigma_squared)
    return found


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
def test_the_folder_is_complete_and_every_check_holds(made: Made, tmp_path: Path, accounting: str) -> None:
    out = tmp_path / "release"
    session = made(accounting)
    rows = replace(ROWS, given=(("sex", "F"),), wanted=40)
    done = publish_synthetic(session, synthetic_release(session, rows), out)
    assert all(one.holds for one in done.checks), done.checks
    assert {one.name for one in check(out)} >= {
        "price",
        "forest",
        "estimates",
        "rows",
        "model",
        "files",
        "totals",
        "sums",
    }
    drawn = list(csv.DictReader((out / "data" / "synthetic.csv").open(encoding="utf-8")))
    assert {*drawn[0]} == {"age", "sex", "smokes"}
    assert {row["age"] for row in drawn} <= {"0 to 29", "30 to 59", "60 to 90", ""}
    beside = list(csv.DictReader((out / "data" / "sample.csv").open(encoding="utf-8")))
    assert ({row["sex"] for row in beside}, len(beside)) == ({"F"}, 40)
    assert (out / "plots" / "pairs.svg").exists()
    statement = (out / "statement.md").read_text(encoding="utf-8")
    assert "age with sex" in statement
    assert "in which sex is F" in statement
    errors = list(csv.DictReader((out / "errors.csv").open(encoding="utf-8")))
    assert [row["table"] for row in errors][:4] == ["age", "sex", "smokes", "age x sex"]
    for row in errors:
        assert (out / "data" / f"{row['file']}.parquet").exists()


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the one release lies of which each test gets a copy."""
    return tmp_path_factory.mktemp("releases")


@pytest.fixture
def folder(made: Made, releases: Path, tmp_path: Path) -> Path:
    out = releases / "release"
    session = made()
    if not out.exists():
        publish_synthetic(session, synthetic_release(session, ROWS), out)
    return shutil.copytree(out, tmp_path / "release")


def test_what_fails_after_the_charge_says_so_and_from_store_that_nothing_was_spent(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = made()

    def impossible(*_: object) -> int:
        raise Refused("impossible_given", "the model holds no row for which this is so.")

    monkeypatch.setattr(Synthetic, "likely", impossible)
    rows = replace(ROWS, given=(("sex", "M"),))
    for n, charged in enumerate((True, False)):
        with pytest.raises(Refused) as refused:
            publish_synthetic(session, synthetic_release(session, rows), tmp_path / str(n))
        assert (refused.value.code, refused.value.charged) == ("impossible_given", charged)


def failing(out: Path) -> set[str]:
    """But for the files' hashes, which whoever changes a folder can make anew."""
    return {one.name for one in made_again(out) if not one.holds}


def test_noise_that_is_told_smaller_fails_the_price(folder: Path) -> None:
    fields = json.loads((folder / "metadata.json").read_text())
    fields["loss"]["rho"] = str(Fraction(fields["loss"]["rho"]) * Fraction(9, 10))
    (folder / "metadata.json").write_text(json.dumps(fields))
    assert "price" in failing(folder)


def test_a_claim_of_less_than_the_noise_costs_fails_the_price(folder: Path) -> None:
    fields = json.loads((folder / "metadata.json").read_text())
    fields["claim"]["epsilon"] = str(float(fields["claim"]["epsilon"]) * 0.999)
    (folder / "metadata.json").write_text(json.dumps(fields))
    assert failing(folder) == {"price", "statement"}


def test_another_tree_than_was_chosen_fails(folder: Path) -> None:
    fields = json.loads((folder / "metadata.json").read_text())
    assert len(fields["method"]["choices"]) > 1
    fields["method"]["choices"] = fields["method"]["choices"][:1]
    (folder / "metadata.json").write_text(json.dumps(fields))
    assert {"price", "forest"} <= failing(folder)


def test_rows_that_were_changed_fail(folder: Path) -> None:
    path = folder / "data" / "synthetic.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], *sorted(lines[1:])[:100], *lines[101:]]) + "\n")
    assert "rows" in failing(folder)
    path.write_text("\n".join([lines[0], "0 to 29,X,true"]) + "\n")
    assert "rows" in failing(folder)


def test_rows_whose_pairs_were_shuffled_fail_the_model(folder: Path) -> None:
    """Columns stay as they are, the pair of age and sex does not: each column sorted by itself."""
    path = folder / "data" / "synthetic.csv"
    rows = list(csv.reader(path.open(encoding="utf-8")))
    columns = [sorted(column) for column in zip(*rows[1:])]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([rows[0], *zip(*columns)])
    assert failing(folder) == {"model"}


def test_a_folder_that_cannot_be_read_is_refused(folder: Path) -> None:
    fields = json.loads((folder / "metadata.json").read_text())
    for name, broken in (("groups", [[0]]), ("edges", [[0, 9]]), ("choices", ["x"]), ("given", {"9": [1]})):
        (folder / "metadata.json").write_text(json.dumps(fields | {"method": fields["method"] | {name: broken}}))
        with pytest.raises(Refused) as refused:
            check(folder)
        assert refused.value.code == "bad_release", name


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        (replace(ROWS, columns=("sex",)), "bad_workload"),
        (replace(ROWS, columns=("sex", "sex")), "bad_workload"),
        (replace(ROWS, columns=("sex", "note"), bins={}), "no_domain"),
        (replace(ROWS, columns=("sex", "nobody"), bins={}), "unknown_column"),
        (replace(ROWS, given=(("sex", "X"),)), "bad_given"),
        (replace(ROWS, given=(("nobody", "F"),)), "bad_given"),
        (replace(ROWS, table="nowhere"), "unknown_table"),
    ],
)
def test_what_cannot_be_released_is_refused_for_nothing(made: Made, rows: Rows, code: str) -> None:
    session = made()
    before = state(session.ledger)
    with pytest.raises(Refused) as refused:
        synthetic_release(session, rows)
    assert refused.value.code == code
    assert diff(before, session.ledger).empty


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
def test_noise_that_would_make_rows_beyond_memory_is_refused_for_nothing(made: Made, accounting: str) -> None:
    session = made(accounting=accounting)
    before = state(session.ledger)
    for rows in (ROWS, VISITED):
        with pytest.raises(Refused) as refused:
            synthetic_release(session, rows, Fraction(1, 10**9))
        assert refused.value.code == "noise_too_large"
    assert diff(before, session.ledger).empty
    assert synthetic_release(session, ROWS, Fraction(1, 10**3)).price.epsilon == "0.001"


def test_too_many_cells_are_refused(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("obverse.publish.synthetic.request.CELLS_MAX", 10)
    with pytest.raises(Refused) as refused:
        synthetic_release(made(), ROWS)
    assert refused.value.code == "release_too_wide"


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, ["publish", *words], catch_exceptions=False)


def test_a_plan_reads_nothing_and_tells_noise_and_when_columns_are_independent(made: Made, tmp_path: Path) -> None:
    session = made()
    before = state(session.ledger)
    words = [
        "synthetic",
        "people",
        "--columns",
        "age,sex,smokes",
        "--bins",
        "age=30",
        "--project",
        str(tmp_path / "p0"),
    ]
    shown = run(*words, "--plan")
    assert shown.exit_code == 0
    assert "age x sex" in shown.output
    assert "independent" in shown.output
    plan = json.loads(run(*words, "--plan", "--json").output)
    assert [(one["name"], one["cells"]) for one in plan["columns"]] == [("age", 4), ("sex", 2), ("smokes", 2)]
    assert {one["name"]: one["cells"] for one in plan["pairs"]} == {
        "sex x smokes": 4,
        "age x sex": 8,
        "age x smokes": 8,
    }
    assert all(one["stddev"] <= one["first"] for one in plan["columns"])
    assert 0 < plan["rows_min"] <= plan["pairs"][0]["from_counts"]
    assert diff(before, session.ledger).empty
    assert run(*words).exit_code == 2


def test_the_command_writes_a_folder_and_samples_of_it(made: Made, tmp_path: Path) -> None:
    """A hundred women have no age, more than noise could hide."""
    made(people=PEOPLE | {"age": [None if i % 3 == 0 else age for i, age in enumerate(PEOPLE["age"])]})
    out = tmp_path / "out"
    words = [
        "synthetic",
        "people",
        "--columns",
        "age,sex,smokes",
        "--bins",
        "age=30",
        "--project",
        str(tmp_path / "p0"),
    ]
    assert run(*words, "--out", str(out)).exit_code == 0
    assert run("check", str(out)).exit_code == 0
    target = str(tmp_path / "women")
    found = run(
        "sample", str(out), "--given", "sex=F", "--given", "age=0 to 29", "--given", "age=missing", "--out", target
    )
    assert found.exit_code == 0
    rows = list(csv.DictReader((tmp_path / "women.csv").open(encoding="utf-8")))
    assert {(row["sex"], row["age"]) for row in rows} == {("F", "0 to 29"), ("F", "")}
    told = json.loads(run("sample", str(out), "--rows", "5", "--out", target, "--json").output)
    assert (told["rows"], told["files"][0]) == (5, f"{target}.csv")
    assert run("sample", str(out), "--given", "sex", "--out", target).exit_code == 2
    with pytest.raises(Refused) as refused:
        write_sample(out, (("sex", "?"),), 0, tmp_path / "x")
    assert refused.value.code == "bad_given"
    with pytest.raises(Refused) as refused:
        write_sample(out, (), 5, tmp_path / "nowhere" / "x")
    assert refused.value.code == "cannot_write"


def test_samples_are_of_synthetic_rows_only(made: Made, tmp_path: Path) -> None:
    from obverse.publish.folder.write import publish
    from obverse.publish.tables.release import table_release
    from obverse.publish.tables.request import Wanted

    session = made()
    publish(session, table_release(session, Wanted("people", (("sex",),), {})), tmp_path / "tables")
    with pytest.raises(Refused) as refused:
        write_sample(tmp_path / "tables", (), 5, tmp_path / "x")
    assert refused.value.code == "bad_release"
