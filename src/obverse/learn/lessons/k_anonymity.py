"""k-anonymity, broken by homogeneity and by intersection."""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path

import numpy as np

from obverse.anonymize.files import Files, anonymize
from obverse.anonymize.request import Wish
from obverse.attack.attacks import Homogeneity, Intersection
from obverse.learn.exercises import Exercise, Number
from obverse.learn.lesson import Lesson, Shown, Slider, Step, Text, table

QUASI = ("zip", "age", "nationality")
SECRETS = {
    "first": "AIDS,Heart Disease,Viral Infection,Viral Infection,Cancer,Heart Disease,Viral Infection,Viral Infection,"
    "Cancer,Cancer,Cancer,Cancer",
    "second": "AIDS,Tuberculosis,Flu,Tuberculosis,Cancer,Cancer,Cancer,Cancer,Cancer,Tuberculosis,Viral "
    "Infection,Viral "
    "Infection",
}
AGES = {"first": ["<30"] * 4 + ["≥40"] * 4 + ["3*"] * 4, "second": ["<35"] * 6 + ["≥35"] * 6}
PATIENTS = """race,born,sex,issue
asian,9/27/00,female,hypertension
asian,9/30/00,female,obesity
asian,4/18/00,male,chest pain
asian,4/15/00,male,obesity
black,3/13/99,male,hypertension
black,3/18/99,male,shortness of breath
black,9/13/00,female,shortness of breath
black,9/07/00,female,obesity
white,5/14/01,male,chest pain
white,4/08/01,male,obesity
white,9/15/01,female,shortness of breath
"""


def hospital(name: str) -> dict[str, np.ndarray]:
    """One of two hospitals' tables, in which the quasi-identifiers are generalised."""
    columns = {
        "zip": ["130**"] * 12,
        "age": AGES[name],
        "nationality": ["*"] * 12,
        "condition": SECRETS[name].split(","),
    }
    return {column: np.array(values, dtype=object) for column, values in columns.items()}


def one_person(age: str) -> dict[str, np.ndarray]:
    """What a neighbour knows of somebody."""
    return {name: np.array([value], dtype=object) for name, value in zip(QUASI, ("13012", age, "American"))}


def made_anonymous(k: str) -> Shown:
    """Eleven rows made k-anonymous by the product: what it generalises, and whom it leaves out."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "patients.csv"
        out = Path(folder) / "out"
        source.write_text(PATIENTS, encoding="utf-8")
        wish = Wish(quasi=("race", "born", "sex"), sensitive=("issue",), k=int(k), suppress=0.1, loss="discernibility")
        report = anonymize(Files(source, out), wish, {})
        with (out / "table.csv").open(encoding="utf-8") as file:
            names, *rows = list(csv.reader(file))
    claim = report["claim"]["sentence"].partition(" Tried without")[0]
    words = f"k = {report['reaches']['k']} in {report['reaches']['classes']} classes. {claim}"
    return table(names, rows, words)


def everybody_has_the_same() -> Shown:
    """Four people who cannot be told apart, and need not be."""
    released = hospital("first")
    found = Homogeneity().run(released, QUASI, "condition")
    rows = [tuple(str(released[name][n]) for name in ("zip", "age", "condition")) for n in range(12)]
    return table(
        ("zip", "age", "condition"), rows, f"Smallest class: {found.figures['smallest_class']}. {found.sentence}"
    )


def two_releases() -> Shown:
    """Somebody of 28 in ZIP 13012 was in both hospitals, and both have published."""
    found = Intersection().run(hospital("first"), hospital("second"), one_person("28"), QUASI, "condition")
    left = found.figures["secrets_left_by_each"]
    rows = [("the first table", f"{left[0]:g} conditions"), ("the second table", f"{left[1]:g} conditions"),
            ("both", ", ".join(found.figures["told"]))]  # fmt: skip
    return table(("from", "it can be"), rows, found.sentence)


def left_by_second(age: str) -> float:
    """How many conditions the second table alone leaves."""
    found = Intersection().run(hospital("first"), hospital("second"), one_person(age), QUASI, "condition")
    return float(found.figures["secrets_left_by_each"][1])


LESSON = Lesson(
    "k-anonymity",
    "k-anonymity, and two ways in which it breaks",
    __name__,
    (
        Text(
            "A table is k-anonymous when everybody in it shares what a neighbour could know (ZIP code, age, sex: the "
            "quasi-identifiers) with at least k - 1 others. Values are made coarser until it is so."
        ),
        Slider("Eleven patients, made k-anonymous by the product:", "k", ("2", "3", "5"), made_anonymous, 0),
        Step(
            "A 4-anonymous table. Somebody's neighbour is in their thirties; what do they have?", everybody_has_the_same
        ),
        Step("Two tables, each of them fine by itself:", two_releases),
        Text(
            "k-anonymity is a property of one table. It says nothing about what the table's readers know already, nor "
            "about "
            "the next table. Differential privacy is a property of how answers are made, and adds up."
        ),
    ),
    Exercise(
        "Another person in both hospitals is 33 and of ZIP 13012. How many different conditions does the second table "
        "alone "
        "leave?",
        Number(lambda: left_by_second("33"), 0),
        answer="4",
        wrong=("1", "6", "3"),
        hint="33 is below 35; count the different conditions of that class.",
        why="AIDS, tuberculosis, flu and cancer. The first table leaves cancer alone for anybody in their thirties.",
    ),
)
