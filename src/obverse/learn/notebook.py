"""A lesson as a notebook: the JSON of nbformat 4, written by hand."""

from __future__ import annotations

import json
from typing import Any

from obverse.learn.exercises import Choice
from obverse.learn.lesson import Lesson, Text

ANSWER = 'answer = ""  # write yours here\nLESSON.exercise.check(answer)'


def notebook(lesson: Lesson) -> str:
    """Text as markdown, steps and sliders as code; the exercise's check is the last cell."""
    cells = [_markdown(f"# {lesson.title}"), _code(f"from {lesson.module} import *")]
    for block in lesson.blocks:
        cells.append(_markdown(block.words))
        if not isinstance(block, Text):
            cells.append(_code(block.code))
    cells += [_markdown(f"## Exercise\n\n{_asked(lesson)}\n\n*Hint: {lesson.exercise.hint}*"), _code(ANSWER)]
    for number, cell in enumerate(cells):
        cell["id"] = f"{lesson.name}-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def _asked(lesson: Lesson) -> str:
    accepts = lesson.exercise.accepts
    options = [f"- {a}) {words}" for a, words in zip(accepts.letters, accepts.options)] if isinstance(accepts, Choice) else []
    return "\n".join([lesson.exercise.question, *([""] if options else []), *options])


def _markdown(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)}


def _code(text: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    return fields | {"source": text.splitlines(keepends=True)}
