"""The lessons in the page's Learn corner: they are those of the code, and hold nothing that the page's policy
forbids.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from obverse.learn.lesson import Slider
from obverse.learn.lessons import BY_NAME, LESSONS
from tests.make_lessons import LESSONS_FILE, drawn

ROOT = Path(__file__).parents[3]
BUILT = ROOT / "src" / "obverse" / "server" / "web"
ELEMENTS = {"svg", "title", "text", "path", "circle", "rect"}
ATTRIBUTES = {
    "cx", "cy", "d", "fill", "fill-opacity", "font-family", "font-size", "font-weight", "height", "r", "role", "stroke",
    "stroke-dasharray", "stroke-width", "text-anchor", "transform", "viewBox", "width", "x", "y",
}  # fmt: skip


NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")


def skeleton(lesson: dict[str, Any]) -> str:
    """The lesson with every number left out."""
    return NUMBER.sub("#", json.dumps(lesson))


def told() -> list[dict[str, Any]]:
    return list(json.loads(LESSONS_FILE.read_text(encoding="utf-8"))["lessons"])


def pictures() -> Iterator[list[Any]]:
    for lesson in told():
        for block in lesson["blocks"]:
            shown = (
                [block["shown"]] if block["kind"] == "step" else [frame["shown"] for frame in block.get("frames", [])]
            )
            yield from (one["svg"] for one in shown if one["svg"])


def parts(picture: list[Any]) -> Iterator[list[Any]]:
    yield picture
    for child in picture[2:]:
        if not isinstance(child, str):
            yield from parts(child)


def test_the_committed_lessons_are_those_that_the_code_makes(tmp_path: Path) -> None:
    """Renew them with: python -m tests.make_lessons && cd web && npm run build"""
    made = tmp_path / "learn.json"
    subprocess.run([sys.executable, "-m", "tests.make_lessons", str(made)], cwd=ROOT, check=True, timeout=300)
    fresh = json.loads(made.read_text(encoding="utf-8"))["lessons"]
    assert [skeleton(one) for one in fresh] == [skeleton(one) for one in told()]
    numbers, held = [NUMBER.findall(json.dumps(lessons)) for lessons in (fresh, told())]
    apart = sum(one != other for one, other in zip(numbers, held, strict=True))
    assert apart <= len(held) // 100, "what another processor rounds otherwise, and no more"


def test_the_page_sends_the_committed_lessons() -> None:
    (built,) = BUILT.glob("learn-*.json")
    assert built.read_bytes() == LESSONS_FILE.read_bytes()
    assert [one["name"] for one in told()] == [lesson.name for lesson in LESSONS]


def test_pictures_are_plain_shapes_with_a_name_and_without_style_script_or_address() -> None:
    found = list(pictures())
    assert len(found) > 20
    for picture in found:
        assert picture[0] == "svg"
        assert [part[0] for part in parts(picture)].count("title") == 1
        assert {part[0] for part in parts(picture)} <= ELEMENTS
        assert {name for part in parts(picture) for name in part[1]} <= ATTRIBUTES
        assert not [value for part in parts(picture) for value in part[1].values() if "url(" in value]


def test_a_picture_keeps_its_words_shapes_and_styles() -> None:
    block = next(block for block in BY_NAME["two-coins"].blocks if isinstance(block, Slider))
    svg = block.run("1/2").svg
    whole = drawn(svg)
    assert sum(1 for _ in parts(whole)) == svg.count("<") - svg.count("</")
    assert whole[1]["viewBox"] == f"0 0 {whole[1]['width']} {whole[1]['height']}"
    assert (whole[1]["font-size"], whole[1]["fill"]) == ("12px", "#222")
    assert ["title", {}, "Truth with chance 1/2"] in whole
