"""obverse attack on released tables, one verb for each attack."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from obverse.cli.commands.attack.output import FILE, columns_of, finish, renamed, with_columns, with_door, with_person
from obverse.cli.errors import Verb
from obverse.cli.options import ON, SECRET, with_json

if TYPE_CHECKING:
    from obverse.review.tables import Reading


@click.command(cls=Verb)
@click.argument("released", type=FILE)
@click.option("--known", type=FILE, required=True, help="People with names, and what is known of them.")
@with_columns
@click.option("--truth", metavar="COLUMN", help="A column of both files that tells who is who; never used to link.")
@click.option("--control", type=FILE, help="Without --truth: people who are surely not in the release.")
@with_person
@with_door
@with_json
def linkage(
    released: Path,
    known: Path,
    on: str,
    truth: str | None,
    control: Path | None,
    person: str | None,
    as_json: bool,
    door: Reading,
) -> None:
    """Join a released table with a list of known people on quasi-identifiers.

    People are counted where it is known whose a row is: by --person, or by the declared unit of a project's table.

    \b
    Example:
      obverse attack linkage released.csv --known voters.csv --on zip,birth,sex --truth id
    """
    from obverse.attack.attacks import Linkage

    columns, names = columns_of(on)
    rows, whose = door.people(released, [*columns, *([truth] if truth else [])], person)
    outsiders = None if control is None else renamed(door, control, names, truth)
    people = renamed(door, known, names, truth)
    finish(
        Linkage().run(rows, people, columns, truth=truth, outsiders=outsiders, target=released.name, person=whose),
        as_json,
    )


@click.command(cls=Verb, name="fuzzy-linkage")
@click.argument("released", type=FILE)
@click.option("--known", type=FILE, required=True, help="A few ratings of each person, in the same columns.")
@click.option("--person", required=True, metavar="COLUMN", help="Who; people who are not in the release are a control.")
@click.option("--item", required=True, metavar="COLUMN", help="What was rated.")
@click.option("--stars", required=True, metavar="COLUMN", help="How it was rated, as a number.")
@click.option("--date", metavar="COLUMN", help="When: a date, or days as a number.")
@click.option(
    "--eccentricity", type=float, default=1.5, show_default=True, help="Of the paper's rule: deviations of the lead."
)
@with_door
@with_json
def fuzzy_linkage(
    released: Path,
    known: Path,
    person: str,
    item: str,
    stars: str,
    date: str | None,
    eccentricity: float,
    as_json: bool,
    door: Reading,
) -> None:
    """Find a person's record in sparse data from a few inexact clues (Netflix).

    \b
    Example:
      obverse attack fuzzy-linkage ratings.csv --known clues.csv --person id --item film --stars stars --date day
    """
    from obverse.attack.attacks import FuzzyLinkage
    from obverse.attack.tables.ratings import clues_of, of_table

    names = (person, item, stars, date)
    wanted = [name for name in names if name is not None]
    ratings, people, items = of_table(door.table(released, wanted), names)
    place = {name: i for i, name in enumerate(people)}
    clues = clues_of(door.table(known, wanted), names, items)
    inside = [(place[name], one) for name, one in clues.items() if name in place]
    outside = [one for name, one in clues.items() if name not in place]
    finish(FuzzyLinkage(eccentricity).run(ratings, inside, outside, released.name, people), as_json)


@click.command(cls=Verb)
@click.argument("released", type=FILE)
@click.option(*ON, required=True, metavar="COLUMNS", help="Quasi-identifiers, with commas between.")
@click.option(*SECRET, required=True, metavar="COLUMN", help="The sensitive column.")
@with_person
@with_door
@with_json
def homogeneity(released: Path, on: str, secret: str, person: str | None, as_json: bool, door: Reading) -> None:
    """Find classes of a released table whose rows all hold the same secret.

    People are counted where it is known whose a row is: by --person, or by the declared unit of a project's table.

    \b
    Example:
      obverse attack homogeneity released.csv --on zip,age --secret disease
    """
    from obverse.attack.attacks import Homogeneity

    columns, _ = columns_of(on)
    table, whose = door.people(released, [*columns, secret], person)
    finish(Homogeneity().run(table, columns, secret, released.name, person=whose), as_json)


@click.command(cls=Verb)
@click.argument("released", type=FILE)
@click.option(*ON, required=True, metavar="COLUMNS", help="Quasi-identifiers, with commas between.")
@click.option(*SECRET, required=True, metavar="COLUMN", help="The sensitive column.")
@click.option("--impossible", multiple=True, metavar="VALUE", help="A secret that is ruled out; may be given again.")
@click.option(
    "--ruled-out", type=click.IntRange(1), default=1, show_default=True, help="Else: how many of any are ruled out."
)
@with_person
@with_door
@with_json
def background(
    released: Path,
    on: str,
    secret: str,
    impossible: tuple[str, ...],
    ruled_out: int,
    person: str | None,
    as_json: bool,
    door: Reading,
) -> None:
    """Rule out secrets that are impossible, and find classes in which one is left.

    \b
    Example:
      obverse attack background released.csv --on zip,age --secret disease --impossible "heart disease"
    """
    from obverse.attack.attacks import Background

    attack = Background(ruled_out)
    columns, _ = columns_of(on)
    table, whose = door.people(released, [*columns, secret], person)
    finish(attack.run(table, columns, secret, impossible=impossible, target=released.name, person=whose), as_json)


@click.command(cls=Verb)
@click.argument("first", type=FILE)
@click.argument("second", type=FILE)
@click.option("--known", type=FILE, required=True, help="People who are in both releases.")
@with_columns
@click.option(*SECRET, required=True, metavar="COLUMN", help="The sensitive column of both releases.")
@click.option("--truth", metavar="COLUMN", help="The column of the known people that holds the secret, to judge by.")
@with_door
@with_json
def intersection(
    first: Path, second: Path, known: Path, on: str, secret: str, truth: str | None, as_json: bool, door: Reading
) -> None:
    """Combine two releases about the same people: which secrets do both allow?

    \b
    Example:
      obverse attack intersection one.csv two.csv --known both.csv --on zip,age --secret disease
    """
    from obverse.attack.attacks import Intersection

    columns, names = columns_of(on)
    people = renamed(door, known, names, truth)
    target = f"{first.name} and {second.name}"
    one, two = (door.table(name, [*columns, secret]) for name in (first, second))
    found = Intersection().run(one, two, people, columns, secret, truth=truth, target=target)
    finish(found, as_json)


@click.command(cls=Verb)
@click.argument("sample", type=FILE)
@click.option("--population", type=FILE, required=True, help="Everybody from whom the sample was drawn.")
@with_columns
@click.option("--truth", metavar="COLUMN", help="A column of both files that tells who is who, to judge by.")
@with_door
@with_json
def sampling(sample: Path, population: Path, on: str, truth: str | None, as_json: bool, door: Reading) -> None:
    """Find people of a population who are exposed by a raw sample of it.

    \b
    Example:
      obverse attack sampling sample.csv --population voters.csv --on zip,birth,sex --truth id
    """
    from obverse.attack.attacks import Sampling

    columns, names = columns_of(on)
    people = renamed(door, population, names, truth)
    rows = door.one_row_each(sample, [*columns, *([truth] if truth else [])])
    finish(Sampling().run(rows, people, columns, truth=truth, target=sample.name), as_json)


@click.command(cls=Verb)
@click.argument("released", type=FILE)
@click.option("--members", type=FILE, required=True, help="People whose data were used, with their secret.")
@click.option("--outsiders", type=FILE, required=True, help="People of the same kind whose data were not used.")
@with_columns
@click.option(*SECRET, required=True, metavar="COLUMN", help="What is guessed, in all three files.")
@with_door
@with_json
def attribute(
    released: Path, members: Path, outsiders: Path, on: str, secret: str, as_json: bool, door: Reading
) -> None:
    """Guess a secret from the rows that fit: better for those inside than for those outside?

    \b
    Example:
      obverse attack attribute released.csv --members in.csv --outsiders out.csv --on zip,age --secret disease
    """
    from obverse.attack.attacks import Attribute

    columns, names = columns_of(on)
    inside, outside = (renamed(door, people, names, secret) for people in (members, outsiders))
    rows = door.table(released, [*columns, secret])
    finish(Attribute().run(rows, inside, outside, columns, secret, released.name), as_json)
