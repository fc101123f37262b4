"""obverse data: versions of the rows."""

from __future__ import annotations

from pathlib import Path

import click

from obverse.cli.errors import VerbGroup
from obverse.cli.options import print_json, with_json, with_project
from obverse.cli.output.terminal import print_fact


@click.group(cls=VerbGroup)
def data() -> None:
    """Publish a new version of the rows; retire partitions."""


@data.command()
@click.option("--through", metavar="VALUE", help="Growing data: the last partition that the rows hold now.")
@with_json
@with_project
def publish(through: str | None, as_json: bool, project: Path) -> None:
    """Register the rows as they are now as a new version.

    From now on questions that were asked before are asked anew, of the new rows, and cost again. The version is a random
    id: it tells nothing of the rows. The budget does not refill: it belongs to the people in the data. Where a table grows
    by partitions, those that are new begin with a budget of their own; where people count in their first partition, those that
    were published are read and compared, and must have the rows that they had.
    """
    from obverse.curator.curator import publish_data

    published = publish_data(project, through)
    if as_json:
        print_json({"version": 1, "data_version": published.version, "notes": list(published.notes)})
    else:
        print_fact("Version", f"{published.version}; questions are asked anew from now on")
        for note in published.notes:
            print_fact("Note", note)


@data.command()
@click.option("--through", required=True, metavar="VALUE", help="The last partition that is let go.")
@click.option("--reason", required=True, metavar="TEXT", help="Why; sealed into the ledger.")
@click.option("--gone", is_flag=True, help="Its rows are not as they were published; charges all that was ever asked.")
@click.option("--yes", is_flag=True, help="Do not ask before it is done.")
@with_json
@with_project
def retire(through: str, reason: str, gone: bool, yes: bool, as_json: bool, project: Path) -> None:
    """Let old partitions go, so that their rows may be deleted.

    For growing data where people count in their first partition. Nobody can remember whose first partition was deleted. So
    what was spent on retired ones, at most, counts as spent on each that remains or comes. No row of theirs is read any more.
    Rows must still be as they were published: retire first, let questions under way end, then delete.

    \b
    Example:
      obverse data retire --through 2024-12-31 --reason "kept for 12 months"
    """
    from obverse.accounting.budget import words, words_left
    from obverse.curator.retirement import Retiring, retire_data

    def agreed(plan: Retiring) -> bool:
        if yes or as_json:
            return True
        print_fact("Charges", plan.words)
        print_fact("Leaves", plan.words_left)
        return click.confirm("Retire them? It cannot be undone.", default=False)

    done = retire_data(project, through, reason, gone=gone, agreed=agreed)
    if as_json:
        told = {"through": done.through, "base": words(done.base), "left": words_left(done.left)}
        print_json({"version": 1, "data_version": done.version, **told})
        return
    print_fact("Retired", f"{done.column} up to {done.through}; their rows are read no more and may be deleted")
    print_fact("Charged", done.words)
    print_fact("Left", done.words_left)
