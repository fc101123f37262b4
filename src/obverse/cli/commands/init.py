"""obverse init: a first obverse.toml, with the questions that only the curator can answer."""

from __future__ import annotations

from pathlib import Path

import click

from obverse.cli.errors import Verb
from obverse.cli.options import print_json, with_json, with_project
from obverse.cli.output.terminal import folded, print_fact


@click.command(cls=Verb)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--sniff", is_flag=True, help="Read the values of CSV files to find their types: on your word, it is your data.")
@click.option("--name", metavar="NAME", help="The project's name; default: the folder's.")
@with_json
@with_project
def init(files: tuple[str, ...], sniff: bool, name: str | None, as_json: bool, project: Path) -> None:
    """Draft obverse.toml from column names and declared types.

    Parquet and DuckDB files declare their types; of a CSV file only the header line is read. Bounds and values are never
    taken from the rows, because they would reveal them: the draft asks you instead.

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
    print_fact("Read", "column names, declared types, values of CSV files" if sniff else "column names and declared types only")
    if drafted.guessed:
        print_fact("Types", "of CSV columns are guesses from their names; --sniff reads them from the values, on your word")
    if drafted.odd_dates:
        form = "dates are read where they are written 2020-12-31; these are not, and are text until the file is written anew"
        print_fact("Dates", f"{form}: {', '.join(drafted.odd_dates)}")
    count = len(drafted.questions)
    print_fact("Wrote", f"{drafted.path}, with {count} question{'' if count == 1 else 's'} for you:")
    asked = (question.partition(": ") for question in drafted.questions)
    for about, what in folded((about, what) for about, _, what in asked):
        print_fact("", f"? {about}: {what}", hanging=2)
    print_fact("Next", "answer them in the file, then run `obverse check`")
