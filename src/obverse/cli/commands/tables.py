"""obverse tables: what may be asked about, from the declarations alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from obverse.cli.errors import Verb
from obverse.cli.options import print_json, with_json, with_project
from obverse.cli.output.terminal import Heading, print_table

if TYPE_CHECKING:
    from obverse.session.views import TableView


@click.command(cls=Verb)
@with_json
@with_project
def tables(as_json: bool, project: Path) -> None:
    """Show what may be asked about.

    Tables and columns as the curator declared them, with bounds and public values. No private row is read, and hidden
    columns are not shown.

    \b
    Examples:
      obverse tables
      obverse tables --json -p hospital
    """
    from obverse.session.opening import load_project
    from obverse.session.views import table_views

    loaded = load_project(project)
    loaded.engine.close()
    found = table_views(loaded.catalog)
    if as_json:
        print_json({"version": 1, "tables": [table.as_json() for table in found]})
        return
    for table in found:
        _print(table)
    if not found:
        click.echo("No table is declared here; `obverse collect` has the surveys.")


def _print(table: TableView) -> None:
    about = "public: exact and free" if table.public else f"protects {table.unit}; {table.limits}"
    click.echo(f"{table.name}  ({about})")
    held = [f"held on the basis of: {table.basis}"] if table.basis else []
    held += [f"for: {', '.join(table.purposes)}"] if table.purposes else []
    held += [f"until {table.retain_until}"] if table.retain_until else []
    if held:
        click.echo(f"  {'; '.join(held)}")
    rows = [[c.name, c.type, "yes" if c.nullable else "no", c.values, c.grid] for c in table.columns]
    print_table([Heading(name) for name in ("column", "type", "may be NULL", "bounds or values", "grid")], rows)
