"""obverse attack on services: how long they take to reply, and whether they keep to a budget."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

import click

from obverse.cli.commands.attack.output import finish
from obverse.cli.commands.attack.targets import called_by
from obverse.cli.errors import Verb
from obverse.cli.options import number, with_json

F = TypeVar("F", bound=Callable[..., Any])
NUMBER = "{}"


def with_question(function: F) -> F:
    return click.option(
        "--sql",
        required=True,
        metavar="SQL",
        help="One number; {} is the number of the question, so that each is another.",
    )(function)


@click.command(cls=Verb)
@click.argument("with_person", metavar="WITH")
@click.argument("without", metavar="WITHOUT")
@with_question
@click.option("--replies", type=click.IntRange(20), default=200, show_default=True, help="So many of each; half teach.")
@click.option("--epsilon", metavar="E", help="The price of each question; not for functions.")
@click.option(
    "--token-env", "tokens", multiple=True, metavar="VAR", help="Variable with a token: for both URLs, or each."
)
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help="Of the order in which they are asked."
)
@with_json
def timing(
    with_person: str, without: str, sql: str, replies: int, epsilon: str | None, tokens: tuple[str, ...], seed: int,
    as_json: bool,
) -> None:  # fmt: skip
    """Tell from the time of a reply whether somebody's rows are there.

    WITH and WITHOUT answer over the same data, but for one person: each is a URL of a service
    (https://host/v1/PROJECT), a project's folder, dsn-env:VAR (VAR holds the connection string of a PostgreSQL server),
    or a Python function module:name. They are asked in an order that is drawn by chance. An answer that was given
    before is not computed again, so write {}.

    \b
    Examples:
      obverse attack timing https://host/v1/with https://host/v1/without --token-env TOKEN \\
          --sql "SELECT COUNT(*) FROM visits WHERE cost > {}" \\
          --epsilon 0.001 --replies 1000
      obverse attack timing mine:with_her mine:without_her --sql "SELECT COUNT(*) FROM t WHERE x > {}"
    """
    from obverse.attack.attacks import Timing
    from obverse.review.interfaces import ask_at

    if len(tokens) > 2:
        raise click.UsageError("give --token-env once, or once for each URL.")
    first, second = (*tokens, *tokens, "", "")[:2]
    with ask_at(with_person, first, number(epsilon)) as present, ask_at(without, second, number(epsilon)) as absent:
        sides = (lambda i: present(sql.replace(NUMBER, str(i)))), (lambda i: absent(sql.replace(NUMBER, str(i))))
        target = f"{called_by(with_person)} and {called_by(without)}"
        finish(Timing(replies).ask(*sides, target, seed), as_json)


@click.command(cls=Verb)
@click.argument("place", metavar="PLACE")
@with_question
@click.option("--budget", required=True, metavar="E", help="What all answers together may cost.")
@click.option("--price", required=True, metavar="E", help="What is offered for each question, in the same unit.")
@click.option(
    "--at-once", type=click.IntRange(2, 64), default=8, show_default=True, help="How many ask at the same moment."
)
@click.option(
    "--parts", type=click.IntRange(1), default=10, show_default=True, help="Parts of the price to offer; 1: none."
)
@click.option(
    "--as", "names", multiple=True, metavar="NAME", help="Somebody else in whose name to ask; may be repeated."
)
@click.option(
    "--token-env", default="", metavar="VAR", help="With a URL: the environment variable that holds the token."
)
@with_json
def bypass(
    place: str, sql: str, budget: str, price: str, at_once: int, parts: int, names: tuple[str, ...], token_env: str,
    as_json: bool,
) -> None:  # fmt: skip
    """Try to get more fresh answers than a budget pays for.

    PLACE is a URL of a service (https://host/v1/PROJECT), a project's folder, dsn-env:VAR (VAR holds the connection
    string of a PostgreSQL server), or a Python function module:name. Its whole budget is spent: attack a copy made for
    that.

    \b
    Example:
      obverse attack bypass https://host/v1/trial --token-env TOKEN --budget 1 --price 0.05 \\
          --sql "SELECT COUNT(*) FROM people WHERE age > {}"
    """
    from obverse.attack.attacks import Bypass
    from obverse.review.interfaces import interface_at

    if NUMBER not in sql:
        raise click.UsageError(
            "write {} in --sql where the number of the question goes: each must be another question."
        )
    attack = Bypass(_positive(budget, "--budget"), _positive(price, "--price"), at_once, parts, names)
    found = attack.run(interface_at(place, token_env), lambda i: sql.replace(NUMBER, str(i)), called_by(place))
    finish(found, as_json)


def _positive(text: str, option: str) -> Fraction:
    value = number(text)
    if value is None or value <= 0:
        raise click.UsageError(f"{option} is a number above zero.")
    return value
