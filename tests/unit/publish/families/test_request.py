"""Parents and children through the door: one debit, exact sensitivities on neighbours, rows that belong to each
other.
"""

from __future__ import annotations

import csv
import itertools
import json
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import obverse
from obverse.accounting.zcdp import rho_for
from obverse.cli.main import cli
from obverse.core.errors import Failed, InvariantBroken, Refused
from obverse.core.loss import PureLoss
from obverse.plan.pricing import Adaptive
from obverse.plan.strategy.adaptive import Chosen, Noised, Step, Taken, cost, walk
from obverse.publish.families.linking import Part, fits, linked
from obverse.publish.families.request import Families, Relatives, family_release, measured_families, publish_families
from obverse.publish.folder.check import check
from obverse.publish.synthetic.request import Course, read
from obverse.testing.spies import diff, spy_on, state
from tests.unit.publish.published import Made, exact_counts, head, made_of
from tests.unit.publish.synthetic.test_request import Cheap, lost

TOML = (
    head("families", "2", "5")
    + """\
[tables.people]
source = "people.parquet"
unit = "person_id"
{size}
[tables.people.columns]
age = {{ type = "integer", bounds = [0, 90] }}
sex = {{ type = "text", values = ["F", "M"], nullable = false }}
note = {{ type = "text" }}
[tables.visits]
source = "visits.parquet"
unit = "patient -> people.person_id"
limits = {{ rows = 3, groups = 2 }}
[tables.visits.columns]
ward = {{ type = "text", values = ["a", "b", "c"], nullable = false }}
day = {{ type = "integer", bounds = [1, 3] }}
age = {{ type = "integer", bounds = [0, 90] }}
[tables.stays]
source = "stays.parquet"
unit = "patient -> people.person_id"
limits = {{ rows = 2000 }}
[tables.stays.columns]
ward = {{ type = "text", values = ["a", "b"] }}
"""
)
N = 900
MOST = 3
AGES = [(i * 7) % 91 for i in range(N)]
PEOPLE: dict[str, list[Any]] = {
    "person_id": list(range(N)),
    "age": [None if i % 50 == 0 else age for i, age in enumerate(AGES)],
    "sex": ["F" if i % 2 else "M" for i in range(N)],
    "note": ["x"] * N,
}
OWN = [i for i in range(N) for _ in range(0 if AGES[i] < 30 else 1 + i % 5)]  # the young have none, some have too many
VISITS: dict[str, list[Any]] = {
    "patient": [*OWN, 10**6, 40],  # one of nobody, and one that has no public ward
    "ward": [*("a" if i % 2 else "bc"[n % 2] for n, i in enumerate(OWN)), "a", "?"],
    "day": [*(1 + n % 3 for n in range(len(OWN))), 1, 2],
    "age": [*(AGES[i] for i in OWN), 1, 2],
}
STAYS = {"patient": [1], "ward": ["a"]}
WANTED = Relatives("visits", "people", ("ward", "day"), ("age", "sex"), {"age": "30"})
made = made_of(TOML, {"people": PEOPLE, "visits": VISITS, "stays": STAYS}, N)


@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(1, 3)])
@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
def test_both_parts_cost_the_price_together_in_exact_fractions(made: Made, accounting: str, share: Fraction) -> None:
    session = made(accounting)
    before = state(session.ledger)
    release = family_release(session, replace(WANTED, share=share))
    whole = Fraction(2) if accounting == "pure" else rho_for(Fraction(2), Fraction(1, 10**6))
    assert (release.parents.paid, release.children.paid) == (share * whole, (1 - share) * whole)
    assert release.parents.ground.weight == 1
    assert release.children.ground.weight * release.children.unit == MOST
    assert diff(before, session.ledger).empty


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
def test_parents_and_children_are_one_debit_and_one_receipt(made: Made, accounting: str) -> None:
    session = made(accounting)
    log = spy_on(session)
    before = state(session.ledger)
    release = family_release(session, WANTED)
    assert log.events == []
    kept = measured_families(session, release)
    assert log.events == ["reserve", "run", "run", "settle"]
    assert [entry.kind for entry in diff(before, session.ledger).entries] == ["catalog", "charge", "settle"]
    (receipt,) = {one.claim["receipt"] for _, one in (kept.parents, kept.children)}
    assert (kept.claim["receipt"], kept.claim["epsilon"], kept.stored) == (receipt, "2", False)
    assert kept.claim["mechanisms"][-1] == "exponential"
    assert "one row per unit" in kept.claim["limits"]
    assert "weigh at most 3 together" in kept.claim["limits"]
    again = measured_families(session, family_release(session, WANTED))
    assert again.stored
    assert again.parents[0].edges == kept.parents[0].edges
    spent = session.ledger.spent().amount
    assert spent == (2 if accounting == "pure" else release.parents.paid + release.children.paid)


