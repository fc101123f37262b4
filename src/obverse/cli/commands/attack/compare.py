"""obverse attack compare: one table released in all the ways, the same attacks on each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from obverse.cli.commands.attack.output import FILE, with_door
from obverse.cli.errors import Verb
from obverse.cli.options import QUASI, SECRET, Range, print_json, with_json
from obverse.cli.output.files import check_kind, save
from obverse.cli.output.progress import progress
from obverse.cli.output.terminal import Heading, percent, print_fact, print_table

if TYPE_CHECKING:
    from obverse.review.tables import Reading


@click.command(cls=Verb)
@click.argument("file", type=FILE)
@click.option(*QUASI, required=True, metavar="COLUMNS", help="What others may know of a person, with commas between.")
@click.option(*SECRET, required=True, metavar="COLUMN", help="What must not become known of anybody.")
@click.option("--k", type=click.IntRange(2), default=5, show_default=True, help="Of the k-anonymous release.")
@click.option("--sample", type=Range(0, 1, min_open=True), default=0.1, show_default=True, help="Of the raw sample.")
@click.option("--epsilons", default="0.1,1,10", show_default=True, metavar="LIST", help="At which the table is asked.")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of who is released and who is the control."
)
@click.option("--plot", type=click.Path(path_type=Path), metavar="FILE",
              help="Draw privacy against utility, as .html, .svg or .png.")  # fmt: skip
@with_door
@with_json
def compare(
    file: Path,
    quasi: str,
    secret: str,
    k: int,
    sample: float,
    epsilons: str,
    seed: int,
    plot: Path | None,
    as_json: bool,
    door: Reading,
) -> None:
    """Release one table in all the ways, attack each, and show what each is still good for.

    Each row is taken as a person. Half of them are released: as a raw sample, without names, k-anonymous, as exact
    counts, and through `ask` at several epsilons. The other half are the control. Nothing is charged; a project's table
    is read by the curator's door.

    \b
    Example:
      obverse attack compare patients.csv --quasi age,zip,sex --secret disease --plot compared.png
    """
    from obverse.review.compare import Asked, compare, listed

    names = tuple(part.strip() for part in quasi.split(",") if part.strip())
    if not names:
        raise click.UsageError("name the quasi-identifiers: --quasi age,zip,sex")
    if plot is not None:
        check_kind(plot)
    asked = Asked(names, secret, k, sample, tuple(listed(epsilons)), seed)
    with progress("attacking") as shown:
        found = compare(door.one_row_each(file, (*names, secret)), asked, shown, file.name)
    if plot is not None:
        save(found.plot(), plot)
    if as_json:
        print_json(found.as_json())
        return
    titles = ("secret guessed: inside", "outside", "linked: inside", "outside", "leaks", "error of counts")
    rows = []
    for row in found.rows:
        rates = [percent(x) for one in row.findings for x in (one.rate.value, one.usual)]
        leaks = ", ".join(one.attack for one in row.findings if one.leaks) or "-"
        rows.append([row.release, *rates, leaks, percent(row.error)])
    print_table([Heading("release"), *(Heading(title, "right") for title in titles)], rows)
    people = f"{found.people:,} are released, and as many are not; attacks on these are the control"
    print_fact("People", f"{people}. Each row is taken as a person")
    print_fact("Error", "of counts by each quasi-identifier and the secret, as a share of people, on average")
    if plot is not None:
        print_fact("Wrote", str(plot))
