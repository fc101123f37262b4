"""obverse rehearse: the same question on rows made up from obverse.toml alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from obverse.cli.errors import Verb
from obverse.cli.options import number, question_text, with_asker, with_json, with_price, with_project, with_question

if TYPE_CHECKING:
    from obverse.answers.answer import Answer

MARK = "every private row, from obverse.toml alone. These numbers say nothing about anybody."


@click.command(cls=Verb)
@with_question
@with_asker
@with_price
@click.option("--rows", type=int, default=1000, show_default=True, metavar="N",
              help="How many protected units to make up, unless their public number is declared.")  # fmt: skip
@click.option(
    "--seed", type=int, default=0, show_default=True, metavar="S", help="Another seed makes other rows and noise."
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV; what it is goes to stderr.")
@with_json
@with_project
def rehearse(
    sql: str | None, file: Path | None, analyst: str, purpose: str, epsilon: str | None, delta: str | None,
    within: str | None, confidence: float, rows: int, seed: int, as_csv: bool, as_json: bool, project: Path,
) -> None:  # fmt: skip
    """Try a question on made-up rows; costs nothing.

    Rows are made up from the declared types, bounds, values and limits; no private file is opened, so it may be
    missing, and no ledger is written. Everything else is as in `obverse ask`: what is refused, how the answer looks,
    how much noise it carries. Public tables are read as they are.

    \b
    Examples:
      obverse rehearse "SELECT sex, AVG(age) FROM people GROUP BY sex"
      obverse rehearse --within 50 --json -f question.sql
      obverse rehearse --rows 20000 --seed 7 "SELECT COUNT(*) FROM people"
    """
    if as_csv and as_json:
        raise click.UsageError("choose one of --json and --csv.")
    text = question_text(sql, file)
    from obverse.cli.output.progress import patience
    from obverse.session.rehearsal import rehearse as run

    with patience("rehearsing"):
        answer = run(
            project, text, epsilon=number(epsilon), delta=number(delta), within=number(within), confidence=confidence,
            analyst=analyst, purpose=purpose, rows=rows, seed=seed,
        )  # fmt: skip
    _print(answer, as_csv, as_json)


def _print(answer: Answer, as_csv: bool, as_json: bool) -> None:
    from obverse.cli.output.answers import print_result
    from obverse.cli.output.terminal import print_fact
    from obverse.core.claim import DECLARED, PUBLIC

    if answer.claim not in (PUBLIC, DECLARED) and not as_json:
        print_fact("Made up", MARK, err=as_csv, colour="yellow")
        click.echo(err=as_csv)
    print_result(answer, as_csv=as_csv, as_json=as_json)
