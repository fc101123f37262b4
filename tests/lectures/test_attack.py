"""What the courses say goes wrong without noise, shown by the attacks themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import obverse
from obverse.attack.attacks import Differencing, FuzzyLinkage, Homogeneity, Intersection, Linkage, Reconstruction
from obverse.attack.attacks.differencing import differences, posterior
from obverse.attack.examples import clues_about, film_ratings, people_list, pick
from obverse.attack.solvers import bits_of, consistent
from obverse.attack.targets import Counting, Person
from obverse.engines.files import ExactTable, read_table
from obverse.review.interfaces import asked_of

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
Open = Callable[[str, dict[str, dict[str, list[Any]]]], obverse.Session]


def table(**columns: list[str]) -> Mapping[str, Any]:
    return {name: np.array(values, dtype=object) for name, values in columns.items()}


FIRST = table(
    zip=["130**"] * 12,
    age=["<30"] * 4 + ["≥40"] * 4 + ["3*"] * 4,
    nationality=["*"] * 12,
    condition=["AIDS", "Heart Disease", "Viral Infection", "Viral Infection",
               "Cancer", "Heart Disease", "Viral Infection", "Viral Infection", *["Cancer"] * 4],
)  # fmt: skip
SECOND = table(
    zip=["130**"] * 12,
    age=["<35"] * 6 + ["≥35"] * 6,
    nationality=["*"] * 12,
    condition=["AIDS", "Tuberculosis", "Flu", "Tuberculosis", "Cancer", "Cancer",
               "Cancer", "Cancer", "Cancer", "Tuberculosis", "Viral Infection", "Viral Infection"],
)  # fmt: skip
QUASI = ("zip", "age", "nationality")


def test_everyone_in_their_thirties_has_cancer() -> None:
    """Lecture 4: the table is 4-anonymous, and one of its three classes holds one condition."""
    found = Homogeneity().run(FIRST, QUASI, "condition")
    assert found.figures["smallest_class"] == 4
    assert (found.figures["classes_of_one_secret"], found.rate.wins) == (1, 4)
    assert found.leaks


def test_the_28_year_old_of_zip_13012_has_aids() -> None:
    """Lecture 4: in both hospitals' tables; each leaves several conditions, together they leave one."""
    known = table(zip=["13012"], age=["28"], nationality=["American"])
    found = Intersection().run(FIRST, SECOND, known, QUASI, "condition")
    assert found.figures["secrets_left_by_each"] == [3.0, 4.0]
    assert found.figures["told"] == ["AIDS"]
    assert found.leaks


def test_two_articles_give_away_the_student_who_left() -> None:
    """Responsible data science: 202 of 3,005 in March, 201 of 3,004 in April. John, who left between, is one of the
    202.
    """
    sets = np.ones((2, 3005), dtype=bool)
    sets[1, 1234] = False
    people, difference = differences(sets, np.array([202.0, 201.0]))
    assert (people.tolist(), difference.tolist()) == ([1234], [1.0])
    assert posterior(1, 1) == 1


def test_a_difference_of_several_people_still_tells_something() -> None:
    """Responsible data science: X - Y > 1 means several Freddies. Certain where all or none of them have it, else their
    own share."""
    assert posterior(3, 3) == 1
    assert posterior(0, 3) == 0
    assert posterior(2, 3) == pytest.approx(2 / 3)  # while of everybody perhaps 1 in 100 has it


STUDY = """\
[project]
name = "study"
[budget]
epsilon = 8
[tables.study]
source = "study.parquet"
unit = "name"
[tables.study.columns]
name = { type = "text" }
hiv = { type = "integer", bounds = [0, 1] }
"""


def test_all_but_one_exactly_and_through_ask(opened: Open, tmp_path: Path) -> None:
    """Responsible data science: X counts all, Y all but Freddie. Exactly, X - Y is Freddie's secret, for each of sixty;
    through ask it is noise.

    False-alarm rate: whatever X is, guesses at epsilon 0.1 are right with a mean chance below 0.53: 52 of 60 in 1 of
    10^7 runs.
    """
    names = ["Freddie", *(f"person {i}" for i in range(59))]
    ill = [i % 2 for i in range(60)]
    people = [Person(name, bool(held)) for name, held in zip(names, ill)]
    (tmp_path / "study.csv").write_text("name,hiv\n" + "".join(f"{name},{held}\n" for name, held in zip(names, ill)))
    with ExactTable(tmp_path / "study.csv", "study") as exact:
        found = Differencing().ask(Counting(exact.ask, "study", "name"), "hiv = 1", people)
    assert (found.rate.wins, found.leaks) == (60, True)

    session = opened(STUDY, {"study": {"name": names, "hiv": ill}})
    found = Differencing().ask(Counting(asked_of(session, 0.1), "study", "name"), "hiv = 1", people)
    assert found.rate.trials == 60
    assert found.rate.wins <= 51


def test_all_subsets_within_e_leave_candidates_that_differ_in_at_most_4e() -> None:
    """Responsible data science: with all 2^n answers within E, whatever agrees with them is wrong about at most 4E
    people.
    """
    people = 10
    error = 1.0
    generator = np.random.default_rng(5)
    truth = generator.integers(0, 2, people).astype(bool)
    subsets = bits_of(np.arange(1 << people, dtype=np.uint32), people)
    answers = subsets @ truth.astype(float) + generator.uniform(-error, error, len(subsets))
    kept = bits_of(consistent(subsets, answers, error), people)
    assert len(kept) >= 1
    assert (kept != truth).sum(axis=1).max() <= 4 * error


