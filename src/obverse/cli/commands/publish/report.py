"""obverse publish report: a release beside the truth, for its curator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from obverse.cli.errors import Verb
from obverse.cli.options import print_json, with_json, with_project
from obverse.cli.output.terminal import Heading, print_fact, print_table

FILE = click.Path(path_type=Path)


def check_report(told: dict[str, Any]) -> None:
    """Whether a report beside a new release may be made and placed: told before anything is paid or read."""
    from obverse.publish.report import allowed

    if told["report"] is not None and told["analyst"]:
        raise click.UsageError("--report is for the curator alone: leave --analyst out.")
    if told["report"] is not None and told["out"] is not None:
        allowed(told["report"], told["out"], told["reason"])


def report_beside(told: dict[str, Any], out: Path, *, stored: bool) -> None:
    """The comparison of a release that was just made, if it was asked for; what fails in it says that the charge
    stays.
    """
    from obverse.publish.pipeline import paid
    from obverse.publish.report import report as reported

    if told["report"] is not None:
        with paid(stored):
            reported(told["project"], out, told["report"], told["reason"])


@click.command(cls=Verb)
@click.argument("folder", type=FILE)
@click.option("--out", required=True, type=FILE, metavar="FILE", help=".html, .md or .json; outside of every release.")
@click.option("--reason", default="", metavar="TEXT", help="Why rows are read; sealed into the ledger.")
@with_json
@with_project
def report(folder: Path, out: Path, reason: str, project: Path, as_json: bool) -> None:
    """Compare a release with the truth: for its curator alone, never to be handed on.

    Rows are read through the curator's own door, which the ledger records with its reason. Nothing is charged, because
    nothing is released.

    \b
    Example:
      obverse publish report release --out internal.html --reason "error before the press release"
    """
    from obverse.publish.comparison import COVERED
    from obverse.publish.report import report as reported

    made = reported(project, folder, out, reason)
    if as_json:
        print_json(made.as_json())
        return
    rows = [[t.title, f"{t.cells:,}", f"{t.told:,.4g}", f"{t.found:,.4g}", f"{t.covered:.1%}"] for t in made.tables]
    right = ("cells", "told", "found", "within 95 %")
    print_table([Heading("table"), *(Heading(name, "right") for name in right)], rows)
    if made.coverage is not None:
        print_fact("Source", made.coverage.words)
        print_table([Heading(name) for name in COVERED], [list(row) for row in made.coverage.grid.rows])
    if made.statistics:
        lines = [[line.name, f"{line.published:,.4g}", f"{line.exact:,.4g}"] for line in made.statistics]
        print_table([Heading("statistic"), Heading("published", "right"), Heading("exact", "right")], lines)
    print_fact("Wrote", f"{out}: INTERNAL, not for release; the ledger says that rows were read, and why")
