"""obverse schema: the JSON Schema of obverse.toml."""

from __future__ import annotations

import click

from obverse.cli.errors import Verb
from obverse.cli.options import print_json, with_json


@click.command(cls=Verb)
@with_json
def schema(as_json: bool) -> None:
    """Print the JSON Schema of obverse.toml for your editor.

    \b
    Example:
      obverse schema > obverse.schema.json

    With Even Better TOML or taplo, the first line of obverse.toml then says: #:schema ./obverse.schema.json
    """
    from obverse.catalog.schema import json_schema

    print_json(json_schema())
