"""obverse collect estimate: what was found, from the counts of one collector or of several.

obverse collect shuffler, shuffle: another party than the collector, who hands on reports without their senders.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

import click

from obverse.cli.commands.collect.output import print_estimate, print_estimates
from obverse.cli.errors import Verb
from obverse.cli.options import F, Range, print_json, with_json, with_project
from obverse.cli.output.files import save
from obverse.cli.output.terminal import print_fact
from obverse.core.errors import Refused

if TYPE_CHECKING:
    from obverse.collect.estimate import Estimate
    from obverse.collect.questions import Estimates
    from obverse.collect.shuffler import Shuffled, Shuffler
    from obverse.collect.spec import Spec
    from obverse.collect.tally import Tally


def with_shuffler(function: F) -> F:
    """Where the shuffler keeps its key and the marks of spent tokens."""
    return click.option(
        "--shuffler",
        "folder",
        metavar="FOLDER",
        type=click.Path(path_type=Path),
        help="Folder of a shuffler's key and ledger.",
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
@click.option(
    "--epoch", type=click.IntRange(0, 65535), default=0, show_default=True, help="The epoch that is collected."
)
@with_shuffler
@with_json
@with_project
def shuffle(
    name: str, reports: BinaryIO, out: Path, epoch: int, folder: Path | None, as_json: bool, project: Path
) -> None:
    """Check reports, take away their tokens and their order, and sign the batch for `collect add`."""
    from obverse.collect.project import spec_in, submitted

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
    from obverse.collect.project import collection_in, spec_in

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
    from obverse.collect.shuffler import Shuffler
    from obverse.ledger.home import default_home

    return Shuffler(folder or default_home() / "shuffler")


@click.command(cls=Verb)
@click.argument("name")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Level of the intervals.")
@click.option("--simultaneous", is_flag=True, help="Widen intervals so that all of them hold at once.")
@click.option("--malicious", type=Range(0, 1), default=0.01, show_default=True, help="Share of crafted reports.")
@click.option(
    "--delta", type=float, default=1e-8, show_default=True, help="At which a shuffled batch's epsilon is told."
)
@click.option("--items", type=click.File("r"), help="Texts to estimate, one a line; else words are discovered.")
@click.option("--beyond", type=Range(0, 1), metavar="SHARE",
              help="Share of reports that carry no answer; by default all that the schedule allows.")  # fmt: skip
@click.option(
    "--each", type=click.IntRange(1), metavar="K", help="Reports that one device sent at most; by default all."
)
@click.option("--people", type=click.IntRange(1), metavar="N", help="How many people took part, at most.")
@click.option(
    "--regress", is_flag=True, help="RAPPOR: find which of the texts explain the reports, and which share none does."
)
@click.option(
    "--merge", type=click.File("rb"), multiple=True, metavar="FILE", help="Counts that another collector saved."
)
@click.option("--plot", type=click.Path(path_type=Path), metavar="FILE", help="Draw it, as .html, .svg or .png.")
@with_json
@with_project
def estimate(
    name: str,
    confidence: float,
    simultaneous: bool,
    malicious: float,
    delta: float,
    items: TextIO | None,
    beyond: float | None,
    each: int | None,
    people: int | None,
    regress: bool,
    merge: tuple[BinaryIO, ...],
    plot: Path | None,
    as_json: bool,
    project: Path,
) -> None:
    """Shares of the answers, unbiased, with intervals, tests and the worst that liars could do.

    Where a lifetime's epsilon pays for fewer reports than the schedule has, the later ones carry no answer. Intervals
    hold whatever share that is; --people and --each say what you know of it.
    """
    from obverse.collect.project import collection_in
    from obverse.collect.questions import Estimates
    from obverse.collect.shuffler import shuffling
    from obverse.collect.tally import loaded

    collection = collection_in(project, name)
    counted = collection.tally()
    for file in merge:
        counted = counted.plus(loaded(collection.spec.digest, collection.spec.protocol, file.read()))
    shuffled = None if merge else shuffling(collection, delta, malicious)  # of what is merged nothing is known
    named = tuple(line.strip() for line in items or () if line.strip())
    found = _estimated(
        collection.spec, counted, named, regress, level=confidence, simultaneous=simultaneous, malice=malicious,
        beyond=beyond, each=each, people=people,
    )  # fmt: skip
    if plot is not None:
        save(found.plot(), plot)
    if as_json:
        print_json(found.as_json() | shuffled_json(shuffled))
        return
    if isinstance(found, Estimates):
        print_estimates(found)
    else:
        print_estimate(found, len(named))
    print_shuffled(shuffled)
    if plot is not None:
        print_fact("Wrote", str(plot))


def _estimated(spec: Spec, counted: Tally, named: tuple[str, ...], regress: bool, **known: Any) -> Estimate | Estimates:
    """Of one question, or of each of several."""
    from obverse.collect.estimate import estimate as estimated
    from obverse.collect.questions import estimates

    if not spec.parts:
        return estimated(spec, counted, named, regress=regress, **known)
    if named or regress:
        what = "a survey of several questions has the answers that it lists."
        raise Refused("bad_choice", what, fix="Leave --items and --regress away.")
    return estimates(spec, counted, **known)
