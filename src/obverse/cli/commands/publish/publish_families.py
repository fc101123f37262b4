"""obverse publish synthetic --parent: rows of people and of what belongs to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from obverse.cli.commands.ask import stoppable
from obverse.cli.options import number, print_json
from obverse.cli.output.progress import progress
from obverse.cli.output.terminal import print_fact

WROTE = "data/parents, data/children; parents/ and children/, of which they are made; statement.md and .html, verify.json"


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
    from obverse.cli.commands.publish.publish import _names, _print_done
    from obverse.publish.families.publish_families import HALF, Relatives, family_release
    from obverse.publish.families.session_families_folder import publish_families
    from obverse.session.session import open as open_project

    out: Path | None = told["out"]
    share = HALF if told["parent_share"] is None else number(told["parent_share"])
    wanted = Relatives(table, told["parent"], columns, _names(told["parent_columns"] or ""), bins, share or HALF)
    with open_project(told["project"], analyst=told["analyst"], purpose=told["purpose"]) as session:
        made = family_release(session, wanted, number(told["epsilon"]), number(told["delta"]))
        if out is None:
            _print_plan(made, as_json=told["as_json"])
            return
        with stoppable(session), progress("writing") as shown:
            done = publish_families(session, made, out, told["key"], shown)
    _print_done(done, out, as_json=told["as_json"], wrote=WROTE)


def _print_plan(made: Any, *, as_json: bool) -> None:
    from obverse.cli.commands.publish.publish_synthetic import print_steps
    from obverse.publish.synthetic.synthetic_plan import plan_json

    family, price = made.family, made.price
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
