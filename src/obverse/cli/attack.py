"""obverse attack: what leaks, shown by doing it."""

from __future__ import annotations

import click

from obverse.cli.audit import audit
from obverse.cli.failures import VerbGroup


@click.group(cls=VerbGroup)
def attack() -> None:
    """See what leaks: attacks on tables, answers and interfaces."""


attack.add_command(audit)
