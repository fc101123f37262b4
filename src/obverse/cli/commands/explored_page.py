"""Settings compared, as one page or one picture: tables and plain SVG, no script, no network."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from obverse.answers.curves import Axis, Curve, curves
from obverse.cli.commands.explored import WHOLE, cells, headings
from obverse.core.errors import Refused
from obverse.curator.sweeps import Explored, Sweep

KINDS = (".html", ".svg")
NOTE_MAX = 90  # signs of a question below a title
STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}"
    "pre{background:#f4f6f8;padding:.7rem;overflow:auto}table{border-collapse:collapse;margin:.5rem 0}"
    "td,th{padding:.15rem .8rem;text-align:right;border-bottom:1px solid #ddd}th{font-weight:600}"
    "h2{font-size:1.05rem;margin-top:1.6rem}"
    "p{color:#555}svg{max-width:100%;height:auto}"
)


def check_kind(path: Path) -> None:
    if path.suffix.lower() not in KINDS:
        raise Refused("bad_plot", f"a comparison is written as one of {', '.join(KINDS)}.", place=str(path))


def write(found: Sequence[Explored], path: Path) -> None:
    text = page(found) if path.suffix.lower() == ".html" else picture(found)
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise Refused("cannot_write", "the page cannot be written.", place=str(path), why=error.strerror or "") from None


def page(found: Sequence[Explored]) -> str:
    parts = ['<!doctype html><html lang="en"><meta charset="utf-8"><title>Settings compared</title>', f"<style>{STYLE}</style>"]
    parts.append("<h1>Settings compared</h1><p>Planned only: no ledger was opened and no private row was read.</p>")
    for one in found:
        parts.append(f"<pre>{escape(one.sql)}</pre>")
        for sweep in one.sweeps:
            note = f"<p>{escape(sweep.note)}</p>" if sweep.note else ""
            parts.append(f"<h2>{escape(sweep.title)}</h2>{_table(sweep)}{plot(sweep)}{note}")
    budget = f"<h2>The whole budget</h2><p>{escape(found[0].belief)}</p>" if found else ""
    return "\n".join([*parts, budget, "</html>", ""])


def picture(found: Sequence[Explored]) -> str:
    """All plots below each other."""
    drawn = [made for one in found for sweep in one.sweeps if (made := plot(sweep, one.sql))]
    top, placed, wide = 0, [], 0
    for one in drawn:
        size = re.match(r'<svg [^>]*?width="(\d+)" height="(\d+)"', one)
        assert size is not None
        placed.append(one.replace("<svg ", f'<svg y="{top}" ', 1))
        top, wide = top + int(size[2]) + 10, max(wide, int(size[1]))
    whole = f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{max(top, 1)}">'
    return "\n".join([whole, *placed, "</svg>", ""])


def plot(sweep: Sweep, sql: str = "") -> str:
    """The sweep as curves over logarithmic axes; nothing where there is nothing to draw."""
    drawn = []
    for place, name in enumerate(sweep.columns):
        points = [(float(one.at), width) for one in sweep.lines if (width := one.widths[place]) is not None and width > 0]
        if name not in WHOLE[:2] and len(points) > 1:
            drawn.append(Curve(name, tuple(points)))
    if not drawn:
        return ""
    note = " ".join(sql.split())
    note = note if len(note) <= NOTE_MAX else note[: NOTE_MAX - 1] + "…"
    marks = [float(one.at) for one in sweep.lines if one.declared]
    return curves(sweep.title, drawn, Axis(headings(sweep)[0], log=True), Axis("± noise", log=True), note, marks, dots=True)


def _table(sweep: Sweep) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in headings(sweep))
    rows = ["".join(f"<td>{escape(cell)}</td>" for cell in cells(sweep, line)) for line in sweep.lines]
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"
