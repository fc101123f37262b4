from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from obverse.learn.lessons import LESSONS

Obverse = Callable[..., Result]


def test_the_list_names_each_lesson(obverse: Obverse) -> None:
    said = obverse("learn").stdout
    assert all(lesson.name in said and lesson.title in said for lesson in LESSONS)


def test_one_lesson_can_be_read_answered_and_kept_as_a_notebook(obverse: Obverse, project: Path) -> None:
    assert "--answer" in obverse("learn", "two-coins").stdout
    assert obverse("learn", "two-coins", "--answer", "0.3").stdout.startswith("Right")
    assert obverse("learn", "two-coins", "--notebook", "coins.ipynb").exit_code == 0
    assert json.loads((project / "coins.ipynb").read_text())["nbformat"] == 4
    assert obverse("learn", "two-coins", "--page", "coins.html").exit_code == 0
    assert "<title>The two coins</title>" in (project / "coins.html").read_text()


def test_on_a_terminal_it_goes_step_by_step_and_gives_a_hint(obverse: Obverse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("obverse.cli.commands.learn.on_terminal", lambda: True)
    blocks = len(next(one for one in LESSONS if one.name == "two-coins").blocks)
    said = obverse("learn", "two-coins", input="\n" * (blocks - 1) + "0.4\n0.3\n").stdout
    assert said.index("Not yet") < said.index("Hint") < said.index("Right")
    said = obverse("learn", "two-coins", input="\n" * (blocks - 1) + "1\n2\n3\n").stdout
    assert "One solution: 0.3" in said


def test_a_wrong_answer_is_told_with_a_hint(obverse: Obverse) -> None:
    said = obverse("learn", "two-coins", "--answer", "0.4")
    assert said.exit_code == 3
    assert "wrong_answer" in said.stderr
    assert json.loads(obverse("learn", "two-coins", "--answer", "0.4", "--json").stdout) == {
        "version": 1, "lesson": "two-coins", "right": False, "words": "that is not the number that the product finds.",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("args", "code"),
    [(("nothing",), "no_such_lesson"), (("two-coins", "--notebook", "x.txt"), "bad_output"),
     (("two-coins", "--notebook", "no/x.ipynb"), "cannot_write"), (("two-coins", "--page", "x.txt"), "bad_output"),
     (("two-coins", "--answer", "0.4"), "wrong_answer")],
)  # fmt: skip
def test_what_cannot_be_done_is_refused(obverse: Obverse, args: tuple[str, ...], code: str) -> None:
    said = obverse("learn", *args)
    assert said.exit_code == 3
    assert f"[{code}]" in said.stderr


def test_an_answer_needs_a_lesson(obverse: Obverse) -> None:
    assert obverse("learn", "--answer", "1").exit_code == 2


def test_a_lesson_leaves_nothing_behind(
    obverse: Obverse, home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "temporary").mkdir()
    assert obverse("learn", "neighbours", "--headless").exit_code == 0
    assert not home.exists()
    assert not list((tmp_path / "temporary").iterdir())


def test_without_a_name_all_lessons_are_told(obverse: Obverse, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = tuple(one for one in LESSONS if one.name in ("neighbours", "composition"))
    monkeypatch.setattr("obverse.learn.lessons.LESSONS", few)
    told = json.loads(obverse("learn", "--json").stdout)
    assert (told["version"], [one["name"] for one in told["lessons"]]) == (1, ["neighbours", "composition"])
    said = obverse("learn", "--headless").stdout
    assert said.count("Right: ") == 2
    assert obverse("learn", "--page", "all.html").exit_code == 0
    assert (project / "all.html").read_text().count("<section ") == 2
