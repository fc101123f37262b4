"""obverse check: what holds, what to think about, what is open, what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from obverse.cli.failures import REFUSED, Verb
from obverse.cli.options import print_json, with_json, with_project
from obverse.cli.terminal import print_fact

if TYPE_CHECKING:
    from obverse.session.checking import Finding

COLOURS = {"ok": "green", "warn": "yellow", "open": "magenta", "error": "red"}


@click.command(cls=Verb)
@with_json
@with_project
@click.pass_context
def check(ctx: click.Context, as_json: bool, project: Path) -> None:
    """Validate obverse.toml, its sources and its ledger.

    Each error names file, line and key, and the nearest valid key. Warnings are for the curator's eyes: free text that
    analysts may filter by, and rows that changed since they were published. Exit code 3 when something is wrong.

    \b
    Example:
      obverse check -p hospital
    """
    from obverse.session.checking import check as findings_of

    found = findings_of(project)
    wrong = any(finding.level == "error" for finding in found)
    if as_json:
        print_json({"version": 1, "ok": not wrong, "findings": [finding.as_json() for finding in found]})
    else:
        for finding in found:
            _print(finding)
        if any(finding.level == "open" for finding in found):
            click.echo("\nOpen questions are the comments that begin with ?; remove each once it is settled.")
    if wrong:
        ctx.exit(REFUSED)


def _print(finding: Finding) -> None:
    if finding.error is None:
        print_fact(finding.level, f"{finding.about}: {finding.message}", colour=COLOURS[finding.level])
        return
    first, *rest = str(finding.error).split("\n")
    print_fact("error", first, colour="red")
    for line in rest:
        print_fact("", line.strip())
