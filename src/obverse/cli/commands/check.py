"""obverse check: what holds, what to think about, what is open, what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from obverse.cli.errors import REFUSED, Verb
from obverse.cli.options import print_json, with_json, with_project
from obverse.cli.output.terminal import folded, print_fact

if TYPE_CHECKING:
    from obverse.core.errors import ObverseError

COLOURS = {"ok": "green", "warn": "yellow", "open": "magenta", "error": "red"}


@click.command(cls=Verb)
@click.option("--sniff", is_flag=True, help="Read values too: types in CSV files, rows of a unit, shared keys, spellings.")
@click.option("--upgrade", is_flag=True, help="Write the newest version into obverse.toml; defaults that changed then hold.")
@click.option("--keep-defaults", is_flag=True, help="With --upgrade: write the old defaults wherever the file relies on them.")
@with_json
@with_project
@click.pass_context
def check(ctx: click.Context, sniff: bool, upgrade: bool, keep_defaults: bool, as_json: bool, project: Path) -> None:
    """Validate obverse.toml, its sources and its ledger.

    Each error names file, line and key, and the nearest valid key. Warnings are for the curator's eyes: free text that
    analysts may filter by, rows that changed since they were published, and defaults of an earlier version that are still
    in force. Exit code 3 when something is wrong.

    \b
    Examples:
      obverse check -p hospital
      obverse check -p hospital --upgrade
    """
    if keep_defaults and not upgrade:
        raise click.UsageError("--keep-defaults goes with --upgrade.")
    if upgrade:
        _upgrade(project, keep_defaults, as_json)
    from obverse.curator.checking import check as findings_of

    found = findings_of(project, sniff=sniff)
    wrong = any(finding.level == "error" for finding in found)
    if as_json:
        print_json({"version": 1, "ok": not wrong, "findings": [finding.as_json() for finding in found]})
    else:
        for about, (level, message, error) in folded((one.about, (one.level, one.message, one.error)) for one in found):
            if error is None:
                print_fact(level, f"{about}: {message}", colour=COLOURS[level])
            else:
                _print_error(error)
        if any(finding.level == "open" for finding in found):
            click.echo("\nOpen questions are the comments that begin with ?; remove each once it is settled.")
    if wrong:
        ctx.exit(REFUSED)


def _upgrade(project: Path, keep: bool, as_json: bool) -> None:
    """Write the newest version, and say what changed its meaning."""
    from obverse.curator.curator import upgrade

    changed = tuple(upgrade(project, keep=keep))
    if not as_json:
        for places, words in changed:
            print_fact("kept" if keep else "changed", f"{places}: {words}", colour="yellow")


def _print_error(error: ObverseError) -> None:
    first, *rest = str(error).split("\n")
    print_fact("error", first, colour="red")
    for line in rest:
        print_fact("", line.strip())
