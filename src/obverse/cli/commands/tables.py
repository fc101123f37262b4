"""obverse tables: what may be asked about, from the declarations alone.

obverse schema: the JSON Schema of obverse.toml.

obverse sql: the SQL that is answered, straight from the registries that answer it.
"""

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
def schema(as_json: bool) -> None:
    """Print the JSON Schema of obverse.toml for your editor.

    \b
    Example:
      obverse schema > obverse.schema.json

    With Even Better TOML or taplo, the first line of obverse.toml then says: #:schema ./obverse.schema.json
    """
    from obverse.catalog.keys import json_schema

    print_json(json_schema())


@click.command(cls=Verb)
@click.option("--markdown", is_flag=True, help="Print the table as a page of the documentation.")
@with_json
def sql(as_json: bool, markdown: bool) -> None:
    """List the SQL that is answered, and what is refused.

    \b
    Examples:
      obverse sql
      obverse sql --json
    """
    from obverse.plan.aggregates import AGGREGATES
    from obverse.plan.functions import FUNCTIONS
    from obverse.sql.support import CLAUSES, REFUSALS

    answered = {
        "clause": list(CLAUSES),
        "aggregate": [aggregate.spoken for aggregate in AGGREGATES],
        "function": list(dict.fromkeys(function.spoken or function.name for function in FUNCTIONS)),
    }
    if as_json:
        refused = [{"code": r.code, "message": r.message, "why": r.why, "fix": r.fix} for r in REFUSALS.values()]
        print_json({"version": 1, "answered": answered, "refused": refused})
        return
    if markdown:
        click.echo(
            page(answered, [(r.code, r.message.format(what="X"), r.why, r.fix) for r in REFUSALS.values()]), nl=False
        )
        return
    click.echo("Answered:")
    print_table([Heading("kind"), Heading("SQL")], [[kind, text] for kind, texts in answered.items() for text in texts])
    click.echo("Refused, before anything is spent:")
    rows = [[r.code, r.message.format(what="X"), r.fix] for r in REFUSALS.values()]
    print_table([Heading("code"), Heading("what"), Heading("write instead")], rows)


def page(answered: dict[str, list[str]], refused: list[tuple[str, str, str, str]]) -> str:
    """The table of supported SQL as Markdown; docs/sql.md is this, and a test holds it."""
    lines = ["# SQL that is answered", "", "Made by `obverse sql --markdown` from the registries that answer it.", ""]
    for kind, texts in answered.items():
        lines += [
            f"## {kind.capitalize()}s",
            "",
            *(f"- `{text}`" if kind != "clause" else f"- {text}" for text in texts),
            "",
        ]
    lines += ["## Refused, before anything is spent", "", "| code | what | why | write instead |", "|---|---|---|---|"]
    lines += [f"| `{code}` | {what} | {why} | {fix} |" for code, what, why, fix in refused]
    return "\n".join(lines) + "\n"


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
    from obverse.session.project import load_project
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
