from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest

from obverse.answers.svg import HEIGHT, LEFT, RIGHT, TOP, WIDTH, Axis, Curve, curves

SVG = "{http://www.w3.org/2000/svg}"


def dots(svg: str) -> list[tuple[float, float]]:
    return [
        (float(one.get("cx", "")), float(one.get("cy", ""))) for one in ElementTree.fromstring(svg).iter(f"{SVG}circle")
    ]


@pytest.mark.parametrize("log", [False, True])
def test_more_is_farther_right_and_higher_and_all_is_inside(log: bool) -> None:
    points = ((0.01, 3.0), (0.1, 40.0), (1.0, 500.0), (30.0, 600.0))
    drawn = dots(curves("t", [Curve("a", points)], Axis("x", log), Axis("y", log), dots=True))
    assert drawn == sorted(drawn)
    assert [y for _, y in drawn] == sorted((y for _, y in drawn), reverse=True)
    assert all(LEFT <= x <= WIDTH - RIGHT and TOP <= y <= HEIGHT for x, y in drawn)


def test_equal_factors_are_equal_steps_on_a_logarithmic_axis() -> None:
    (a, _), (b, _), (c, _) = dots(
        curves("t", [Curve("a", ((1, 1), (10, 2), (100, 3)))], Axis("x", True), Axis("y"), dots=True)
    )
    assert b - a == pytest.approx(c - b, abs=0.11)


def test_names_are_text_and_many_of_them_take_more_lines() -> None:
    few = curves("<b>", [Curve("<i>", ((1, 1), (2, 2)))], Axis("&"), Axis("y"))
    assert "&lt;b&gt;" in few
    ElementTree.fromstring(few)
    many = curves("t", [Curve("a long name of a curve", ((1, 1), (2, 2)))] * 6, Axis("x"), Axis("y"))
    heights = [int(re.search(r'height="(\d+)"', one)[1]) for one in (few, many)]  # type: ignore[index]
    assert heights[0] == HEIGHT < heights[1]


def test_a_flat_curve_and_a_single_value_can_be_drawn() -> None:
    for log in (False, True):
        ElementTree.fromstring(
            curves("t", [Curve("a", ((2.0, 5.0), (2.0, 5.0)), area=True)], Axis("x", log), Axis("y", log))
        )
