"""Columns whose collation takes different texts for equal: equality is that of bytes all the same, on every engine, so
that no
person changes how another's text is shown, is in two counts that exclude each other, or shares a unit with somebody
else."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from obverse.catalog.complete import complete
from obverse.catalog.load import loads
from obverse.core.types import Value
from obverse.plan.emit.emit import emit
from obverse.plan.emit.overlay import Correction, Overlay
from obverse.session.project import with_public_facts
from obverse.testing.neighbours import Family, Row, Tables
from tests.soundness.conftest import HASH_KEY, World
from tests.soundness.stacked import Exact
from tests.soundness.test_master_law import assert_law
from tests.stands import COLLATED

VARIANTS = ("alice", "Alice", "aLice", "alIce", "aliCe", "alicE", "ALice", "ALICE")
LISTED = ", ".join(f'"{word}"' for word in (*VARIANTS, "bob"))
TOML = f"""
[project]
name = "collated"
[budget]
epsilon = 100
[tables.t]
source = "python"
unit = "person"
limits = {{ rows = 8 }}
[tables.t.columns]
person = {{ type = "text" }}
name = {{ type = "text" }}
word = {{ type = "text", values = [{LISTED}] }}
few = {{ type = "text", values = ["alice", "Alice", "bob"], nullable = true }}
n = {{ type = "integer", bounds = [0, 9] }}
[tables.names]
source = "python"
public = true
"""
TEXT = "VARCHAR"
SCHEMAS = {
    "t": {"person": TEXT, "name": TEXT, "word": TEXT, "few": TEXT, "n": "BIGINT"},
    "names": {"name": TEXT, "kind": TEXT},
}
NAMES: tuple[Row, ...] = (
    *({"name": word, "kind": "small" if word.islower() else "mixed"} for word in VARIANTS[:5]),
    {"name": "bob", "kind": "SMALL"},
)
EIGHT = "SELECT " + ", ".join(f"COUNT(*) FILTER (WHERE name = '{word}')" for word in VARIANTS) + " FROM t"
KEYS = "SELECT name, COUNT(*) FROM t GROUP BY name"
PERSONS = "SELECT COUNT(*) FROM (SELECT person, COUNT(*) AS rows FROM t GROUP BY person) AS q"
QUESTIONS = (
    EIGHT,
    EIGHT.replace("name", "word"),
    KEYS,
    PERSONS,
    "SELECT word, COUNT(*), SUM(n) FROM t GROUP BY word",
    "SELECT few, COUNT(*) FROM t GROUP BY few",
    "SELECT name, word, COUNT(*) FROM t GROUP BY name, word",
    "SELECT name, COUNT(DISTINCT person) FROM t GROUP BY name",
    "SELECT COUNT(DISTINCT name), COUNT(DISTINCT word), COUNT(DISTINCT person) FROM t",
    "SELECT MODE(word), MEDIAN(n) FROM t",
    "SELECT name, MEDIAN(n) FROM t GROUP BY name",
    "SELECT COUNT(*) FILTER (WHERE name IN ('alice', 'bob')), COUNT(*) FILTER (WHERE name IN ('ALICE', 'Bob')) FROM t",
    "SELECT COUNT(*) FILTER (WHERE name LIKE 'al%'), COUNT(*) FILTER (WHERE name LIKE 'AL%') FROM t",
    "SELECT CASE name WHEN 'alice' THEN 'a' WHEN 'ALICE' THEN 'b' ELSE 'c' END, COUNT(*) FROM t GROUP BY 1",
    "SELECT z, COUNT(*) FROM (SELECT person, MAX(name) AS z FROM t GROUP BY person) AS q GROUP BY z",
    "SELECT z, COUNT(*) FROM (SELECT person, MIN(word) AS z FROM t GROUP BY person) AS q GROUP BY z",
    "SELECT SUM(k) FROM (SELECT person, COUNT(DISTINCT name) AS k FROM t GROUP BY person) AS q WHERE k < 9",
    "SELECT SUM(k) FROM (SELECT person, name, COUNT(*) AS k FROM t GROUP BY person, name) AS q WHERE k < 9",
    "SELECT kind, COUNT(*) FROM t JOIN names ON t.name = names.name GROUP BY kind",
    "SELECT COUNT(*) FROM t WHERE name IN (SELECT name FROM names WHERE kind = 'small')",
    "SELECT COUNT(*) FROM t AS a JOIN t AS b ON a.person = b.person AND a.name = b.word",
    "SELECT COUNT(*) FROM (SELECT DISTINCT person, name FROM t) AS q",
    "SELECT name, COUNT(*) FROM (SELECT person, name FROM t UNION ALL SELECT person, word FROM t) AS q GROUP BY name",
)


class Collated(World):
    """Persons whose keys and words differ in the case of letters alone, in columns that are compared without it."""

    def __init__(self, kind: str, texts: str) -> None:
        self.name = "collated"
        self.neighbours = "add-remove"
        self.text = False
        self.kind = kind
        self.parallel = 0
        self.texts = texts
        self.schemas = SCHEMAS
        self.take(complete(loads(TOML, Path("/")), SCHEMAS, {}))
        self.fill({"names": NAMES})
        self.catalog = with_public_facts(self.catalog, self.engine)

    def seen(self, text: str, rows: Sequence[Row], overlay: Overlay | None = None) -> Exact:
        """What mechanisms see of a question over these rows."""
        plan, sql = self.plan(text)
        if overlay is not None:
            sql = emit(plan.root, self.catalog, self.engine.dialect, HASH_KEY, overlay)
        ((found,),) = self.answers([(plan, sql)], [{"t": tuple(rows), "names": NAMES}])
        return found


def row(person: str, name: Value, n: int = 1) -> Row:
    return {"person": person, "name": name, "word": name, "few": name, "n": n}


def families() -> list[Family]:
    """To a base of persons with small letters: somebody of all variants, of one, of the key of somebody else in
    capitals.
    """
    base = tuple(row(f"p{i}", "alice" if i % 2 else "bob", i % 10) for i in range(20))
    units: list[tuple[Row, ...]] = [
        tuple(row("q", word, i) for i, word in enumerate(VARIANTS)),
        (row("q", "aLICe"),),
        (row("q", "BOB"), row("q", "bob"), row("q", None)),
        tuple(row("P1", word, 9) for word in itertools.islice(itertools.cycle(VARIANTS), 12)),
        tuple(row("P3", "alice", i % 10) for i in range(12)),
    ]
    made: list[Tables] = [{"t": unit, "names": ()} for unit in units]
    return [Family({"t": rows, "names": NAMES}, tuple(made)) for rows in (base, base[:3], ())]


@pytest.fixture(
    scope="module", params=[*COLLATED.items(), ("postgres", "public.citext")], ids=lambda one: "-".join(one)
)
def here(request: pytest.FixtureRequest) -> Iterator[Collated]:
    made = Collated(*request.param)
    yield made
    made.stand.close()


def test_one_person_more_changes_no_label_of_others(here: Collated) -> None:
    base = [row(f"p{i}", "alice" if i % 2 else "bob") for i in range(40)]
    before = here.seen(KEYS, base).votes
    after = here.seen(KEYS, [row("q", "aLICe"), *base]).votes
    assert before == {("'alice'",): 20, ("'bob'",): 20}
    assert after == {**before, ("'aLICe'",): 1}


def test_conditions_that_exclude_each_other_hold_of_a_row_once(here: Collated) -> None:
    found = here.seen(EIGHT, [row("q", "alice")])
    assert found.totals == (1, *(0,) * 7)


def test_units_that_differ_in_case_are_two(here: Collated) -> None:
    rows = [row(person, "bob") for person in ("P1", "p1") for _ in range(8)]
    assert here.seen(PERSONS, rows).totals == (2,)
    assert here.seen("SELECT COUNT(*) FROM t", rows).totals == (16,)  # each within its own limit of rows


def test_the_law_holds_over_collated_columns(here: Collated) -> None:
    reach, pairs = here.reach(QUESTIONS, families())
    assert_law(f"{here.label} {here.texts}", [(text, "") for text in QUESTIONS], reach)
    assert pairs == 15


def test_answers_are_those_of_plain_texts(here: Collated, plain: Callable[[str], Collated]) -> None:
    databases = [one.database(place) for one in families() for place in range(len(one.units) + 1)][:8]
    texts = list(QUESTIONS)
    ours = here.answers([here.plan(text) for text in texts], databases)
    other = plain(here.kind)
    for text, mine, theirs in zip(texts, ours, other.answers([other.plan(text) for text in texts], databases)):
        assert mine == theirs, text


def test_who_is_left_out_or_corrected_is_told_by_bytes(here: Collated) -> None:
    rows = [row("p1", "alice"), row("P1", "alice"), row("q", "bob")]
    assert here.seen(PERSONS, rows, Overlay(frozenset({"P1"}))).totals == (2,)
    assert here.seen(PERSONS, rows, Overlay(frozenset({"Q"}))).totals == (3,)
    put_right = Correction("t", "P1", (("name", "carol"),), (("word", "alice"),))
    assert here.seen(KEYS, rows, Overlay(corrections=(put_right,))).votes == {
        ("'alice'",): 1, ("'bob'",): 1, ("'carol'",): 1,
    }  # fmt: skip
    no_such = Correction("t", "p1", (("name", "carol"),), (("word", "ALICE"),))
    assert here.seen(KEYS, rows, Overlay(corrections=(no_such,))).votes == {("'alice'",): 2, ("'bob'",): 1}


@pytest.fixture(scope="module")
def plain() -> Iterator[Callable[[str], Collated]]:
    """The same tables with texts of the engine's plain type."""
    made: dict[str, Collated] = {}

    def get(kind: str) -> Collated:
        return made.setdefault(kind, made.get(kind) or Collated(kind, ""))

    yield get
    for one in made.values():
        one.stand.close()
