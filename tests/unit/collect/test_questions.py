"""Several questions in one survey: one report, one loss, and each question estimated among the people it has."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from obverse.catalog.load import loads
from obverse.collect.card import card_json, card_text
from obverse.collect.collector import Submitted, accept
from obverse.collect.device import Record, consented, made, marked, next_step, sent_words
from obverse.collect.protocols import AllOfSeveral, Direct, OneOfSeveral
from obverse.collect.questions import estimates, outlooks, tallies
from obverse.collect.randomness.coins import Coins, Memo
from obverse.collect.simulate import played
from obverse.collect.spec import Spec, read_spec, spec_of
from obverse.collect.tally import Tally, tallied
from obverse.collect.wire import Mint
from obverse.core.errors import CatalogError, Refused
from obverse.testing.noiseless import SeededRng
from tests.unit.collect.surveys import HOURS, several_spec, several_text

SPLITS = ["one", "budget"]
AUTO = ("auto", "auto")
GIVEN = {"smokes": "yes", "town": "c", "hours": 6}


def collected(spec: Spec, n: int, rng: SeededRng) -> Tally:
    """A third smokes; of towns half is the first and half the third; all sleep six hours."""
    answers = [{"smokes": ("yes", "no", "no")[i % 3], "town": ("a", "c")[i % 2], "hours": 6} for i in range(6)]
    own = [{part.survey.name: given[part.survey.name] for part in spec.parts} for given in answers]
    codes = np.resize(np.array([spec.code(given, Coins(rng.raw)) for given in own], dtype=np.uint64), n)
    return tallied(spec.digest, spec.protocol, spec.protocol.reports(codes, rng))


@pytest.mark.parametrize("split", SPLITS)
def test_a_report_loses_no_more_than_was_declared_and_its_document_comes_back(split: str) -> None:
    spec = several_spec(split, AUTO, last=HOURS)
    assert Fraction("0.999999999") < spec.loss <= 1
    assert isinstance(spec.protocol, OneOfSeveral if split == "one" else AllOfSeveral)
    assert [float(part.loss) for part in spec.parts] == pytest.approx([1.0 if split == "one" else 1 / 3] * 3)
    assert [part.survey.people for part in spec.parts] == [333 if split == "one" else 1000] * 3
    again = read_spec(spec.document)
    assert (again.protocol, again.id, again.survey.split) == (spec.protocol, spec.id, split)
    assert again.code(GIVEN, Coins(SeededRng(1).raw)) == spec.code(GIVEN, Coins(SeededRng(1).raw))


@pytest.mark.parametrize(
    "break_it",
    [
        lambda told: told.pop("split"),
        lambda told: told.update(split="budget"),
        lambda told: told["questions"].pop(),
        lambda told: told["questions"].reverse(),
        lambda told: told["questions"][1].update(name="smokes"),
        lambda told: told["questions"][1].update(none="never"),
        lambda told: told["questions"][1].update(extra=1),
        lambda told: told["questions"][1].update(question={}),
        lambda told: told["questions"][0].update(options=["no", "no"]),
        lambda told: told.update(options=["no", "yes"], labels={}, none=None),
        lambda told: told.update(questions=[]),
        lambda told: told["protocol"].update(parts=[]),
        lambda told: told["protocol"].update(parts=told["protocol"]),
        lambda told: told["protocol"]["parts"].append(json.loads(json.dumps(told["protocol"]))),
    ],
)
def test_a_document_of_several_questions_that_was_changed_is_refused(break_it: Any) -> None:
    told = json.loads(several_spec().document)
    break_it(told)
    with pytest.raises(Refused) as caught:
        spec_of(told)
    assert caught.value.code == "bad_spec"


@pytest.mark.parametrize("split", SPLITS)
def test_each_question_is_estimated_among_all_people(split: str) -> None:
    spec = several_spec(split, AUTO, last=HOURS)
    found = estimates(spec, collected(spec, 60_000, SeededRng(4)))
    smokes, town, hours = found.questions
    asked = sum(one.n for one in found.questions)
    assert asked == (60_000 if split == "one" else 180_000)
    for one, item, truth in ((smokes, 1, 1 / 3), (town, 0, 0.5), (town, 1, 0.0), (hours, 0, 6.0)):
        assert one.estimate is not None
        row = one.estimate.rows[item]
        assert abs(row.value - truth) < 5 * row.deviation
    assert town.estimate is not None
    assert sum(row.simplex or 0 for row in town.estimate.rows) == pytest.approx(1)
    told = found.as_json()
    assert [one["name"] for one in told["questions"]] == ["smokes", "town", "hours"]
    assert told["questions"][2]["rows"][0]["item"] == "mean"


@pytest.mark.parametrize("split", SPLITS)
def test_intervals_cover_the_shares_of_all_people(split: str) -> None:
    """600 intervals of 90 %: fewer than 500 or more than 580 cover with a chance below 1e-6."""
    told = several_spec(split, epsilon="8")
    rng = SeededRng(3)
    truth = {"no": 2 / 3, "yes": 1 / 3, "a": 0.5, "Z\u00fcrich": 0.0, "c": 0.5, "nowhere": 0.0}
    covered = 0
    for _ in range(100):
        for one in estimates(told, collected(told, 600, rng), level=0.9).questions:
            assert one.estimate is not None
            covered += sum(row.low <= truth[row.item] <= row.high for row in one.estimate.rows)
    assert 500 <= covered <= 580


def test_all_intervals_at_once_are_those_of_all_questions() -> None:
    spec = several_spec()
    tally = collected(spec, 3000, SeededRng(5))
    each = estimates(spec, tally)
    all_ = estimates(spec, tally, simultaneous=True)
    for narrow, wide, items in zip(each.questions, all_.questions, (2, 4)):
        assert narrow.estimate is not None
        assert wide.estimate is not None
        assert wide.estimate.level == 0.95
        ratio = (wide.estimate.rows[0].high - wide.estimate.rows[0].low) / (
            narrow.estimate.rows[0].high - narrow.estimate.rows[0].low
        )
        # of 0.05 / 2 / items, and half a report
        assert ratio == pytest.approx({2: 2.4977, 4: 2.7344}[items] / 1.95996, rel=5e-3)


def test_a_question_with_too_few_reports_is_not_estimated() -> None:
    spec = several_spec()
    protocol = spec.protocol
    assert isinstance(protocol, OneOfSeveral)
    seeds = np.array([0] * 25 + [2**64 - 1] * 5, dtype=np.uint64)
    payloads = protocol.reports(np.zeros(30, dtype=np.uint64), SeededRng(1), seeds)
    few = estimates(spec, tallied(spec.digest, protocol, payloads))
    assert [(one.n, one.estimate is None) for one in few.questions] == [(25, False), (5, True)]
    assert few.as_json()["questions"][1]["rows"] == []
    for some in (payloads[:19], payloads[10:]):  # too few in all, or in every question
        with pytest.raises(Refused) as caught:
            estimates(spec, tallied(spec.digest, protocol, some))
        assert caught.value.code == "too_few_reports"


@pytest.mark.parametrize("split", SPLITS)
def test_a_device_answers_all_and_how_much_it_reads_and_sends_depends_on_the_token_alone(split: str) -> None:
    spec = several_spec(split, AUTO, last=HOURS)
    mint = Mint(b"k" * 32, several_spec(split, AUTO, last=HOURS).digest)
    memo = Memo(b"k" * 32, spec.digest)
    record = consented(Record())
    rng = SeededRng(2)
    asked = set()
    submitted = []
    for _ in range(40):
        token = mint.issue(rng)
        seen = set()
        for given in (GIVEN, {"smokes": "no", "hours": 0}, {"smokes": "yes", "town": "a", "hours": 7.5}):
            source = SeededRng(7)
            read = []
            coins = Coins(lambda n, source=source, read=read: (read.append(n), source.raw(n))[1])
            step = next_step(spec, record, marked(spec, given, memo), 1)
            sent = made(spec, step, given, token=token, epoch=0, coins=coins, memo=memo)
            seen.add((tuple(read), len(sent), sent[10] if split == "one" else 0))
        assert len(seen) == 1
        asked.add(sent[10])
        submitted.append(Submitted(sent, token))
        assert "questions" in sent_words(spec, sent)
    if split == "one":
        assert asked == {0, 1, 2}
    found = accept(spec, mint, 0, submitted, lambda marks: set())
    assert (len(found.payloads), found.rejected) == (40, {})
    swapped = [Submitted(one.report, other.token) for one, other in zip(submitted, submitted[1:] + submitted[:1])]
    rejected = accept(spec, mint, 0, swapped, lambda marks: set()).rejected
    assert ("seed" in rejected) == (split == "one")  # nobody chooses the question


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("yes", "no_such_question"),
        ({**GIVEN, "hops": "no"}, "no_such_question"),
        ({"town": "c", "hours": 6}, "unanswered"),
        ({**GIVEN, "smokes": "perhaps"}, "not_an_option"),
        ({**GIVEN, "hours": "long"}, "bad_parameter"),
        ({**GIVEN, "hours": {"hours": 6}}, "not_an_option"),
    ],
)
def test_answers_that_are_none_are_refused_before_anything_is_charged(given: Any, code: str) -> None:
    spec = several_spec("one", AUTO, last=HOURS)
    with pytest.raises(Refused) as caught:
        marked(spec, given, Memo(b"k" * 32, spec.digest))
    assert caught.value.code == code


def test_beyond_the_lifetime_every_question_gets_an_item_that_no_answer_moves() -> None:
    spec = several_spec("budget", AUTO, "reports = 2\nper_day = 2\nlifetime = 1", HOURS)
    memo = Memo(b"k" * 32, spec.digest)
    record = consented(Record())
    first = next_step(spec, record, marked(spec, GIVEN, memo), 1)
    second = next_step(spec, first.record, marked(spec, GIVEN, memo), 1)
    assert (first.tells, second.tells) == (True, False)
    sent = [
        made(spec, second, given, token=bytes(32), epoch=0, coins=Coins(SeededRng(3).raw), memo=memo)
        for given in (GIVEN, {"smokes": "no", "hours": 12})
    ]
    assert sent[0] == sent[1]


@pytest.mark.parametrize("split", SPLITS)
def test_the_card_tells_every_question_and_its_odds(split: str) -> None:
    spec = several_spec(split)
    told = card_json(spec)
    text = card_text(spec, "en")
    assert "- Rauchst du? " in card_text(spec, "de")
    assert [one["name"] for one in told["questions"]] == ["smokes", "town"]
    assert told["questions"][0]["odds"] == [text.split("- Do you smoke? ")[1].split("\n")[0]]
    kept = Direct.fitted(2, Fraction(1) if split == "one" else Fraction(1, 2)).own
    assert f"{float(round(1000 * kept)) / 10:g} of 100" in text
    assert "Where do you live?" in text
    assert ("One of 2" if split == "one" else "All of 2") in text


def test_a_plan_counts_the_people_that_each_question_has() -> None:
    one, all_ = (outlooks(several_spec(split), 1000, 0.1) for split in SPLITS)
    assert [found.foreseen.people for found in one] == [500, 500]
    assert [found.foreseen.people for found in all_] == [1000, 1000]
    assert one[0].needed < all_[0].needed  # half of the people at twice the epsilon err less


@pytest.mark.parametrize("split", SPLITS)
def test_a_survey_of_several_questions_is_played(split: str) -> None:
    spec = several_spec(split, AUTO, last=HOURS)
    held = played(spec, ["smokes=yes=0.2", "town=a=1"], 20_000)
    assert held.truth["town=a"] == 1
    assert held.truth["smokes=yes"] == pytest.approx(0.2, abs=0.02)
    for one in estimates(spec, held.tally).questions:
        assert one.estimate is not None
        for row in one.estimate.rows:
            assert abs(row.value - held.truth[f"{one.name}={row.item}"]) < 6 * row.deviation
    for share in ("yes=0.2", "hops=yes=0.2", "smokes=yes=2"):
        with pytest.raises(Refused) as caught:
            played(spec, [share], 100)
        assert caught.value.code == "bad_parameter"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (several_text(more='protocol = "direct"'), "conflict"),
        (several_text(more="permanent = 2"), "conflict"),
        (several_text(more='options = ["a", "b"]'), "missing_key"),
        (several_text(more="text = true"), "missing_key"),
        (several_text("half"), "bad_choice"),
        (several_text(last='[surveys.it.questions."a=b"]\nquestion = "?"\noptions = ["a", "b"]'), "bad_name"),
        (several_text(last='[surveys.it.questions.more]\nquestion = "?"'), "missing_key"),
        (several_text(last='[surveys.it.questions.more]\nquestion = "?"\ntext = true'), "unknown_key"),
        (several_text().split("[surveys.it.questions")[0] + 'options = ["a", "b"]', "conflict"),
    ],
)
def test_surveys_of_several_questions_that_contradict_themselves_are_refused(text: str, code: str) -> None:
    with pytest.raises(CatalogError) as caught:
        loads(text, ".")
    assert caught.value.code == code


@pytest.mark.parametrize("protocol", ["count_mean", "rappor", "loloha", "memoised_unary"])
def test_texts_and_permanent_answers_take_a_survey_of_their_own(protocol: str) -> None:
    with pytest.raises(Refused) as caught:
        several_spec(protocols=("direct", protocol), epsilon="4")
    assert caught.value.code == "bad_parameter"
    assert "town" in caught.value.message


def test_answers_beyond_64_bits_are_refused() -> None:
    many = "\n".join(f'[surveys.it.questions.q{i}]\nquestion = "?"\nbounds = [0, 65535]\nstep = 1' for i in range(4))
    with pytest.raises(Refused) as caught:
        several_spec(protocols=AUTO, last=many)
    assert caught.value.code == "too_many_answers"


def test_tallies_merge_question_by_question() -> None:
    spec = several_spec()
    first = collected(spec, 100, SeededRng(1))
    second = collected(spec, 70, SeededRng(2))
    both = first.plus(second)
    for (_, a), (_, b), (_, c) in zip(tallies(spec, first), tallies(spec, second), tallies(spec, both)):
        assert a.n + b.n == c.n
        assert np.array_equal(a.counts + b.counts, c.counts)


def test_codes_hold_every_answer_up_to_64_bits() -> None:
    parts = (Direct(2**16, 2**53 - 1),) * 4
    protocol = OneOfSeveral(parts)
    given = [int.from_bytes(os.urandom(2), "little") for _ in range(4)]
    code = protocol.code(given)
    assert [protocol.answer(code, place) for place in range(4)] == given
    assert [int(protocol.answers(np.array([code], dtype=np.uint64), place)[0]) for place in range(4)] == given
