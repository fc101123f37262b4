"""obverse demo: the bundled sample project, and on request a short tour through it.

obverse demo --serve: the sample project served, with one account of each role and a survey.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from obverse.cli.errors import Verb
from obverse.cli.options import print_json, with_json
from obverse.cli.output.terminal import paint, print_fact

if TYPE_CHECKING:
    from obverse.core.accounts import Role
    from obverse.server.run import Started
    from obverse.session.session import Session


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
    from obverse.collect.project import collection_in

    for name in load(folder).surveys:
        collection = collection_in(folder, name)
        try:
            return f"{page}/survey/{quote(name, safe='')}?token={collection.tokens(1)[0].hex()}"
        finally:
            collection.close()
    return ""


TOUR = (
    ("How many people are there?", "SELECT COUNT(*) AS people FROM people"),
    (
        "How do women and men compare?",
        "SELECT sex, COUNT(*) AS people, AVG(age) AS mean_age, STDDEV(age) AS spread\nFROM people WHERE age >= 18 "
        "GROUP BY sex",
    ),
    (
        "Which clinics are busy? One person may have made many visits; all of them are protected together.",
        "SELECT clinic, COUNT(*) AS visits\nFROM visits WHERE at >= DATE '2020-01-01'\n"
        "GROUP BY clinic HAVING COUNT(*) > 4000 ORDER BY visits DESC",
    ),
)
EXPLAINED = "SELECT clinic, AVG(cost) AS mean_cost FROM visits GROUP BY clinic"


@click.command(cls=Verb)
@click.option(
    "--out",
    metavar="DIR",
    default="obverse-demo",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Where to write it; what is there already is kept.",
)
@click.option(
    "--ask", "with_tour", is_flag=True, help="Also ask three questions of growing depth, and explain a fourth."
)
@click.option(
    "--serve", "served", is_flag=True, help="Then serve it: a web page with one account of each role. Needs Linux."
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="With --serve: port; 0: any."
)
@with_json
def demo(out: Path, with_tour: bool, served: bool, port: int, as_json: bool) -> None:
    """Write a synthetic sample project to try things on.

    A hospital of about 20,000 people with 100,000 visits, made by a generator: nobody in it exists. A file that is
    there already is never rewritten.

    \b
    Examples:
      obverse demo --out hospital
      obverse demo --ask
      obverse demo --serve
    """
    from obverse.demo.project import write_demo

    said = write_demo(out)
    told: dict[str, Any] = {"version": 1, "folder": str(out), "files": said}
    if not as_json:
        print_fact("Sample", f"{out}: {'; '.join(_together(said))}")
    if with_tour:
        told |= _tour(out, as_json)
    if served:
        serve_demo(out, port, as_json)
        return
    if as_json:
        print_json(told)
        return
    print_fact("Page", f"{_command()} demo --out {out} --serve opens it in a browser, with an account of each role")
    print_fact("Next", f'{_command()} ask -p {out} "SELECT COUNT(*) AS older FROM people WHERE age >= 65"')


def _together(said: list[str]) -> list[str]:
    """Files of which the same is said, in one breath: `wrote a, b`, `kept c, which is there already`."""
    wrote = [line.removeprefix("wrote ") for line in said if line.startswith("wrote ")]
    kept = [line.removeprefix("kept ").partition(",")[0] for line in said if line.startswith("kept ")]
    told = [f"wrote {', '.join(wrote)}"] if wrote else []
    return [*told, f"kept what is there already: {', '.join(kept)}"] if kept else told


def _command() -> str:
    """How this was called, where a plain `obverse` would not be found."""
    return "obverse" if shutil.which("obverse") else os.path.relpath(sys.argv[0])


def _tour(folder: Path, as_json: bool) -> dict[str, Any]:
    from obverse.session.session import open as open_project

    with open_project(folder, analyst="ana") as session:
        answers = [_ask(session, number, as_json) for number in range(len(TOUR))]
        explained = session.explain(EXPLAINED)
    if not as_json:
        from obverse.cli.output.answers import print_explained

        _print_question(
            f"{len(TOUR) + 1}. What would this cost? Explained: nothing is read, nothing is spent.", EXPLAINED
        )
        print_explained(explained)
        click.echo()
    return {"answers": answers, "explain": explained.as_json()}


def _ask(session: Session, number: int, as_json: bool) -> dict[str, Any]:
    from obverse.cli.commands.ask import stoppable
    from obverse.cli.output.answers import print_answer

    title, text = TOUR[number]
    with stoppable(session):
        answer = session.ask(text)
    if not as_json:
        _print_question(f"{number + 1}. {title}", text)
        print_answer(answer, claim=None if number == 0 else f"as above; receipt {answer.claim.receipt}")
    return answer.as_json()


def _print_question(title: str, text: str) -> None:
    click.echo(f"\n{paint(title, 'yellow')}\n")
    click.echo("\n".join(f"    {line}" for line in text.split("\n")) + "\n")
