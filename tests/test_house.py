"""The figures of a small package with a cycle, a lazy import and a module that one other imports."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import house


@pytest.fixture
def small(tmp_path: Path) -> Path:
    files = {
        "__init__.py": "",
        "top.py": "from small import left\nimport json\n",
        "left.py": "from small.right import one\n",
        "right.py": "def one():\n    from small import left\n    return left\n",
        "part/__init__.py": "from small import (\n    left,\n    right,\n)\n",
        "part/alone.py": "",
    }
    for file, text in files.items():
        (tmp_path / "small" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "small" / file).write_text(text)
    return tmp_path / "small"


def test_lines_and_imports_are_counted(small: Path) -> None:
    found = house.read(small)
    assert (len(found.lines), sum(found.lines.values()), found.import_lines) == (6, 10, 8)


def test_a_lazy_import_closes_a_cycle_of_its_own_kind(small: Path) -> None:
    found = house.read(small)
    assert house.cycles(found.at_top) == []
    assert house.cycles(found.anywhere) == [["small.left", "small.right"]]


def test_importers_are_found_through_packages(small: Path) -> None:
    assert house.read(small).importers["small.right"] == {"small.left", "small.part"}
    assert house.entries(small) == {"small": 4, "small/part": 1}


def test_every_figure_has_a_line(small: Path) -> None:
    assert house.figures(house.read(small))["cycles with lazy imports"] == "1"
