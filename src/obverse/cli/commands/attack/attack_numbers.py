"""obverse attack on numbers that were published: averages of many attributes, and noisy answers to one question."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from obverse.cli.commands.attack.output import FILE, finish, with_door
from obverse.cli.errors import Verb
from obverse.cli.options import Range, with_json
from obverse.core.errors import Refused

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from obverse.attack.targets import Table
    from obverse.review.tables import Reading


@click.command(cls=Verb)
@click.argument("averages", type=FILE)
@click.option("--members", type=FILE, required=True, help="People who were averaged, with the same columns, as numbers.")
@click.option("--outsiders", type=FILE, required=True, help="People of the same kind who were not.")
@click.option("--world", type=FILE, help="Averages of the world; of a third of the outsiders unless told.")
@with_door
@with_json
def membership(averages: Path, members: Path, outsiders: Path, world: Path | None, as_json: bool, door: Reading) -> None:
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
def low_bits(answers: Path, present: str, absent: str, epsilon: float, delta: float, as_json: bool, door: Reading) -> None:
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
