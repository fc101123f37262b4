from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from obverse.attack.attacks import Bypass
from obverse.attack.attacks.averaging import wordings
from obverse.attack.attacks.bypass import NOT_SQL, Tally, _Counted, _played
from obverse.attack.finding import Finding
from obverse.attack.targets import Interface, Put
from obverse.core.errors import Refused

if TYPE_CHECKING:
    from obverse.attack.targets import Door

PRICE = Fraction(1, 10)
ALL = frozenset({"key", "name", "price", "leaves"})


class Service:
    """An interface that keeps to its budget and remembers answers by their text; `flaw` says in what it does not."""

    def __init__(self, flaw: str = "", pays: int = 21) -> None:
        self.flaw = flaw
        self.budget = pays * PRICE
        self.spent: Counter[str] = Counter()
        self.stored: dict[tuple[str, ...], float] = {}
        self.keys: set[str] = set()
        self.lock = threading.Lock()
        self.draws = np.random.default_rng(1)

    @contextmanager
    def connect(self) -> Iterator[Door]:
        if self.flaw == "other connections":
            self.spent.clear()
        yield self.answer

    def answer(self, put: Put) -> float | None:
        with self.lock:
            if put.sql == NOT_SQL:
                if self.flaw == "refusals in between":
                    self.spent[""] = max(self.spent[""] - PRICE, Fraction(0))  # as if the last one had failed
                raise Refused("parse_error", "this is not SQL.")
            text = put.sql if self.flaw == "other words" else " ".join(put.sql.split())
            known = (text, str(put.price))
            if known in self.stored and not (self.flaw == "keys" and put.key in self.keys):
                return None if put.leaves else self.stored[known]
            owner = put.name if self.flaw == "names" else ""
            free = (self.flaw == "keys" and put.key in self.keys) or (self.flaw == "small prices" and put.price < PRICE)
            free = free or (self.flaw == "other words" and text != text.strip())
            if not free and self.spent[owner] + put.price > self.budget:
                return None
            self.spent[owner] += 0 if free else put.price
            self.keys |= {put.key} - {""}
            self.stored[known] = float(self.draws.laplace(1000, 10))
            if put.leaves and self.flaw == "cancelled":
                self.spent[owner] -= put.price  # paid back, though the answer is stored
            return None if put.leaves else self.stored[known]


def attacked(service: Service, **how: int) -> Finding:
    return Bypass(service.budget, PRICE, **how).run(Interface(service.connect, ALL), lambda i: f"SELECT {i}")


@pytest.mark.parametrize(
    "flaw", ["other connections", "refusals in between", "other words", "keys", "names", "small prices", "cancelled"]
)
def test_each_way_around_a_budget_is_found(flaw: str) -> None:
    found = attacked(Service(flaw))
    assert found.leaks
    assert found.rate.trials > found.figures["budget_pays"]
    assert found.figures["beyond_by"]


def test_a_flaw_that_shows_after_the_end_is_named() -> None:
    for flaw in ("other connections", "other words", "keys", "names", "small prices"):
        assert any(line.startswith(flaw) for line in attacked(Service(flaw)).figures["beyond_by"]), flaw


@pytest.mark.parametrize("pays", [0, 1, 3, 8, 21, 40])
def test_who_keeps_to_the_budget_is_never_blamed(pays: int) -> None:
    found = attacked(Service(pays=pays))
    assert not found.leaks
    assert found.rate.wins == 0
    assert (found.rate.trials, found.figures["beyond_by"]) == (pays, [])


@pytest.mark.parametrize("hears", [ALL, ALL - {"leaves"}])
def test_who_repeats_what_was_said_under_a_key_is_never_blamed(hears: frozenset[str]) -> None:
    """Another question under a known key gets the key's old answer, which is nothing new."""
    service = Service()
    kept: dict[str, float] = {}

    @contextmanager
    def connect() -> Iterator[Door]:
        def door(put: Put) -> float | None:
            if put.key in kept:
                return kept[put.key]
            answer = service.answer(put)
            if put.key and answer is not None:
                kept[put.key] = answer
            return answer

        yield door

    found = Bypass(service.budget, PRICE).run(Interface(connect, hears), lambda i: f"SELECT {i}")
    assert not found.leaks
    assert found.figures["beyond_by"] == []


def test_looking_first_and_debiting_later_is_found_by_asking_at_once() -> None:
    found = _played(_Counted(np.random.default_rng(1), Fraction(2), gap_s=0.02), "a race")
    assert found.leaks
    assert found.figures["beyond_by"][0].startswith("many at once")


def test_a_budget_that_is_forgotten_is_found_whichever_way() -> None:
    assert _played(_Counted(np.random.default_rng(1), Fraction(2), forgets=True), "forgetful").leaks


def test_an_interface_without_a_budget_is_not_asked_for_ever() -> None:
    endless = Bypass(Fraction(1), PRICE).run(Interface(Service(pays=10**9).connect, ALL), lambda i: f"SELECT {i}")
    assert endless.leaks
    assert endless.rate.trials < 120


def test_as_few_answers_as_can_be_are_called_unpaid() -> None:
    tally = Tally(Fraction(1))
    for number in range(12):
        tally.put(lambda put: 1.0, "one after the other", number, Put("", Fraction(1, 10)))
    assert tally.unpaid() == 2
    for number in range(100, 110):
        tally.put(lambda put: 1.0, "small prices", number, Put("", Fraction(1, 100)))
    assert tally.unpaid() == 3  # three whole ones, not twelve small ones
    assert tally.put(lambda put: 1.0, "again", 0, Put("", Fraction(1, 10)))
    assert (tally.repeated, tally.unpaid()) == (1, 3)


def test_what_answers_nothing_says_why() -> None:
    def refusing(put: Put) -> float | None:
        raise Refused("not_signed_in", "who are you?")

    @contextmanager
    def connect() -> Iterator[Door]:
        yield refusing

    with pytest.raises(Refused) as refused:
        Bypass(Fraction(1), PRICE).run(Interface(connect), str)
    assert refused.value.code == "not_signed_in"


def test_who_cannot_connect_at_once_is_told_and_nobody_waits_for_ever() -> None:
    service = Service()
    connected = []

    @contextmanager
    def connect() -> Iterator[Door]:
        connected.append(1)
        if len(connected) == 5:
            raise Refused("endpoint_unreachable", "too many connections")
        yield service.answer

    with pytest.raises(Refused):
        Bypass(service.budget, PRICE).run(Interface(connect, ALL), lambda i: f"SELECT {i}")


def test_other_words_mean_the_same() -> None:
    import sqlite3

    with sqlite3.connect(":memory:") as table:
        table.execute("CREATE TABLE people (name TEXT, age INTEGER)")
        table.executemany("INSERT INTO people VALUES (?, ?)", [("O'Neil  X", 40), ("Ann", 30)])
        said = wordings("SELECT COUNT(*) FROM people WHERE name = 'O''Neil  X' AND \"age\" > 3")
        assert len(said) == 9
        assert {table.execute(words).fetchall()[0] for words in said} == {(1,)}