def test_another_share_or_other_parents_are_another_release(made: Made) -> None:
    session = made()
    measured_families(session, family_release(session, WANTED, Fraction(1)))
    assert not measured_families(
        session, family_release(session, replace(WANTED, share=Fraction(1, 3)), Fraction(1))
    ).stored
    other = replace(WANTED, parent_columns=("sex", "age"))
    assert not measured_families(session, family_release(session, other, Fraction(1))).stored
    assert session.ledger.spent().amount == 3


@pytest.mark.parametrize("part", ["parents", "children"])
def test_a_part_that_overspends_is_stopped_before_the_debit(made: Made, part: str) -> None:
    session = made()
    release = family_release(session, WANTED)
    course: Course = getattr(release, part)
    costed = replace(course.planned.costed, noise=Adaptive(Cheap(course.method.course)))
    broken: Any = {part: replace(course, planned=replace(course.planned, costed=costed))}
    with pytest.raises(InvariantBroken):
        measured_families(session, replace(release, **broken))
    assert session.ledger.spent().amount == 0


def test_a_crash_between_parents_and_children_leaves_the_charge(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    session = made()
    release = family_release(session, WANTED)

    def broken(*_: Any) -> Any:
        raise RuntimeError("in the middle")

    monkeypatch.setattr("obverse.publish.families.request.Asked", broken)
    with pytest.raises(Failed) as failed:
        measured_families(session, release)
    assert failed.value.code == "engine_failure"
    assert session.ledger.spent().amount == 2


FEW: dict[str, list[Any]] = {name: values[:5] for name, values in PEOPLE.items()}
THEIRS: dict[str, list[Any]] = {
    "patient": [0, 0, 0, 0, 0, 1, 1, 2, 7, 7],  # too many, some, one, none, and those of nobody
    "ward": ["a", "a", "a", "a", "b", "b", "?", "c", "a", "b"],
    "day": [1, 1, 1, 1, 2, 2, 3, None, 1, 9],
    "age": [1] * 10,
}


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_people_taken_out_or_replaced_with_all_their_rows_cost_no_more_than_the_price(
    made: Made, accounting: str, neighbours: str
) -> None:
    """On the path that exact values take; every step's move in both parts, in exact fractions."""
    session = made(accounting, neighbours, people=FEW, visits=THEIRS)
    release = family_release(session, WANTED)
    courses = (release.parents, release.children)
    whole = [exact_counts(session, one.planned) for one in courses]
    others = []
    for person in range(5):
        people = {n: [v for v, who in zip(values, FEW["person_id"]) if who != person] for n, values in FEW.items()}
        visits = {n: [v for v, who in zip(values, THEIRS["patient"]) if who != person] for n, values in THEIRS.items()}
        other = made(accounting, "add-remove", people=people, visits=visits)
        less = family_release(other, WANTED)
        others.append([exact_counts(other, one.planned) for one in (less.parents, less.children)])
    pairs = [(one, whole) for one in others] if neighbours == "add-remove" else list(itertools.permutations(others, 2))
    for course, weight in zip(range(2), (1, MOST / float(release.children.unit))):
        moves = [int(np.abs(a[course] - b[course]).sum()) for a, b in pairs]
        sets = len(courses[course].ground.cells.sets) * (1 if neighbours == "add-remove" else 2)
        assert weight * sets / 2 < max(moves) <= weight * sets
    most = Fraction(0)
    told = Fraction(0)
    steps = [
        walk(one.method.course, one.ground, one.paid, best(one, counts)).steps for one, counts in zip(courses, whole)
    ]
    for a, b in pairs:
        found = [lost(s, c.ground, x, y, accounting) for c, own, x, y in zip(courses, steps, a, b) for s in own]
        most = max(most, sum(found, Fraction(0)))
    told = sum((cost(step, one.ground) for one, own in zip(courses, steps) for step in own), Fraction(0))
    paid = release.parents.paid + release.children.paid
    assert paid / 3 < most <= told <= paid


def best(course: Course, counts: Any) -> Callable[[Step], Taken]:
    """Exact values, as if there were many rows, and the best of candidates."""

    def taken(step: Step) -> Taken:
        if isinstance(step, Chosen):
            return (np.array([int(step.kernel.scores(course.ground.cells, counts).argmax())]),)
        return tuple(step.strategy.apply(course.ground.cells, counts * 1000))

    return taken


def without_noise(session: obverse.Session, course: Course) -> Part:
    """The part at a price at which its noise is next to nothing, with the exact values of made-up rows."""
    planned = course.planned
    counts = exact_counts(session, course.planned)
    dear = replace(course, planned=replace(planned, costed=replace(planned.costed, loss=PureLoss(Fraction(10**6)))))

    def taken(step: Step) -> Taken:
        if isinstance(step, Noised):
            return tuple(step.strategy.apply(dear.ground.cells, counts))
        return (np.array([int(step.kernel.scores(dear.ground.cells, counts).argmax())]),)

    return Part(*read(dear, walk(dear.method.course, dear.ground, dear.paid, taken)))


def test_without_noise_numbers_of_children_and_measured_pairs_are_the_true_ones(made: Made) -> None:
    session = made()
    release = family_release(session, WANTED)
    parents = without_noise(session, release.parents)
    children = without_noise(session, release.children)
    rows = linked(release.family, parents, children)
    have = Counter(Counter(rows.owner.tolist()).get(i, 0) for i in range(len(rows.parents[0])))
    true = Counter(min(MOST, Counter(OWN).get(i, 0)) for i in range(N))
    assert len(rows.parents[0]) == N
    assert have == true
    weights = {i: min(1.0, MOST / n) for i, n in Counter(OWN).items()}
    model = children.method.fitted(children.measured).model
    assert abs(model.total - sum(n * weights[i] for i, n in Counter(OWN).items())) < 1
    assert (0, 3) in children.method.edges
    want = np.zeros((3, 2))
    for who, ward in zip(OWN, VISITS["ward"]):
        want["abc".index(ward), "FM".index(PEOPLE["sex"][who])] += weights[who]
    want /= want.sum()
    assert np.abs(model.pair(0, 3) - want).max() < 1e-3
    drawn = np.zeros((3, 2))
    np.add.at(drawn, (rows.children[0], rows.parents[1][rows.owner]), 1)
    assert np.abs(drawn / len(rows.owner) - want).max() < 0.02
    assert drawn[0, 1] + drawn[1, 0] + drawn[2, 0] == 0, (
        "a child's ward follows from its parent's sex, and does in every row"
    )


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
def test_every_child_has_its_parent_no_parent_has_too_many_and_every_check_holds(
    made: Made, tmp_path: Path, accounting: str
) -> None:
    out = tmp_path / "release"
    session = made(accounting)
    done = publish_families(session, family_release(session, WANTED), out)
    assert all(one.holds for one in done.checks), done.checks
    names = {one.name for one in check(out)}
    assert names >= {"parents_price", "children_price", "debit", "columns", "links", "families", "children", "files"}
    parents = table(out / "data" / "parents.csv")
    children = table(out / "data" / "children.csv")
    assert list(parents[0]) == ["person_id", "age", "sex"]
    assert list(children[0]) == ["person_id", "ward", "day"]
    keys = [row["person_id"] for row in parents]
    counts = Counter(row["person_id"] for row in children)
    assert len({*keys}) == len(keys)
    assert {*counts} <= {*keys}
    assert max(counts.values()) <= MOST
    assert [counts.get(key, 0) for key in keys] == [
        int(r["children"]) for r in table(out / "parents" / "data" / "synthetic.csv")
    ]
    assert (out / "data" / "children.parquet").exists()
    statement = (out / "statement.md").read_text(encoding="utf-8")
    assert "1/2 for parents and 1/2 for children" in statement
    assert "`person_id` is made up" in statement


def table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.open(encoding="utf-8")))


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the one release lies of which each test gets a copy."""
    return tmp_path_factory.mktemp("releases")


@pytest.fixture
def folder(made: Made, releases: Path, tmp_path: Path) -> Path:
    out = releases / "release"
    session = made()
    if not out.exists():
        publish_families(session, family_release(session, WANTED), out)
    return shutil.copytree(out, tmp_path / "release")


def rewrite(path: Path, change: Callable[[list[list[str]]], list[list[str]]]) -> None:
    rows = list(csv.reader(path.open(encoding="utf-8")))
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([rows[0], *change(rows[1:])])


def failing(out: Path) -> set[str]:
    """But for the files' hashes, which whoever changes a folder can make anew."""
    return {one.name for one in check(out) if not one.holds and not one.name.endswith("files")}


