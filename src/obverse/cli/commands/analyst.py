"""obverse analyst: who may ask."""

from __future__ import annotations

from pathlib import Path

import click

from obverse.cli.errors import VerbGroup
from obverse.cli.options import print_json, with_json, with_project
from obverse.cli.output.terminal import near, print_fact


@click.group(cls=VerbGroup)
def analyst() -> None:
    """Declare who may ask: `analyst add NAME`."""


@analyst.command()
@click.argument("name")
@click.option("--epsilon", metavar="E", help="A cap of their own; default: only the cap on everybody.")
@click.option("--delta", metavar="D", help="The delta of that cap.")
@click.option("--purpose", "purposes", multiple=True, metavar="NAME", help="A purpose they may ask for (repeat for more).")
@with_json
@with_project
def add(name: str, epsilon: str | None, delta: str | None, purposes: tuple[str, ...], as_json: bool, project: Path) -> None:
    """Add an analyst to obverse.toml, keeping its comments.

    Caps of analysts lie below the one that binds everybody, so that analysts who share what they learn gain nothing.

    \b
    Examples:
      obverse analyst add ana
      obverse analyst add ben --epsilon 1 --purpose quality
    """
    from obverse.curator.curator import add_analyst

    file = add_analyst(project, name, epsilon, delta, purposes)
    if as_json:
        print_json({"version": 1, "analyst": name, "file": str(file)})
    else:
        print_fact("Added", f"{name}, in {near(file)}")
