"""obverse account: who may reach a service, with which role and token.

obverse analyst: who may ask.
"""

from __future__ import annotations

import datetime as dt
import getpass
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from obverse.cli.errors import VerbGroup
from obverse.cli.options import print_json, with_json, with_project
from obverse.cli.output.terminal import Heading, near, print_fact, print_table
from obverse.core.accounts import ROLES, Account, Role

if TYPE_CHECKING:
    from obverse.curator.accounts import Issued


@click.group(cls=VerbGroup)
def analyst() -> None:
    """Declare who may ask: `analyst add NAME`."""


@analyst.command("add")
@click.argument("name")
@click.option("--epsilon", metavar="E", help="A cap of their own; default: only the cap on everybody.")
@click.option("--delta", metavar="D", help="The delta of that cap.")
@click.option(
    "--purpose", "purposes", multiple=True, metavar="NAME", help="A purpose they may ask for (repeat for more)."
)
@with_json
@with_project
def add_analyst_command(
    name: str, epsilon: str | None, delta: str | None, purposes: tuple[str, ...], as_json: bool, project: Path
) -> None:
    """Add an analyst to obverse.toml, keeping its comments.

    Caps of analysts lie below the one that binds everybody, so that analysts who share what they learn gain nothing.

    \b
    Examples:
      obverse analyst add ana
      obverse analyst add ben --epsilon 1 --purpose quality
    """
    from obverse.curator.ledger import add_analyst

    file = add_analyst(project, name, epsilon, delta, purposes)
    if as_json:
        print_json({"version": 1, "analyst": name, "file": str(file)})
    else:
        print_fact("Added", f"{name}, in {near(file)}")


DAYS = 90


@click.group(cls=VerbGroup)
def account() -> None:
    """Hand out tokens for a service: `account add NAME`.

    Accounts and all that happens to them stand in the ledger; every server sees a change at once.
    """


@account.command()
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), required=True, help="What they may do.")
@click.option("--days", type=int, default=DAYS, show_default=True, help="How long the token lives.")
@with_json
@with_project
def add(name: str, role: Role, days: int, as_json: bool, project: Path) -> None:
    """A token for a new account or a known one. It is printed once, and kept nowhere.

    An analyst has to be declared first, with `obverse analyst add`. The token is the password of the PostgreSQL wire
    too.

    \b
    Example:
      obverse account add ana --role analyst --days 30
    """
    from obverse.curator.accounts import issue

    _print_issued(issue(project, name, role, days), as_json)


@account.command()
@click.argument("name")
@click.option("--days", type=int, default=DAYS, show_default=True, help="How long the fresh token lives.")
@with_json
@with_project
def rotate(name: str, days: int, as_json: bool, project: Path) -> None:
    """A fresh token in place of all others, which are void at once."""
    from obverse.curator.accounts import rotate as rotated

    _print_issued(rotated(project, name, days), as_json)


@account.command("list")
@with_json
@with_project
def listed(as_json: bool, project: Path) -> None:
    """All accounts and the ids of their tokens."""
    from obverse.curator.accounts import listed as found_in

    found, now = found_in(project)
    if as_json:
        print_json({"version": 1, "accounts": [_told(one) for one in found.values()]})
        return
    rows = [
        [one.name, one.role, _tokens(one, now), _state(one), "yes" if one.password else ""] for one in found.values()
    ]
    print_table([Heading(title) for title in ("name", "role", "tokens", "state", "password")], rows)


@account.command()
@click.argument("name")
@click.option(
    "--token", "token_id", default="", metavar="ID", help="One token, as `list` shows its id; else all of them."
)
@with_json
@with_project
def revoke(name: str, token_id: str, as_json: bool, project: Path) -> None:
    """Make tokens void, at once and everywhere."""
    from obverse.curator.accounts import revoke as revoked

    revoked(project, name, token_id)
    _print_done("Revoked", f"{'token ' + token_id if token_id else 'all tokens'} of {name}", as_json)


@account.command()
@click.argument("name")
@click.option("--reason", required=True, metavar="TEXT", help="Why; sealed into the ledger.")
@with_json
@with_project
def suspend(name: str, reason: str, as_json: bool, project: Path) -> None:
    """Stop somebody until `resume`; their tokens stay."""
    from obverse.curator.accounts import suspend as suspended

    suspended(project, name, reason)
    _print_done("Stopped", name, as_json)


@account.command()
@click.argument("name")
@click.option("--reason", default="", metavar="TEXT", help="Why; sealed into the ledger.")
@with_json
@with_project
def resume(name: str, reason: str, as_json: bool, project: Path) -> None:
    """Let somebody back who was suspended, or whose questions met the limit."""
    from obverse.curator.accounts import resume as resumed

    resumed(project, name, reason)
    _print_done("Resumed", name, as_json)


@account.command()
@click.argument("name")
@with_json
@with_project
def password(name: str, as_json: bool, project: Path) -> None:
    """Set a password for the page; asked for, or the first line of standard input."""
    from obverse.curator.accounts import set_password

    set_password(project, name, _asked())
    _print_done("Set", f"the password of {name}", as_json)


def _asked() -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    first = getpass.getpass("Password: ")
    if getpass.getpass("Again: ") != first:
        raise click.UsageError("the two are not the same.")
    return first


def _print_issued(made: Issued, as_json: bool) -> None:
    """The token alone on stdout, so that it can be piped to where it is kept."""
    if as_json:
        told = {"name": made.name, "role": made.role, "token": made.token, "id": made.id, "expires": made.expires}
        print_json({"version": 1, **told})
        return
    click.echo(made.token)
    whose = f"of {made.name} ({made.role}), id {made.id}"
    print_fact("Token", f"{whose}, until {_day(made.expires)}; it is not shown again", err=True)


def _print_done(label: str, text: str, as_json: bool) -> None:
    if as_json:
        print_json({"version": 1, "done": True})
    else:
        print_fact(label, text)


def _told(one: Account) -> dict[str, object]:
    tokens = [{"id": token.id, "expires": token.expires} for token in one.tokens.values()]
    state = {"suspended": one.suspended, "stopped": one.stopped, "password": one.password is not None}
    return {"name": one.name, "role": one.role, "tokens": tokens, **state}


def _tokens(one: Account, now: float) -> str:
    live = {token.id for token in one.live(now)}
    told = [f"{t.id} until {_day(t.expires)}" if t.id in live else f"{t.id} expired" for t in one.tokens.values()]
    return ", ".join(told) or "none"


def _state(one: Account) -> str:
    if one.suspended:
        return f"suspended: {one.suspended}"
    if one.barred:
        return "stopped: its questions met the limit"
    return f"{one.stopped} questions met the limit" if one.stopped else "active"


def _day(seconds: int) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).date().isoformat()
