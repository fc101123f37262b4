"""The lessons as the page shows them: python -m tests.make_lessons [FILE]. The same code gives the same bytes.

Noise has no seed in the product. Here the one source of it is replaced, as its twin for tests replaces it, once for
each lesson: what is committed is one run of the lessons, and whoever runs them again gets it to the byte.
"""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any
from unittest.mock import patch

from obverse.core.rng import Rng
from obverse.learn.lessons import LESSONS
from obverse.testing.noiseless import SeededRng

LESSONS_FILE = Path(__file__).parents[1] / "web" / "src" / "learn.json"
SVG = "{http://www.w3.org/2000/svg}"
SEED = 2006
STYLED = re.compile(r"\s*([a-z-]+)\s*:\s*([^;]+?)\s*(?:;|$)")


def drawn(svg: str) -> list[Any]:
    """A picture as [element, attributes, child, ...]: the page's policy lets no markup be read, and no style be
    inline.
    """
    whole = _element(ElementTree.fromstring(svg))
    _, told, *_ = whole
    told["viewBox"] = f"0 0 {told['width']} {told['height']}"
    return whole


def _element(read: ElementTree.Element) -> list[Any]:
    told = dict(read.attrib)
    told |= dict(STYLED.findall(told.pop("style", "")))
    words = [part for part in ((read.text or "").strip(),) if part]
    return [read.tag.removeprefix(SVG), told, *words, *map(_element, read)]


def _with_pictures_drawn(told: Any) -> Any:
    if isinstance(told, list):
        return [_with_pictures_drawn(one) for one in told]
    if isinstance(told, dict):
        return {name: drawn(one) if name == "svg" and one else _with_pictures_drawn(one) for name, one in told.items()}
    return told


def made() -> str:
    """All lessons, one on a line."""
    lines = []
    for lesson in LESSONS:
        twin = SeededRng(SEED)
        with patch.object(Rng, "raw", lambda _, n, twin=twin: twin.raw(n)):
            told = _with_pictures_drawn(lesson.as_json())
        lines.append(json.dumps(told, ensure_ascii=False, separators=(",", ":")))
    return '{"version":1,"lessons":[\n' + ",\n".join(lines) + "\n]}\n"


if __name__ == "__main__":
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else LESSONS_FILE
    place.write_text(made(), encoding="utf-8", newline="\n")
