"""Tracker: an interface that refuses counts of few people is asked about many, padded with a set that cancels out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from obverse.attack.finding import Finding, Rate, judged, share
from obverse.attack.targets import Counting, Person

NO_TRACKER = (
    "No tracker is answered together with its opposite, so nothing was tried: name a condition that about half meet."
)


@dataclass(frozen=True, slots=True)
class Tracker:
    """Denning's general tracker: T and not T are both answered, so a count of C is (C or T) + (C or not T) - T - not T.

    A trial is a person of whom no count is answered; it is won if the secret is guessed. The control always says what
    most of these people have: that is what the refusals leave.
    """

    name: ClassVar[str] = "tracker"
    summary: ClassVar[str] = "Get refused counts of few people from answered counts of many."

    def run(
        self,
        counting: Counting,
        secret: str,
        people: Sequence[Person],
        trackers: Sequence[str],
        target: str = "an interface",
    ) -> Finding:
        """`trackers` are conditions to try, each met by neither few nor nearly all rows."""
        direct = tried = wins = yes = 0
        found = next(((t, both) for t in trackers if (both := _both(counting, t)) is not None), None)
        for person in people:
            if counting.count(secret, counting.one(person)) is not None:
                direct += 1
                continue
            tried = tried + 1
            yes = yes + person.secret
            guess = None if found is None else _padded(counting, f"({secret}) AND ({counting.one(person)})", *found)
            wins += guess is not None and (guess >= 0.5) == person.secret
        usual = max(yes, tried - yes) / tried if tried else 1.0
        figures = {"tracker": None if found is None else found[0], "answered_directly": direct}
        told = f"Of {tried:,} people about whom the interface refuses to answer"
        return judged(
            self.name,
            target,
            Rate(wins, tried),
            usual,
            figures=figures,
            leak=f"{told}, the secret of {share(wins, tried)} follows from four counts that it does answer.",
            quiet=f"{told}, nothing surely follows from the counts that it does answer."
            if found is not None
            else NO_TRACKER,
        )

    @staticmethod
    def planted(generator: np.random.Generator) -> Finding:
        """Exact counts, except of fewer than ten people or of all but fewer than ten."""
        return Tracker().run(*_played(generator, noise=0.0), target="planted")

    @staticmethod
    def honest(generator: np.random.Generator) -> Finding:
        """The same with noise that hides one person."""
        return Tracker().run(*_played(generator, noise=20.0), target="honest")


def _both(counting: Counting, tracker: str) -> float | None:
    """Of how many people the tracker and its opposite tell, where both are answered."""
    one = counting.count(tracker)
    other = counting.count(f"NOT ({tracker})")
    return None if one is None or other is None else one + other


def _padded(counting: Counting, condition: str, tracker: str, both: float) -> float | None:
    one = counting.count(f"({condition}) OR ({tracker})")
    other = counting.count(f"({condition}) OR NOT ({tracker})")
    return None if one is None or other is None else one + other - both


def _played(generator: np.random.Generator, noise: float) -> tuple[Counting, str, list[Person], list[str]]:
    """Three hundred people in a table with id, age and a secret; counts of few, or of all but few, are refused."""
    import sqlite3

    truth = generator.permutation(np.arange(300) < 150)
    table = sqlite3.connect(":memory:")
    table.execute("CREATE TABLE people (id INTEGER, age INTEGER, ill INTEGER)")
    rows = zip(range(300), generator.integers(20, 80, 300).tolist(), truth.tolist())
    table.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)

    def ask(sql: str) -> float | None:
        ((exact,),) = table.execute(sql).fetchall()
        return exact + float(generator.laplace(0, noise)) if 10 <= exact <= 290 else None

    people = [Person(i, bool(truth[i])) for i in range(60)]
    return Counting(ask, "people", "id"), "ill = 1", people, ["age < 20", "age < 50"]
