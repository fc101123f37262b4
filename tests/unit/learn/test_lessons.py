"""Each lesson runs headless, as JSON and as a notebook; its reference solution is accepted, and what is wrong is
not.
"""

from __future__ import annotations

import ast
import html
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from obverse.cli.main import cli
from obverse.learn import lessons
from obverse.learn.exercises import Choice, Exercise, Number, Sql, Verdict
from obverse.learn.lesson import Lesson, Shown, Slider, Step, Text
from obverse.learn.lessons import BY_NAME, LESSONS
from obverse.learn.page import SCRIPT, notebook, page

each = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)


def run_cells(cells: list[str]) -> list[Any]:
    """Run code cells in order, as a notebook does; the value of each cell's last expression."""
    space: dict[str, Any] = {"__name__": "__main__"}
    values = []
    for cell in cells:
        tree = ast.parse(cell)
        last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None  # type: ignore[attr-defined]
        exec(compile(tree, "<cell>", "exec"), space)
        values.append(None if last is None else eval(compile(last, "<cell>", "eval"), space))
    return values


def code_of(lesson: Lesson) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(notebook(lesson))["cells"] if cell["cell_type"] == "code"]


@each
def test_it_runs_headless_and_its_reference_solution_is_accepted(lesson: Lesson) -> None:
    said = CliRunner().invoke(cli, ["learn", lesson.name, "--headless"])
    assert said.exit_code == 0, said.output
    assert lesson.title in said.stdout
    assert f"> {lesson.exercise.answer}\nRight: " in said.stdout


@each
def test_a_wrong_answer_is_not_accepted(lesson: Lesson) -> None:
    assert len(lesson.exercise.wrong) >= 2
    for wrong in (*lesson.exercise.wrong, "", "no idea"):
        assert not lesson.exercise.check(wrong).right, wrong
    said = CliRunner().invoke(cli, ["learn", lesson.name, "--answer", lesson.exercise.wrong[0], "--json"])
    assert (said.exit_code, json.loads(said.stdout)["right"]) == (3, False)
    said = CliRunner().invoke(cli, ["learn", lesson.name, "--answer", lesson.exercise.answer, "--json"])
    assert (said.exit_code, json.loads(said.stdout)["right"]) == (0, True)


@each
def test_its_notebook_runs_cell_by_cell(lesson: Lesson) -> None:
    book = json.loads(notebook(lesson))
    assert (book["nbformat"], {cell["cell_type"] for cell in book["cells"]}) == (4, {"markdown", "code"})
    assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", cell["id"]) for cell in book["cells"])
    _, *shown, verdict = run_cells(code_of(lesson))
    assert len(shown) == sum(not isinstance(block, Text) for block in lesson.blocks)
    assert all(isinstance(one, Shown) and one._repr_html_() for one in shown)
    assert isinstance(verdict, Verdict)
    assert not verdict.right


@each
def test_its_json_holds_all_that_a_page_shows(lesson: Lesson) -> None:
    told = json.loads(json.dumps(lesson.as_json()))
    assert [block["words"] for block in told["blocks"]] == [block.words for block in lesson.blocks]
    frames = [block["shown"] for block in told["blocks"] if block["kind"] == "step"]
    for block in told["blocks"]:
        if block["kind"] == "slider":
            assert 0 <= block["start"] < len(block["frames"]) >= 3
            frames += [frame["shown"] for frame in block["frames"]]
    assert frames
    for shown in frames:
        assert shown["words"] or shown["rows"]
        assert all(len(row) == len(shown["columns"]) for row in shown["rows"])
        if shown["svg"]:
            ElementTree.fromstring(shown["svg"])
            assert "<script" not in shown["svg"]


@each
def test_the_check_in_json_is_the_check_of_the_product(lesson: Lesson) -> None:
    check = lesson.exercise.as_json()["check"]
    exercise = lesson.exercise
    match check["kind"]:
        case "number":
            assert exercise.check(repr((check["low"] + check["high"]) / 2)).right
            assert not exercise.check(repr(check["high"] + 0.5 * (check["high"] - check["low"]) + 1e-6)).right
            assert not exercise.check(repr(check["low"] - 0.5 * (check["high"] - check["low"]) - 1e-6)).right
        case "choice":
            rights = [option["letter"] for option in check["options"] if exercise.check(option["letter"]).right]
            assert rights == [check["right"]]
        case _:
            assert isinstance(exercise.accepts, Sql)


