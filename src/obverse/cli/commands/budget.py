"""obverse budget: what is allowed, spent and left; and the curator's grant.

obverse limits: learn how much of one unit a question should count, and show what was learned.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from obverse.cli.errors import VerbGroup
from obverse.cli.options import number, print_json, with_json, with_project
from obverse.cli.output.terminal import Heading, on_terminal, paint, print_fact, print_table

if TYPE_CHECKING:
    from obverse.session.views import BudgetLine


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
        print_fact("Learned", 'nothing yet: `obverse limits learn TABLE` for tables with limits = "auto"')


def print_histogram(caps: tuple[float, ...], units: tuple[float, ...], title: str) -> None:
    """Buckets as bars: units are noisy, and below zero where nobody is."""
    most = max(*units, 1.0)
    rows = [[f"{cap:,.0f}", f"{n:,.0f}", "#" * round(40 * max(n, 0.0) / most)] for cap, n in zip(caps, units)]
    print_table([Heading(title, "right"), Heading("units (noisy)", "right"), Heading("")], rows)


GAUGE = 30


@click.group(cls=VerbGroup, invoke_without_command=True)
@with_json
@with_project
@click.pass_context
def budget(ctx: click.Context, as_json: bool, project: Path) -> None:
    """Show what is left; `budget grant` raises the cap.

    The first line binds everybody together, for ever: analysts may share what they learn. Analysts and purposes may
    have lower caps of their own.

    \b
    Examples:
      obverse budget
      obverse budget grant --epsilon 1 --reason "second study, approved 2026-03"
    """
    if ctx.invoked_subcommand is not None:
        return
    from obverse.session.session import open as open_project

    with open_project(project) as session:
        view = session.budget()
    if as_json:
        print_json({"version": 1, **view.as_json()})
        return
    if view.lines:
        _print_gauge(view.lines[0], view.quantity)
        click.echo()
        names = ("whose", "kind", f"{view.quantity} cap", "spent", "left", "delta cap", "delta spent")
        rows = [
            [one.name, one.kind, one.cap, one.spent, one.left, one.delta_cap, one.delta_spent] for one in view.lines
        ]
        print_table([Heading(name, "left" if name in ("whose", "kind") else "right") for name in names], rows)
    if view.base:
        print_fact("Retired", view.base)
    if view.surveys:
        told = [[line.name, line.report, line.lifetime] for line in view.surveys]
        titles = ("epsilon of a report", "of a lifetime")
        print_table([Heading("survey"), *(Heading(title, "right") for title in titles)], told)
        whose = "who is in the tables and answers" if view.lines else "who answers"
        print_fact("Together", f"{whose} every survey to its end may lose {view.together}")


def _print_gauge(line: BudgetLine, quantity: str) -> None:
    full = round(GAUGE * line.share_left)
    if on_terminal():
        colour = "green" if line.share_left > 0.5 else "yellow" if line.share_left > 0.1 else "red"
        bar = paint("█" * full, colour) + "░" * (GAUGE - full)
    else:
        bar = f"[{'#' * full}{'.' * (GAUGE - full)}]"
    click.echo(f"{bar} {100 * line.share_left:.1f} % left: {quantity} {line.left} of {line.cap}")


@budget.command()
@click.option("--epsilon", required=True, metavar="E", help="How much to add to the cap.")
@click.option("--delta", metavar="D", help="How much to add to the delta of the cap.")
@click.option("--reason", required=True, metavar="TEXT", help="Why; sealed into the ledger.")
@with_json
@with_project
def grant(epsilon: str, delta: str | None, reason: str, as_json: bool, project: Path) -> None:
    """Raise the cap that binds everybody.

    An entry in the ledger, which nobody can take back; and the numbers under [budget] in obverse.toml, because the
    lower of the two binds. More budget means a weaker promise to everybody in the data: `obverse check` says how weak.

    \b
    Example:
      obverse budget grant --epsilon 1 --reason "second study, approved 2026-03"
    """
    from obverse.core.numbers import plain
    from obverse.curator.ledger import grant as raise_cap
    from obverse.session.claims import budget_words

    granted = raise_cap(project, epsilon, delta, reason)
    if as_json:
        told = {"before": granted.before, "after": granted.after}
        numbers = {name: {"epsilon": plain(b.epsilon), "delta": plain(b.delta)} for name, b in told.items()}
        print_json({"version": 1, **numbers})
        return
    print_fact("Before", budget_words(granted.before))
    print_fact("Now", f"{budget_words(granted.after)}; entered in the ledger and written to obverse.toml")
