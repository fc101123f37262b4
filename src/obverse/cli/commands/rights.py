"""obverse rights: access, correction, erasure and objection, and the record of processing; for the curator."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from obverse.cli.errors import VerbGroup
from obverse.cli.options import parameters, print_json, with_json, with_project
from obverse.cli.output.terminal import Heading, print_fact, print_table
from obverse.core.errors import ObverseError

if TYPE_CHECKING:
    from obverse.curator.rights.requests import Done

F = TypeVar("F", bound=Callable[..., Any])
FILE = click.Path(dir_okay=False, path_type=Path)


def with_act(function: F) -> F:
    """Why, and whether it waits."""
    for option in (
        click.option(
            "--later", is_flag=True, help="Wait for the next `obverse data publish`, so that nobody sees when."
        ),
        click.option(
            "--reason", required=True, metavar="TEXT", help="Why; on the record, so it must not name the person."
        ),
    ):
        function = option(function)
    return function


@click.group(cls=VerbGroup)
def rights() -> None:
    """Show, correct, leave out or erase one person.

    PERSON is the value of the unit's key; `-` reads it from the input, so that it stays out of your shell's history.
    Every act is in the ledger with a keyed hash of the person, never the person. It is in force from the data's next
    version on, which the act begins unless told --later. No source is written to.

    \b
    Examples:
      obverse rights export 4711 --reason "access request of 3 May" --out rows.zip
      obverse rights suppress 4711 --reason "objection of 3 May"
      obverse rights correct 4711 people --set age=41 --reason "wrong year of birth"
      obverse rights record > processing.md
    """


@rights.command()
@click.argument("person")
@click.option("--reason", required=True, metavar="TEXT", help="Why; on the record, so it must not name the person.")
@click.option("--out", type=FILE, help="A .zip of CSV files, or a .json; JSON on the output unless told.")
@with_json
@with_project
def export(person: str, reason: str, out: Path | None, as_json: bool, project: Path) -> None:
    """All rows that lead to a person, of every table, with every column: access and portability."""
    from obverse.curator.rights.export import export as exported

    if out is not None and out.exists():
        raise click.UsageError("there is a file already; name another.")
    if out is not None and not out.parent.is_dir():  # told before the reading is in the ledger
        raise click.UsageError(f"there is no folder {out.parent}.")
    held = exported(project, _person(person), reason)
    if out is None:
        print_json(held.as_json())
        return
    text = json.dumps(held.as_json(), ensure_ascii=False, indent=2) + "\n"
    packed = held.as_zip() if out.suffix == ".zip" else text.encode()
    with open(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(packed)
    if as_json:
        print_json({"version": 1, "file": str(out), "tables": len(held.tables)})
    else:
        count = len(held.tables)
        print_fact(
            "Wrote", f"{out}: {count} table{'' if count == 1 else 's'}; give it to the person, and to nobody else"
        )
        if not any(table["rows"] for table in held.tables):
            print_fact("Rows", "none of any table leads to this person: is the key right?")


@rights.command()
@click.argument("person")
@with_act
@with_json
@with_project
def suppress(person: str, reason: str, later: bool, as_json: bool, project: Path) -> None:
    """Leave a person out of every later answer: objection, restriction, consent withdrawn."""
    from obverse.curator.rights.requests import kept
    from obverse.curator.rights.requests import suppress as act

    with kept(project) as keeper:
        done = act(keeper, _person(person), reason, later=later)
    _print(done, as_json, _matched(project, done))


@rights.command()
@click.argument("person")
@with_act
@with_json
@with_project
def erase(person: str, reason: str, later: bool, as_json: bool, project: Path) -> None:
    """Leave a person out, and say what is to be deleted where the rows lie."""
    from obverse.curator.rights.requests import erase as act
    from obverse.curator.rights.requests import kept

    with kept(project) as keeper:
        done = act(keeper, _person(person), reason, later=later)
    _print(done, as_json, _matched(project, done))


@rights.command()
@click.argument("person")
@click.argument("table")
@click.option("--set", "values", multiple=True, required=True, metavar="COLUMN=VALUE", help="The right value, or null.")
@click.option("--where", multiple=True, metavar="COLUMN=VALUE",
              help="Which of the person's rows, by values as stored; by default all.")  # fmt: skip
@with_act
@with_json
@with_project
def correct(
    person: str, table: str, values: tuple[str, ...], where: tuple[str, ...], reason: str, later: bool, as_json: bool,
    project: Path,
) -> None:  # fmt: skip
    """Read values of a person's rows as told, whatever their source says."""
    from obverse.curator.rights.requests import correct as act
    from obverse.curator.rights.requests import kept

    told = _values(values, "--set COLUMN=VALUE")
    telling = _values(where, "--where COLUMN=VALUE")
    with kept(project) as keeper:
        done = act(keeper, _person(person), table, told, reason, where=telling, later=later)
    _print(done, as_json, _matched(project, done))