def test_children_of_nobody_or_too_many_of_one_fail(folder: Path) -> None:
    path = folder / "data" / "children.csv"
    kept = path.read_text(encoding="utf-8")
    rewrite(path, lambda rows: [["1000000", *rows[0][1:]], *rows[1:]])
    assert {"links", "families"} <= failing(folder)
    path.write_text(kept, encoding="utf-8")
    rewrite(path, lambda rows: [["1", *row[1:]] for row in rows])
    assert {"links", "families"} <= failing(folder)


def test_a_child_that_moved_to_another_parent_fails(folder: Path) -> None:
    rewrite(folder / "data" / "children.csv", lambda rows: [[rows[-1][0], *rows[0][1:]], *rows[1:]])
    assert "families" in failing(folder)


def test_children_whose_columns_were_sorted_fail(folder: Path) -> None:
    """Keys and each column's counts stay as they are; wards no longer go with their parents."""

    def change(rows: list[list[str]]) -> list[list[str]]:
        columns = list(zip(*rows))
        return [list(row) for row in zip(columns[0], *(sorted(one) for one in columns[1:]))]

    rewrite(folder / "data" / "children.csv", change)
    assert failing(folder) == {"children"}


def test_a_smaller_price_than_was_paid_fails(folder: Path) -> None:
    fields = json.loads((folder / "metadata.json").read_text())
    fields["claim"]["epsilon"] = "1.9"
    (folder / "metadata.json").write_text(json.dumps(fields))
    assert failing(folder) == {"debit", "statement"}


