"""obverse data: versions of the rows.

obverse check: what holds, what to think about, what is open, what is wrong.

obverse init: a first obverse.toml, with the questions that only the curator can answer.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from obverse.cli.errors import REFUSED, Verb, VerbGroup
from obverse.cli.options import print_json, with_json, with_project
from obverse.cli.output.terminal import folded, print_fact

if TYPE_CHECKING:
    from obverse.core.errors import ObverseError


COLOURS = {"ok": "green", "warn": "yellow", "open": "magenta", "error": "red"}


@click.command(cls=Verb)
@click.option(
    "--sniff", is_flag=True, help="Read values too: types in CSV files, rows of a unit, shared keys, spellings."
)
@click.option(
    "--upgrade", is_flag=True, help="Write the newest version into obverse.toml; defaults that changed then hold."
)
@click.option(
    "--keep-defaults", is_flag=True, help="With --upgrade: write the old defaults wherever the file relies on them."
)
@with_json
@with_project
@click.pass_context
def check(ctx: click.Context, sniff: bool, upgrade: bool, keep_defaults: bool, as_json: bool, project: Path) -> None:
    """Validate obverse.toml, its sources and its ledger.

    Each error names file, line and key, and the nearest valid key. Warnings are for the curator's eyes: free text that
    analysts may filter by, rows that changed since they were published, and defaults of an earlier version that are
    still in force. Exit code 3 when something is wrong.

    \b
    Examples:
      obverse check -p hospital
      obverse check -p hospital --upgrade
    """
    if keep_defaults and not upgrade:
        raise click.UsageError("--keep-defaults goes with --upgrade.")
    if upgrade:
        _upgrade(project, keep_defaults, as_json)
    from obverse.curator.check import check as findings_of

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
    from obverse.curator.ledger import upgrade

    changed = tuple(upgrade(project, keep=keep))
    if not as_json:
        for places, words in changed:
            print_fact("kept" if keep else "changed", f"{places}: {words}", colour="yellow")


def _print_error(error: ObverseError) -> None:
    first, *rest = str(error).split("\n")
    print_fact("error", first, colour="red")
    for line in rest:
        print_fact("", line.strip())


@click.command(cls=Verb)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--sniff", is_flag=True, help="Read the values of CSV files to find their types: on your word, it is your data."
)
@click.option("--name", metavar="NAME", help="The project's name; default: the folder's.")
@with_json
@with_project
def init(files: tuple[str, ...], sniff: bool, name: str | None, as_json: bool, project: Path) -> None:
    """Draft obverse.toml from column names and declared types.

    Parquet and DuckDB files declare their types; of a CSV file only the header line is read. Bounds and values are
    never taken from the rows, because they would reveal them: the draft asks you instead.

    \b
    Examples:
      obverse init people.parquet visits.csv
      obverse init hospital.duckdb:visits --name hospital
    """
    from obverse.curator.setup import init as write_draft

    drafted = write_draft(files, project, name=name, sniff=sniff)
    if as_json:
        print_json({"version": 1, "file": str(drafted.path), "questions": list(drafted.questions), "sniffed": sniff})
        return
    print_fact(
        "Read", "column names, declared types, values of CSV files" if sniff else "column names and declared types only"
    )
    if drafted.guessed:
        print_fact(
            "Types", "of CSV columns are guesses from their names; --sniff reads them from the values, on your word"
        )
    if drafted.odd_dates:
        form = (
            "dates are read where they are written 2020-12-31; these are not, and are text until the file is "
            "written anew"
        )
        print_fact("Dates", f"{form}: {', '.join(drafted.odd_dates)}")
    count = len(drafted.questions)
    print_fact("Wrote", f"{drafted.path}, with {count} question{'' if count == 1 else 's'} for you:")
    asked = (question.partition(": ") for question in drafted.questions)
    for about, what in folded((about, what) for about, _, what in asked):
        print_fact("", f"? {about}: {what}", hanging=2)
    print_fact("Next", "answer them in the file, then run `obverse check`")


@click.group(cls=VerbGroup)
def data() -> None:
    """Publish a new version of the rows; retire partitions."""


@data.command()
@click.option("--through", metavar="VALUE", help="Growing data: the last partition that the rows hold now.")
@with_json
@with_project
def publish(through: str | None, as_json: bool, project: Path) -> None:
    """Register the rows as they are now as a new version.

    From now on questions that were asked before are asked anew, of the new rows, and cost again. The version is a
    random id: it tells nothing of the rows. The budget does not refill: it belongs to the people in the data. Where a
    table grows by partitions, those that are new begin with a budget of their own; where people count in their first
    partition, those that were published are read and compared, and must have the rows that they had.
    """
    from obverse.curator.partitions import publish_data

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

    For growing data where people count in their first partition. Nobody can remember whose first partition was deleted.
    So what was spent on retired ones, at most, counts as spent on each that remains or comes. No row of theirs is read
    any more. Rows must still be as they were published: retire first, let questions under way end, then delete.

    \b
    Example:
      obverse data retire --through 2024-12-31 --reason "kept for 12 months"
    """
    from obverse.accounting.budget import words, words_left
    from obverse.curator.partitions import Retiring, retire_data

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
