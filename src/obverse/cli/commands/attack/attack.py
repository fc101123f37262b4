"""obverse attack: what a release or an interface gives away."""

from __future__ import annotations

import click

from obverse.cli.commands.attack.audit import audit
from obverse.cli.commands.attack.compare import compare
from obverse.cli.commands.attack.interfaces import (
    averaging,
    differencing,
    low_bits,
    membership,
    reconstruction,
    tracker,
)
from obverse.cli.commands.attack.services import bypass, timing
from obverse.cli.commands.attack.tables import (
    attribute,
    background,
    fuzzy_linkage,
    homogeneity,
    intersection,
    linkage,
    sampling,
)
from obverse.cli.errors import VerbGroup
from obverse.cli.options import print_json, with_json
from obverse.cli.output.terminal import Heading, print_table


@click.group(cls=VerbGroup)
def attack() -> None:
    """Attack a release or an interface: what does it give away?

    Each attack has a control, which tells what it wins where nothing can be known, and says whether it surely does
    better.

    \b
    Exit codes: 0 no leak was found, 5 it leaks, 2 usage, 3 refused.
    """


@attack.command(name="list")
@with_json
def list_(as_json: bool) -> None:
    """What attacks there are."""
    from obverse.attack.attacks import ATTACKS, ON_TABLES

    found = [(one.name.replace("_", "-"), "a table" if one in ON_TABLES else "answers", one.summary) for one in ATTACKS]
    if as_json:
        print_json({"version": 1, "attacks": [{"name": name, "on": on, "summary": said} for name, on, said in found]})
    else:
        print_table([Heading("attack"), Heading("on"), Heading("what it does")], [list(line) for line in found])


for command in (
    linkage, fuzzy_linkage, homogeneity, background, intersection, sampling, attribute,
    differencing, averaging, tracker, reconstruction, membership, low_bits, timing, bypass, audit, compare,
):  # fmt: skip
    attack.add_command(command)
