"""obverse publish: releases that stand on their own, in a folder that anyone may have.

obverse publish quantiles: the distribution of one number.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from obverse.cli.commands.publish.graph import graph
from obverse.cli.commands.publish.options import FILE, names, pair, run_release, with_release
from obverse.cli.commands.publish.report import report as report_command
from obverse.cli.commands.publish.synthetic import sample, synthetic
from obverse.cli.errors import REFUSED, VerbGroup
from obverse.cli.options import print_json, with_json
from obverse.cli.output.progress import progress
from obverse.cli.output.terminal import Heading, print_fact, print_table

USUAL = "0.05,0.1,0.25,0.5,0.75,0.9,0.95"


@click.group(cls=VerbGroup)
def publish() -> None:
    """Release tables once, in a folder that anyone may have.

    All that a release measures is charged as one loss, before any row is read. The folder holds consistent tables, the
    noisy measurements with their errors, a plain statement, pictures and checks.

    \b
    Example:
      obverse publish table people --by age,sex --by hiv --bins age=10 --epsilon 1 --plan
      obverse publish table people --by age,sex --by hiv --bins age=10 --epsilon 1 --out release
      obverse publish check release
    """


@publish.command()
@click.argument("table")
@click.option(
    "--by", multiple=True, required=True, metavar="COLUMNS", help="A table over these columns; again for another."
)
@click.option(
    "--discover",
    multiple=True,
    metavar="COLUMN=SHARE",
    help="Find which values a column has, for a share of the price.",
)
@click.option(
    "--zeros", default="", metavar="SQL", help="Cells that are publicly known to be empty: sex = 'M' AND pregnant."
)
@click.option("--derive", multiple=True, metavar="NAME=SQL", help="A column that follows from others: adult=age >= 18.")
@with_release
def table(
    table: str, by: tuple[str, ...], discover: tuple[str, ...], zeros: str, derive: tuple[str, ...], **told: Any
) -> None:
    """Histograms, contingency tables and sets of them, that agree with each other.

    The weights of what is measured are those that make the asked tables' errors least. Each table has an unbiased
    estimate with its 95 % interval, and whole numbers without negatives beside it.

    \b
    Example:
      obverse publish table people --by sex --by sex,age --bins age=0,18,65 \
          --epsilon 0.5 --out releases/people
    """
    from obverse.publish.tables.release import table_release
    from obverse.publish.tables.request import Wanted

    tables = tuple(names(text) for text in by)
    bins = dict(map(pair, told["bins"]))
    wanted = Wanted(table, tables, bins, told["where"], dict(map(pair, discover)), {}, zeros, dict(map(pair, derive)))
    _publish(lambda session, *price: table_release(session, wanted, *price), told)


@publish.command()
@click.argument("table")
@click.option("--spine", required=True, metavar="LEVELS", help="Columns of places, from the widest to the leaf.")
@click.option(
    "--places", required=True, metavar="TABLE", help="The public table that lists each leaf with what it lies in."
)
@click.option("--cells", default="", metavar="COLUMNS", help="What is counted by in every place; nothing: its total.")
@click.option(
    "--shares", default="", metavar="SHARES", help="Of the price, for each level from the root: 1,2,3; or census2020."
)
@click.option(
    "--invariant",
    default="",
    metavar="LEVEL=COLUMN",
    help="Totals of a level, held exact: a column of the public table.",
)
@click.option(
    "--at-least", multiple=True, metavar="LEVEL=COLUMN", help="Public bounds on places, or of COLUMN@CELLS:VALUE."
)
@click.option("--at-most", multiple=True, metavar="LEVEL=COLUMN", help="The same from above.")
@with_release
def hierarchy(table: str, spine: str, places: str, cells: str, shares: str, invariant: str, **told: Any) -> None:
    """Counts in every place of a spine, as a census has them: tracts add up to counties, counties to the state.

    Estimates are unbiased and add up; whole numbers beside them add up too and are never negative. Totals can be held
    exact only from a public table, and only where neighbours are `replace`.

    \b
    Example:
      obverse publish hierarchy people --spine county,tract --places tracts --cells race --epsilon 1 --out release
    """
    from obverse.publish.hierarchy.request import Along, hierarchy_release

    bins = dict(map(pair, told["bins"]))
    bounds = told["at_least"], told["at_most"]
    along = Along(table, names(spine), places, names(cells), bins, shares, invariant, told["where"], *bounds)
    _publish(lambda session, *price: hierarchy_release(session, along, *price), told)


@publish.command()
@click.argument("table")
@click.argument("column")
@click.option("--by", default="", metavar="COLUMNS", help="Told within each group of these public columns too.")
@click.option("--at", default=USUAL, metavar="SHARES", show_default=True, help="Which quantiles, between 0 and 1.")
@click.option("--range", "ranges", multiple=True, metavar="LOW,HIGH", help="Rows from LOW to HIGH; again for another.")
@click.option("--cells", is_flag=True, help="The rows of each leaf too.")
@with_release
def quantiles(table: str, column: str, by: str, at: str, ranges: tuple[str, ...], cells: bool, **told: Any) -> None:
    """Quantiles, ranges and the CDF of one number, all from one measurement, with bands.

    The number's line is cut into public leaves: its whole numbers or grid between the declared bounds, about 1,024
    equal ones where there are too many, or --bins. What is measured along it (weighted running sums, or levels of a
    tree) is whatever errs least under the project's noise; --plan tells it. Each quantile has an interval of its
    own, and one that holds together with all others.

    \b
    Example:
      obverse publish quantiles people age --by sex --range 18,65 --epsilon 0.5 --plan
      obverse publish quantiles people salary --at 0.1,0.5,0.9 --epsilon 0.5 --out release
      obverse publish check release
    """
    from obverse.publish.quantiles.request import Distribution, quantile_release

    wanted = Distribution(
        table=table,
        column=column,
        by=names(by),
        at=at,
        ranges=ranges,
        single=cells,
        bins=dict(map(pair, told["bins"])),
        where=told["where"],
    )
    _publish(lambda session, *price: quantile_release(session, wanted, *price), told)


def _publish(make: Callable[..., Any], told: dict[str, Any]) -> None:
    from obverse.publish.folder.write import publish as published

    run_release(told, make, published, print_plan=_print_plan, work="publishing")


@publish.command()
@click.argument("folder", type=FILE)
@with_json
@click.pass_context
def check(ctx: click.Context, /, folder: Path, as_json: bool) -> None:
    """Check a release folder, anywhere and without its data. Exit code 3 when something does not hold.

    Tables are made again from the measurements, the noise is priced again in exact fractions, and files are compared
    with their hashes.
    """
    from obverse.publish.folder.write import checked

    with progress("checking") as shown:
        found = checked(folder, shown)
    if as_json:
        print_json({"version": 1, "holds": all(one.holds for one in found), "checks": [one.as_json() for one in found]})
    else:
        for one in found:
            print_fact(
                "Holds" if one.holds else "Fails", f"{one.name}: {one.words}", colour="green" if one.holds else "red"
            )
    if not all(one.holds for one in found):
        ctx.exit(REFUSED)


publish.add_command(synthetic)
publish.add_command(sample)
publish.add_command(graph)
publish.add_command(report_command)


# what is made, then what of it
ORDER = ("table", "hierarchy", "quantiles", "synthetic", "graph", "check", "sample", "report")
publish.commands = {name: publish.commands[name] for name in ORDER}


def _print_plan(made: Any, *, as_json: bool) -> None:
    from obverse.publish.pipeline import plan_json

    plan = plan_json(made)
    if as_json:
        print_json(plan)
        return
    print_fact(
        "Price",
        f"epsilon {plan['price']['epsilon']}, delta {plan['price']['delta']}: {plan['price']['share']:.1%} of the "
        "budget",
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
        f"{plan['cells']:,} cells are counted; about {plan['memory_mb']:,} MB and {plan['seconds']:,.0f} s beside the "
        "engine",
    )
    print_fact("Spent", "nothing; no private row was read")
