"""Settings compared, in words and tables; and epsilons that are used elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from obverse.cli.output import numbers as figures
from obverse.cli.output.terminal import Heading, paint, print_fact, print_table, shown_lines
from obverse.core.numbers import plain
from obverse.curator.deployments import NOTE, WORLD
from obverse.curator.sweeps import Explored, Line, Sweep

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
