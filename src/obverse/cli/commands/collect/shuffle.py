"""obverse collect shuffler, shuffle: another party than the collector, who hands on reports without their senders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from obverse.cli.errors import Verb
from obverse.cli.options import F, print_json, with_json, with_project
from obverse.cli.output.terminal import print_fact

if TYPE_CHECKING:
    from obverse.collect.attested import Shuffled
    from obverse.collect.shuffling import Shuffler


def with_shuffler(function: F) -> F:
    """Where the shuffler keeps its key and the marks of spent tokens."""
    return click.option(
        "--shuffler", "folder", metavar="FOLDER", type=click.Path(path_type=Path), help="Folder of a shuffler's key and ledger."
    )(function)


@click.command(cls=Verb)
@with_shuffler
@with_json
def shuffler(folder: Path | None, as_json: bool) -> None:
    """The public key of a shuffler, to be declared as [surveys.NAME.shuffler]; a pair is made when there is none."""
    key = _opened(folder).public
    if as_json:
        print_json({"version": 1, "key": key})
    else:
        click.echo(key)


@click.command(cls=Verb)
@click.argument("name")
@click.argument("reports", type=click.File("rb"), default="-")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Where the batch is written.")
@click.option("--epoch", type=click.IntRange(0, 65535), default=0, show_default=True, help="The epoch that is collected.")
@with_shuffler
@with_json
@with_project
def shuffle(
    name: str, reports: BinaryIO, out: Path, epoch: int, folder: Path | None, as_json: bool, project: Path
) -> None:
    """Check reports, take away their tokens and their order, and sign the batch for `collect add`."""
    from obverse.collect.surveys import spec_in, submitted

    spec, _ = spec_in(project, name)
    came = [one for some in submitted(reports) for one in some]
    rejected = _opened(folder).shuffle(spec, came, out, epoch=epoch)
    counted = len(came) - sum(rejected.values())
    if as_json:
        print_json({"version": 1, "batch": str(out), "shuffled": counted, "rejected": rejected})
        return
    print_fact("Shuffled", f"{counted:,}")
    for reason, count in rejected.items():
        print_fact("Rejected", f"{count:,} ({reason})")


def fresh_tokens(project: Path, name: str, number: int, folder: Path | None) -> list[bytes]:
    """Those of the collector, or of the shuffler whose folder is named."""
    from obverse.collect.surveys import collection_in, spec_in

    if folder is None:
        return collection_in(project, name).tokens(number)
    return _opened(folder).tokens(spec_in(project, name)[0], number)


def shuffled_json(found: Shuffled | None) -> dict[str, Any]:
    """What an estimate says of shuffling: nothing, unless batches are attested."""
    return {} if found is None else {"shuffled": found.as_json()}


def print_shuffled(found: Shuffled | None) -> None:
    if found is not None:
        print_fact("Shuffled", found.words())


def _opened(folder: Path | None) -> Shuffler:
    from obverse.collect.shuffling import Shuffler
    from obverse.ledger.home import default_home

    return Shuffler(folder or default_home() / "shuffler")
