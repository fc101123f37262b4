"""obverse publish: releases that stand on their own, in a folder that anyone may have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from obverse.cli.commands.ask import stoppable
from obverse.cli.commands.publish import publish_synthetic
from obverse.cli.commands.publish.graph import graph
from obverse.cli.commands.publish.publish_quantiles import quantiles_command
from obverse.cli.commands.publish.report import check_report, report_beside
from obverse.cli.commands.publish.report import report as report_command
from obverse.cli.errors import REFUSED, VerbGroup
from obverse.cli.options import number, print_json, with_asker, with_json, with_project
from obverse.cli.output.progress import progress
from obverse.cli.output.terminal import Heading, print_fact, print_table

FILE = click.Path(path_type=Path)
WROTE = "data, measurements, errors.csv, metadata.json, statement.md and .html, plots, verify.json"


@click.group(cls=VerbGroup)
def publish() -> None:
    """Release tables once, in a folder that anyone may have.

    All that a release measures is charged as one loss, before any row is read. The folder holds consistent tables, the noisy
    measurements with their errors, a plain statement, pictures and checks.

    \b
    Example:
      obverse publish table people --by age,sex --by hiv --bins age=10 --epsilon 1 --plan
      obverse publish table people --by age,sex --by hiv --bins age=10 --epsilon 1 --out release
      obverse publish check release
    """


def with_release(function: Any) -> Any:
    """Options that all releases share."""
    for option in (
        with_project,
        with_json,
        with_asker,
        click.option("--reason", default="", metavar="TEXT", help="With --report: why rows are read; sealed into the ledger."),
        click.option("--report", type=FILE, metavar="FILE", help="Internal: compare with the truth, outside of the folder."),
        click.option("--key", default="", metavar="ID", help="Request id: repeating it never charges a second time."),
        click.option(
            "--plan", "only_plan", is_flag=True, help="Print measurements, noise, errors and size; reads no private row."
        ),
        click.option("--out", type=FILE, metavar="FOLDER", help="Where the release goes: a new folder."),
        click.option("--delta", metavar="D", help="Delta of the release; default: [privacy] delta."),
        click.option("--epsilon", metavar="E", help="Price of the release; default: [privacy] epsilon."),
        click.option("--where", default="", metavar="SQL", help="Only rows for which this holds."),
        click.option(
            "--bins", multiple=True, metavar="COLUMN=BINS", help="Bins of a number: 10 or 0,18,65; of a table also quantiles:8."
        ),
    ):
        function = option(function)
    return function


@publish.command()
@click.argument("table")
@click.option("--by", multiple=True, required=True, metavar="COLUMNS", help="A table over these columns; again for another.")
@click.option(
    "--discover", multiple=True, metavar="COLUMN=SHARE", help="Find which values a column has, for a share of the price."
)
@click.option("--zeros", default="", metavar="SQL", help="Cells that are publicly known to be empty: sex = 'M' AND pregnant.")
@click.option("--derive", multiple=True, metavar="NAME=SQL", help="A column that follows from others: adult=age >= 18.")
@with_release
def table(table: str, by: tuple[str, ...], discover: tuple[str, ...], zeros: str, derive: tuple[str, ...], **told: Any) -> None:
    """Histograms, contingency tables and sets of them, that agree with each other.

    The weights of what is measured are those that make the asked tables' errors least. Each table has an unbiased estimate
    with its 95 % interval, and whole numbers without negatives beside it.

    \b
    Example:
      obverse publish table people --by sex --by sex,age --bins age=0,18,65 \
          --epsilon 0.5 --out releases/people
    """
    from obverse.publish.tables.publish_tables import Wanted, table_release

    tables, bins = tuple(_names(text) for text in by), dict(map(_pair, told["bins"]))
    wanted = Wanted(table, tables, bins, told["where"], dict(map(_pair, discover)), {}, zeros, dict(map(_pair, derive)))
    _publish(lambda session, *price: table_release(session, wanted, *price), told)


@publish.command()
@click.argument("table")
@click.option("--spine", required=True, metavar="LEVELS", help="Columns of places, from the widest to the leaf.")
@click.option("--places", required=True, metavar="TABLE", help="The public table that lists each leaf with what it lies in.")
@click.option("--cells", default="", metavar="COLUMNS", help="What is counted by in every place; nothing: its total.")
@click.option(
    "--shares", default="", metavar="SHARES", help="Of the price, for each level from the root: 1,2,3; or census2020."
)
@click.option(
    "--invariant", default="", metavar="LEVEL=COLUMN", help="Totals of a level, held exact: a column of the public table."
)
@click.option("--at-least", multiple=True, metavar="LEVEL=COLUMN", help="Public bounds on places, or of COLUMN@CELLS:VALUE.")
@click.option("--at-most", multiple=True, metavar="LEVEL=COLUMN", help="The same from above.")
@with_release
def hierarchy(table: str, spine: str, places: str, cells: str, shares: str, invariant: str, **told: Any) -> None:
    """Counts in every place of a spine, as a census has them: tracts add up to counties, counties to the state.

    Estimates are unbiased and add up; whole numbers beside them add up too and are never negative. Totals can be held exact
    only from a public table, and only where neighbours are `replace`.

    \b
    Example:
      obverse publish hierarchy people --spine county,tract --places tracts --cells race --epsilon 1 --out release
    """
    from obverse.publish.hierarchy.request import Along, hierarchy_release

    bins = dict(map(_pair, told["bins"]))
    bounds = told["at_least"], told["at_most"]
    along = Along(table, _names(spine), places, _names(cells), bins, shares, invariant, told["where"], *bounds)
    _publish(lambda session, *price: hierarchy_release(session, along, *price), told)


publish_synthetic.add_to(publish, with_release)


def _publish(make: Callable[..., Any], told: dict[str, Any]) -> None:
    """Planned, and then printed or measured and written."""
    from obverse.publish.folder.write import publish as published
    from obverse.session.session import open as open_project

    out: Path | None = told["out"]
    if (out is None) == (not told["only_plan"]):
        raise click.UsageError("give either --out FOLDER or --plan, which shows what would be measured.")
    check_report(told)
    with open_project(told["project"], analyst=told["analyst"], purpose=told["purpose"]) as session:
        made = make(session, number(told["epsilon"]), number(told["delta"]))
        if out is None:
            _print_plan(made, as_json=told["as_json"])
            return
        with stoppable(session), progress("publishing") as shown:
            done = published(session, made, out, told["key"], shown)
    report_beside(told, out, stored=done.receipted.stored)
    _print_done(done, out, as_json=told["as_json"])


@publish.command()
@click.argument("folder", type=FILE)
@with_json
@click.pass_context
def check(ctx: click.Context, /, folder: Path, as_json: bool) -> None:
    """Check a release folder, anywhere and without its data. Exit code 3 when something does not hold.

    Tables are made again from the measurements, the noise is priced again in exact fractions, and files are compared with
    their hashes.
    """
    from obverse.publish.folder.write import checked

    with progress("checking") as shown:
        found = checked(folder, shown)
    if as_json:
        print_json({"version": 1, "holds": all(one.holds for one in found), "checks": [one.as_json() for one in found]})
    else:
        for one in found:
            print_fact("Holds" if one.holds else "Fails", f"{one.name}: {one.words}", colour="green" if one.holds else "red")
    if not all(one.holds for one in found):
        ctx.exit(REFUSED)


publish.add_command(graph)
publish.add_command(report_command)


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _pair(text: str) -> tuple[str, str]:
    column, equals, bins = text.partition("=")
    if not equals:
        raise click.UsageError("write COLUMN=..., such as --bins age=10 or --discover zip=0.1.")
    return column.strip(), bins


publish.add_command(quantiles_command(with_release, _pair, _publish))
ORDER = ("table", "hierarchy", "quantiles", "synthetic", "graph", "check", "sample", "report")  # what is made, then what of it
publish.commands = {name: publish.commands[name] for name in ORDER}


def _print_plan(made: Any, *, as_json: bool) -> None:
    from obverse.publish.publish_plan import plan_json

    plan = plan_json(made)
    if as_json:
        print_json(plan)
        return
    print_fact(
        "Price",
        f"epsilon {plan['price']['epsilon']}, delta {plan['price']['delta']}: {plan['price']['share']:.1%} of the budget",
    )
    for one in plan["first"]:
        print_fact("First", f"{one['words']}, for {one['share']} of the price")
    print_table(
        [Heading("measured"), Heading("entries", "right"), Heading("share", "right"), Heading("sigma", "right")],
        [[m["name"], f"{m['entries']:,}", f"{m['share']:.1%}", f"{m['stddev']:,.4g}"] for m in plan["measured"]],
    )
    print_table(
        [Heading("table"), Heading("cells", "right"), Heading("sigma of a cell", "right"), Heading("95 %", "right")],
        [[t["name"], f"{t['cells']:,}", f"{t['stddev']:,.4g}", f"± {t['half_width']:,.4g}"] for t in plan["tables"]],
    )
    print_fact(
        "Size",
        f"{plan['cells']:,} cells are counted; about {plan['memory_mb']:,} MB and {plan['seconds']:,.0f} s beside the engine",
    )
    print_fact("Spent", "nothing; no private row was read")


def _print_done(done: Any, out: Path, *, as_json: bool, wrote: str = WROTE) -> None:
    claim = done.receipted.claim
    if as_json:
        checks = [one.as_json() for one in done.checks]
        print_json({"version": 1, "folder": str(out), "claim": claim, "stored": done.receipted.stored, "checks": checks})
        return
    print_fact("Wrote", f"{out}: {wrote}")
    print_fact(
        "Price",
        "nothing: the same release was stored"
        if done.receipted.stored
        else f"epsilon {claim['epsilon']}, delta {claim['delta']}",
    )
    print_fact("Claim", claim["sentence"])
    bad = [one for one in done.checks if not one.holds]
    print_fact("Checks", "; ".join(f"{one.name} fails: {one.words}" for one in bad) or f"all {len(done.checks)} hold")
