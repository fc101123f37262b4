"""Shown: what a step of a lesson shows, in a terminal, a notebook and a page alike: words, a table, a picture."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any


@dataclass(frozen=True, slots=True)
class Shown:
    """Words, a table of texts and an SVG picture; each may be missing."""

    words: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    svg: str = ""

    def __str__(self) -> str:
        return "\n\n".join(part for part in (self.figures, self.words) if part)

    @property
    def figures(self) -> str:
        """The table as text, and a word for the picture."""
        parts = [aligned(self.columns, self.rows)] if self.columns else []
        return "\n\n".join([*parts, *(["(a picture: --notebook shows it)"] if self.svg else [])])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self.rows)
        table = f"<table><tr>{head}</tr>{rows}</table>" if self.columns else ""
        return f"{table}{self.svg}<p>{escape(self.words)}</p>"

    def as_json(self) -> dict[str, Any]:
        return {"words": self.words, "columns": list(self.columns), "rows": [list(row) for row in self.rows], "svg": self.svg}


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], words: str = "", svg: str = "") -> Shown:
    """Rows of anything; numbers with decimals in three digits or so."""
    return Shown(words, tuple(columns), tuple(tuple(map(told, row)) for row in rows), svg)


def at_most(chance: float) -> str:
    """A chance in per cent, rounded up."""
    return f"{math.ceil(1000 * chance - 1e-6) / 10:.1f} %"


def told(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def aligned(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns two blanks apart under a ruled header."""
    sizes = [max(len(line[i]) for line in (columns, *rows)) for i in range(len(columns))]
    lines = [columns, ["-" * size for size in sizes], *rows]
    return "\n".join("  ".join(cell.ljust(size) for cell, size in zip(line, sizes)).rstrip() for line in lines)
