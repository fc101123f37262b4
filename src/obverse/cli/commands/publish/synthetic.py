"""obverse publish synthetic, and samples of a release that was made.

obverse publish synthetic --parent: rows of people and of what belongs to them.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from obverse.cli.commands.publish.options import FILE, names, pair, print_written, run_release, with_release
from obverse.cli.errors import Verb
from obverse.cli.options import number, print_json, with_json
from obverse.cli.output.terminal import Heading, print_fact, print_table

WROTE = (
    "data/parents, data/children; parents/ and children/, of which they are made; statement.md and .html, verify.json"
)


def with_family(function: Any) -> Any:
    """Which table the rows belong to."""
    for option in (
        click.option("--parent-share", metavar="SHARE", help="Of the price, for the parent; half unless told."),
        click.option("--parent-columns", metavar="COLUMNS", help="Columns of the parent."),
        click.option("--parent", metavar="TABLE", help="The table of people, one row each, to which the rows belong."),
    ):
        function = option(function)
    return function


def families(table: str, columns: tuple[str, ...], bins: dict[str, str], told: dict[str, Any]) -> None:
    """Parents and children, planned or published."""
    from obverse.publish.families.request import HALF, Relatives, family_release, publish_families

    share = HALF if told["parent_share"] is None else number(told["parent_share"])
    wanted = Relatives(table, told["parent"], columns, names(told["parent_columns"] or ""), bins, share or HALF)
    run_release(
        told,
        lambda session, *price: family_release(session, wanted, *price),
        publish_families,
        print_plan=_print_families_plan,
        print_done=partial(print_written, wrote=WROTE),
        compared=False,
    )


def _print_families_plan(made: Any, *, as_json: bool) -> None:
    from obverse.publish.synthetic.request import plan_json

    family = made.family
    price = made.price
    plans = {family.parent: plan_json(made.parents), family.child: plan_json(made.children)}
    if as_json:
        told = {"epsilon": price.epsilon, "delta": price.delta, "share": price.share}
        parts = {"parents": plans[family.parent], "children": plans[family.child]}
        print_json({"version": 1, "price": told, "parents_share": str(made.share), "children_max": family.most} | parts)
        return
    print_fact("Price", f"epsilon {price.epsilon}, delta {price.delta}: {price.share:.1%} of the budget, as one debit")
    for name, part in zip(plans, (made.share, 1 - made.share)):
        print_fact("Part", f"{name}, with {part} of the price")
        print_steps(plans[name])
    print_fact("Children", f"from none to {family.most} rows of {family.child} for each of {family.parent}")
    print_fact("Spent", "nothing; no private row was read")


SHOWN = 12  # pairs that a plan prints


def with_sample(function: Any) -> Any:
    """What a sample holds."""
    for option in (
        click.option("--rows", type=click.IntRange(1, 10**8), metavar="N", help="Rows of the sample."),
        click.option(
            "--given", multiple=True, metavar="COLUMN=VALUE", help="Rows with this value only; again for another."
        ),
    ):
        function = option(function)
    return function


@click.command(cls=Verb)
@with_family
@with_sample
@with_release
@click.argument("table")
@click.option("--columns", required=True, metavar="COLUMNS", help="Columns of the rows.")
def synthetic(table: str, columns: str, given: tuple[str, ...], rows: int | None, **told: Any) -> None:
    """Rows that no person stands behind, drawn from a model of noisy tables of two and three columns.

    Columns are measured, the tables that hang together most are chosen and measured, all for one price. Where noise
    would hide what a table tells, it is not measured, and columns are independent. --given and --rows put a sample
    beside the rows. With --parent, rows belong to synthetic rows of that table, and each of these has as many as was
    measured.

    \b
    Example:
      obverse publish synthetic people --columns age,sex,hiv --bins age=10 --epsilon 1 --plan
      obverse publish synthetic people --columns age,sex,hiv --bins age=10 --epsilon 1 --out release
      obverse publish synthetic visits --columns clinic --parent people --parent-columns sex --epsilon 1 --out both
    """
    from obverse.publish.synthetic.request import Rows, publish_synthetic, synthetic_release

    bins = dict(map(pair, told["bins"]))
    if told["parent"] is not None:
        if given or rows or told["where"]:
            raise click.UsageError("--given, --rows and --where are not there with --parent.")
        families(table, names(columns), bins, told)
        return
    if told["parent_columns"] or told["parent_share"]:
        raise click.UsageError("give --parent TABLE too.")
    wanted = Rows(table, names(columns), bins, told["where"], tuple(map(held, given)), rows or 0)
    run_release(
        told,
        lambda session, *price: synthetic_release(session, wanted, *price),
        publish_synthetic,
        print_plan=_print_plan,
    )


@click.command(cls=Verb)
@with_sample
@click.argument("folder", type=FILE)
@click.option("--out", type=FILE, required=True, metavar="FILE", help="Where the rows go: a name without an ending.")
@with_json
def sample(folder: Path, out: Path, given: tuple[str, ...], rows: int | None, as_json: bool) -> None:
    """More rows of a release of synthetic rows, or rows of some kind only. Reads the folder alone, so it costs nothing.

    \b
    Example:
      obverse publish sample release --given sex=F --rows 1000 --out women
    """
    from obverse.publish.synthetic.request import write_sample

    many = write_sample(folder, tuple(map(held, given)), rows or 0, out)
    if as_json:
        print_json({"version": 1, "files": [f"{out}.csv", f"{out}.parquet"], "rows": many})
        return
    print_fact("Wrote", f"{out}.csv and .parquet: {many:,} rows")
    print_fact("Price", "nothing: rows are drawn from what was released")


def held(text: str) -> tuple[str, str]:
    column, equals, value = text.partition("=")
    if not equals:
        raise click.UsageError("write --given COLUMN=VALUE.")
    return column.strip(), value.strip()


def _print_plan(made: Any, *, as_json: bool) -> None:
    from obverse.publish.synthetic.request import plan_json

    plan = plan_json(made)
    if as_json:
        print_json(plan)
        return
    price = plan["price"]
    print_fact("Price", f"epsilon {price['epsilon']}, delta {price['delta']}: {price['share']:.1%} of the budget")
    print_steps(plan)
    print_fact("Spent", "nothing; no private row was read")


def print_steps(plan: dict[str, Any]) -> None:
    """What one course measures."""
    print_table(
        [Heading("column"), Heading("cells", "right"), Heading("sigma at first", "right"), Heading("at best", "right")],
        [[c["name"], f"{c['cells']:,}", f"{c['first']:,.4g}", f"{c['stddev']:,.4g}"] for c in plan["columns"]],
    )
    print_table(
        [Heading("pair"), Heading("cells", "right"), Heading("sigma", "right"), Heading("worth it from", "right")],
        [
            [p["name"], f"{p['cells']:,}", f"{p['stddev']:,.4g}", f"{p['from_counts']:,.0f}"]
            for p in plan["pairs"][:SHOWN]
        ],
    )
    more = len(plan["pairs"]) - SHOWN
    if more > 0:
        print_fact("Pairs", f"{more:,} more; --json tells all")
    shares = ", ".join(f"{share:.0%} for {what}" for what, share in plan["shares"].items())
    print_fact("Steps", f"{shares}; at most {plan['choices_max']} tables are chosen")
    print_fact(
        "Chosen",
        "pairs whose table lies further from independence than this: the sum of all cells' differences, less where "
        "rare "
        f"values go together; with fewer than about {plan['rows_min']:,.0f} rows none does, and columns are "
        "independent",
    )
    memory = plan["memory_mb"]
    seconds = plan["seconds"]
    print_fact(
        "Size", f"{plan['cells']:,} cells are counted; about {memory:,} MB and {seconds:,.0f} s beside the engine"
    )
