"""Bypass: more answers than a budget pays for. Breaks budgets that are checked here and debited there, or forgotten."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from obverse.attack.attacks.averaging import wordings
from obverse.attack.finding import Finding, Rate, judged
from obverse.attack.targets import Door, Interface, Put
from obverse.core.errors import ObverseError

Question = Callable[[int], str]  # the question of this number; another number is another question, at the same price

NOT_SQL = "SELECT"
STRANGER = "somebody"
NEEDS = {"cancelled": "leaves", "keys": "key", "names": "name", "small prices": "price"}


@dataclass(frozen=True, slots=True)
class Bypass:
    """Spends a budget to its end, many questions at once, and then tries to get more.

    A trial is a fresh answer: one whose bits neither this question nor this key was answered with before. Each costs
    the price that was offered for it; those beyond the budget are won. An interface that keeps to its budget gives
    none, so the control is zero.

    Claim:   an interface that keeps to the stated budget, at the stated price, is never blamed.
    Proof:   it debits every fresh answer, so their prices sum to at most the budget. Sums are exact; a repeated answer
             costs nothing here, and one that was left before it came neither.
    Assumes: prices add up, and each number is another question, about private rows. Where losses add up otherwise
             (zcdp), give as budget the price times the number of such questions that it pays for, and parts of 1.
    """

    name: ClassVar[str] = "bypass"
    summary: ClassVar[str] = "Try to get more fresh answers than a budget pays for."
    budget: Fraction
    price: Fraction
    at_once: int = 8
    parts: int = 10  # of a price, to be offered; 1: whole prices only
    names: tuple[str, ...] = ()  # others in whose name questions are put

    def run(self, interface: Interface, question: Question, target: str = "an interface") -> Finding:
        tally = Tally(self.budget)
        attempt = _Attempt(self, interface, question, tally)
        attempt.before_the_end()
        attempt.to_the_end()
        attempt.beyond_the_end()
        if not tally.costs and tally.errors:
            raise tally.errors[0]  # it answers nothing at all, and says why
        pays = self.budget // self.price
        fresh = len(tally.costs)
        needless = {trick for trick, need in NEEDS.items() if need not in interface.hears}
        figures = {
            "budget_pays": pays, "fresh": fresh, "repeated": tally.repeated, "refused": tally.refused,
            "beyond_by": [f"{trick} {won}" for trick, won in tally.beyond.items()], "not_tried": sorted(needless),
        }  # fmt: skip
        told = f"{fresh:,} fresh answers were given, and the budget pays for {pays:,} at the full price"
        ways = ", ".join(tally.beyond)
        return judged(
            self.name, target, Rate(tally.unpaid(), fresh), 0.0, figures=figures,
            leak=f"{told}: more were got by {ways}, so what is lost in all is not what the budget says.",
            quiet=f"{told}: none was got for nothing.",
        )  # fmt: skip

    @staticmethod
    def planted(generator: np.random.Generator) -> Finding:
        """One looks whether a question fits, and debits it a moment later; another forgets with the connection.

        Both count.
        """
        found = [
            _played(_Counted(generator, Fraction(2), **how), "planted") for how in ({"gap_s": 0.02}, {"forgets": True})
        ]
        return min(found, key=lambda one: one.rate.wins)

    @staticmethod
    def honest(generator: np.random.Generator) -> Finding:
        """One total for all connections, looked at and debited under one lock."""
        return _played(_Counted(generator, Fraction(2)), "honest")


class Tally:
    """What was answered, and what it cost; from many threads."""

    def __init__(self, budget: Fraction) -> None:
        self._budget = budget
        self._lock = threading.Lock()
        self._seen: set[tuple[int | str, str]] = set()  # bits, by question and by key
        self.costs: list[Fraction] = []
        self.answered: list[int] = []  # numbers of questions, the latest last
        self.beyond: Counter[str] = Counter()
        self.errors: list[ObverseError] = []
        self.repeated = self.refused = 0

    def put(self, door: Door, trick: str, number: int, put: Put) -> bool:
        """Whether the question, whose number this is, was answered."""
        try:
            answer = door(put)
        except ObverseError as error:
            answer = None
            if put.sql != NOT_SQL:
                self.errors.append(error)
        with self._lock:
            if answer is None:
                self.refused += not put.leaves
                return False
            bits = float(answer).hex()
            known = {(name, bits) for name in (number, put.key) if name != ""}
            again = not known.isdisjoint(self._seen)
            self._seen |= known
            if again:
                self.repeated += 1
                return True
            self.costs.append(put.price)
            self.answered.append(number)
            if sum(self.costs) > self._budget:
                self.beyond[trick] += 1
            return True

    def unpaid(self) -> int:
        """The fewest answers without which the budget would have paid for all."""
        over = sum(self.costs) - self._budget
        left = sorted(self.costs)
        taken = 0
        while over > 0:
            over -= left.pop()
            taken += 1
        return taken


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One run on one interface."""

    attack: Bypass
    interface: Interface
    question: Question
    tally: Tally
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def before_the_end(self) -> None:
        """While there is budget: go away and ask again; a question that cannot be read between two that can."""
        pays = self.attack.budget // self.attack.price
        edge = self.attack.at_once // 2
        with self.interface.connect() as door:
            spent = 0
            if "leaves" in self.interface.hears and pays > 3:
                spent = 2
                for key in ("left", ""):
                    number = next(self.numbers)
                    told = key if "key" in self.interface.hears else ""
                    self._put(door, "cancelled", number, key=told, leaves=True)
                    self._put(door, "cancelled", number, key=told)
            # so that the last ones are asked for by twice as many
            for _ in range((pays - spent - edge) % self.attack.at_once):
                self.tally.put(door, "refusals in between", 0, Put(NOT_SQL, self.attack.price))
                self._put(door, "refusals in between", next(self.numbers))

    def to_the_end(self) -> None:
        """Many at once, each over a connection of its own, until nobody is answered or it is clear that there is no
        end.
        """
        count = self.attack.at_once
        most = self.attack.budget // self.attack.price + 2 * self.attack.at_once
        with ThreadPoolExecutor(count) as threads:
            while len(self.tally.costs) < most:
                start = threading.Barrier(count)
                asked = [threads.submit(self._together, start, next(self.numbers)) for _ in range(count)]
                if not sum(one.result() for one in asked):
                    return

    def _together(self, start: threading.Barrier, number: int) -> bool:
        try:
            with self.interface.connect() as door:
                start.wait()
                return self._put(door, "many at once", number, key=self._key(number))
        except threading.BrokenBarrierError:
            return False  # another could not connect, and says why
        except BaseException:
            start.abort()
            raise

    def beyond_the_end(self) -> None:
        """When the budget is spent: everything that might make an interface forget that."""
        hears = self.interface.hears
        known = (self.tally.answered or [0])[-1]
        with self.interface.connect() as door:
            for number in (known, next(self.numbers)):  # one that was answered, and one that was not
                for words in wordings(self.question(number)):
                    self._put(door, "other words", number, words)
            if "key" in hears:
                for key in (self._key(known), self._key(known), "another"):
                    self._put(door, "keys", known, key=key)
                self._put(door, "keys", next(self.numbers), key=self._key(known))
            for name in (*self.attack.names, STRANGER) if "name" in hears else ():
                self._put(door, "names", next(self.numbers), name=name)
            if "price" in hears and self.attack.parts > 1:
                part = Fraction(repr(float(self.attack.price / self.attack.parts)))  # what is sent is what it costs
                for _ in range(2 * self.attack.parts):
                    number = next(self.numbers)
                    self.tally.put(door, "small prices", number, Put(self.question(number), part))
        for _ in range(self.attack.at_once):
            with self.interface.connect() as door:
                self._put(door, "other connections", next(self.numbers))

    def _put(
        self,
        door: Door,
        trick: str,
        number: int,
        words: str = "",
        *,
        key: str = "",
        name: str = "",
        leaves: bool = False,
    ) -> bool:
        put = Put(words or self.question(number), self.attack.price, key, name, leaves)
        return self.tally.put(door, trick, number, put)

    def _key(self, number: int) -> str:
        return f"key-{number}" if "key" in self.interface.hears else ""


