"""Who answers an attack's questions: a file, exactly or not, a project, or a function; and the file that knows the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from obverse.cli.attack_findings import FILE
from obverse.cli.options import number

if TYPE_CHECKING:
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
