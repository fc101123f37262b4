"""Errors on the command line: one text on stderr or one object on stdout, and the exit code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from obverse.cli.terminal import paint
from obverse.core.errors import BudgetExceeded, ObverseError, Refused

AFTER_DEBIT, REFUSED, OVER_BUDGET, INTERRUPTED = 1, 3, 4, 130
ASKING = ("ask", "demo")  # the verbs that can cost something


class Verb(click.Command):
    """A command whose errors are all told in the same way."""

    def invoke(self, ctx: click.Context) -> Any:
        with told(ctx):
            return super().invoke(ctx)


class VerbGroup(click.Group):
    """A verb with verbs below it; an error of one of those is told there, and passes here as an exit."""

    command_class = Verb

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl([(name, one.get_short_help_str(limit=100)) for name, one in self.commands.items()])

    def invoke(self, ctx: click.Context) -> Any:
        with told(ctx):
            return super().invoke(ctx)


@contextmanager
def told(ctx: click.Context) -> Iterator[None]:
    """Errors of what is done inside, told; then the exit with their code."""
    try:
        yield
    except ObverseError as error:
        _tell(error, ctx)
        ctx.exit(exit_code(error))
    except KeyboardInterrupt:
        _tell(interrupted_early(), ctx)
        ctx.exit(INTERRUPTED)


def exit_code(error: ObverseError) -> int:
    if error.code == "interrupted":
        return INTERRUPTED
    if error.charged:
        return AFTER_DEBIT
    return OVER_BUDGET if isinstance(error, BudgetExceeded) else REFUSED


def _tell(error: ObverseError, ctx: click.Context) -> None:
    """The error object on stdout, or the text with its underlined SQL on stderr."""
    if ctx.params.get("as_json"):
        click.echo(json.dumps(error.as_json(), ensure_ascii=False, indent=2))
        return
    first, *rest = str(error).split("\n")
    cost = _cost(error) if ctx.info_name in ASKING else []
    click.echo("\n".join([paint(first, "red", stream="stderr"), *rest, *cost]), err=True)


def _cost(error: ObverseError) -> list[str]:
    """What it cost, where the error does not say so itself."""
    said = f"{error.message} {error.why}"
    if error.charged:
        return [] if "charge" in said else ["The charge stays."]
    return [] if "spent" in said else ["Nothing was spent."]


def interrupted_early() -> Refused:
    return Refused("interrupted", "interrupted before any debit; nothing was spent.")