@each
def test_it_has_something_to_run_and_speaks_in_short_paragraphs(lesson: Lesson) -> None:
    assert any(isinstance(block, (Step, Slider)) for block in lesson.blocks)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", lesson.name)
    assert all(len(block.words) <= 700 for block in lesson.blocks)
    assert lesson.exercise.hint
    assert lesson.exercise.why


def test_every_file_of_lessons_is_in_the_list_once() -> None:
    files = {path.stem for path in Path(lessons.__file__).parent.glob("*.py")} - {"__init__"}
    assert sorted(lesson.module.rpartition(".")[2] for lesson in LESSONS) == sorted(files)
    assert len(BY_NAME) == len(LESSONS)


def test_a_number_may_be_written_in_several_ways() -> None:
    asked = Exercise("?", Number(lambda: 0.25, 0.001), "0.25", (), "", "so")
    assert all(asked.check(text).right for text in ("0.25", "1/4", " 25 % ", "2.5e-1"))
    assert not any(asked.check(text).right for text in ("1/0", "nan", "inf", "1/4/1", "0.26", "x"))


def test_a_choice_is_a_letter() -> None:
    asked = Exercise("?", Choice(("this", "that"), lambda: 1), "b", (), "", "so")
    assert all(asked.check(text).right for text in (" B ", "b)", "(b)", "b."))
    assert not any(asked.check(text).right for text in ("a", "c", "that", ""))


SPELLINGS = {
    "0.3": 0.3,
    " .30 ": 0.3,
    "3/10": 0.3,
    "30 %": 0.3,
    "30%": 0.3,
    "3e-1": 0.3,
    "0,3": 0.3,
    "0,125": 0.125,
    "12,5 %": 0.125,
    "5,136": 5136,
    "-5,136.5": -5136.5,
    "1,000/2,000,000": 0.0005,
    "51,36": 51.36,
}
NO_NUMBERS = ("", "no", "1/0", "1/2/3", "1,2,3", "1/", "nan", "%", "ln 2")


def test_a_number_may_be_spelled_in_many_ways() -> None:
    for text, value in SPELLINGS.items():
        assert Number(lambda value=value: value, 1e-9).check(text, "").right, text
    assert not any(Number(lambda: 0.5, 10**6).check(text, "").right for text in NO_NUMBERS)


@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
@pytest.mark.parametrize("where", ["page", "corner"])
def test_pages_read_numbers_as_the_product_does(where: str) -> None:
    own = re.search(r"const number = .*?\n  };", SCRIPT, re.DOTALL)
    assert own is not None
    module = (Path(__file__).parents[3] / "web" / "src" / "check.js").as_uri()
    heads = {
        "page": f"{own[0]} const read = text => number(text.trim());",
        "corner": f"import {{ number as read }} from {module!r};",
    }
    script = f"{heads[where]} console.log(JSON.stringify({json.dumps([*SPELLINGS, *NO_NUMBERS])}.map(read)))"
    said = subprocess.run(
        ["node", "--input-type=module", "-e", script], capture_output=True, text=True, timeout=60, check=True
    )
    numbers = json.loads(said.stdout)
    assert numbers[: len(SPELLINGS)] == pytest.approx(list(SPELLINGS.values()))
    assert numbers[len(SPELLINGS) :] == [None] * len(NO_NUMBERS)  # what is not finite


def test_a_page_holds_every_frame_and_reaches_for_nothing_outside() -> None:
    shown = [BY_NAME["neighbours"], BY_NAME["auditing"], BY_NAME["related"]]
    made = page(shown)
    frames = [block for lesson in shown for block in lesson.blocks if isinstance(block, Slider)]
    assert made.count('class="frame"') == sum(len(block.places) for block in frames)
    assert made.count("<form ") == 3
    assert made.count("<script>") == 1
    assert not re.search(r'(src|href)=|https?://(?!www\.w3\.org/2000/svg")', made)
    for lesson, found in zip(shown, re.findall(r'data-check="([^"]*)"', made)):
        assert json.loads(html.unescape(found)) == lesson.exercise.accepts.as_json()


def test_an_exercise_in_sql_points_to_the_command() -> None:
    made = page([BY_NAME["sensitivity"]])
    assert "<form" not in made
    assert "obverse learn sensitivity --answer" in made