def test_another_cap_than_was_measured_fails(folder: Path) -> None:
    fields = json.loads((folder / "metadata.json").read_text())
    fields["method"]["most"] = 2
    (folder / "metadata.json").write_text(json.dumps(fields))
    assert failing(folder) == {"columns", "statement"}


def test_a_folder_that_cannot_be_read_is_refused(folder: Path) -> None:
    path = folder / "metadata.json"
    kept = path.read_text()
    path.write_text(json.dumps(json.loads(kept) | {"method": {}}))
    with pytest.raises(Refused) as refused:
        check(folder)
    assert refused.value.code == "bad_release"
    path.write_text(kept)
    (folder / "data" / "children.csv").unlink()
    with pytest.raises(Refused) as refused:
        check(folder)
    assert refused.value.code == "bad_release"


def test_a_part_of_another_kind_is_refused(folder: Path, made: Made, tmp_path: Path) -> None:
    from obverse.publish.folder.write import publish
    from obverse.publish.tables.release import table_release
    from obverse.publish.tables.request import Wanted

    session = made()
    publish(session, table_release(session, Wanted("people", (("sex",),), {})), tmp_path / "tables")
    (folder / "children").rename(tmp_path / "away")
    (tmp_path / "tables").rename(folder / "children")
    with pytest.raises(Refused) as refused:
        check(folder)
    assert refused.value.code == "bad_release"


