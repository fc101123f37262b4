"""Errors on the command line: one text on stderr or one object on stdout, and the exit code."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from obverse.cli.output.terminal import on_terminal, paint, wrapped
from obverse.core.errors import BudgetExceeded, ObverseError, Refused

AFTER_DEBIT = 1
REFUSED = 3
OVER_BUDGET = 4
INTERRUPTED = 130
ASKING = ("ask", "demo", "table", "hierarchy", "quantiles", "synthetic", "graph")  # the verbs that can cost something


class Verb(click.Command):
    """A command whose errors are all told in the same way."""

    def get_help(self, ctx: click.Context) -> str:
        return foldable(super().get_help(ctx), ctx.make_formatter().width)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            if "unexpected extra argument" in error.message and any(one.name == "sql" for one in self.params):
                raise click.UsageError("the SQL is one argument: put it in quotes.", ctx) from None
            raise

    def invoke(self, ctx: click.Context) -> Any:
        with told(ctx):
            return super().invoke(ctx)


class VerbGroup(click.Group):
    """A verb with verbs below it; an error of one of those is told there, and passes here as an exit."""

    command_class = Verb

    def get_help(self, ctx: click.Context) -> str:
        return foldable(super().get_help(ctx), ctx.make_formatter().width)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl([(name, one.get_short_help_str(limit=400)) for name, one in self.commands.items()])

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
    except OSError as error:
        # a pipe that broke, or perhaps after the debit
        if error.filename is None or ctx.info_name in (*ASKING, "learn"):
            raise
        _tell(unusable(error), ctx)
        ctx.exit(REFUSED)


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
    text = str(error).replace(f"{Path.cwd()}{os.sep}", "")
    first, *rest = text.split("\n")
    cost = _cost(error) if ctx.info_name in ASKING else []
    red = [paint(line, "red", stream="stderr") for line in _fitting(first)]
    click.echo("\n".join([*red, *(line for whole in rest for line in _fitting(whole)), *cost]), err=True)


def _fitting(line: str) -> list[str]:
    """The line as a terminal shows it whole; quoted SQL and its underlining stay as they are."""
    return [line] if line.startswith("  ") or not on_terminal("stderr") else wrapped(line, "")


def foldable(help_text: str, width: int) -> str:
    """The help with examples that are too long for the terminal continued on a line of their own, as a shell reads
    them.
    """
    return "\n".join(part for line in help_text.split("\n") for part in _continued(line, width))


def _continued(line: str, width: int) -> list[str]:
    if len(line) <= width or not line.startswith("    obverse "):
        return [line]
    blanks = [i for i, sign in enumerate(line[: width - 1]) if sign == " " and line.count('"', 0, i) % 2 == 0]
    if len(blanks) < 6:  # nothing after the verb where a line may end
        return [line]
    rest = "    obverse " + line[blanks[-1] + 1 :]
    return [f"{line[: blanks[-1]]} \\", *(part.replace("    obverse ", " " * 8, 1) for part in _continued(rest, width))]


def _cost(error: ObverseError) -> list[str]:
    """What it cost, where the error does not say so itself."""
    said = f"{error.message} {error.why}"
    if error.charged:
        return [] if "charge" in said else ["The charge stays."]
    return [] if "spent" in said else ["Nothing was spent."]


def unusable(error: OSError) -> Refused:
    """A file that cannot be read or written, for whatever reason the system gives."""
    why = error.strerror or "the system refused"
    fix = "Name a file in a folder that is there, and that you may use."
    return Refused("cannot_write", "the file cannot be used.", place=str(error.filename), why=why, fix=fix)


def interrupted_early() -> Refused:
    return Refused("interrupted", "interrupted before any debit; nothing was spent.")
