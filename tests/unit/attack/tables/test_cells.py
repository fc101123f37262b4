from __future__ import annotations

import numpy as np
import pytest

from obverse.attack.tables.cells import standing

AGES = ("19", "20", "25", "29", "30", "39.0", "40", None)


def told(cell: str | None, values: tuple[str | None, ...]) -> list[str | None]:
    (places,) = standing([cell], values)
    return [values[place] for place in places]


@pytest.mark.parametrize(
    ("cell", "stands_for"),
    [
        ("[20-30)", ["20", "25", "29"]),
        ("[20, 30]", ["20", "25", "29", "30"]),
        ("(20,30)", ["25", "29"]),
        ("20-29", ["20", "25", "29"]),
        ("<30", ["19", "20", "25", "29"]),
        ("≤30", ["19", "20", "25", "29", "30"]),
        (">= 39", ["39.0", "40"]),
        ("≥40", ["40"]),
        ("2*", ["20", "25", "29"]),
        ("{19, 40}", ["19", "40"]),
        ("39", ["39.0"]),
        ("41", []),
        ("*", ["19", "20", "25", "29", "30", "39.0", "40"]),
        (None, ["19", "20", "25", "29", "30", "39.0", "40"]),
    ],
)
def test_a_cell_stands_for_the_ages_that_it_may_have_been(cell: str | None, stands_for: list[str]) -> None:
    assert told(cell, AGES) == [*stands_for, None]  # what is not known may be anything


def test_a_mask_keeps_every_sign_but_its_stars() -> None:
    zips = ("13012", "13053", "1301", "14850", "130**")
    assert told("130**", zips) == ["13012", "13053", "130**"]
    assert told("1*0*2", zips) == ["13012"]
    assert told("a.c*", ("abcd", "a.cd")) == ["a.cd"]


def test_part_of_a_date_stands_for_its_days() -> None:
    days = ("1945-07-31", "1945-08-01", "1946-07-31")
    assert told("1945", days) == ["1945-07-31", "1945-08-01"]
    assert told("1945-07", days) == ["1945-07-31"]
    assert told("[1945-08-01, 1946-12-31]", days) == ["1945-08-01", "1946-07-31"]
    assert told("1945-07-31", days) == ["1945-07-31"]
    assert told("1940s", (*days, "1950-01-01")) == list(days)
    assert told("1945-07-31-1945-12-31", days) == ["1945-07-31", "1945-08-01"]


def test_parts_of_a_tree_stand_for_their_leaves() -> None:
    assert told("flu | gout", ("flu", "gout", "ulcer")) == ["flu", "gout"]
    assert told("130** | 14850", ("13012", "14850", "14851")) == ["13012", "14850"]
    assert told("b .. d", ("a", "b", "cat", "d", "e")) == ["b", "cat", "d"]


def test_values_that_are_written_like_several_are_themselves_too() -> None:
    values = ("flu", "flu | cold", "cold | flu", "gout", "gout .. ulcer", "hives")
    assert told("flu | cold", values) == ["flu", "flu | cold"]
    assert told("flu | cold | gout", values) == ["flu", "flu | cold", "gout"]
    assert told("flu | gout", values) == ["flu", "gout"]
    assert told("gout .. ulcer .. hives", values) == ["gout", "gout .. ulcer", "hives"]
    # either reading
    assert told("flu .. gout .. ulcer", values) == ["flu", "flu | cold", "gout", "gout .. ulcer", "hives"]


def test_a_cell_that_is_written_alike_always_fits() -> None:
    assert told("10-19", ("10-19", "15", "20")) == ["10-19", "15"]
    assert told("<50K", ("<50K", ">50K")) == ["<50K"]


def test_many_masks_cost_no_more_than_looking_them_up() -> None:
    values = [f"{i:05d}" for i in range(20_000)]
    found = standing([f"{i:03d}**" for i in range(200)], values)
    assert all(np.array_equal(places, np.arange(100 * i, 100 * i + 100)) for i, places in enumerate(found))
