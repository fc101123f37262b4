"""What attacks are pointed at: tables that were released, and interfaces that answer. Nothing of ours is needed to be
one.

Interfaces as they are often built, over exact answers: with fresh noise, or with small counts refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.core.errors import Refused

Table = Mapping[str, NDArray[Any]]  # columns by name, all of one length; texts as objects
Ask = Callable[[str], float | None]  # a question in SQL; its answer is one number, or nothing where it is refused
Sums = Callable[[NDArray[np.bool_]], NDArray[np.float64]]  # rows of subsets of n people: the sum of secrets over each
Door = Callable[["Put"], float | None]  # one connection to an interface


@dataclass(frozen=True, slots=True)
class Put:
    """A question as somebody puts it who would rather not pay: its words, what is offered for it, and what is said
    beside.
    """

    sql: str
    price: Fraction
    key: str = ""  # questions under one key are said to be the same question, sent again
    name: str = ""  # somebody else's, claimed
    leaves: bool = False  # goes away before the reply is there


@dataclass(frozen=True, slots=True)
class Interface:
    """Something that may be connected to again and again, from many threads; each connection is used by one."""

    connect: Callable[[], AbstractContextManager[Door]]
    hears: frozenset[str] = frozenset()  # what can be told to it beside the words: "key", "name", "price", "leaves"


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody whom a key names and nobody else, and whether the secret holds of them."""

    key: object
    secret: bool


@dataclass(frozen=True, slots=True)
class Counting:
    """Counts over one table, asked through an interface; people are named by the column `key`."""

    ask: Ask
    table: str
    key: str

    def count(self, *conditions: str) -> float | None:
        """How many rows meet all the conditions."""
        met = " AND ".join(f"({one})" for one in conditions)
        return self.ask(f"SELECT COUNT(*) FROM {self.table}{f' WHERE {met}' if met else ''}")

    def one(self, person: Person) -> str:
        """The condition that somebody is this person."""
        return f"{self.key} = {literal(person.key)}"

    def some(self, people: Sequence[Person]) -> str:
        return f"{self.key} IN ({', '.join(literal(person.key) for person in people)})"

    def sums(self, people: Sequence[Person], secret: str) -> Sums:
        """Sums of secret bits over subsets, each asked as one count; what is refused is not a number."""

        def asked(subsets: NDArray[np.bool_]) -> NDArray[np.float64]:
            answers = np.full(len(subsets), np.nan)
            for i, row in enumerate(subsets):
                chosen = [people[place] for place in np.flatnonzero(row).tolist()]
                answer = self.count(secret, self.some(chosen)) if chosen else 0.0
                answers[i] = np.nan if answer is None else answer
            return answers

        return asked


def literal(value: object) -> str:
    """A value as SQL writes it."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return repr(value)
    return "'" + str(value).replace("'", "''") + "'"


def in_numbers(ask: Ask) -> Ask:
    """What is not finite is no answer; what is no number at all is a fault of the interface."""

    def finite(sql: str) -> float | None:
        answer = ask(sql)
        try:
            number = math.nan if answer is None else float(answer)
        except (TypeError, ValueError):
            fix = "Let it give a number, or None where it refuses."
            raise Refused("bad_outputs", "the interface gave something else than a number.", fix=fix) from None
        return number if math.isfinite(number) else None

    return finite


def with_noise(ask: Ask, scale: float, seed: int) -> Ask:
    """Fresh Laplace noise on every answer, without a budget: what is often called differential privacy and is not."""
    generator = np.random.default_rng(seed)

    def noisy(sql: str) -> float | None:
        exact = ask(sql)
        return None if exact is None else exact + float(generator.laplace(0, scale))

    return noisy


def with_least(ask: Ask, least: int, rows: int) -> Ask:
    """Refuses counts of fewer than `least` rows, and of all but fewer."""

    def careful(sql: str) -> float | None:
        exact = ask(sql)
        return exact if exact is not None and least <= exact <= rows - least else None

    return careful


def balanced(people: Sequence[Person], wanted: int, seed: int) -> list[Person]:
    """So many people, half of them with the secret where there are enough of both, so that blind guesses are half
    right.
    """
    order = np.random.default_rng(seed).permutation(len(people)).tolist()
    have = [people[i] for i in order if people[i].secret]
    lack = [people[i] for i in order if not people[i].secret]
    half = min(wanted // 2, len(have), len(lack))
    extra = (have[half:] + lack[half:])[: max(0, wanted - 2 * half)]
    return have[:half] + lack[:half] + extra
