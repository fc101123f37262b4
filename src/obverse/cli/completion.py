"""obverse completion: a script that teaches the shell our verbs and options."""

from __future__ import annotations

import click

from obverse.cli.errors import Verb
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

    from obverse.cli.main import cli

    found = get_completion_class(shell)
    assert found is not None
    script = found(cli, {}, "obverse", "_OBVERSE_COMPLETE").source()
    if as_json:
        print_json({"version": 1, "shell": shell, "script": script})
    else:
        click.echo(script)