def test_models_of_other_columns_are_not_linked(made: Made) -> None:
    session = made()
    release: Families = family_release(session, WANTED)
    other = family_release(session, replace(WANTED, bins={"age": "45"}))
    parents = without_noise(session, release.parents)
    children = without_noise(session, other.children)
    assert not fits(release.family, parents, children)
    with pytest.raises(InvariantBroken):
        linked(release.family, parents, children)


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (replace(WANTED, parent="visits"), "not_related"),
        (replace(WANTED, table="people", parent="visits"), "not_related"),
        (replace(WANTED, table="people", columns=("sex",)), "not_related"),
        (replace(WANTED, parent="nowhere"), "unknown_table"),
        (replace(WANTED, table="stays", columns=("ward",)), "release_too_wide"),
        (replace(WANTED, columns=()), "bad_workload"),
        (replace(WANTED, parent_columns=()), "bad_workload"),
        (replace(WANTED, columns=("ward", "ward")), "bad_workload"),
        (replace(WANTED, columns=("person_id",)), "bad_workload"),
        (replace(WANTED, parent_columns=("sex", "note"), bins={}), "no_domain"),
        (replace(WANTED, columns=("nobody",)), "unknown_column"),
        (replace(WANTED, bins={"nobody": "3"}), "bad_bins"),
        (replace(WANTED, share=Fraction(1)), "bad_shares"),
    ],
)
def test_what_cannot_be_released_is_refused_for_nothing(made: Made, wanted: Relatives, code: str) -> None:
    session = made()
    before = state(session.ledger)
    with pytest.raises(Refused) as refused:
        family_release(session, wanted)
    assert refused.value.code == code
    assert diff(before, session.ledger).empty


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, ["publish", *words], catch_exceptions=False)


def test_the_command_plans_writes_and_checks(made: Made, tmp_path: Path) -> None:
    session = made()
    before = state(session.ledger)
    words = ["synthetic", "visits", "--columns", "ward,age", "--parent", "people", "--parent-columns", "age,sex"]
    words += ["--bins", "age=30", "--project", str(tmp_path / "p0")]
    shown = run(*words, "--plan")
    assert shown.exit_code == 0
    assert "from none to 3 rows of visits" in shown.output
    plan = json.loads(run(*words, "--plan", "--json", "--parent-share", "0.25").output)
    assert (plan["parents_share"], plan["children_max"]) == ("1/4", 3)
    assert [one["name"] for one in plan["parents"]["columns"]] == ["age", "sex", "children"]
    assert [one["name"] for one in plan["children"]["columns"]] == ["ward", "age", "people.age", "people.sex"]
    assert diff(before, session.ledger).empty
    out = str(tmp_path / "out")
    assert run(*words, "--out", out).exit_code == 0
    assert run("check", out).exit_code == 0
    assert session.ledger.spent().amount == 2


def test_a_report_of_parents_and_children_is_refused_with_its_reason(folder: Path, tmp_path: Path) -> None:
    found = run(
        "report", str(folder), "--project", str(tmp_path / "p0"), "--out", str(tmp_path / "r.html"), "--reason", "x"
    )
    assert found.exit_code == 3
    assert "a release of parents and children cannot be compared with the truth" in found.output


@pytest.mark.parametrize("more", [["--where", "age > 5"], ["--rows", "5"], ["--given", "ward=a"]])
def test_conditions_and_samples_are_not_there_with_a_parent(more: list[str]) -> None:
    words = ["synthetic", "visits", "--columns", "ward", "--parent", "people", "--parent-columns", "sex", "--plan"]
    assert run(*words, *more).exit_code == 2


def test_columns_of_a_parent_need_its_name() -> None:
    assert run("synthetic", "visits", "--columns", "ward,day", "--parent-columns", "sex", "--plan").exit_code == 2
