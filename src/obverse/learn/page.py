"""Lessons as one page that needs nothing else: sliders switch between frames made beforehand, exercises check
themselves.

A lesson as a notebook: the JSON of nbformat 4, written by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html import escape
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
    options = (
        [f"- {a}) {words}" for a, words in zip(accepts.letters, accepts.options)] if isinstance(accepts, Choice) else []
    )
    return "\n".join([lesson.exercise.question, *([""] if options else []), *options])


def _markdown(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)}


def _code(text: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    return fields | {"source": text.splitlines(keepends=True)}


STYLE = """
body{font:16px/1.55 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
h1{font-size:1.5rem;margin-top:3rem}h2{font-size:1.05rem}svg{max-width:100%;height:auto}
table{border-collapse:collapse;margin:.6rem 0}td,th{padding:.15rem .9rem .15rem 0;text-align:left;border-bottom:1px \
solid #ddd}
details{margin:.4rem 0}
pre{background:#f4f6f8;padding:.7rem;overflow:auto;font-size:.8rem}summary{color:#555;cursor:pointer}
.shown{border-left:3px solid #9ecae1;padding:.1rem 1rem;margin:.6rem 0;overflow:auto}.shown p{color:#333}
.exercise{background:#f7f9fb;padding:.6rem 1rem;margin-top:1.4rem}input[type=range]{width:100%}
output{display:block;min-height:1.6em;color:#08519c}
"""
SCRIPT = r"""
for (const box of document.querySelectorAll(".slider")) {
  const range = box.querySelector("input"), frames = [...box.querySelectorAll(".frame")];
  const label = box.querySelector("b");
  const show = () => frames.forEach((frame, n) => {
    frame.hidden = n != range.value;
    if (n == range.value) label.textContent = frame.dataset.at;
  });
  range.addEventListener("input", show);
  show();
}
for (const form of document.querySelectorAll("form")) {
  const check = JSON.parse(form.dataset.check), told = form.querySelector("output");
  const number = text => {
    const plain = text.replaceAll(",", /^[+-]?[1-9]\d{0,2}(,\d{3})+(?!\d)/.test(text) ? "" : ".");
    const [top, bottom = 1, ...more] = plain.replace(/%$/, "/100").split("/")
      .map(part => part.trim() ? Number(part) : NaN);
    return more.length ? NaN : top / bottom;
  };
  form.addEventListener("submit", event => {
    event.preventDefault();
    const text = String(new FormData(form).get("answer") ?? "").trim();
    let right = text.toLowerCase() === check.right;
    if (check.kind === "number")
      right = text !== "" && number(text) >= check.low - 1e-9 && number(text) <= check.high + 1e-9;
    told.textContent = right ? "Right: " + form.dataset.why : "Not yet. Hint: " + form.dataset.hint;
  });
}
"""


def page(lessons: Sequence[Lesson]) -> str:
    """All of them below each other."""
    title = lessons[0].title if len(lessons) == 1 else "Lessons"
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
    parts = [_lesson(lesson.as_json()) for lesson in lessons]
    return "\n".join([head, *parts, f"<script>{SCRIPT}</script></html>", ""])


def _lesson(told: dict[str, Any]) -> str:
    blocks = "\n".join(_block(block) for block in told["blocks"])
    return (
        f'<section id="{escape(told["name"])}"><h1>{escape(told["title"])}</h1>\n{blocks}\n{_exercise(told)}</section>'
    )


def _block(block: dict[str, Any]) -> str:
    words = f"<p>{_told(block['words'])}</p>"
    if block["kind"] == "text":
        return words
    code = f"<details><summary>the code</summary><pre>{escape(block['code'])}</pre></details>"
    if block["kind"] == "step":
        return f'{words}<div class="shown">{_shown(block["shown"])}</div>{code}'
    frames = "".join(
        f'<div class="frame" data-at="{escape(frame["at"])}">{_shown(frame["shown"])}</div>'
        for frame in block["frames"]
    )
    last = len(block["frames"]) - 1
    slider = f'<input type="range" min="0" max="{last}" value="{block["start"]}" aria-label="{escape(block["name"])}">'
    label = f"<label>{escape(block['name'])}: <b></b>{slider}</label>"
    return f'{words}<div class="slider">{label}<div class="shown">{frames}</div></div>{code}'


def _shown(shown: dict[str, Any]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in shown["columns"])
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in shown["rows"])
    table = f"<table><tr>{head}</tr>{rows}</table>" if shown["columns"] else ""
    lines = "".join(f"<p>{escape(line)}</p>" for line in shown["words"].splitlines() if line)
    return f"{table}{shown['svg']}{lines}"


def _told(words: str) -> str:
    """Text, with what stands between backticks as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(words))


def _exercise(told: dict[str, Any]) -> str:
    asked = told["exercise"]
    check = asked["check"]
    if check["kind"] == "sql":
        form = f"<p>Answer with <code>obverse learn {escape(told['name'])} --answer &quot;SELECT ...&quot;</code></p>"
        return f'<div class="exercise"><h2>Exercise</h2><p>{_told(asked["question"])}</p>{form}</div>'
    if check["kind"] == "choice":
        fields = "".join(
            f'<p><label><input type="radio" name="answer" value="{one["letter"]}"> {_told(one["words"])}</label></p>'
            for one in check["options"]
        )
    else:
        fields = '<p><input name="answer" autocomplete="off" aria-label="your answer"></p>'
    data = (
        f'data-check="{escape(json.dumps(check))}" data-why="{escape(asked["why"])}" '
        f'data-hint="{escape(asked["hint"])}"'
    )
    form = f"<form {data}>{fields}<button>Check</button><output></output></form>"
    return f'<div class="exercise"><h2>Exercise</h2><p>{_told(asked["question"])}</p>{form}</div>'
