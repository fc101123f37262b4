"""Scratch projects: two neighbouring databases of people who do not exist, under a real project's terms, to be attacked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from obverse.attack.targets import Person
from obverse.catalog.model import Catalog
from obverse.core.numbers import plain
from obverse.core.units import Neighbours
from obverse.session.dummies import Repeatable

ANALYST, TABLE, KEY, SECRET = "mallory", "people", "person_id", "ill"
PEOPLE = 120
AGES = 90
TOML = """\
[project]
name = "{name}"
[privacy]
neighbours = "{neighbours}"
accounting = "{accounting}"
epsilon = {epsilon}
delta = {delta}
[budget]
epsilon = {budget}
delta = {most}
[analysts.{analyst}]
[serve]
requests_per_minute = 1000000
transparency = false
[tables.{table}]
source = "people.csv"
unit = "{key}"
rows_about = {people}
{size}[tables.{table}.columns]
{key} = {{ type = "integer" }}
age = {{ type = "integer", bounds = [0, 120] }}
{secret} = {{ type = "boolean" }}
"""


@dataclass(frozen=True, slots=True)
class Scratch:
    """One made-up database as a project's folder."""

    name: str
    folder: Path
    people: tuple[Person, ...]


def write_scratch(folder: Path, name: str, terms: Catalog, *, budget: str = "1", absent: bool = False, people: int = PEOPLE
                  ) -> Scratch:  # fmt: skip
    """A project with the terms of another one and rows of its own; `absent`: without its last person, or with another one in
    their place where neighbours replace each other."""
    replaced = terms.neighbours is Neighbours.REPLACE
    rng = Repeatable(people, "scratch")
    ages, coins = rng.below(AGES, people).tolist(), [place % 2 == 0 for place in range(people)]
    rows = list(zip(range(people), ages, coins))
    if absent:
        last = rows.pop()
        rows += [(last[0], AGES - last[1], not last[2])] if replaced else []
    folder.mkdir(parents=True)
    lines = [f"{key},{age},{str(ill).lower()}" for key, age, ill in rows]
    (folder / "people.csv").write_text("\n".join((f"{KEY},age,{SECRET}", *lines, "")), encoding="utf-8")
    most = max(terms.budget.delta, terms.delta)
    (folder / "obverse.toml").write_text(
        TOML.format(
            name=name, neighbours=terms.neighbours.value, accounting=terms.accounting, epsilon=plain(terms.epsilon),
            delta=plain(terms.delta), budget=budget, most=plain(most), analyst=ANALYST, table=TABLE, key=KEY, people=people,
            size=f"size = {people}\n" if replaced else "", secret=SECRET,
        ),
        encoding="utf-8",
    )  # fmt: skip
    return Scratch(name, folder, tuple(Person(key, ill) for key, _, ill in rows))
