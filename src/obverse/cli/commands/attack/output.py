"""A finding in words, and what attacks read: files, and columns of the same meaning."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from obverse.cli.options import ON, print_json
from obverse.cli.output.terminal import Heading, percent, print_fact, print_table

if TYPE_CHECKING:
    from obverse.attack.finding import Finding
    from obverse.attack.targets import Table
    from obverse.review.tables import Reading

F = TypeVar("F", bound=Callable[..., Any])
LEAKS = 5
FILE = click.Path(path_type=Path)


def with_columns(function: F) -> F:
    words = "Columns that both tables tell, with commas between; RELEASED=KNOWN where names differ."
    return click.option(*ON, required=True, metavar="COLUMNS", help=words)(function)


def with_person(function: F) -> F:
    words = "Of a file: whose a row is. Without it each row is a person."
    return click.option("--person", metavar="COLUMN", help=words)(function)


def with_door(function: F) -> F:
    """Tables of a project may be named in place of files; they are read by the curator's own door."""
    words = "Of this project: a table's name in place of a file's; its rows are read by the curator's door."
    options = (
        click.option(
            "--reason", default="", metavar="TEXT", help="With tables of a project: why; sealed into its ledger."
        ),
        click.option("-p", "--project", type=click.Path(path_type=Path), metavar="DIR", help=words),
    )

    @functools.wraps(function)
    def reading(*arguments: Any, project: Path | None, reason: str, **told: Any) -> Any:
        return function(*arguments, door=door_of(project, reason), **told)

    for option in options:
        reading = option(reading)
    return reading  # type: ignore[return-value]


def door_of(project: Path | None, reason: str) -> Reading:
    from obverse.review.tables import Reading

    return Reading(f"attack {click.get_current_context().info_name}", project, reason)


def finish(found: Finding, as_json: bool) -> None:
    """Print the finding; the exit code says whether it leaks."""
    if as_json:
        print_json({"version": 1, **found.as_json()})
    else:
        print_finding(found)
    if found.leaks:
        click.get_current_context().exit(LEAKS)


def print_finding(found: Finding) -> None:
    low, high = found.interval
    below, above = found.chance
    around = "" if below == above else f" ({percent(below)} to {percent(above)})"
    row = [
        found.attack.replace("_", " "),
        f"{found.rate.wins:,} of {found.rate.trials:,}",
        f"{percent(found.rate.value)} ({percent(low)} to {percent(high)})",
        f"{percent(found.usual)}{around}",
        "yes" if found.leaks else "too few" if found.too_few else "no",
    ]
    print_table([Heading(name) for name in ("attack", "won", "rate", "control", "leaks")], [row])
    print_fact("Finding", found.sentence, colour="red" if found.leaks else "green")
    for name, value in found.figures.items():
        print_fact("", f"{name.replace('_', ' ')}: {_shown(value)}")
    for place, line in enumerate(_judged(found)):
        print_fact("" if place else "Judged", line)


def _judged(found: Finding) -> list[str]:
    """What the verdict rests on, and how often it blames a harmless target."""
    if not found.tests:
        return []
    lines = [f"{one.words}: p {'below 1e-9' if one.p < 1e-9 else f'= {one.p:.2g}'}" for one in found.tests]
    each = "" if len(lines) == 1 else f", {percent(found.each_alpha)} for each of {len(lines)} tests"
    return [*lines, f"a harmless target is blamed with a chance of at most {percent(found.alpha)}{each}"]


def columns_of(on: str) -> tuple[list[str], dict[str, str]]:
    """Names in the release, and what the known table calls each."""
    pairs = [part.strip().partition("=") for part in on.split(",") if part.strip()]
    return [name.strip() for name, _, _ in pairs], {name.strip(): (other or name).strip() for name, _, other in pairs}


def renamed(door: Reading, path: Path, names: dict[str, str], *others: str | None) -> Table:
    """The known table with the release's names, and other columns of it."""
    from obverse.attack.tables.classes import column

    table = door.one_row_each(path, [*names.values(), *(name for name in others if name is not None)])
    return {**table, **{name: column(table, other) for name, other in names.items()}}


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list):
        return ", ".join(_shown(one) for one in value) or "none"
    return "none" if value is None else str(value)
