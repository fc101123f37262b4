"""What may be shown where: colour and tables that fit on a terminal only, plain aligned text everywhere else.

Numbers for people: a value with its noise interval, in the digits that the interval's width supports.
"""

from __future__ import annotations

import datetime as dt
import math
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from itertools import zip_longest
from pathlib import Path
from typing import Literal, TypeVar

import click

from obverse.answers.answer import Bar
from obverse.core.types import Value

EXACT = Context(prec=400)
LOPSIDED = Decimal("0.1")  # of the interval's width


def cell(value: Value, bar: Bar) -> str:
    """`12,345 ± 90`, or `12,345 (12,255 to 12,700)` where the two sides differ. Rounding only ever widens."""
    if bar is None or isinstance(value, str) or value is None:
        return exactly(value)
    if isinstance(value, dt.date):
        return f"{exactly(value)} ({bar[0]} to {bar[1]})"
    number, low, high = (Decimal(str(part)) for part in (value, *bar))
    reach = max(number - low, high - number)
    if reach <= 0:
        return exactly(value)
    step = _step(reach, whole=isinstance(value, int))
    middle = _rounded(number, step, ROUND_HALF_EVEN)
    slack = 0 if isinstance(value, int) and step == 1 else step / 2  # what rounding the middle may have cost
    if abs((number - low) - (high - number)) <= LOPSIDED * (high - low):
        return f"{_text(middle)} ± {_text(_rounded(reach + slack, step, ROUND_CEILING))}"
    ends = _rounded(low, step, ROUND_FLOOR), _rounded(high, step, ROUND_CEILING)
    return f"{_text(middle)} ({_text(ends[0])} to {_text(ends[1])})"


def exactly(value: Value) -> str:
    """A value without noise, such as a key; years and codes get no thousands separators."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:.12g}"
        case dt.datetime():
            return value.isoformat(sep=" ")
        case dt.date():
            return value.isoformat()
        case _:
            return str(value)


def about(number: float) -> str:
    """Three digits or so, for a width that is only announced; rounded up."""
    if number <= 0 or not math.isfinite(number):
        return f"{number:g}"
    exact = Decimal(str(number))
    return _text(_rounded(exact, _step(exact, whole=False), ROUND_CEILING))


def percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _step(reach: Decimal, *, whole: bool) -> Decimal:
    """The last digit shown: the third of the reach; the second, where that is enough for a number with decimals."""
    leading = reach.adjusted()
    if whole:
        return Decimal(1).scaleb(max(0, leading - 2))
    return Decimal(1).scaleb(leading - (2 if reach < 3 * Decimal(10) ** leading else 1))


def _rounded(number: Decimal, step: Decimal, rounding: str) -> Decimal:
    return number.quantize(step, rounding, EXACT)


def _text(number: Decimal) -> str:
    size = abs(number)
    if size and not Decimal("1e-6") <= size < Decimal("1e15"):
        return f"{number:.3e}"
    return f"{number:,f}"


What = TypeVar("What")
PLAIN_WIDTH = 100
LABEL_WIDTH = 8
# between columns; no column is folded further
GAP = 2
NARROWEST = 8


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
    """The same with long cells folded, the widest columns first, until it fits; the header is bold, unless NO_COLOR
    is set.
    """
    names, sizes = _sized(headings, rows)
    while sum(sizes) + GAP * (len(sizes) - 1) > most and max(sizes) > NARROWEST:
        sizes[sizes.index(max(sizes))] -= 1
    bold = [
        line if os.environ.get("NO_COLOR") else click.style(line, bold=True) for line in _folded(names, sizes, headings)
    ]
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
    return "; ".join(
        f"{table}.{', '.join(columns)}" if table else ", ".join(columns) for table, columns in groups.items()
    )


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
