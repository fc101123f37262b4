"""obverse attack on interfaces that answer. A file tells the truth; it answers itself, or a project or a function does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from obverse.cli.attack_findings import FILE, finish, table_at
from obverse.cli.failures import Verb
from obverse.cli.options import number, with_json
from obverse.core.errors import Refused

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from obverse.attack.targets import Ask, Counting, Person
    from obverse.engines.exact_tables import ExactTable

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Wanted:
    """Who answers, as the options say."""

    laplace: float | None
    least: int | None
    project: Path | None
    epsilon: str | None
    call: str | None
    table: str | None
    seed: int


@dataclass(frozen=True, slots=True)
class Target:
    """The interface under attack, and the file that knows the truth."""

    ask: Ask
    truth: ExactTable
    table: str  # as questions name it
    file_table: str
    name: str
    seed: int

    def people(self, key: str, secret: str, wanted: int) -> list[Person]:
        from obverse.attack.interfaces import balanced
        from obverse.session.attacking import people_in

        return balanced(people_in(self.truth, self.file_table, key, secret), wanted, self.seed)

    def counting(self, key: str) -> Counting:
        from obverse.attack.targets import Counting

        return Counting(self.ask, self.table, key)


def with_target(function: F) -> F:
    """Who answers: the file itself, exactly or not, a project, or a function."""
    for option in (
        click.option("--seed", type=int, default=1, show_default=True, help="Of noise, subsets and the choice of people."),
        click.option("--table", metavar="NAME", help="What questions call the table; the file's name unless told."),
        click.option("--call", metavar="MODULE:NAME", help="A Python function answers: SQL in, a number or None out."),
        click.option("--epsilon", metavar="E", help="With --project: the price of each question."),
        click.option(
            "-p", "--project", type=click.Path(path_type=Path), metavar="DIR", help="A project answers; it is charged."
        ),
        click.option("--at-least", "least", type=click.IntRange(1), metavar="K", help="The file refuses counts of few rows."),
        click.option(
            "--laplace", type=click.FloatRange(0), metavar="B", help="The file adds fresh Laplace noise of this scale."
        ),
        click.argument("file", type=FILE),
    ):
        function = option(function)
    return function


def with_people(function: F) -> F:
    for option in (
        click.option("--people", type=click.IntRange(2), default=60, show_default=True, help="How many are attacked."),
        click.option("--secret", required=True, metavar="SQL", help='A condition, such as "hiv = 1".'),
        click.option("--id", "key", required=True, metavar="COLUMN", help="A column that names each row once."),
    ):
        function = option(function)
    return function


@contextmanager
def opened(file: Path, wanted: Wanted) -> Iterator[Target]:
    from obverse.attack.interfaces import with_least, with_noise
    from obverse.engines.exact_tables import ExactTable
    from obverse.session.attacking import asked_of, named_function

    called = wanted.table or file.stem
    with ExactTable(file, called) as truth:
        if wanted.project is not None:
            import obverse

            with obverse.open(wanted.project) as session:
                ask = asked_of(session, number(wanted.epsilon))
                yield Target(ask, truth, called, called, f"project {wanted.project.name}", wanted.seed)
            return
        quoted = called if called.isidentifier() else f'"{called}"'
        if wanted.call is not None:
            yield Target(named_function(wanted.call), truth, quoted, called, wanted.call, wanted.seed)
            return
        ask = truth.ask
        if wanted.least is not None:
            ask = with_least(ask, wanted.least, int(truth.ask(f"SELECT COUNT(*) FROM {quoted}")))
        if wanted.laplace is not None:
            ask = with_noise(ask, wanted.laplace, wanted.seed)
        yield Target(ask, truth, quoted, called, file.name, wanted.seed)


@click.command(cls=Verb)
@with_target
@with_people
@with_json
def differencing(file: Path, key: str, secret: str, people: int, as_json: bool, **target: Any) -> None:
    """Subtract two counts whose people differ in one.

    \b
    Examples:
      obverse attack differencing people.csv --id name --secret "hiv = 1"
      obverse attack differencing people.csv --id name --secret "hiv = 1" -p hospital --epsilon 0.1
    """
    from obverse.attack.attacks import Differencing

    with opened(file, Wanted(**target)) as one:
        found = Differencing().ask(one.counting(key), secret, one.people(key, secret, people), one.name)
    finish(found, as_json)


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
    from obverse.engines.exact_tables import quoted

    with opened(file, Wanted(**target)) as one:
        sql = (
            f"SELECT {quoted(by)}, COUNT(*) FROM {quoted(one.file_table)} WHERE {quoted(by)} IS NOT NULL GROUP BY 1 ORDER BY 1"
        )
        counted = one.truth.rows(f"{sql} LIMIT {questions}")
        asked = [f"SELECT COUNT(*) FROM {one.table} WHERE {by} = {literal(value)}" for value, _ in counted]
        found = Averaging(repeats).ask(one.ask, asked, [int(count) for _, count in counted], one.name)
    finish(found, as_json)


@click.command(cls=Verb)
@with_target
@with_people
@click.option("--tracker", "trackers", multiple=True, required=True, metavar="SQL", help="A condition that about half meet.")
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

    with opened(file, Wanted(**target)) as one:
        found = Tracker().run(one.counting(key), secret, one.people(key, secret, people), trackers, one.name)
    finish(found, as_json)


@click.command(cls=Verb)
@with_target
@with_people
@click.option("--queries", type=click.IntRange(1), help="How many subsets are asked about; four a person unless told.")
@click.option("--method", type=click.Choice(["least-squares", "linear", "exhaustive", "certain"]), default="least-squares",
              show_default=True, help="How bits are found from sums.")  # fmt: skip
@click.option("--error", type=click.FloatRange(0), help="The largest error of an answer; exhaustive and certain need it.")
@with_json
def reconstruction(
    file: Path, key: str, secret: str, people: int, queries: int | None, method: Any, error: float | None, as_json: bool,
    **target: Any,
) -> None:  # fmt: skip
    """Recover everybody's secret bit from noisy sums over random subsets.

    \b
    Example:
      obverse attack reconstruction people.csv --id name --secret "hiv = 1" --people 200 --laplace 1
    """
    import numpy as np

    from obverse.attack.attacks import Reconstruction

    with opened(file, Wanted(**target)) as one:
        chosen = one.people(key, secret, people)
        attack = Reconstruction(method, queries, error, target["seed"])
        truth = np.array([person.secret for person in chosen])
        found = attack.run(one.counting(key).sums(chosen, secret), truth, one.name)
    finish(found, as_json)


@click.command(cls=Verb)
@click.argument("averages", type=FILE)
@click.option("--members", type=FILE, required=True, help="People who were averaged, with the same columns, as numbers.")
@click.option("--outsiders", type=FILE, required=True, help="People of the same kind who were not.")
@click.option("--world", type=FILE, help="Averages of the world; of a third of the outsiders unless told.")
@with_json
def membership(averages: Path, members: Path, outsiders: Path, world: Path | None, as_json: bool) -> None:
    """Tell from many published averages who was among those averaged.

    \b
    Example:
      obverse attack membership averages.csv --members in.csv --outsiders out.csv
    """
    from obverse.attack.attacks import Membership

    told = table_at(averages)
    names = list(told)
    inside, outside = _matrix(members, names), _matrix(outsiders, names)
    if world is not None:
        usual = _matrix(world, names)[0]
    else:
        third = max(1, len(outside) // 3)
        usual, outside = outside[:third].mean(axis=0), outside[third:]
    if len(outside) < 2 or not len(inside):
        raise Refused("no_control", "there are too few people to compare with.", fix="give more members and outsiders")
    finish(Membership().run(_matrix(averages, names)[0], usual, inside, outside, averages.name), as_json)


@click.command(cls=Verb, name="low-bits")
@click.argument("answers", type=FILE)
@click.option("--present", required=True, metavar="COLUMN", help="Answers while a person is in the data.")
@click.option("--absent", required=True, metavar="COLUMN", help="Answers to the same question without that person.")
@click.option("--epsilon", type=click.FloatRange(0), required=True, help="What one answer claims to lose.")
@with_json
def low_bits(answers: Path, present: str, absent: str, epsilon: float, as_json: bool) -> None:
    """Read the last bits of noisy answers: do they betray what was added to?

    \b
    Example:
      obverse attack low-bits answers.csv --present with --absent without --epsilon 1
    """
    from obverse.attack.attacks import LowBits

    numbers = _matrix(answers, [present, absent])
    finish(LowBits(epsilon).run(numbers[:, 0], numbers[:, 1], answers.name), as_json)


def _matrix(path: Path, names: list[str]) -> NDArray[np.float64]:
    """Columns of a file as numbers, side by side."""
    import numpy as np

    from obverse.attack.classes import column
    from obverse.attack.ratings import numbers_of

    table = table_at(path)
    try:
        return np.stack([numbers_of(column(table, name)) for name in names], axis=1)
    except ValueError:
        raise Refused("not_numbers", f"{path.name} holds something that is not a number.") from None
