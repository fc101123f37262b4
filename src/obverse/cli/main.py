"""The command `obverse`: a table of verbs, each loaded only when it is called.

obverse completion: a script that teaches the shell our verbs and options.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from dataclasses import dataclass

import click

from obverse._version import __version__
from obverse.cli.errors import INTERRUPTED, Verb
from obverse.cli.options import print_json, with_json


@click.command(cls=Verb)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@with_json
def completion(shell: str, as_json: bool) -> None:
    """Print a completion script: bash, zsh or fish.

    \b
    Examples:
      obverse completion bash >> ~/.bashrc
      obverse completion zsh >> ~/.zshrc
      obverse completion fish > ~/.config/fish/completions/obverse.fish
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None
    script = found(cli, {}, "obverse", "_OBVERSE_COMPLETE").source()
    if as_json:
        print_json({"version": 1, "shell": shell, "script": script})
    else:
        click.echo(script)


@dataclass(frozen=True, slots=True)
class VerbLine:
    """A verb as the overview shows it, and where it lives."""

    name: str
    place: str  # module:attribute
    help: str


SECTIONS: dict[str, tuple[VerbLine, ...]] = {
    "For analysts": (
        VerbLine(
            "ask", "obverse.cli.commands.ask:ask", "Ask SQL; get a private answer with its noise interval and price."
        ),
        VerbLine(
            "explain",
            "obverse.cli.commands.explain:explain",
            "See noise, error and price of a question; costs nothing.",
        ),
        VerbLine(
            "rehearse", "obverse.cli.commands.rehearse:rehearse", "Try a question on made-up rows; costs nothing."
        ),
        VerbLine("tables", "obverse.cli.commands.tables:tables", "Show what may be asked about."),
        VerbLine("budget", "obverse.cli.commands.budget:budget", "Show what is left; `budget grant` raises the cap."),
        VerbLine("sql", "obverse.cli.commands.tables:sql", "List the SQL that is answered, and what is refused."),
    ),
    "For surveys": (
        VerbLine(
            "collect",
            "obverse.cli.commands.collect.collect:collect",
            "Collect answers that are randomized before they are sent.",
        ),
    ),
    "For reviewers": (
        VerbLine(
            "attack",
            "obverse.cli.commands.attack.attack:attack",
            "Attack a release or an interface: what does it give away?",
        ),
        VerbLine("verify", "obverse.cli.commands.verify:verify", "Try to refute a claim of privacy."),
    ),
    "For the curator": (
        VerbLine(
            "publish",
            "obverse.cli.commands.publish.publish:publish",
            "Release tables once, in a folder that anyone may have.",
        ),
        VerbLine(
            "anonymize",
            "obverse.cli.commands.anonymize:anonymize",
            "Make a table k-anonymous; show what still works against it.",
        ),
        VerbLine(
            "explore", "obverse.cli.commands.explore:explore", "Compare settings before choosing them; costs nothing."
        ),
        VerbLine("demo", "obverse.cli.commands.demo:demo", "Write a synthetic sample project to try things on."),
        VerbLine(
            "init", "obverse.cli.commands.project:init", "Draft obverse.toml from column names and declared types."
        ),
        VerbLine("check", "obverse.cli.commands.project:check", "Validate obverse.toml, its sources and its ledger."),
        VerbLine("analyst", "obverse.cli.commands.accounts:analyst", "Declare who may ask: `analyst add NAME`."),
        VerbLine(
            "account", "obverse.cli.commands.accounts:account", "Hand out tokens for a service: `account add NAME`."
        ),
        VerbLine(
            "limits", "obverse.cli.commands.budget:limits", "Learn caps on one unit's rows: `limits learn TABLE`."
        ),
        VerbLine("data", "obverse.cli.commands.project:data", "Publish a new version of the rows; retire partitions."),
        VerbLine("rights", "obverse.cli.commands.rights:rights", "Show, correct, leave out or erase one person."),
        VerbLine(
            "ledger", "obverse.cli.commands.ledger:ledger", "Verify, export, back up, restore or move the ledger."
        ),
        VerbLine(
            "schema", "obverse.cli.commands.tables:schema", "Print the JSON Schema of obverse.toml for your editor."
        ),
        VerbLine(
            "serve", "obverse.cli.commands.serve:serve", "Serve untrusted analysts over HTTP and the PostgreSQL wire."
        ),
    ),
    "For everybody": (
        VerbLine(
            "learn", "obverse.cli.commands.learn:learn", "Short lessons on the real engine, each with an exercise."
        ),
    ),
    "Your shell": (
        VerbLine("completion", "obverse.cli.main:completion", "Print a completion script: bash, zsh or fish."),
    ),
}
VERBS = {line.name: line for lines in SECTIONS.values() for line in lines}


class LazyVerbs(click.Group):
    """A group that knows its verbs by name and imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module, attribute = VERBS[cmd_name].place.split(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], VERBS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"no such verb: {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, lines in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(line.name, line.help) for line in lines], col_max=12)


@click.group(cls=LazyVerbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, message="obverse %(version)s")
def cli() -> None:
    """Learn from sensitive data without exposing anyone in it.

    Answers to SQL are differentially private: each carries a noise interval and a price, and the ledger is debited
    before any row is read. Try it:

    \b
      obverse demo --out hospital
      obverse ask -p hospital "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"

    \b
    Every verb takes --json. Exit codes: 0 ok, 1 failed after the debit, 2 usage,
    3 refused (nothing spent), 4 over budget (nothing spent), 5 a leak was found
    or a claim refuted, 130 interrupted.
    """


def main() -> None:
    """The entry point: click's own errors are shown as click shows them, and an interruption is 130."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        code = cli.main(prog_name="obverse", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        code = INTERRUPTED
    except BrokenPipeError:
        sys.stdout = None  # the reader has gone; nothing is left to say, also not when the interpreter closes
        code = 1
    sys.exit(code if isinstance(code, int) else 0)