@pytest.mark.parametrize("people", [401, 1000])
def test_noise_below_n_over_401_gives_99_percent_away(people: int) -> None:
    """Responsible data science: 4E = 4n/401 < n/100. Not all 2^n questions are needed: four for each person do."""
    generator = np.random.default_rng(people)
    truth = generator.permutation(np.arange(people) % 2 == 0)
    error = people / 401

    def sums(subsets: Any) -> Any:
        return subsets @ truth.astype(float) + generator.uniform(-error, error, len(subsets))

    found = Reconstruction().run(sums, truth)
    assert found.rate.value >= 0.99
    assert found.leaks


def test_noise_of_the_order_of_the_root_of_n_does_not() -> None:
    """Responsible data science: at twice the root of n, most bits of a thousand people are no better than guessed; 99 %
    are out of reach."""
    generator = np.random.default_rng(7)
    truth = generator.permutation(np.arange(1000) % 2 == 0)
    scale = 2 * 1000**0.5
    found = Reconstruction().run(lambda s: s @ truth.astype(float) + generator.normal(0, scale, len(s)), truth)
    assert found.rate.value < 0.7


def weld(generator: np.random.Generator) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """A voter list of 54,000 in seven ZIP codes, the governor last but five, and a hospital's file of 12,000 of
    them.
    """
    voters = {name: values.copy() for name, values in people_list(generator, 54_000, zips=7).items()}
    born = voters["birth"] == "1945-07-31"
    voters["birth"][born] = "1945-07-30"
    last = slice(54_000 - 6, 54_000)
    voters["birth"][last] = "1945-07-31"
    voters["sex"][last] = list("MMMFFF")
    voters["zip"][last] = ["02138", "02139", "02140", "02138", "02139", "02141"]
    patients = np.concatenate([generator.permutation(53_000)[:11_999], [54_000 - 6]])
    hospital = dict(pick(voters, patients))
    hospital["diagnosis"] = np.array([f"d{i % 40}" for i in range(len(patients))], dtype=object)
    return voters, hospital


def test_governor_weld_is_found_by_zip_birth_date_and_sex() -> None:
    """Responsible data science: six share the governor's birth date, three of them are men, one lives in the ZIP code;
    and 87 % are like that."""
    voters, hospital = weld(np.random.default_rng(1997))
    day = voters["birth"] == "1945-07-31"
    men = day & (voters["sex"] == "M")
    assert (day.sum(), men.sum(), (men & (voters["zip"] == "02138")).sum()) == (6, 3, 1)
    found = Linkage().run(hospital, voters, ("zip", "birth", "sex"), truth="id")
    assert found.leaks
    assert found.rate.value > 0.8
    assert found.control.wins == 0  # nobody who is not a patient is taken for one
    alone = Linkage().run(pick(hospital, slice(-1, None)), voters, ("zip", "birth", "sex"), truth="id")
    assert alone.rate.wins == 1
    without = Linkage().run(hospital, voters, ("birth", "sex"), truth="id")
    assert without.rate.value < found.rate.value


def test_121_classes_of_the_shared_pair_hold_one_diagnosis() -> None:
    """Responsible data science, linkage: an "anonymised" file of 30,000 in which no row is alone: nobody is linked, and
    363 people's diagnosis is certain."""
    if not (SHARED / "linkage_medical.csv").exists():
        pytest.skip("the shared linkage pair is not here")
    medical = read_table(SHARED / "linkage_medical.csv")
    known = read_table(SHARED / "linkage_demographic.csv")
    on = ("Gender", "Age", "Zip")
    found = Homogeneity().run(medical, on, "Diagnosis")
    assert (found.figures["classes"], found.figures["classes_of_one_secret"], found.rate.wins) == (10_000, 121, 363)
    linked = Linkage().run(medical, known, on, truth="ID")
    assert (linked.rate.wins, linked.leaks) == (0, False)
    assert linked.figures["people_alone"] > 0.99 * 30_000  # the named list is not the weak side


SETTINGS = {
    "8 known, 2 wrong, 14 days": ({"known": 8, "wrong": 2, "days": 14}, 99),
    "2 known, 3 days": ({"known": 2, "wrong": 0, "days": 3}, 68),
    "6 of 8 beyond the top 500, no dates": ({"known": 8, "wrong": 2, "days": None, "beyond": 500}, 84),
}


def test_a_few_ratings_single_out_a_record() -> None:
    """Responsible data science: Netflix at the paper's three settings, on generated ratings; its figures beside ours
    (shown by pytest -s)."""
    generator = np.random.default_rng(2008)
    people = 2500
    inside = 150
    outside = 800
    made = film_ratings(generator, people + outside, 10_000, 100)
    ratings = made.released(people)
    found = {}
    for name, (setting, paper) in SETTINGS.items():
        known = [(p, clues_about(generator, made, p, **setting)) for p in range(inside)]
        strangers = [clues_about(generator, made, p, **setting) for p in range(people, people + outside)]
        found[name] = one = FuzzyLinkage().run(ratings, known, strangers)
        shown = one.figures
        rightly = shown["named_rightly"] / inside
        wrongly = (shown["named"] - shown["named_rightly"]) / inside
        print(
            f"{name}: best guess right {one.rate.value:.0%}; named by the paper's rule {rightly:.0%} rightly, "
            f"{wrongly:.1%} "
            f"wrongly, {shown['outsiders_named'] / outside:.1%} of strangers; paper {paper} %"
        )
        assert one.leaks, name
        assert rightly > 0.7, name
    assert found["8 known, 2 wrong, 14 days"].rate.value > 0.9
