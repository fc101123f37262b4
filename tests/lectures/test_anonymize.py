"""Anonymity of tables: the courses' tables made anonymous and checked, and what still works against them."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from obverse.anonymize.files import Checked, Files, anonymize, check
from obverse.anonymize.request import Wish

LINKAGE = Path(__file__).parents[3] / "shared" / "data" / "linkage_medical.csv"
PATIENTS = """race,born,sex,marital,issue
asian,9/27/00,female,divorced,hypertension
asian,9/30/00,female,divorced,obesity
asian,4/18/00,male,married,chest pain
asian,4/15/00,male,married,obesity
black,3/13/99,male,married,hypertension
black,3/18/99,male,married,shortness of breath
black,9/13/00,female,married,shortness of breath
black,9/07/00,female,married,obesity
white,5/14/01,male,single,chest pain
white,4/08/01,male,single,obesity
white,9/15/01,female,married,shortness of breath
"""
HOSPITAL = [
    ("<30", "AIDS Heart Viral Viral"),
    (">=40", "Cancer Heart Viral Viral"),
    ("3*", "Cancer Cancer Cancer Cancer"),
]
GRADES = """name,pronouns,year,grade
Alice,she/her,2025,95
Bob,he/him,2025,80
Charlie,they/them,2025,95
David,he/him,2025,60
Edward,he/him,2026,80
Flora,she/her,2026,99
Georgia,she/her,2026,60
"""
STATES = """age,gender,state,disease
20-30,Female,Tamil Nadu,Cancer
20-30,Female,Kerala,Viral infection
20-30,Female,Tamil Nadu,TB
20-30,Male,Karnataka,No illness
20-30,Female,Kerala,Heart-related
20-30,Male,Karnataka,TB
<=20,Male,Kerala,Cancer
20-30,Male,Karnataka,Heart-related
<=20,Male,Kerala,Heart-related
<=20,Male,Kerala,Viral infection
"""


def made_2_anonymous(tmp_path: Path, suppress: float) -> tuple[dict[str, Any], list[dict[str, str]]]:
    (tmp_path / "patients.csv").write_text(PATIENTS)
    wish = Wish(quasi=("race", "born", "sex"), sensitive=("issue",), keep=("marital",), k=2, suppress=suppress)
    wish = replace(wish, loss="discernibility")
    report = anonymize(Files(tmp_path / "patients.csv", tmp_path / "out"), wish, {})
    with (tmp_path / "out" / "table.csv").open() as file:
        return report, list(csv.DictReader(file))


def of_file(tmp_path: Path, text: str, quasi: tuple[str, ...], sensitive: tuple[str, ...]) -> dict[str, Any]:
    (tmp_path / "table.csv").write_text(text)
    return check(tmp_path / "table.csv", Checked(quasi, sensitive))


def test_eleven_rows_become_2_anonymous_by_year_of_birth_without_the_lone_row(tmp_path: Path) -> None:
    """Differential privacy 2024, exercise 2: race and sex stay, birth dates become years, the white woman is
    suppressed;
    5 classes of 2."""
    report, rows = made_2_anonymous(tmp_path, 0.1)
    assert (report["reaches"]["k"], report["reaches"]["classes"], report["utility"]["suppressed"]) == (2, 5, 1)
    assert report["search"]["loss_value"] == 5 * 2**2 + 11
    assert {row["born"] for row in rows} == {"1999", "2000", "2001"}
    assert ("white", "female") not in {(row["race"], row["sex"]) for row in rows}


def test_eleven_rows_become_2_anonymous_with_every_row_kept(tmp_path: Path) -> None:
    """Differential privacy 2024, exercise 2: without suppression sex is given up as well; classes of 4, 2, 2 and 3."""
    report, rows = made_2_anonymous(tmp_path, 0.0)
    assert (report["reaches"]["k"], report["utility"]["suppressed"], len(rows)) == (2, 0, 11)
    assert report["search"]["loss_value"] == 4**2 + 2**2 + 2**2 + 3**2
    assert {row["sex"] for row in rows} == {"*"}


def test_everyone_in_their_thirties_has_cancer_in_a_4_anonymous_table(tmp_path: Path) -> None:
    """Lecture 4, figure 1: k = 4, and homogeneity tells the condition of four people."""
    lines = [f"130**,{age},*,{condition}" for age, conditions in HOSPITAL for condition in conditions.split()]
    found = of_file(tmp_path, "zip,age,nation,condition\n" + "\n".join(lines), ("zip", "age", "nation"), ("condition",))
    assert found["reaches"]["k"] == 4
    assert found["reaches"]["sensitive"]["condition"]["distinct_l"] == 1
    homogeneity = next(one for one in found["attacks"] if one["attack"] == "homogeneity")
    assert (homogeneity["works"], homogeneity["share"]) == (True, 4 / 12)
    assert "4 people" in homogeneity["sentence"]


def test_seven_grades_are_not_anonymous_by_pronouns_and_year(tmp_path: Path) -> None:
    """Differential privacy 2024, the table of grades: three of seven students are alone with theirs; by year alone it
    is
    3-anonymous."""
    found = of_file(tmp_path, GRADES, ("pronouns", "year"), ("grade",))
    assert (found["reaches"]["k"], found["risk"]["unique"]) == (1, pytest.approx(3 / 7))
    assert of_file(tmp_path, GRADES, ("year",), ("grade",))["reaches"]["k"] == 3


def test_ten_rows_are_2_anonymous_by_age_gender_and_state(tmp_path: Path) -> None:
    """Statistical privacy tools: 2-anonymous; nobody's disease follows from it alone."""
    found = of_file(tmp_path, STATES, ("age", "gender", "state"), ("disease",))
    assert (found["reaches"]["k"], found["reaches"]["sensitive"]["disease"]["distinct_l"]) == (2, 2)
    assert not any(one["works"] for one in found["attacks"])


