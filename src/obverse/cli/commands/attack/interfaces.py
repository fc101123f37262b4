"""obverse attack on interfaces that answer. A file tells the truth; it answers itself, or a project or a function does.

obverse attack on numbers that were published: averages of many attributes, and noisy answers to one question.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from obverse.cli.commands.attack.output import FILE, finish, with_door
from obverse.cli.commands.attack.targets import Target, Wanted, named, opened, with_people, with_target
from obverse.cli.errors import Verb
from obverse.cli.options import Range, with_json
from obverse.core.errors import Refused

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from obverse.attack.finding import Finding
    from obverse.attack.targets import Table
    from obverse.review.tables import Reading


@click.command(cls=Verb)
@click.argument("averages", type=FILE)
@click.option(
    "--members", type=FILE, required=True, help="People who were averaged, with the same columns, as numbers."
)
@click.option("--outsiders", type=FILE, required=True, help="People of the same kind who were not.")
@click.option("--world", type=FILE, help="Averages of the world; of a third of the outsiders unless told.")
@with_door
@with_json
def membership(
    averages: Path, members: Path, outsiders: Path, world: Path | None, as_json: bool, door: Reading
) -> None:
    """Tell from many published averages who was among those averaged.

    \b
    Example:
      obverse attack membership averages.csv --members in.csv --outsiders out.csv
    """
    from obverse.attack.attacks import Membership

    table = door.table(averages, ())
    names = list(table)
    told = _matrix(table, names, averages)
    inside, outside = (_matrix(door.table(path, names), names, path) for path in (members, outsiders))
    usual = outside[: max(1, len(outside) // 3)]
    if world is None:
        outside = outside[len(usual) :]
    else:
        usual = _matrix(door.table(world, names), names, world)[:1]
    if len(outside) < 2 or not len(inside) or not len(usual) or not len(told):
        raise Refused("no_control", "there are too few people to compare with.", fix="give more members and outsiders")
    finish(Membership().run(told[0], usual.mean(axis=0), inside, outside, averages.name), as_json)


@click.command(cls=Verb, name="low-bits")
@click.argument("answers", type=FILE)
@click.option("--present", required=True, metavar="COLUMN", help="Answers while a person is in the data.")
@click.option("--absent", required=True, metavar="COLUMN", help="Answers to the same question without that person.")
@click.option("--epsilon", type=Range(0), required=True, help="What one answer claims to lose.")
@click.option("--delta", type=Range(0, 1, max_open=True), default=0.0, help="Delta of the claim; 0 unless given.")
@with_door
@with_json
def low_bits(
    answers: Path, present: str, absent: str, epsilon: float, delta: float, as_json: bool, door: Reading
) -> None:
    """Read the last bits of noisy answers: do they betray what was added to?

    \b
    Example:
      obverse attack low-bits answers.csv --present with --absent without --epsilon 1
    """
    import numpy as np

    from obverse.attack.attacks import LowBits
    from obverse.attack.tables.classes import column

    table = door.table(answers, (present, absent))
    sides = []
    for name in (present, absent):
        given = [value for value in column(table, name) if value is not None]  # one may have been asked more often
        sides.append(_matrix({name: np.array(given, dtype=object)}, [name], answers)[:, 0])
    finish(LowBits(epsilon, delta).run(sides[0], sides[1], answers.name), as_json)


def _matrix(table: Table, names: list[str], path: Path) -> NDArray[np.float64]:
    """Columns as numbers, side by side. What is missing would make every comparison false, and so look harmless."""
    import numpy as np

    from obverse.attack.tables.classes import column
    from obverse.attack.tables.ratings import numbers_of

    found = np.stack([numbers_of(column(table, name)) for name in names], axis=1)
    if not np.isfinite(found).all():
        what = f"{path.name} has a cell that is missing, or not finite."
        raise Refused("not_numbers", what, fix="Fill it, or leave the row or the column out.")
    return found


@click.command(cls=Verb)
@with_target
@with_people
@click.option(
    "--conditions", type=click.File("r"), help="Sets to count, one SQL condition a line; pairs one apart are found."
)
@with_json
def differencing(
    file: Path, key: str, secret: str, people: int, conditions: TextIO | None, as_json: bool, **target: Any
) -> None:  # fmt: skip
    """Subtract two counts whose people differ in one.

    Asks for everybody with the secret, and for everybody but one. With --conditions it asks what they say, as published
    tables do, and finds all pairs of sets that differ in one person.

    \b
    Examples:
      obverse attack differencing people.csv --id name --secret "hiv = 1"
      obverse attack differencing people.csv --id name --secret "hiv = 1" -p hospital --epsilon 0.1
    """
    from obverse.attack.attacks import Differencing

    asked = None if conditions is None else [line.strip() for line in conditions if line.strip()]
    with opened(file, Wanted(**target), key, secret, *(asked or ())) as one:
        if asked is None:
            found = Differencing().ask(one.counting(key), secret, one.people(key, secret, people), one.name)
        else:
            found = _published(one, key, secret, asked)
    finish(found, as_json)


def _published(one: Target, key: str, secret: str, conditions: list[str]) -> Finding:
    """Counts that were published anyway, and whatever follows from pairs of them."""
    import numpy as np

    from obverse.attack.attacks import Differencing
    from obverse.review.interfaces import people_in, sets_in

    truth = np.array([person.secret for person in people_in(one.truth, one.file_table, key, secret)])
    sets = sets_in(one.truth, one.file_table, key, conditions)
    counts = [one.counting(key).count(secret, condition) for condition in conditions]
    answers = np.array([np.nan if count is None else count for count in counts])
    return Differencing().run(sets, answers, truth, one.name)


@click.command(cls=Verb)
@with_target
@click.option("--by", required=True, metavar="COLUMN", help="One counting question for each value of this column.")
@click.option("--questions", type=click.IntRange(1), default=50, show_default=True, help="How many of them at most.")
@click.option("--repeats", type=click.IntRange(1), default=100, show_default=True, help="How often each is asked.")
@with_json
def averaging(file: Path, by: str, questions: int, repeats: int, as_json: bool, **target: Any) -> None:
    """Ask the same question many times, also in other words, and average.

    \b
    Example:
      obverse attack averaging people.csv --by town --laplace 3 --repeats 400
    """
    from obverse.attack.attacks import Averaging
    from obverse.attack.targets import literal
    from obverse.engines.files import quoted

    with opened(file, Wanted(**target), by) as one:
        sql = (
            f"SELECT {quoted(by)}, COUNT(*) FROM {quoted(one.file_table)} WHERE {quoted(by)} IS NOT NULL GROUP BY 1 "
            "ORDER BY 1"
        )
        counted = one.truth.rows(f"{sql} LIMIT {questions}")
        asked = [f"SELECT COUNT(*) FROM {one.table} WHERE {named(by)} = {literal(value)}" for value, _ in counted]
        found = Averaging(repeats).ask(one.ask, asked, [int(count) for _, count in counted], one.name)
    finish(found, as_json)


@click.command(cls=Verb)
@with_target
@with_people
@click.option(
    "--tracker", "trackers", multiple=True, required=True, metavar="SQL", help="A condition that about half meet."
)
@with_json
def tracker(
    file: Path, key: str, secret: str, people: int, trackers: tuple[str, ...], as_json: bool, **target: Any
) -> None:  # fmt: skip
    """Get refused counts of few people from answered counts of many.

    \b
    Example:
      obverse attack tracker people.csv --id name --secret "hiv = 1" --tracker "age < 50" --at-least 10
    """
    from obverse.attack.attacks import Tracker

    with opened(file, Wanted(**target), key, secret, *trackers) as one:
        found = Tracker().run(one.counting(key), secret, one.people(key, secret, people), trackers, one.name)
    finish(found, as_json)


@click.command(cls=Verb)
@with_target
@with_people
@click.option("--queries", type=click.IntRange(1), help="How many subsets are asked about; four a person unless told.")
@click.option(
    "--method",
    type=click.Choice(["least-squares", "linear", "exhaustive", "certain"]),
    default="least-squares",
    show_default=True,
    help="How bits are found from sums.",
)
@click.option("--error", type=Range(0), help="The largest error of an answer; exhaustive and certain need it.")
@with_json
def reconstruction(
    file: Path,
    key: str,
    secret: str,
    people: int,
    queries: int | None,
    method: Any,
    error: float | None,
    as_json: bool,
    **target: Any,
) -> None:
    """Recover everybody's secret bit from noisy sums over random subsets.

    \b
    Example:
      obverse attack reconstruction people.csv --id name --secret "hiv = 1" --people 200 --laplace 1
    """
    import numpy as np

    from obverse.attack.attacks import Reconstruction

    with opened(file, Wanted(**target), key, secret) as one:
        chosen = one.people(key, secret, people)
        attack = Reconstruction(method, queries, error, target["seed"])
        truth = np.array([person.secret for person in chosen])
        found = attack.run(one.counting(key).sums(chosen, secret), truth, one.name)
    finish(found, as_json)