class _Counted:
    """An interface with a budget: that of all connections, or of each; debited under a lock, or a moment after the
    look.
    """

    def __init__(
        self, generator: np.random.Generator, budget: Fraction, *, gap_s: float | None = None, forgets: bool = False
    ) -> None:
        self.budget = budget
        self._gap_s = gap_s
        self._forgets = forgets
        self._generator = generator
        self._lock = threading.Lock()
        self._spent = Fraction(0)

    @contextmanager
    def connect(self) -> Iterator[Door]:
        if self._forgets:
            self._spent = Fraction(0)
        yield self._answer

    def _answer(self, put: Put) -> float | None:
        if put.sql == NOT_SQL or (self._gap_s is None and not self._debited(put.price)):
            return None
        if self._gap_s is not None:
            if self._spent + put.price > self.budget:
                return None
            time.sleep(self._gap_s)  # as long as the way to a database and back
            self._spent += put.price
        with self._lock:
            return float(self._generator.laplace(1000, 10))

    def _debited(self, price: Fraction) -> bool:
        with self._lock:
            fits = self._spent + price <= self.budget
            self._spent += price if fits else 0
            return fits


def _played(counted: _Counted, target: str) -> Finding:
    interface = Interface(counted.connect, frozenset({"key", "name", "price", "leaves"}))
    return Bypass(counted.budget, Fraction(1, 10)).run(interface, lambda number: f"SELECT {number}", target)