def test_a_sample_exposes_whoever_is_in_it(tmp_path: Path) -> None:
    """Responsible data science, just a few: a sample is released as it is, and its claim says what that means."""
    (tmp_path / "grades.csv").write_text(GRADES)
    report = anonymize(Files(tmp_path / "grades.csv", tmp_path / "out"), Wish(sample=0.3), {})
    released = (tmp_path / "out" / "table.csv").read_text().splitlines()
    assert report["rows"] == len(released) - 1 == 2
    assert set(released) < set(GRADES.splitlines())
    assert "Everybody in the sample is exposed" in report["claim"]["sentence"]


def test_a_table_without_names_still_tells_people_apart(tmp_path: Path) -> None:
    """Responsible data science, de-identification: the name is gone, and three of seven are found by pronouns and
    year.
    """
    (tmp_path / "grades.csv").write_text(GRADES)
    report = anonymize(Files(tmp_path / "grades.csv", tmp_path / "out"), Wish(deidentify=("name",)), {})
    assert "No differential privacy" in report["claim"]["sentence"]
    assert check(tmp_path / "out" / "table.csv", Checked(("pronouns", "year"), ()))["risk"]["unique"] == pytest.approx(
        3 / 7
    )


@pytest.mark.skipif(not LINKAGE.exists(), reason="the linkage pair is not at hand")
def test_121_of_10000_classes_of_the_medical_file_hold_one_diagnosis() -> None:
    """Responsible data science, linkage: the medical file is 3-anonymous, and 363 people's diagnosis follows from sex,
    age and ZIP."""
    found = check(LINKAGE, Checked(("Gender", "Age", "Zip"), ("Diagnosis",)))
    homogeneity = next(one for one in found["attacks"] if one["attack"] == "homogeneity")
    assert (found["reaches"]["k"], found["reaches"]["classes"]) == (3, 10_000)
    assert homogeneity["sentence"].startswith("363 people")
    assert "such classes: 121" in homogeneity["sentence"]
