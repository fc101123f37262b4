"""obverse serve: refused in this version, with the reason."""

from __future__ import annotations

import sys

import click

from obverse.cli.failures import Verb
from obverse.cli.options import with_json, with_project
from obverse.core.errors import Refused


@click.command(cls=Verb)
@with_json
@with_project
def serve(as_json: bool, project: object) -> None:
    """Serve untrusted analysts over the network (a later version).

    In process, whoever can run Obverse can read the files. A service is the boundary: analysts reach it over the network,
    and only noisy values leave the process that reads rows.
    """
    raise refusal(sys.platform)


def refusal(platform: str) -> Refused:
    if platform.startswith("linux"):
        return Refused(
            "serve_not_available",
            "this version does not serve yet.",
            why="the service comes with a later version.",
            fix="run `obverse ask` where the files are, and hand out the answers.",
        )
    return Refused(
        "serve_needs_linux",
        "`serve` runs on Linux only.",
        why="it keeps rows in a separate process, with isolation that only Linux offers here.",
        fix="use a Linux machine or container; everything else runs here.",
    )
