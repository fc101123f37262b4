"""obverse explain: the same question stopped before any data is touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from obverse.cli import options
from obverse.cli.errors import Verb


@click.command(cls=Verb)
@options.with_question
@options.with_asker
@options.with_price
@options.with_series
@options.with_parameters
@click.option("--sql", "with_sql", is_flag=True, help="Show the text that the engine would get, for the curator.")
@options.with_json
@options.with_project
def explain(
    sql: str | None, file: Path | None, analyst: str, purpose: str, epsilon: str | None, delta: str | None,
    within: str | None, confidence: float, above: str | None, first: int, params: tuple[str, ...], with_sql: bool,
    as_json: bool, project: Path,
) -> None:  # fmt: skip
    """See noise, error and price of a question; costs nothing.

    Reads no row and spends nothing: how far one protected unit can move each measure, the noise that hides it, how
    wrong the answer may be, and the price. What is quoted here is what `obverse ask` charges.

    \b
    Examples:
      obverse explain "SELECT COUNT(*) FROM people"
      obverse explain --within 20 "SELECT sex, COUNT(*) FROM people GROUP BY sex"
      obverse explain --json -f question.sql
    """
    text = options.question_text(sql, file)
    from obverse.cli.output.answers import print_explained
    from obverse.session.session import open as open_project

    with open_project(project, analyst=analyst, purpose=purpose) as session:
        price: dict[str, Any] = {
            "epsilon": options.number(epsilon),
            "delta": options.number(delta),
            "within": options.number(within),
        }
        price |= {"above": options.number(above), "first": first, "parameters": options.parameters(params)}
        found = session.explain(text, **price, confidence=confidence)
    if as_json:
        options.print_json(found.as_json() | ({"engine_sql": found.engine_sql} if with_sql else {}))
        return
    print_explained(found)
    if with_sql and found.engine_sql:
        click.echo(f"\n{found.engine_sql}")
