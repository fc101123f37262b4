"""Every line of the corpus gets its verdict: hostile ones before data and budget, benign ones an answer with a
charge.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import obverse
from obverse.testing import synthetic

KINDS = (
    "control sql_raw sql_escape sql_syntax sql_catalog sql_fault sql_numeric sql_presence sql_unit sql_timing "
    "resource".split()
)
LINES = [
    line
    for line in map(json.loads, (Path(__file__).parent / "corpus.jsonl").read_text().splitlines())
    # see test_invariants
    if line["kind"] in KINDS and not (isinstance(line["input"], dict) and "concat" not in line["input"])
]
ORDERED = """
[project]
name = "order"
[budget]
epsilon = 4
delta = 1e-6
[privacy]
delta = 1e-8
[tables.people]
source = "people.parquet"
unit = "person_id"
[tables.people.columns]
zip = { type = "text" }
"""


def of_verdict(*verdicts: str) -> Any:
    chosen = [line for line in LINES if line["expected"]["verdict"] in verdicts]
    return pytest.mark.parametrize("line", chosen, ids=[line["id"] for line in chosen])


def question(line: dict[str, Any]) -> str:
    written = line["input"]
    return written if isinstance(written, str) else "".join(piece * times for piece, times in written["concat"])


def assert_untouched(asked: Any) -> None:
    assert asked.outcome == "Refused", asked
    assert (asked.runs, asked.public_runs, asked.reserved, asked.records) == (0, 0, 0, ())


@of_verdict("refuse")
def test_a_hostile_question_is_refused_before_data_and_budget(line: dict[str, Any], with_eve: Any) -> None:
    asked = with_eve.ask(question(line))
    assert_untouched(asked)
    assert "Fix: " in asked.words, "a refusal says what to do instead"


@of_verdict("answer")
def test_a_benign_question_is_answered_and_charged(line: dict[str, Any], with_eve: Any) -> None:
    asked = with_eve.ask(question(line))
    assert asked.outcome == "answer", asked.words
    assert asked.answer.claim.sentence
    if line["expected"]["spends"]:
        again = asked.answer.price.stored  # the same canonical question stands twice in the corpus
        assert (asked.runs, asked.charges) == ((0, ()) if again else (1, ("charge", "settle")))
        assert asked.answer.price.epsilon == "0.1"
    else:
        assert (asked.runs, asked.reserved, asked.records) == (0, 0, ())
        assert asked.answer.price.epsilon == "0"


@of_verdict("refuse_or_answer")
def test_either_verdict_is_the_same_on_neighbours(line: dict[str, Any], hospitals: dict[str, Any]) -> None:
    """Outcome class, row count, columns, price and error text do not depend on eve, nor on mallory's strange rows."""
    asked = [one.ask(question(line)) for one in hospitals.values()]
    assert len({one.seen for one in asked}) == 1
    for one in asked:
        if one.outcome == "Refused":
            assert_untouched(one)
        else:
            assert one.outcome == "answer", one.words
            assert one.charges in (("charge", "settle"), ())


def test_discovered_keys_come_in_the_order_of_their_values_wherever_their_rows_lie(tmp_path: Path) -> None:
    """sql_presence-010"""
    for turned in (1, -1):
        rows = (
            [("b", i) for i in range(300)] + [("c", 300 + i) for i in range(300)] + [("a", 600 + i) for i in range(300)]
        )
        frame = {"zip": [z for z, _ in rows[::turned]], "person_id": [i for _, i in rows[::turned]]}
        toml = ORDERED + f"# {turned}\n"
        with obverse.open(synthetic({"people": frame}, toml, tmp_path / str(turned))) as session:
            found = session.ask("SELECT zip, COUNT(*) FROM people GROUP BY zip", epsilon=2)
            assert [row[0] for row in found] == ["a", "b", "c"]


def test_the_corpus_holds_every_kind_that_is_run() -> None:
    assert {line["kind"] for line in LINES} == set(KINDS)
    assert {line["expected"]["verdict"] for line in LINES} == {"refuse", "answer", "refuse_or_answer", "invariant"}
    assert {line["id"] for line in LINES if line["expected"]["verdict"] == "invariant"} == {"sql_presence-010"}