@rights.command()
@click.argument("right")
@with_act
@with_json
@with_project
def lift(right: str, reason: str, later: bool, as_json: bool, project: Path) -> None:
    """Let an act stand no more, by its id; what was kept of it is forgotten."""
    from obverse.curator.rights.requests import kept
    from obverse.curator.rights.requests import lift as act

    with kept(project) as keeper:
        _print(act(keeper, right, reason, later=later), as_json)


@rights.command("list")
@with_json
@with_project
def listed(as_json: bool, project: Path) -> None:
    """Every act, by keyed hash; one that a crash kept off the record is in force, and can be lifted."""
    from obverse.curator.ledger import opened_ledger
    from obverse.curator.rights.requests import Keeper, acts_told

    with opened_ledger(project) as held:
        acts = acts_told(Keeper(*held))
    if as_json:
        print_json({"version": 1, "acts": acts})
        return
    rows = [
        [str(a["record"] or ""), a["time"], a["act"], a["person"][:16], a["state"], a["right"], a["reason"]]
        for a in acts
    ]
    print_table([Heading(name) for name in ("record", "time", "act", "person", "state", "id", "reason")], rows)


@rights.command()
@with_json
@with_project
def record(as_json: bool, project: Path) -> None:
    """The record of processing, in Markdown: tables, basis, purposes, retention, and all that was made of them."""
    from obverse.curator.ledger import opened_ledger
    from obverse.curator.rights.register import markdown, record_of

    with opened_ledger(project) as (catalog, _, opened):
        found = record_of(catalog, opened.ledger)
    if as_json:
        print_json(found)
    else:
        click.echo(markdown(found), nl=False)


@rights.command()
@click.argument("file", type=FILE)
@with_json
@with_project
def keep(file: Path, as_json: bool, project: Path) -> None:
    """Write down who is left out and what is put right, to carry it to where the ledger goes. It names people."""
    from obverse.curator.rights.export import keep as act

    _print_count("Kept", act(project, file), f" in {file}; it names people, so delete it once it was restored", as_json)


@rights.command()
@click.argument("file", type=FILE)
@with_json
@with_project
def restore(file: Path, as_json: bool, project: Path) -> None:
    """Bring back what `rights keep` wrote; each act is held against its seal in the ledger."""
    from obverse.curator.rights.export import restore as act

    _print_count("Restored", act(project, file), "", as_json)


def _print_count(label: str, count: int, more: str, as_json: bool) -> None:
    if as_json:
        print_json({"version": 1, "acts": count})
    else:
        print_fact(label, f"{count} acts{more}")


def _values(pairs: tuple[str, ...], form: str) -> dict[str, object]:
    """Values as they were written, for the column's type to read; null and texts in quotes as in JSON."""
    written = {name: text for name, _, text in (pair.partition("=") for pair in pairs)}
    return {
        name: v if v is None or isinstance(v, str) else written[name] for name, v in parameters(pairs, form).items()
    }


def _person(text: str) -> str:
    """As the arguments of a command are read, whatever bytes they are: what is no key is refused as one."""
    if text != "-":
        return text
    return sys.stdin.buffer.readline().decode("utf-8", "surrogateescape").rstrip("\r\n")


def _matched(project: Path, done: Done) -> dict[str, int] | None:
    """How many rows the act is about now; None where they cannot be read at the moment. The act is done either way."""
    from obverse.curator.rights.export import matched

    try:
        return matched(project, done.right)
    except ObverseError:
        return None


def _matches(counts: dict[str, int] | None, act: str) -> str:
    if counts is None:
        return "not known: the rows cannot be read at the moment"
    found = [f"{count:,} row{'' if count == 1 else 's'} of {name}" for name, count in counts.items() if count]
    asked = "are the key and --where, as stored, right?" if act == "correct" else "is the key right?"
    return ", ".join(found) or f"no row of {', '.join(counts)} now: {asked} The act binds rows that come later"


def _print(done: Done, as_json: bool, matches: dict[str, int] | None = None) -> None:
    if as_json:
        print_json({**done.as_json(), "matches": matches})
        return
    print_fact("Done", f"{done.act}, record {done.record}; person {done.person[:16]}..., id {done.right}")
    if done.act != "lift":
        print_fact("Matches", _matches(matches, done.act))
    waits = "waits for the next: obverse data publish"
    print_fact("In force", waits if done.data_version is None else f"from data version {done.data_version} on")
    for step in done.procedure:
        print_fact("To do", step)
    if done.cannot_undo:
        print_fact("Stays", done.cannot_undo)
