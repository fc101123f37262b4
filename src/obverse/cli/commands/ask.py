"""obverse ask: SQL in, a private answer with its noise interval, price and claim out.

A file of several questions, cut at its semicolons; those inside strings, quoted names and comments stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from obverse.cli import options
from obverse.cli.errors import Verb, interrupted_early
from obverse.core.errors import Failed

if TYPE_CHECKING:
    from obverse.answers.answer import Answer
    from obverse.session.session import Session


_PIECE = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|;|[^;'\"/-]+|.", re.DOTALL)


def statements(text: str) -> list[str]:
    """The questions, without those that are blank or nothing but comments."""
    found: list[str] = []
    parts: list[str] = []
    meant = False
    for match in _PIECE.finditer(text):
        piece = match.group()
        if piece == ";":
            found += ["".join(parts).strip()] if meant else []
            parts = []
            meant = False
            continue
        parts.append(piece)
        meant = meant or (bool(piece.strip()) and not piece.startswith(("--", "/*")))
    return found + (["".join(parts).strip()] if meant else [])


@click.command(cls=Verb)
@options.with_question
@options.with_asker
@options.with_price
@options.with_series
@options.with_parameters
@click.option("--batch", metavar="FILE.sql", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="Several questions, each ended by ; : planned first, charged once, answered together.")  # fmt: skip
@click.option(
    "--key", default="", metavar="ID", help="Request id: repeating it gives the stored answer, never a second charge."
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV; price and claim go to stderr.")
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path),
              help="Write FILE.csv or FILE.parquet; the claim goes beside it, to FILE.claim.json.")  # fmt: skip
@options.with_json
@options.with_project
def ask(
    sql: str | None, file: Path | None, analyst: str, purpose: str, epsilon: str | None, delta: str | None,
    within: str | None, confidence: float, above: str | None, first: int, params: tuple[str, ...], batch: Path | None,
    key: str, as_csv: bool, out: Path | None, as_json: bool, project: Path,
) -> None:  # fmt: skip
    """Ask SQL; get a private answer with its noise interval and price.

    The budget is charged before any row is read; the same question again is free. What cannot be answered privately is
    refused, and a refusal costs nothing. `obverse explain` tells the price beforehand.

    \b
    Examples:
      obverse ask "SELECT COUNT(*) AS people FROM people WHERE age >= 65"
      obverse ask --within 50 "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
      obverse ask -f question.sql --out answer.parquet
      echo "SELECT AVG(age) FROM people" | obverse ask --json
      obverse ask --param least=65 "SELECT COUNT(*) FROM people WHERE age >= :least"
      obverse ask --above 500 --first 2 "SELECT clinic, COUNT(*) FROM visits GROUP BY clinic"
      obverse ask --batch monthly.sql --epsilon 0.02

    Asked here, in process, --analyst is bookkeeping: whoever can run this can read the files. The boundary against an
    untrusted analyst is `obverse serve`.
    """
    if as_csv + as_json + (out is not None) > 1:
        raise click.UsageError("choose one of --json, --csv and --out.")
    if batch is not None:
        _refuse_beside_batch(sql, file, within, as_csv, out)
        _ask_batch(batch, project, analyst, purpose, epsilon, delta, key, as_json)
        return
    text = options.question_text(sql, file)
    from obverse.cli.output.answers import print_result
    from obverse.cli.output.files import writer_for
    from obverse.session.session import open as open_project

    write = None if out is None else writer_for(out)
    with open_project(project, analyst=analyst, purpose=purpose) as session, stoppable(session):
        price: dict[str, Any] = {
            "epsilon": options.number(epsilon),
            "delta": options.number(delta),
            "within": options.number(within),
        }
        price |= {"above": options.number(above), "first": first, "parameters": options.parameters(params)}
        answer = session.ask(text, **price, confidence=confidence, key=key)
    if write is not None:
        _print_written(answer, out, write(answer))
    else:
        print_result(answer, as_csv=as_csv, as_json=as_json)


def _refuse_beside_batch(
    sql: str | None, file: Path | None, within: str | None, as_csv: bool, out: Path | None
) -> None:
    if sql is not None or file is not None:
        raise click.UsageError("--batch brings its own questions; leave the SQL out.")
    if within is not None:
        raise click.UsageError("a batch is priced by --epsilon for each question, not by --within.")
    if as_csv or out is not None:
        raise click.UsageError("a batch has several answers; print it as text or with --json.")


def _ask_batch(
    batch: Path,
    project: Path,
    analyst: str,
    purpose: str,
    epsilon: str | None,
    delta: str | None,
    key: str,
    as_json: bool,
) -> None:
    from obverse.cli.output.answers import print_batch
    from obverse.session.session import open as open_project

    questions = statements(options.read_text(batch.read_bytes()))
    with open_project(project, analyst=analyst, purpose=purpose) as session, stoppable(session):
        answers = session.ask_all(questions, epsilon=options.number(epsilon), delta=options.number(delta), key=key)
    if as_json:
        options.print_json({"version": 1, "answers": [answer.as_json() for answer in answers]})
        return
    print_batch(questions, answers)


@contextmanager
def stoppable(session: Session) -> Iterator[None]:
    """Say truly what an interruption cost: before the debit nothing, after it everything. A wheel turns meanwhile."""
    from obverse.cli.output.progress import patience

    ledger = session.ledger if session.catalog.unit is not None else None
    before = ledger.spent() if ledger is not None else None
    try:
        with patience("asking"):
            yield
    except KeyboardInterrupt:
        if ledger is None or ledger.spent() == before:
            raise interrupted_early() from None
        raise Failed(
            "interrupted",
            "interrupted while the ledger was being written.",
            why="a charge was entered meanwhile, and a charge stays.",
            fix="`obverse budget` shows what is left; asking again may cost again.",
            charged=True,
        ) from None


def _print_written(answer: Answer, out: Path | None, claim: Path) -> None:
    from obverse.cli.output.answers import print_costs
    from obverse.cli.output.terminal import print_fact

    print_fact("Wrote", f"{out}, and its claim to {claim}")
    print_costs(answer)
