"""The claim of a release names every attack there is: which work on it, which do not, and which cannot be tried."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from obverse.anonymize.files import Files, anonymize
from obverse.anonymize.request import Wish
from obverse.attack.attacks import ATTACKS, Intersection
from obverse.engines.files import read_table

WISH = Wish(quasi=("age", "zip"), sensitive=("ill",), k=4)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    random = np.random.default_rng(5)
    rows = [f"{a},{z},{i},p{n}" for n, (a, z, i) in enumerate(
        zip(random.integers(20, 60, 400), random.integers(8000, 8020, 400), random.integers(0, 40, 400)))]  # fmt: skip
    (tmp_path / "people.csv").write_text("\n".join(["age,zip,ill,name", *rows]) + "\n")
    return tmp_path / "people.csv"


def found(people: Path, wish: Wish, **more: Any) -> dict[str, dict[str, Any]]:
    report = anonymize(Files(people, people.parent / "out", **more), wish, {})
    attacks = {one["attack"]: one for one in report["attacks"]}
    told = report["claim"]["attacks"]
    assert sorted([*told["work"], *told["fail"], *told["not_tried"]]) == sorted(one.name for one in ATTACKS)
    assert set(attacks) == {one.name for one in ATTACKS}
    for name, one in attacks.items():
        listed = "not_tried" if not one["applies"] else "work" if name in told["work"] else "fail"
        assert name in told[listed]
        assert one["sentence"].startswith("Not tried: ") is not one["applies"]
        assert name.replace("_", " ") in report["claim"]["sentence"]
    return attacks


@pytest.mark.parametrize("search", ["optimal", "mondrian"])
def test_every_attack_is_named_of_a_k_anonymous_table(people: Path, search: str) -> None:
    attacks = found(people, Wish(quasi=("age", "zip"), sensitive=("ill",), k=4, search=search))
    assert not attacks["linkage"]["works"]
    assert all(attacks[name]["applies"] for name in ("homogeneity", "background", "attribute", "intersection"))
    assert not any(attacks[name]["applies"] for name in ("fuzzy_linkage", "sampling", "averaging", "reconstruction"))


def test_a_column_that_is_kept_as_it_is_links_and_the_claim_says_so(people: Path) -> None:
    """A name beside the quasi-identifiers: k holds, and everybody is found by their name."""
    linkage = found(people, replace(WISH, keep=("name",)))["linkage"]
    assert (linkage["works"], linkage["share"], linkage["column"]) == (True, 1.0, "name")
    assert "400 of 400 (100 %) rows look like no other once name is known too" in linkage["sentence"]
    assert not found(people, WISH)["linkage"]["works"]


def test_small_classes_betray_what_they_hold(people: Path) -> None:
    """Classes of four: the own row decides many guesses. One class of all: it decides none."""
    small = found(people, Wish(quasi=("age", "zip"), sensitive=("ill",), k=4, search="mondrian"))
    assert small["attribute"]["works"]
    assert small["intersection"]["works"]
    whole = found(people, Wish(quasi=("age", "zip"), sensitive=("ill",), k=400))
    assert not whole["attribute"]["works"]
    assert not whole["intersection"]["works"]


def test_a_second_release_says_as_much_as_the_attack_itself(people: Path) -> None:
    """The share that the claim tells is what `Intersection` wins on the two tables as they are written."""
    claimed = found(people, Wish(quasi=("age", "zip"), sensitive=("ill",), k=4, search="mondrian"))["intersection"][
        "share"
    ]
    one = read_table(people.parent / "out" / "table.csv")
    anonymize(
        Files(people, people.parent / "two"), Wish(quasi=("zip",), sensitive=("ill",), k=4, search="mondrian"), {}
    )
    two = dict(read_table(people.parent / "two" / "table.csv"))
    known = read_table(people)
    two["age"] = np.full(len(two["zip"]), "*", dtype=object)
    rate = Intersection().run(one, two, known, ("age", "zip"), "ill").rate
    assert 0 < rate.value == pytest.approx(claimed)


def test_without_secrets_and_with_a_population(people: Path) -> None:
    attacks = found(people, Wish(quasi=("age", "zip"), k=1), population=people)
    assert attacks["linkage"]["works"]
    assert attacks["sampling"]["works"]
    assert not attacks["attribute"]["applies"]
    assert "no sensitive column" in attacks["intersection"]["sentence"]


def test_raw_releases_are_attacked_too(people: Path) -> None:
    attacks = found(people, Wish(sample=0.25))
    assert attacks["sampling"]["works"]
    assert attacks["linkage"]["share"] == 1  # names are in it
    attacks = found(people, Wish(deidentify=("name", "ill")))
    assert 0 < attacks["linkage"]["share"] < 1
    assert not attacks["sampling"]["applies"]
    assert "not tried" in (people.parent / "out" / "report.html").read_text()
