"""obverse ledger: the record of every debit, checked, copied and carried by the curator."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from obverse.cli.errors import VerbGroup
from obverse.cli.options import print_json, with_json, with_project
from obverse.cli.output.terminal import near, print_fact
from obverse.core.errors import LedgerError

if TYPE_CHECKING:
    from obverse.curator.ledger import Kept

FILE = click.Path(dir_okay=False, path_type=Path)


@click.group(cls=VerbGroup)
def ledger() -> None:
    """Verify, export, back up, restore or move the ledger.

    Every debit is a record, chained by hashes to all before it; how far the chain had come is remembered outside the
    project too, so an older file put in its place is noticed.

    \b
    Examples:
      obverse ledger verify
      obverse ledger backup ledger-2026-03.db
      obverse ledger export ledger.jsonl && obverse ledger verify ledger.jsonl
    """


@ledger.command()
@click.argument("file", required=False, type=FILE)
@click.option(
    "--head", "expected", metavar="HASH", help="The head it must have, as `ledger head` showed it (or its start)."
)
@with_json
@with_project
def verify(file: Path | None, expected: str | None, as_json: bool, project: Path) -> None:
    """Check every record: of the project's ledger, or of an export or a backup FILE.

    \b
    Examples:
      obverse ledger verify
      obverse ledger verify ledger.jsonl --head 9f3c52a1
    """
    from obverse.curator.ledger import verify_copy, verify_ledger

    kept = verify_ledger(project) if file is None else verify_copy(file)
    if expected is not None and (len(expected) < 8 or not kept.head.hash.startswith(expected.lower())):
        raise LedgerError("head_differs", f"its head is {kept.head.hash}, not the expected one", place=kept.place,
                          why="it is another ledger, or an older or newer state of it.")  # fmt: skip
    anchored = "" if file is not None else "; it is the one last seen on this machine"
    _print(kept, as_json, "Whole", f"{kept.head.count} records, chain unbroken{anchored}")


@ledger.command()
@with_json
@with_project
def head(as_json: bool, project: Path) -> None:
    """Show the number of records and the hash of the last: write it down to compare later."""
    from obverse.curator.ledger import ledger_head

    kept = ledger_head(project)
    _print(kept, as_json, "Ledger", f"{near(Path(kept.place))}, {kept.head.count} records")


@ledger.command()
@click.argument("file", type=FILE)
@with_json
@with_project
def export(file: Path, as_json: bool, project: Path) -> None:
    """Write every record as a line of JSON, for anybody to check without Obverse.

    It holds the questions' text as well: it is the owner's file.
    """
    from obverse.curator.ledger import export_ledger

    kept = export_ledger(project, file)
    _print(kept, as_json, "Wrote", f"{kept.head.count} records to {file}")


@ledger.command()
@click.argument("file", type=FILE)
@with_json
@with_project
def backup(file: Path, as_json: bool, project: Path) -> None:
    """Copy the ledger to one file, while others may write, and verify the copy."""
    from obverse.curator.ledger import backup_ledger

    kept = backup_ledger(project, file)
    _print(kept, as_json, "Wrote", f"{kept.head.count} records to {file}, verified")


@ledger.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@with_json
@with_project
def restore(file: Path, as_json: bool, project: Path) -> None:
    """Put a backup in the ledger's place; what lay there is set aside beside it.

    A backup that is older than what was last seen has forgotten debits: it opens only once you run `ledger
    acknowledge`, which charges the worst that it may have forgotten. Where the ledger lies in PostgreSQL, the FILE is
    one that `ledger move` wrote, and the database takes it in.
    """
    from obverse.curator.ledger import restore_ledger

    kept, doubt = restore_ledger(project, file)
    _print(kept, as_json, "Restored", f"{kept.head.count} records to {near(Path(kept.place))}", doubt)
    if doubt is not None and not as_json:
        print_fact("Note", f"{doubt.message}. `obverse ledger acknowledge --reason TEXT` goes on with it.")


@ledger.command()
@click.argument("file", type=FILE)
@with_json
@with_project
def move(file: Path, as_json: bool, project: Path) -> None:
    """Close the ledger here for good, and write the FILE that goes on elsewhere.

    Put the file in place of the ledger on the other machine, beside the same data: it opens there with the same totals.
    """
    from obverse.curator.ledger import move_ledger

    kept = move_ledger(project, file)
    _print(kept, as_json, "Moved", f"{kept.head.count} records to {file}; the ledger here is closed")


@ledger.command()
@click.option("--reason", required=True, metavar="TEXT", help="What happened; sealed into the ledger.")
@with_json
@with_project
def acknowledge(reason: str, as_json: bool, project: Path) -> None:
    """Go on with a ledger that is missing, older or unknown here.

    The worst that it may have forgotten is charged: the promise to the people in the data comes first.

    \b
    Example:
      obverse ledger acknowledge --reason "disk failed on 3 March, restored the backup of 1 March"
    """
    from obverse.curator.ledger import acknowledge_ledger

    kept = acknowledge_ledger(project, reason)
    _print(kept, as_json, "Charged", "the worst that may have been forgotten; `obverse budget` shows what is left")


def _print(kept: Kept, as_json: bool, label: str, words: str, doubt: LedgerError | None = None) -> None:
    if as_json:
        told = {"version": 1, "path": kept.place, "records": kept.head.count, "head": kept.head.hash}
        print_json(told | ({} if doubt is None else {"doubt": doubt.as_json()["error"]}))
        return
    print_fact(label, words)
    print_fact("Head", kept.head.hash)
