"""The page about the lectures lists each test, and no other."""

from __future__ import annotations

import ast
import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "lectures.md"


def docstrings() -> dict[str, str]:
    """Each test with its docstring, this file's own left out."""
    found = {}
    for file in HERE.glob("test_*.py"):
        for node in ast.parse(file.read_text()).body:
            if file != Path(__file__) and isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                found[node.name] = ast.get_docstring(node) or ""
    return found


def test_the_page_lists_each_exercise_with_its_test() -> None:
    listed = re.findall(r"`(test_\w+)` \|", PAGE.read_text())
    assert sorted(listed) == sorted(docstrings())


def test_each_test_says_which_course_it_is_from() -> None:
    courses = ("differential privacy 2024", "lecture 4", "responsible data science", "statistical privacy tools")
    for name, said in docstrings().items():
        assert any(course in said.lower() for course in (*courses, "privacy engineering")), name
