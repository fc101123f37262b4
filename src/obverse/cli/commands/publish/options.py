"""Options that all releases share, and the one way from a release's plan to its folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from obverse.cli.commands.ask import stoppable
from obverse.cli.commands.publish.report import check_report, report_beside
from obverse.cli.options import number, print_json, with_asker, with_json, with_project
from obverse.cli.output.progress import progress
from obverse.cli.output.terminal import print_fact

FILE = click.Path(path_type=Path)
WROTE = "data, measurements, errors.csv, metadata.json, statement.md and .html, plots, verify.json"


def with_release(function: Any) -> Any:
    """Options that all releases share."""
    for option in (
        with_project,
        with_json,
        with_asker,
        click.option(
            "--reason", default="", metavar="TEXT", help="With --report: why rows are read; sealed into the ledger."
        ),
        click.option(
            "--report", type=FILE, metavar="FILE", help="Internal: compare with the truth, outside of the folder."
        ),
        click.option("--key", default="", metavar="ID", help="Request id: repeating it never charges a second time."),
        click.option(
            "--plan",
            "only_plan",
            is_flag=True,
            help="Print measurements, noise, errors and size; reads no private row.",
        ),
        click.option("--out", type=FILE, metavar="FOLDER", help="Where the release goes: a new folder."),
        click.option("--delta", metavar="D", help="Delta of the release; default: [privacy] delta."),
        click.option("--epsilon", metavar="E", help="Price of the release; default: [privacy] epsilon."),
        click.option("--where", default="", metavar="SQL", help="Only rows for which this holds."),
        click.option(
            "--bins",
            multiple=True,
            metavar="COLUMN=BINS",
            help="Bins of a number: 10 or 0,18,65; of a table also quantiles:8.",
        ),
    ):
        function = option(function)
    return function


def run_release(
    told: dict[str, Any],
    make: Callable[..., Any],
    publish: Callable[..., Any],
    *,
    print_plan: Callable[..., None],
    print_done: Callable[..., None] | None = None,
    compared: bool = True,
    work: str = "writing",
) -> None:
    """Plan a release, and then print the plan or measure and write it. `compared`: --report may compare it."""
    from obverse.session.session import open as open_project

    out: Path | None = told["out"]
    if (out is None) == (not told["only_plan"]):
        raise click.UsageError("give either --out FOLDER or --plan, which shows what would be measured.")
    check_report(told)
    with open_project(told["project"], analyst=told["analyst"], purpose=told["purpose"]) as session:
        made = make(session, number(told["epsilon"]), number(told["delta"]))
        if out is None:
            print_plan(made, as_json=told["as_json"])
            return
        with stoppable(session), progress(work) as shown:
            done = publish(session, made, out, told["key"], shown)
    if compared:
        report_beside(told, out, stored=done.receipted.stored)
    (print_done or print_written)(done, out, as_json=told["as_json"])


def print_written(done: Any, out: Path, *, as_json: bool, wrote: str = WROTE) -> None:
    claim = done.receipted.claim
    if as_json:
        checks = [one.as_json() for one in done.checks]
        print_json(
            {"version": 1, "folder": str(out), "claim": claim, "stored": done.receipted.stored, "checks": checks}
        )
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


def names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def pair(text: str) -> tuple[str, str]:
    column, equals, bins = text.partition("=")
    if not equals:
        raise click.UsageError("write COLUMN=..., such as --bins age=10 or --discover zip=0.1.")
    return column.strip(), bins
