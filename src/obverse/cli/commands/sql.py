"""obverse sql: the SQL that is answered, straight from the registries that answer it."""

from __future__ import annotations

import click

from obverse.cli.errors import Verb
from obverse.cli.options import print_json, with_json
from obverse.cli.output.terminal import Heading, print_table


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
        click.echo(page(answered, [(r.code, r.message.format(what="X"), r.why, r.fix) for r in REFUSALS.values()]), nl=False)
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
        lines += [f"## {kind.capitalize()}s", "", *(f"- `{text}`" if kind != "clause" else f"- {text}" for text in texts), ""]
    lines += ["## Refused, before anything is spent", "", "| code | what | why | write instead |", "|---|---|---|---|"]
    lines += [f"| `{code}` | {what} | {why} | {fix} |" for code, what, why, fix in refused]
    return "\n".join(lines) + "\n"
