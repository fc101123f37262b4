"""obverse data: versions of the rows."""

from __future__ import annotations

from pathlib import Path

import click

from obverse.cli.failures import VerbGroup
from obverse.cli.options import print_json, with_json, with_project
from obverse.cli.terminal import print_fact


@click.group(cls=VerbGroup)
def data() -> None:
    """Register a new version of the rows: `data publish`."""


@data.command()
@click.option("--through", metavar="VALUE", help="Growing data: the last partition that the rows hold now.")
@with_json
@with_project
def publish(through: str | None, as_json: bool, project: Path) -> None:
    """Register the rows as they are now as a new version.

    From now on questions that were asked before are asked anew, of the new rows, and cost again. The version is a random
    id: it tells nothing of the rows. The budget does not refill: it belongs to the people in the data. Where a table grows
    by partitions, those that are new begin with a budget of their own.
    """
    from obverse.session.curator import publish_data

    version = publish_data(project, through)
    if as_json:
        print_json({"version": 1, "data_version": version})
    else:
        print_fact("Version", f"{version}; questions are asked anew from now on")
