"""obverse attack audit: which secrets follow from sums that were answered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from obverse.cli.commands.attack.output import LEAKS, with_door
from obverse.cli.errors import Verb
from obverse.cli.options import Range, print_json, with_json
from obverse.cli.output.progress import patience
from obverse.cli.output.terminal import Heading, print_fact, print_table

if TYPE_CHECKING:
    from obverse.attack.auditing import Audited
    from obverse.review.audit import Questions
    from obverse.review.tables import Reading

SHOWN = 20


@click.command(cls=Verb)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--real", is_flag=True, help="Secrets are any numbers, not yes or no: linear algebra alone; needs no sums."
)
@click.option("--table", type=click.Path(path_type=Path), metavar="FILE", help="FILE asks in SQL of this table.")
@click.option("--secret", metavar="COLUMN", help="With --table: the secret column; the others are public.")
@click.option("--name", metavar="COLUMN", help="With --table: call rows by this column.")
@click.option("--online", is_flag=True, help="Replay the questions before an auditor whose denials tell nothing.")
@click.option("--time-limit", type=Range(0, min_open=True), default=30.0, show_default=True, metavar="S",
              help="Seconds; what is not decided then is called undecided.")  # fmt: skip
@click.option("--prior", type=float, default=0.5, show_default=True, help="--online: chance of yes.")
@click.option("--widening", type=float, default=0.9, show_default=True, help="--online: how far a belief may move.")
@click.option(
    "--risk", type=float, default=0.2, show_default=True, help="--online: chance that one ever moves further."
)
@with_door
@with_json
def audit(
    file: Path, real: bool, table: Path | None, secret: str | None, name: str | None, online: bool, time_limit: float,
    prior: float, widening: float, risk: float, as_json: bool, door: Reading,
) -> None:  # fmt: skip
    """Which secrets do answered sums determine, and which questions give them away?

    FILE lists sets of secrets and their sums, in JSON or CSV; or, with --table and --secret, questions in SQL.

    \b
    Examples:
      obverse attack audit sums.json
      obverse attack audit asked.sql --table staff.csv --secret salary --real --name employee
      obverse attack audit sums.csv --online --risk 0.1
    """
    from obverse.attack.auditing import audit_booleans, audit_reals
    from obverse.review.audit import read_questions, read_sets

    if (table is None) is not (secret is None):
        raise click.UsageError("give --table and --secret together.")
    asked = read_sets(file) if table is None or secret is None else read_questions(file, table, secret, name, door)
    if online:
        _print_online(asked, _replayed(asked, real, prior, widening, risk), as_json)
        return
    with patience("auditing"):
        if real:
            found = audit_reals(len(asked.secrets), asked.sums)
        else:
            found = audit_booleans(len(asked.secrets), asked.sums, time_limit_s=time_limit)
    _print(asked, found, as_json)
    if found.determined:
        click.get_current_context().exit(LEAKS)


def _replayed(asked: Questions, real: bool, prior: float, widening: float, risk: float) -> list[bool]:
    """For each question whether a simulatable auditor grants it; the answers of those granted are taken from the
    file.
    """
    from obverse.attack.auditing.online import BooleanAuditor, LinearAuditor
    from obverse.core.errors import Refused

    if real:
        linear = LinearAuditor()
        return [linear.grants(one.of) for one in asked.sums]
    if not all(0 < share < 1 for share in (prior, widening, risk)):
        raise click.UsageError("--prior, --widening and --risk lie between 0 and 1.")
    boolean = BooleanAuditor(len(asked.secrets), prior, widening, risk, max(1, len(asked.sums)))
    granted = []
    for one in asked.sums:
        granted.append(boolean.grants(one.of))
        if granted[-1]:
            if not isinstance(one.answer, int):
                raise Refused("bad_sums", "replaying yes-or-no secrets needs whole sums.", fix="Give them, or --real.")
            boolean.answered(one.of, one.answer)
    return granted


def _print(asked: Questions, found: Audited, as_json: bool) -> None:
    if as_json:
        print_json({"version": 1, **found.as_json(asked.secrets), "asked": list(asked.asked)})
        return
    print_fact("Found", found.sentence, colour="red" if found.determined else "cyan")
    rows = [
        [
            asked.secrets[one.secret],
            "?" if one.value is None else str(one.value),
            ", ".join(map(str, one.questions)),
            one.by,
        ]
        for one in found.determined[:SHOWN]
    ]
    if rows:
        click.echo()
        print_table([Heading("secret"), Heading("value", "right"), Heading("questions"), Heading("by")], rows)
    if len(found.determined) > SHOWN:
        print_fact("More", f"{len(found.determined) - SHOWN:,} are left out here; --json lists all.")
    for number in sorted({q for one in found.determined[:SHOWN] for q in one.questions})[:SHOWN]:
        print_fact(str(number), asked.asked[number])


def _print_online(asked: Questions, granted: list[bool], as_json: bool) -> None:
    if as_json:
        listed: list[dict[str, Any]] = [{"question": text, "granted": one} for text, one in zip(asked.asked, granted)]
        print_json({"version": 1, "questions": listed, "granted": sum(granted), "denied": len(granted) - sum(granted)})
        return
    for text, one in zip(asked.asked, granted):
        print_fact("granted" if one else "denied", text, colour="cyan" if one else "red")
