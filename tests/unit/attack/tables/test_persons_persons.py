"""Homogeneity, background knowledge and linkage where somebody has several rows: compared with loops over people."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from obverse.attack.attacks import Background, Homogeneity, Linkage
from obverse.attack.tables.classes import people
from obverse.core.errors import Refused

Rows = list[tuple[str | None, str, str]]  # whose, town, illness


def drawn(seed: int) -> Rows:
    random = np.random.default_rng(seed)
    found: Rows = []
    for who in range(int(random.integers(2, 30))):
        home = int(random.integers(4))
        for _ in range(int(random.integers(1, 5))):
            town = home if random.random() < 0.7 else int(random.integers(4))
            name = None if random.random() < 0.1 else f"p{who}"
            found.append((name, f"t{town}", "abc"[int(random.integers(3)) if random.random() < 0.4 else who % 3]))
    return found if any(row[0] for row in found) else drawn(seed + 1000)


def table(rows: Rows) -> dict[str, Any]:
    return {name: np.array(values, dtype=object) for name, values in zip(("who", "town", "ill"), zip(*rows))}


def towns(rows: Rows) -> dict[str, dict[str, set[str]]]:
    """The illnesses of each person in each town."""
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for who, town, ill in rows:
        if who is not None:
            found[town][who].add(ill)
    return found


@pytest.mark.parametrize("seed", range(40))
def test_who_is_certain_is_what_a_loop_over_people_finds(seed: int) -> None:
    rows = drawn(seed)
    found = towns(rows)
    everybody = {who for some in found.values() for who in some}
    one = {town for town, some in found.items() if set.intersection(*some.values())}
    sure = {who for town in one for who in found[town]}
    told = Homogeneity().run(table(rows), ("town",), "ill", person="who")
    assert (told.rate.wins, told.rate.trials) == (len(sure), len(everybody))
    assert told.figures["smallest_class"] == min(map(len, found.values()))
    assert told.figures["classes_of_one_secret"] == len(one)
    for town, some in found.items():
        left = set.union(*some.values())
        sure |= {who for who, ill in some.items() if town in one or (len(left) <= 2 and len(ill) == 1)}
    told = Background().run(table(rows), ("town",), "ill", person="who")
    assert (told.rate.wins, told.rate.trials) == (len(sure), len(everybody))


@pytest.mark.parametrize("seed", range(20))
def test_one_row_each_is_counted_as_rows_are(seed: int) -> None:
    rows = [(f"p{n}", town, ill) for n, (_, town, ill) in enumerate(drawn(seed))]
    for attack, more in ((Homogeneity(), {}), (Background(), {}), (Background(), {"impossible": ("a",)})):
        by_row = attack.run(table(rows), ("town",), "ill", **more)  # type: ignore[operator]
        by_person = attack.run(table(rows), ("town",), "ill", person="who", **more)  # type: ignore[operator]
        assert (by_row.rate, by_row.control, by_row.figures) == (by_person.rate, by_person.control, by_person.figures)


def test_rows_that_name_nobody_are_left_out_and_names_are_compared_to_the_letter() -> None:
    told = people(table([("7", "a", "x"), ("7 ", "a", "x"), (None, "a", "y")]), ("town",), "ill", "who")
    assert (told.sizes().tolist(), told.noun) == ([2], "people")
    with pytest.raises(Refused) as caught:
        people(table([(None, "a", "x")]), ("town",), "ill", "who")
    assert caught.value.code == "no_rows"


def visits(rng: np.random.Generator, people: int, each: int) -> dict[str, Any]:
    """As many visits of each person, who lives in a town of their own."""
    who = rng.permutation(np.repeat(np.arange(people), each))
    return {"id": who, "town": who + 100}


def test_alike_rows_of_one_person_are_no_crowd_to_linkage() -> None:
    released = visits(np.random.default_rng(1), 30, 6)
    known = {"id": np.arange(40), "town": np.arange(40) + 100}
    rows = Linkage().run(released, known, ("town",), truth="id")
    assert (rows.rate.wins, rows.figures["smallest_class"]) == (0, 6)
    found = Linkage().run(released, known, ("town",), truth="id", person="id")
    assert (found.rate.wins, found.rate.trials, found.figures["smallest_class"]) == (30, 30, 1)
    assert (found.verdict, found.figures["released_people_alone"]) == ("leaks", 30)
    assert "one person in the release each" in found.sentence


def test_a_person_whose_rows_lie_in_several_classes_is_named_by_all_that_fit() -> None:
    """The release tells towns in two ways; both rows fit, and both are hers.

    Where one is somebody else's, nobody is named.
    """
    known = {"id": np.array([0, 1]), "town": np.array(["a", "b"])}
    released = {"id": np.array([0, 0, 1, 2]), "town": np.array(["a", "{a, c}", "b", "*"])}
    mine = {name: values[:3] for name, values in released.items()}
    assert Linkage().run(mine, known, ("town",), truth="id", person="id").rate.wins == 2
    assert Linkage().run(released, known, ("town",), truth="id", person="id").rate.wins == 0


def test_linkage_of_people_with_several_rows_blames_harmless_releases_seldom() -> None:
    """At 5 %, more than 35 of 400 come by chance once in a thousand."""
    blamed = 0
    for seed in range(400):
        rng = np.random.default_rng([7, seed])
        released = visits(rng, 8, 3)
        strange = {"id": rng.permutation(8)[released["id"]], "town": released["town"]}
        known = {"id": np.arange(11), "town": np.arange(11) + 100}
        blamed += Linkage().run(strange, known, ("town",), truth="id", person="id").leaks
    assert blamed < 36


def test_a_row_that_two_known_people_fit_names_neither() -> None:
    known = {"id": np.array([0, 1]), "town": np.array(["a", "b"])}
    released = {"id": np.array([0, 0]), "town": np.array(["{a, b}", "{a, b}"])}
    assert Linkage().run(released, known, ("town",), truth="id", person="id").figures["named"] == 0
    alone = {name: values[:1] for name, values in released.items()}
    assert Linkage().run(alone, known, ("town",), truth="id").figures["named"] == 0
