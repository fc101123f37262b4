"""Pictures of distributions: well-formed, escaped, and within their frame."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from obverse.answers.svg import (
    WHISKERS_HEIGHT,
    WHISKERS_LEFT,
    WHISKERS_TOP,
    WHISKERS_WIDTH,
    Mark,
    StepCurve,
    curve,
    ticks,
    told,
    whiskers,
)

MARKS = [Mark("<a> 0.5", 0.5, 3.0, 1.0, 9.0), Mark("nobody", 0.5, None, 0.0, 9.0)]


@pytest.mark.parametrize("stepped", [False, True])
def test_a_curve_is_an_svg_within_its_frame_whatever_the_noise_did(stepped: bool) -> None:
    line = StepCurve(0.0, [1.0, 5.0, 9.0], [0.1, 0.4, 1.0], [-3.0, 0.2, 0.9], [0.5, 0.9, 7.0], stepped)
    text = curve('ages & <b>"x"</b>', "note", line, MARKS, "years <of age>")
    ElementTree.fromstring(text)
    assert "<b>" not in text
    assert "years &lt;of age&gt;</text>" in text
    assert text.count("<circle") == 1
    points = [(float(x), float(y)) for x, y in re.findall(r"[ML](\d+\.\d) (\d+\.\d)", text)]
    assert len(points) >= 8
    assert all(
        WHISKERS_LEFT - 0.1 <= x <= WHISKERS_LEFT + WHISKERS_WIDTH + 0.1
        and WHISKERS_TOP - 5 <= y <= WHISKERS_TOP + WHISKERS_HEIGHT + 0.1
        for x, y in points
    )


def test_whiskers_name_every_quantile_and_mark_those_that_have_a_value() -> None:
    text = whiskers("quantiles", "note", MARKS, 0.0, 9.0)
    ElementTree.fromstring(text)
    assert (text.count("<circle"), "&lt;a&gt; 0.5" in text, "nobody" in text) == (1, True, True)


@pytest.mark.parametrize(("low", "high"), [(0, 120), (-50_000, 50_000), (0.0, 0.003), (1e9, 1e9 + 10), (2, 3)])
def test_an_axis_has_a_few_round_numbers_between_its_ends(low: float, high: float) -> None:
    found = ticks(low, high)
    assert 3 <= len(found) <= 8
    assert low - 1e-9 <= found[0] <= found[-1] <= high + 1e-9
    assert len({told(one) for one in found}) == len(found)
