"""obverse explore: what epsilon, caps and delta do to the curator's own questions.

Settings compared, in words and tables; and epsilons that are used elsewhere.

Settings compared, as one page or one picture: tables and plain SVG, no script, no network.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from obverse.cli.commands.ask import statements
from obverse.cli.errors import Verb
from obverse.cli.options import print_json, read_text, with_json, with_project
from obverse.cli.output import terminal as figures
from obverse.cli.output.terminal import Heading, paint, print_fact, print_table, shown_lines
from obverse.core.errors import Refused
from obverse.core.numbers import plain
from obverse.curator.deployments import NOTE, WORLD

if TYPE_CHECKING:
    from obverse.curator.explore import Explored, Line, Sweep

SETTINGS = {"trust": "epsilon"}  # what a sweep's settings are, where its name says something else
FIELDS = ("where", "model", "epsilon", "delta", "unit", "neighbours", "period")  # of an epsilon that is used elsewhere
WHOLE = ("questions in the budget", "people that the local one takes", "a key is told from")


def print_explored(found: Sequence[Explored]) -> None:
    for number, one in enumerate(found):
        click.echo(("\n" if number else "") + paint(shown_lines(one.sql), "cyan") + "\n")
        for sweep in one.sweeps:
            print_sweep(sweep)
    level = figures.percent(found[0].level) if found else ""
    print_fact("Noise", f"half of the {level} interval of each number: a count of 1,000 is told as 1,000 ± that.")
    print_fact("Budget", found[0].belief if found else "")
    print_fact("Cost", "nothing: no ledger was opened and no private row was read.")


def print_sweep(sweep: Sweep) -> None:
    click.echo(f"{sweep.title}\n")
    print_table([Heading(name, "right") for name in headings(sweep)], [cells(sweep, line) for line in sweep.lines])
    if sweep.note:
        print_fact("Note", sweep.note)
        click.echo()


def headings(sweep: Sweep) -> list[str]:
    marked = [""] if any(line.declared for line in sweep.lines) else []
    return [SETTINGS.get(sweep.over, sweep.over.rpartition(".")[2]), *sweep.columns, *marked]


def cells(sweep: Sweep, line: Line) -> list[str]:
    """A line as text: the setting, each number, and whether it is as declared."""
    told = [_cell(name, width) for name, width in zip(sweep.columns, line.widths)]
    marked = ["<- declared" if line.declared else ""] if any(one.declared for one in sweep.lines) else []
    return [_setting(line), *told, *marked]


def _setting(line: Line) -> str:
    return plain(line.at) if line.at >= 1 or line.at.denominator <= 10**4 else f"{float(line.at):.3g}"


def _cell(name: str, width: float | None) -> str:
    if width is None:
        return "-"
    return f"{width:,.0f}" if name.endswith(WHOLE) else f"± {figures.about(width)}"


def print_world() -> None:
    columns = ("where", "model", "epsilon", "delta", "of", "neighbours", "how often")
    sources = list(dict.fromkeys(one.source for one in WORLD))
    rows = [[getattr(one, name) for name in FIELDS] + [str(sources.index(one.source) + 1)] for one in WORLD]
    headings = [Heading(name, "right" if name in ("epsilon", "delta") else "left") for name in (*columns, "source")]
    print_table(headings, rows)
    for number, source in enumerate(sources, start=1):
        print_fact(f"Source {number}", source)
    print_fact("Note", NOTE)


def world_json() -> dict[str, Any]:
    told = [{name: getattr(one, name) for name in (*FIELDS, "source")} for one in WORLD]
    return {"version": 1, "world": told, "note": NOTE}


KINDS = (".html", ".svg")
NOTE_MAX = 90  # signs of a question below a title
STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 "
    "1rem;color:#222;background:#fff}"
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
        raise Refused(
            "cannot_write", "the page cannot be written.", place=str(path), why=error.strerror or ""
        ) from None


def page(found: Sequence[Explored]) -> str:
    parts = [
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Settings compared</title>',
        f"<style>{STYLE}</style>",
    ]
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
    top = 0
    placed = []
    wide = 0
    for one in drawn:
        size = re.match(r'<svg [^>]*?width="(\d+)" height="(\d+)"', one)
        assert size is not None
        placed.append(one.replace("<svg ", f'<svg y="{top}" ', 1))
        top = top + int(size[2]) + 10
        wide = max(wide, int(size[1]))
    whole = f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{max(top, 1)}">'
    return "\n".join([whole, *placed, "</svg>", ""])


def plot(sweep: Sweep, sql: str = "") -> str:
    """The sweep as curves over logarithmic axes; nothing where there is nothing to draw."""
    from obverse.answers.svg import Axis, Curve, curves

    drawn = []
    for place, name in enumerate(sweep.columns):
        points = [
            (float(one.at), width) for one in sweep.lines if (width := one.widths[place]) is not None and width > 0
        ]
        if name not in WHOLE[:2] and len(points) > 1:
            drawn.append(Curve(name, tuple(points)))
    if not drawn:
        return ""
    note = " ".join(sql.split())
    note = note if len(note) <= NOTE_MAX else note[: NOTE_MAX - 1] + "…"
    marks = [float(one.at) for one in sweep.lines if one.declared]
    return curves(
        sweep.title, drawn, Axis(headings(sweep)[0], log=True), Axis("± noise", log=True), note, marks, dots=True
    )


def _table(sweep: Sweep) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in headings(sweep))
    rows = ["".join(f"<td>{escape(cell)}</td>" for cell in cells(sweep, line)) for line in sweep.lines]
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


@click.command(cls=Verb)
@click.argument("sql", nargs=-1)
@click.option(
    "-f", "--file", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Read questions from a file, each ended by a semicolon.",
)  # fmt: skip
@click.option("--epsilons", default="", metavar="E,E,...", help="Epsilons of one question to try.")
@click.option("--caps", default="", metavar="N,N,...", help="Caps on one unit's rows and groups to try.")
@click.option("--deltas", default="", metavar="D,D,...", help="Deltas of one question to try.")
@click.option("--people", type=click.IntRange(1), metavar="N", help="How many people there are, as everybody may know.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Level of the noise interval.")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Also write .html or .svg."
)
@click.option(
    "--world", is_flag=True, help="Only list epsilons that are in use elsewhere, with unit, period and source."
)
@with_json
@with_project
def explore(
    sql: tuple[str, ...],
    file: Path | None,
    epsilons: str,
    caps: str,
    deltas: str,
    people: int | None,
    confidence: float,
    out: Path | None,
    world: bool,
    as_json: bool,
    project: Path,
) -> None:
    """Compare settings before choosing them; costs nothing.

    For your own questions, or for those that the declared tables suggest: the error against epsilon, against caps on
    one unit's rows and against delta, with a trusted curator and without one, and asked once or many times. Opens no
    ledger and reads no private row.

    \b
    Examples:
      obverse explore -p hospital
      obverse explore "SELECT sex, COUNT(*) FROM people GROUP BY sex" --epsilons 0.05,0.1,0.5
      obverse explore -f questions.sql --out settings.html
      obverse explore --world
    """

    if world:
        print_json(world_json()) if as_json else print_world()
        return
    from obverse.curator.explore import explore as explored
    from obverse.curator.explore import sought_of

    if out is not None:
        check_kind(out)
    texts = (*sql, *(statements(read_text(file.read_bytes())) if file is not None else ()))
    found = explored(project, texts, sought_of(epsilons, caps, deltas, people, confidence))
    if out is not None:
        write(found, out)
    if as_json:
        print_json({"version": 1, "questions": [one.as_json() for one in found]})
        return
    print_explored(found)
    if out is not None:
        print_fact("Wrote", str(out))
