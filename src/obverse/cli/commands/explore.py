"""obverse explore: what epsilon, caps and delta do to the curator's own questions."""

from __future__ import annotations

from pathlib import Path

import click

from obverse.cli.commands.statements import statements
from obverse.cli.errors import Verb
from obverse.cli.options import print_json, read_text, with_json, with_project
from obverse.cli.output.terminal import print_fact


@click.command(cls=Verb)
@click.argument("sql", nargs=-1)
@click.option(
    "-f", "--file", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Read questions from a file, each ended by a semicolon.",
)  # fmt: skip
@click.option("--epsilons", default="", metavar="E,E,...", help="Epsilons of one question to try.")
@click.option("--caps", default="", metavar="N,N,...", help="Caps on one unit's rows and groups to try.")
@click.option("--deltas", default="", metavar="D,D,...", help="Deltas of one question to try.")
@click.option("--people", type=click.IntRange(1), metavar="N", help="How many people there are, as everybody may know.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Level of the noise interval.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Also write .html or .svg.")
@click.option("--world", is_flag=True, help="Only list epsilons that are in use elsewhere, with unit, period and source.")
@with_json
@with_project
def explore(
    sql: tuple[str, ...], file: Path | None, epsilons: str, caps: str, deltas: str, people: int | None, confidence: float,
    out: Path | None, world: bool, as_json: bool, project: Path,
) -> None:  # fmt: skip
    """Compare settings before choosing them; costs nothing.

    For your own questions, or for those that the declared tables suggest: the error against epsilon, against caps on one
    unit's rows and against delta, with a trusted curator and without one, and asked once or many times. Opens no ledger
    and reads no private row.

    \b
    Examples:
      obverse explore -p hospital
      obverse explore "SELECT sex, COUNT(*) FROM people GROUP BY sex" --epsilons 0.05,0.1,0.5
      obverse explore -f questions.sql --out settings.html
      obverse explore --world
    """
    from obverse.cli.commands.explored import print_explored, print_world, world_json

    if world:
        print_json(world_json()) if as_json else print_world()
        return
    from obverse.cli.commands.explored_page import check_kind, write
    from obverse.curator.exploring import explore as explored
    from obverse.curator.sweeps import sought_of

    if out is not None:
        check_kind(out)
    texts = (*sql, *(statements(read_text(file.read_bytes())) if file is not None else ()))
    found = explored(project, texts, sought_of(epsilons, caps, deltas, people, confidence))
    if out is not None:
        write(found, out)
    if as_json:
        print_json({"version": 1, "questions": [one.as_json() for one in found]})
        return
    print_explored(found)
    if out is not None:
        print_fact("Wrote", str(out))
