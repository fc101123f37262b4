"""What attacks are pointed at: tables that were released, and interfaces that answer. Nothing of ours is needed to be one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Table = Mapping[str, NDArray[Any]]  # columns by name, all of one length; texts as objects
    Ask = Callable[[str], float | None]  # a question in SQL; its answer is one number, or nothing where it is refused
    Sums = Callable[[NDArray[np.bool_]], NDArray[np.float64]]  # rows of subsets of n people: the sum of secrets over each


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody named by a condition in SQL that fits nobody else, and whether the secret holds of them."""

    condition: str
    secret: bool


@dataclass(frozen=True, slots=True)
class Counting:
    """Counts over one table, asked through an interface."""

    ask: Ask
    table: str

    def count(self, *conditions: str) -> float | None:
        """How many rows meet all the conditions."""
        met = " AND ".join(f"({one})" for one in conditions)
        return self.ask(f"SELECT COUNT(*) FROM {self.table}{f' WHERE {met}' if met else ''}")


def named(people: Sequence[Person]) -> str:
    """The condition that somebody is one of these."""
    return " OR ".join(f"({person.condition})" for person in people)


def quoted(value: object) -> str:
    """A value as SQL writes it."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return repr(value)
    return "'" + str(value).replace("'", "''") + "'"


def by_subset(counting: Counting, people: Sequence[Person], secret: str) -> Sums:
    """Sums of secret bits over subsets, each asked as one count; a question that is refused is not a number."""

    def sums(subsets: NDArray[np.bool_]) -> NDArray[np.float64]:
        import numpy as np

        answers = np.full(len(subsets), np.nan)
        for i, row in enumerate(subsets):
            some = [people[place] for place in np.flatnonzero(row).tolist()]
            got = counting.count(secret, named(some)) if some else 0.0
            answers[i] = np.nan if got is None else got
        return answers

    return sums
