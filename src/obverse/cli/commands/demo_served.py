"""obverse demo --serve: the sample project served, with one account of each role and a survey."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from obverse.cli.options import print_json
from obverse.cli.output.terminal import print_fact

if TYPE_CHECKING:
    from obverse.core.accounts import Role
    from obverse.server.run import Started

ROLES: tuple[tuple[str, Role, str], ...] = (
    ("ana", "analyst", "ask, explore, see what was asked"),
    ("cora", "curator", "tables, budgets, accounts, ledger, releases, surveys, rights"),
    ("rita", "reviewer", "verify the ledger, attack, report"),
)
DAYS = 1


def serve_demo(folder: Path, port: int, as_json: bool) -> None:
    """Serve until it is stopped; each start makes fresh tokens that last a day."""
    from obverse.cli.commands.serve import needs_linux
    from obverse.curator.accounts import issue
    from obverse.server.run import Settings, run

    needs_linux(sys.platform)
    tokens = {name: issue(folder, name, role, DAYS).token for name, role, _ in ROLES}
    settings = Settings(port=port, wire_port=None)
    run((folder,), settings, lambda started: _tell(started, folder, tokens, as_json))


def _tell(started: Started, folder: Path, tokens: dict[str, str], as_json: bool) -> None:
    (project,) = started.projects
    page = f"{started.address}/#/{quote(project, safe='')}"
    links = {name: f"{page}/enter?token={token}" for name, token in tokens.items()}
    survey = _survey(folder, page)
    if as_json:
        print_json(_told(started, page, links, survey))
        sys.stdout.flush()
        return
    click.echo("\nOpen one of these in a browser; each signs in once clicked, and lasts a day.\n")
    for name, role, does in ROLES:
        print_fact(role.capitalize(), f"{name}: {does}")
        click.echo(f"  {links[name]}")
    if survey:
        print_fact("Respondent", "nobody signs in; the coin is flipped in the browser")
        click.echo(f"  {survey}")
    print_fact("Everybody", "what the project tells everybody, without an account")
    click.echo(f"  {page}/public\n\nCtrl-C stops it.")
    sys.stdout.flush()


def _told(started: Started, page: str, links: dict[str, str], survey: str) -> dict[str, Any]:
    return {"version": 1, "http": started.address, "links": links, "survey": survey or None, "public": f"{page}/public"}


def _survey(folder: Path, page: str) -> str:
    """A link with a token for one answer, where the project has a survey."""
    from obverse.catalog.load import load
    from obverse.collect.surveys import collection_in

    for name in load(folder).surveys:
        collection = collection_in(folder, name)
        try:
            return f"{page}/survey/{quote(name, safe='')}?token={collection.tokens(1)[0].hex()}"
        finally:
            collection.close()
    return ""
