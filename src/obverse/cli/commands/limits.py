"""obverse limits: learn how much of one unit a question should count, and show what was learned."""

from __future__ import annotations

from pathlib import Path

import click

from obverse.cli.errors import VerbGroup
from obverse.cli.options import number, print_json, with_json, with_project
from obverse.cli.output.terminal import Heading, print_fact, print_table


@click.group(cls=VerbGroup)
def limits() -> None:
    """Learn caps on one unit's rows: `limits learn TABLE`.

    For tables whose limits are "auto" in obverse.toml; `limits show` tells what has been learned.
    """


@limits.command()
@click.argument("table")
@click.option("--epsilon", metavar="E", help="Price of learning; default: [privacy] epsilon.")
@click.option("--purpose", metavar="NAME", default="", help="What it is for, of a table that is kept for purposes.")
@with_json
@with_project
def learn(table: str, epsilon: str | None, purpose: str, as_json: bool, project: Path) -> None:
    """Pay once for private histograms of rows per unit and of units' sums.

    Every later question picks from them, for nothing, the caps with the least expected error: a low cap loses rows of
    units that have many, a high one needs more noise.
    """
    from obverse.curator.limits import learn as learn_limits

    learned, path = learn_limits(project, table, number(epsilon), purpose)
    if as_json:
        print_json(learned.as_json())
        return
    print_histogram(learned.rows.caps, learned.rows.units, "rows per unit, up to")
    print_fact("Price", f"epsilon {learned.epsilon}, once")
    print_fact("Kept", str(path))


@limits.command()
@with_json
@with_project
def show(as_json: bool, project: Path) -> None:
    """What was learned, for which tables."""
    from obverse.curator.limits import shown

    found = shown(project)
    if as_json:
        print_json({"version": 1, "tables": [learned.as_json() for learned in found.values()]})
        return
    for name, learned in found.items():
        print_fact("Table", name)
        print_histogram(learned.rows.caps, learned.rows.units, "rows per unit, up to")
        print_fact("Price", f"epsilon {learned.epsilon}, once")
    if not found:
        print_fact("Learned", "nothing yet: `obverse limits learn TABLE` for tables with limits = \"auto\"")


def print_histogram(caps: tuple[float, ...], units: tuple[float, ...], title: str) -> None:
    """Buckets as bars: units are noisy, and below zero where nobody is."""
    most = max(*units, 1.0)
    rows = [[f"{cap:,.0f}", f"{n:,.0f}", "#" * round(40 * max(n, 0.0) / most)] for cap, n in zip(caps, units)]
    print_table([Heading(title, "right"), Heading("units (noisy)", "right"), Heading("")], rows)
