"""Who answers an attack's questions: a file, exactly or not, a project, a function, an endpoint; and who knows the
truth.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from obverse.cli.commands.attack.output import FILE, door_of
from obverse.cli.options import Range, number

if TYPE_CHECKING:
    from obverse.attack.targets import Ask, Counting, Person
    from obverse.engines.files import ExactTable

F = TypeVar("F", bound=Callable[..., Any])
PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Who answers, as the options say."""

    laplace: float | None
    least: int | None
    project: Path | None
    epsilon: str | None
    call: str | None
    url: str | None
    token_env: str | None
    dsn_env: str | None
    table: str | None
    seed: int
    reason: str

    def __post_init__(self) -> None:
        if sum(given is not None for given in (self.call, self.url, self.dsn_env)) > 1:
            raise click.UsageError("give one of --call, --url and --dsn-env.")
        if (self.url is None) != (self.token_env is None):
            raise click.UsageError("--url and --token-env belong together.")

    @property
    def rows_answer(self) -> bool:
        """Whether the rows that tell the truth answer themselves."""
        if (self.call, self.url, self.dsn_env) != (None, None, None):
            return False
        return self.project is None or self.laplace is not None or self.least is not None


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
        from obverse.attack.targets import balanced
        from obverse.review.interfaces import people_in

        return balanced(people_in(self.truth, self.file_table, key, secret), wanted, self.seed)

    def counting(self, key: str) -> Counting:
        from obverse.attack.targets import Counting

        return Counting(self.ask, self.table, named(key))


def named(name: str) -> str:
    """A name as SQL writes it: in quotes, unless it is a plain one that everybody understands."""
    return name if PLAIN.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def with_target(function: F) -> F:
    """Who answers: the file itself, exactly or not, a project, a function, or a live endpoint."""
    for option in (
        click.option(
            "--seed", type=click.IntRange(0), default=1, show_default=True, help="Of noise, subsets and people."
        ),
        click.option("--table", metavar="NAME", help="What questions call the table; the file's name unless told."),
        click.option("--call", metavar="MODULE:NAME", help="A Python function answers: SQL in, a number or None out."),
        click.option("--dsn-env", metavar="VAR", help="A PostgreSQL server answers; VAR holds its connection string."),
        click.option("--token-env", metavar="VAR", help="With --url: the environment variable that holds the token."),
        click.option("--url", metavar="URL", help="A service answers: https://host/v1/PROJECT."),
        click.option("--epsilon", metavar="E", help="With --project, --url or --dsn-env: the price of each question."),
        click.option(
            "--reason", default="", metavar="TEXT", help="With a project's table: why; sealed into its ledger."
        ),
        click.option(
            "-p",
            "--project",
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="A project answers, and is charged; with --laplace or --at-least its rows do. FILE may be its table",
        ),
        click.option(
            "--at-least", "least", type=click.IntRange(1), metavar="K", help="Rows answer; small counts are refused."
        ),
        click.option(
            "--laplace", type=Range(0), metavar="B", help="Rows answer, with fresh Laplace noise of this scale."
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
def opened(file: Path, wanted: Wanted, *texts: str) -> Iterator[Target]:
    """Who answers, and who knows the truth; `texts` name the columns that are needed."""
    called = wanted.table or file.stem
    with door_of(wanted.project, wanted.reason).exact(file, called, texts) as truth:
        if wanted.rows_answer:
            from obverse.engines.files import quoted

            table = quoted(called)  # a file may be called by a word of SQL
            yield Target(_of_rows(truth, table, wanted), truth, table, called, file.name, wanted.seed)
            return
        with _other(wanted) as (ask, name):
            yield Target(ask, truth, named(called), called, name, wanted.seed)


def _of_rows(truth: ExactTable, table: str, wanted: Wanted) -> Ask:
    from obverse.attack.targets import with_least, with_noise

    ask: Ask = truth.ask
    if wanted.least is not None:
        ask = with_least(ask, wanted.least, int(truth.ask(f"SELECT COUNT(*) FROM {table}")))
    return ask if wanted.laplace is None else with_noise(ask, wanted.laplace, wanted.seed)


@contextmanager
def _other(wanted: Wanted) -> Iterator[tuple[Ask, str]]:
    """Somebody else who answers, and what to call them."""
    from obverse.attack.targets import in_numbers
    from obverse.review.interfaces import ask_at

    place = wanted.url or wanted.call or (f"dsn-env:{wanted.dsn_env}" if wanted.dsn_env else str(wanted.project))
    with ask_at(place, wanted.token_env or "", number(wanted.epsilon)) as ask:
        yield in_numbers(ask), called_by(place)


def called_by(place: str) -> str:
    return f"project {Path(place).name}" if Path(place).exists() else place
