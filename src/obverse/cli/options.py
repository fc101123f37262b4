"""Options that several verbs share, and the question's text from wherever it comes."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import click

from obverse.core.errors import Refused
from obverse.core.numbers import exact

F = TypeVar("F", bound=Callable[..., Any])
BYTES_MAX = 1_000_000
QUASI = ("--quasi", "--on", "quasi")  # one thing, by the name of either verb
ON = ("--on", "--quasi", "on")
SENSITIVE = ("--sensitive", "--secret", "sensitive")
SECRET = ("--secret", "--sensitive", "secret")


class Range(click.FloatRange):
    """Numbers of a range; `nan`, which lies in every range to a computer, and `inf` lie in none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found: float = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value} is no number.", param, ctx)
        return found


def with_project(function: F) -> F:
    return click.option(
        "-p", "--project", metavar="DIR", default=".", show_default=True, type=click.Path(path_type=Path),
        help="Project folder, or its obverse.toml.",
    )(function)  # fmt: skip


def with_json(function: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object; errors too.")(function)


def with_asker(function: F) -> F:
    """Who asks, and what for."""
    for option in (
        click.option("--purpose", default="", metavar="NAME", help="What the question is for, as declared."),
        click.option("--analyst", default="", metavar="NAME", help="Who asks, as declared; in process, bookkeeping."),
    ):
        function = option(function)
    return function


def with_price(function: F) -> F:
    """How a question is paid for: by epsilon, or by how wrong the answer may be."""
    for option in (
        click.option("--confidence", type=float, default=0.95, show_default=True, help="Level of the noise interval."),
        click.option("--within", metavar="X", help="Find the least epsilon whose noise interval is at most ± X."),
        click.option("--delta", metavar="D", help="Delta of this question; default: [privacy] delta."),
        click.option("--epsilon", metavar="E", help="Price of this question; default: [privacy] epsilon."),
    ):
        function = option(function)
    return function


def with_series(function: F) -> F:
    """A list of counts, of which only the first that pass are named."""
    for option in (
        click.option(
            "--first", type=int, default=1, show_default=True, metavar="C", help="With --above: how many to name."
        ),
        click.option("--above", metavar="T", help="Name only the first keys whose count passes T; priced by C alone."),
    ):
        function = option(function)
    return function


def with_parameters(function: F) -> F:
    return click.option(
        "--param",
        "params",
        multiple=True,
        metavar="NAME=VALUE",
        help="Value of :NAME in the SQL: a number, null or text.",
    )(function)


def parameters(params: tuple[str, ...], form: str = "--param NAME=VALUE") -> dict[str, object]:
    """Named values: read as JSON where they are, else as text."""
    found: dict[str, object] = {}
    for pair in params:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise click.UsageError(f"write {form}.")
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        found[name] = value if isinstance(value, (int, float, str, type(None))) else text
    return found


def with_question(function: F) -> F:
    """The SQL: an argument, a file, or stdin."""
    function = click.option(
        "-f",
        "--file",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Read the SQL from a file.",
    )(function)
    return click.argument("sql", required=False)(function)


def question_text(sql: str | None, file: Path | None) -> str:
    """The question, from exactly one place."""
    if sql is not None and file is not None:
        raise click.UsageError("give the SQL as an argument or with -f, not both.")
    if file is not None:
        return read_text(file.read_bytes())
    if sql is not None and sql != "-":
        return sql
    if sql is None and sys.stdin.isatty():
        raise click.UsageError("give the SQL: as an argument in quotes, with -f FILE, or on stdin.")
    return read_text(sys.stdin.buffer.read(BYTES_MAX))


def read_text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refused("parse_error", "the question is not UTF-8 text.", fix="save it as UTF-8.") from None


def print_json(fields: object) -> None:
    click.echo(json.dumps(fields, ensure_ascii=False, indent=2))


def number(text: str | None) -> Fraction | None:
    """A number as its decimal text says it, so that 0.1 is one tenth."""
    try:
        return None if text is None else exact(text)
    except Refused as refused:
        raise Refused(refused.code, f"{text!r} is not a number.", fix=refused.fix) from None
