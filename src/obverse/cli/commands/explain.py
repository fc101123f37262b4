"""obverse explain: the same question stopped before any data is touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from obverse.cli.errors import Verb
from obverse.cli.options import (
    number,
    parameters,
    print_json,
    question_text,
    with_asker,
    with_json,
    with_parameters,
    with_price,
    with_project,
    with_question,
    with_series,
)


@click.command(cls=Verb)
@with_question
@with_asker
@with_price
@with_series
@with_parameters
@click.option("--sql", "with_sql", is_flag=True, help="Show the text that the engine would get, for the curator.")
@with_json
@with_project
def explain(
    sql: str | None, file: Path | None, analyst: str, purpose: str, epsilon: str | None, delta: str | None,
    within: str | None, confidence: float, above: str | None, first: int, params: tuple[str, ...], with_sql: bool,
    as_json: bool, project: Path,
) -> None:  # fmt: skip
    """See noise, error and price of a question; costs nothing.

    Reads no row and spends nothing: how far one protected unit can move each measure, the noise that hides it, how wrong
    the answer may be, and the price. What is quoted here is what `obverse ask` charges.

    \b
    Examples:
      obverse explain "SELECT COUNT(*) FROM people"
      obverse explain --within 20 "SELECT sex, COUNT(*) FROM people GROUP BY sex"
      obverse explain --json -f question.sql
    """
    text = question_text(sql, file)
    from obverse.cli.output.answers import print_explained
    from obverse.session.session import open as open_project

    with open_project(project, analyst=analyst, purpose=purpose) as session:
        price: dict[str, Any] = {"epsilon": number(epsilon), "delta": number(delta), "within": number(within)}
        price |= {"above": number(above), "first": first, "parameters": parameters(params)}
        found = session.explain(text, **price, confidence=confidence)
    if as_json:
        print_json(found.as_json() | ({"engine_sql": found.engine_sql} if with_sql else {}))
        return
    print_explained(found)
    if with_sql and found.engine_sql:
        click.echo(f"\n{found.engine_sql}")
