"""What may be shown where: colour and rich tables on a terminal only, plain aligned text everywhere else."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import click

PLAIN_WIDTH = 100
LABEL_WIDTH = 8


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


def shown(text: object) -> str:
    """The text without anything that a terminal would obey."""
    return "".join(sign if sign.isprintable() else " " for sign in str(text))


def shown_lines(text: str) -> str:
    return "\n".join(shown(line) for line in text.splitlines())


def print_table(headings: Sequence[Heading], rows: Sequence[Sequence[str]]) -> None:
    """A rich table for a person, aligned text for a file or a pipe."""
    safe = [[shown(cell) for cell in row] for row in rows]
    if on_terminal():
        _print_rich(headings, safe)
    else:
        click.echo(f"{aligned(headings, safe)}\n")


def aligned(headings: Sequence[Heading], rows: Sequence[Sequence[str]]) -> str:
    """Columns two blanks apart under a ruled header."""
    names = [shown(heading.name) for heading in headings]
    sizes = [max(len(line[i]) for line in [names, *rows]) for i in range(len(headings))]
    ruled = [names, ["-" * size for size in sizes], *rows]
    return "\n".join("  ".join(_padded(c, s, h) for c, s, h in zip(line, sizes, headings)).rstrip() for line in ruled)


def _padded(cell: str, size: int, heading: Heading) -> str:
    return cell.rjust(size) if heading.align == "right" else cell.ljust(size)


def _print_rich(headings: Sequence[Heading], rows: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="" if os.environ.get("NO_COLOR") else "bold")
    for heading in headings:
        table.add_column(Text(shown(heading.name)), justify=heading.align, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console(highlight=False).print(table)


def print_fact(label: str, text: str, *, err: bool = False, colour: str = "cyan") -> None:
    """A label and its text, wrapped under itself."""
    indent = " " * (LABEL_WIDTH + 1)
    lines = textwrap.wrap(shown(text), width(), initial_indent=indent, subsequent_indent=indent) or [indent]
    name = paint(label.ljust(LABEL_WIDTH), colour, stream="stderr" if err else "stdout")
    click.echo(f"{name} {lines[0][len(indent) :]}", err=err)
    for line in lines[1:]:
        click.echo(line, err=err)
