"""Hierarchies: built from values, read from lines, told in words, saved and read back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obverse.anonymize.hierarchies import Hierarchy, Recipe, built, from_paths, guessed, read
from obverse.anonymize.recoding import labels_of
from obverse.anonymize.table import Column
from obverse.attack.tables.cells import standing
from obverse.core.errors import Refused


def labels(hierarchy: Hierarchy, code: int) -> list[str | None]:
    return [level.labels[level.groups[code]] for level in hierarchy.levels]


@pytest.mark.parametrize(
    ("name", "values", "kind", "path"),
    [
        ("age", ["17", "39", "90"], "intervals", ["39", "35-39", "30-39", "20-39", "0-39", "*"]),
        ("zip", ["13012", "14850"], "mask", ["13012", "1301*", "130**", "13***", "1****", "*"]),
        ("code", ["007", "017"], "mask", ["007", "00*", "0**", "*"]),
        ("born", ["2000-09-27", "1999-03-13"], "dates", ["2000-09-27", "2000-09", "2000", "2000s", "*"]),
        ("born", ["9/27/00", "3/13/99"], "dates", ["9/27/00", "2000-09", "2000", "2000s", "*"]),
        ("race", list("abcdef"), "tree", ["a", "a | b | c | d", "*"]),
        ("pay", ["0.5", "7.25"], "intervals", ["0.5", "[0.5, 1)", "[0, 1)", "[0, 2)", "[0, 4)", "*"]),
    ],
)  # fmt: skip
def test_values_call_for_a_hierarchy(name: str, values: list[str], kind: str, path: list[str]) -> None:
    recipe = guessed(name, values)
    assert recipe.kind == kind
    place = values.index(path[0])
    assert labels(built(recipe, name, values), place) == path
    assert Recipe.from_json(recipe.as_json()) == recipe


@given(st.lists(st.integers(-500, 500), min_size=1, unique=True), st.integers(-300, 0), st.integers(1, 300))
def test_intervals_are_nested_and_hold_their_values(numbers: list[int], low: int, high: int) -> None:
    values = [str(number) for number in numbers]
    found = built(Recipe("intervals", ("5", "10", "50"), str(low), str(high)), "x", values)
    assert labels(found, len(values)) == [None] * 5 + ["*"]  # missing stays missing below the top
    for code, number in enumerate(numbers):
        _, coded, first, *_ = labels(found, code)
        if number < low or number >= high:
            assert {coded, first} == {f"<{low}" if number < low else f">={high}"}
        else:
            least, most = (int(part) for part in str(first).split(" to " if min(numbers) < 0 else "-"))
            assert coded == values[code]
            assert least <= number <= most == least + 4


def test_a_recipe_is_told_in_words() -> None:
    recipe = read("age", "intervals:5,10;top=80;bottom=20", Recipe("tree"))
    assert recipe == Recipe("intervals", ("5", "10"), "20", "80")
    assert labels(built(recipe, "age", ["85", "33"]), 0) == ["85", ">=80", ">=80", ">=80", "*"]


@pytest.mark.parametrize("text", ["circles", "intervals:a", "intervals:5;middle=3", "intervals:5;top", "file"])
def test_words_that_tell_no_recipe_are_refused(text: str) -> None:
    with pytest.raises(Refused) as refused:
        read("age", text, Recipe("tree"))
    assert refused.value.code == "bad_hierarchy"


@pytest.mark.parametrize(
    ("recipe", "values"),
    [
        (Recipe("intervals", ("5",)), ["a"]),
        (Recipe("intervals", ("5", "7")), ["1"]),
        (Recipe("intervals", ("0", "5")), ["1"]),
        (Recipe("dates"), ["x"]),
        (Recipe("no"), []),
    ],
)
def test_a_recipe_that_does_not_fit_is_refused(recipe: Recipe, values: list[str]) -> None:
    with pytest.raises(Refused) as refused:
        built(recipe, "x", values)
    assert refused.value.code == "bad_hierarchy"


def test_lines_of_a_file_are_a_hierarchy_and_a_star_is_added() -> None:
    lines = (("a", "x"), ("b", "x"), ("c", "y"), ("unused", "y"))
    found = built(Recipe("file", lines=lines), "v", ["a", "b", "c"])
    assert [labels(found, code) for code in range(4)] == [
        ["a", "x", "*"],
        ["b", "x", "*"],
        ["c", "y", "*"],
        [None, None, "*"],
    ]


def test_a_value_without_a_line_is_refused_and_not_shown() -> None:
    with pytest.raises(Refused) as refused:
        built(Recipe("file", lines=(("a", "x"),)), "v", ["a", "secret"])
    assert refused.value.code == "value_not_in_hierarchy"
    assert "secret" not in str(refused.value)


def test_two_lines_for_one_value_have_the_same_labels() -> None:
    lines = (("a", "x"), ("b", "x"), ("a", "y"))
    with pytest.raises(Refused) as refused:
        built(Recipe("file", lines=lines), "v", ["a", "b"])
    assert refused.value.code == "not_a_hierarchy"
    assert built(Recipe("file", lines=(*lines[:2], lines[0])), "v", ["a", "b"]).height == 3


@pytest.mark.parametrize("paths", [[["x"], []], [["x", "y"], ["x", "z"]], [["*", "y"], ["x", "y"]]])
def test_lines_that_are_no_hierarchy_are_refused(paths: list[list[str]]) -> None:
    with pytest.raises(Refused) as refused:
        from_paths("v", ["a", "b"], paths)
    assert refused.value.code == "not_a_hierarchy"


def test_a_star_among_the_values_is_a_value_and_losses_never_fall() -> None:
    values = ("*", "a", "b", "c", "d", "e")
    losses = built(guessed("x", values), "x", values).losses(np.array([9.0, 1, 1, 1, 1, 1, 0]))
    assert losses[0] == 0
    assert np.all(np.diff(losses) >= 0)


WRITTEN = [
    ["SW1A", "SW1B", "E14", "N1", "NW10"],
    ["-40", "-5", "2", "9", "120"],
    [*(f"{1 + i % 12}/{1 + i % 28}/{1950 + i}" for i in range(24)), "unknown"],
    ["1/1/50", "2/2/51", "12/31/99", "1/9/86", "11/2/03"],
    ["1950-01-01", "1951-02-02", "1986-01-09", "1999-12-31", "2003-11-02"],
    ["02138", "02139", "13012", "13053", "90210"],
    ["0.25", "-3.5", "7", "10.5", "33"],
]


@pytest.mark.parametrize("values", WRITTEN, ids=lambda values: values[0])
@pytest.mark.parametrize("kind", [None, "mask", "tree"])
def test_whoever_attacks_a_release_reads_each_label_as_all_that_it_was_made_of(
    values: list[str], kind: str | None
) -> None:
    """Labels of every level, and of every range that Mondrian may cut: a label that is misread would look harmless."""
    recipe = guessed("x", values) if kind is None else read("x", kind, guessed("x", values))
    found = built(recipe, "x", values)
    for level in found.levels:
        for group, places in enumerate(standing(level.labels, values)):
            assert set(np.flatnonzero(level.groups[:-1] == group)) <= set(places.tolist()), level.labels[group]
    ranges = [(a, b) for a in range(len(values)) for b in range(a, len(values))]
    column = Column("x", tuple(values), np.arange(len(values), dtype=np.int32))
    labels = labels_of(column, found, [a for a, _ in ranges], [b for _, b in ranges])
    for (low, high), label, places in zip(ranges, labels, standing(labels, values)):
        assert set(np.argsort(found.ranks)[low : high + 1].tolist()) <= set(places.tolist()), label
