"""What may be shown where: colour and tables that fit on a terminal only, plain aligned text everywhere else."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Literal, TypeVar

import click

What = TypeVar("What")
PLAIN_WIDTH = 100
LABEL_WIDTH = 8
GAP, NARROWEST = 2, 8  # between columns; no column is folded further


@dataclass(frozen=True, slots=True)
class Heading:
    """A column of a printed table."""

    name: str
    align: Literal["left", "right"] = "left"


def on_terminal(stream: str = "stdout") -> bool:
    """Whether a person is looking at stdout or stderr."""
    found = getattr(sys, stream)
    return found is not None and found.isatty()


def paint(text: str, colour: str, *, stream: str = "stdout") -> str:
    """Coloured on a terminal, unless NO_COLOR is set."""
    if not on_terminal(stream) or os.environ.get("NO_COLOR"):
        return text
    return click.style(text, fg=colour)


def width() -> int:
    return min(shutil.get_terminal_size().columns, 110) if on_terminal() else PLAIN_WIDTH


def near(path: Path) -> str:
    """A path as people write it from here: short where it lies below, whole elsewhere."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def shown(text: object) -> str:
    """The text without anything that a terminal would obey."""
    return "".join(sign if sign.isprintable() else " " for sign in str(text))


def shown_lines(text: str) -> str:
    return "\n".join(shown(line) for line in text.splitlines())


def print_table(headings: Sequence[Heading], rows: Sequence[Sequence[str]]) -> None:
    """A table that fits the terminal for a person, aligned text for a file or a pipe."""
    safe = [[shown(cell) for cell in row] for row in rows]
    click.echo(f"{fitted(headings, safe, width()) if on_terminal() else aligned(headings, safe)}\n")


def aligned(headings: Sequence[Heading], rows: Sequence[Sequence[str]]) -> str:
    """Columns two blanks apart under a ruled header."""
    names, sizes = _sized(headings, rows)
    return "\n".join(_line(line, sizes, headings) for line in [names, ["-" * size for size in sizes], *rows])


def fitted(headings: Sequence[Heading], rows: Sequence[Sequence[str]], most: int) -> str:
    """The same with long cells folded, the widest columns first, until it fits; the header is bold, unless NO_COLOR is set."""
    names, sizes = _sized(headings, rows)
    while sum(sizes) + GAP * (len(sizes) - 1) > most and max(sizes) > NARROWEST:
        sizes[sizes.index(max(sizes))] -= 1
    bold = [line if os.environ.get("NO_COLOR") else click.style(line, bold=True) for line in _folded(names, sizes, headings)]
    rule = _line(["─" * size for size in sizes], sizes, headings)
    return "\n".join([*bold, rule, *(line for row in rows for line in _folded(row, sizes, headings))])


def _sized(headings: Sequence[Heading], rows: Sequence[Sequence[str]]) -> tuple[list[str], list[int]]:
    names = [shown(heading.name) for heading in headings]
    return names, [max(len(line[i]) for line in [names, *rows]) for i in range(len(headings))]


def _folded(cells: Sequence[str], sizes: Sequence[int], headings: Sequence[Heading]) -> list[str]:
    """A row as lines, each cell within its size."""
    parts = [textwrap.wrap(cell, max(1, size), break_on_hyphens=False) or [""] for cell, size in zip(cells, sizes)]
    return [_line(line, sizes, headings) for line in zip_longest(*parts, fillvalue="")]


def _line(cells: Sequence[str], sizes: Sequence[int], headings: Sequence[Heading]) -> str:
    padded = (c.rjust(s) if h.align == "right" else c.ljust(s) for c, s, h in zip(cells, sizes, headings))
    return (" " * GAP).join(padded).rstrip()


def folded(said: Iterable[tuple[str, What]]) -> list[tuple[str, What]]:
    """Whom it is about and what is said; in one line all of whom the same is said."""
    together: dict[What, list[str]] = {}
    for about, what in said:
        together.setdefault(what, []).append(about)
    return [(listed(about), what) for what, about in together.items()]


def listed(names: Iterable[str]) -> str:
    """`table.a, b; other.c` for table.a, table.b and other.c: what several share is told once."""
    groups: dict[str, list[str]] = {}
    for name in names:
        table, _, column = name.rpartition(".")
        groups.setdefault(table, []).append(column)
    return "; ".join(f"{table}.{', '.join(columns)}" if table else ", ".join(columns) for table, columns in groups.items())


def wrapped(text: str, indent: str, hanging: int = 0) -> list[str]:
    """Lines within the width; a number keeps its per cent sign, and paths and commands are not broken."""
    lines = textwrap.wrap(
        re.sub(r"(?<=\d) %", "\0%", text), width(), initial_indent=indent, subsequent_indent=indent + " " * hanging,
        break_on_hyphens=False, break_long_words=False,
    )  # fmt: skip
    return [line.replace("\0", " ") for line in lines] or [indent]


def print_text(text: str) -> None:
    """Lines of running text, wrapped for a person and left whole for a file or a pipe."""
    for line in text.split("\n"):
        click.echo("\n".join(wrapped(line, "")) if on_terminal() else line)


def print_fact(label: str, text: str, *, err: bool = False, colour: str = "cyan", hanging: int = 0) -> None:
    """A label and its text, wrapped under itself."""
    indent = " " * (LABEL_WIDTH + 1)
    lines = wrapped(shown(text), indent, hanging)
    name = paint(label.ljust(LABEL_WIDTH), colour, stream="stderr" if err else "stdout")
    click.echo(f"{name} {lines[0][len(indent) :]}", err=err)
    for line in lines[1:]:
        click.echo(line, err=err)
