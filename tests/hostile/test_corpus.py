"""Every line of the corpus gets its verdict: hostile ones before data and budget, benign ones an answer with a charge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

KINDS = (
    "control sql_raw sql_escape sql_syntax sql_catalog sql_fault sql_numeric sql_presence sql_unit sql_timing resource".split()
)
LINES = [
    line for line in map(json.loads, (Path(__file__).parent / "corpus.jsonl").read_text().splitlines()) if line["kind"] in KINDS
]
DISTINCT, KEYS = "COUNT(DISTINCT x)", "keys that are discovered, with a threshold"
PART_TWO = {  # benign questions that this version refuses; part 2 answers them
    "control-012": DISTINCT,
    "sql_presence-002": KEYS,
    "sql_presence-003": KEYS,
    "sql_presence-009": KEYS,
    "sql_presence-010": KEYS,
    "sql_presence-012": KEYS,
    "sql_unit-005": DISTINCT,
}


def of_verdict(*verdicts: str) -> Any:
    chosen = [line for line in LINES if line["expected"]["verdict"] in verdicts and line["id"] not in PART_TWO]
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


@pytest.mark.parametrize("name", PART_TWO)
def test_what_part_two_will_answer_is_refused_for_nothing_until_then(name: str, with_eve: Any, corpus: Any) -> None:
    assert corpus[name]["expected"]["verdict"] in ("answer", "invariant")
    assert_untouched(with_eve.ask(question(corpus[name])))


def test_the_corpus_holds_every_kind_that_is_run() -> None:
    assert {line["kind"] for line in LINES} == set(KINDS)
    assert {line["expected"]["verdict"] for line in LINES} == {"refuse", "answer", "refuse_or_answer", "invariant"}
    assert {line["id"] for line in LINES if line["expected"]["verdict"] == "invariant"} <= set(PART_TWO)
