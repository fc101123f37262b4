"""Words that nobody listed are found, and no others; what is said of false alarms and of power is so."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from obverse.catalog.load import loads
from obverse.catalog.spelling import Spelling
from obverse.collect.card import card_text
from obverse.collect.device import Record, Step, made
from obverse.collect.discovery import people_for
from obverse.collect.estimate import estimate
from obverse.collect.planning import chosen, foresee, people_needed
from obverse.collect.protocols import Fragments, Prefixes, Projective, ProjectiveSketch, WordProtocol
from obverse.collect.protocols.words import _meeting, beginnings, extended, sifted
from obverse.collect.randomness.coins import Coins, Memo
from obverse.collect.randomness.hashing import key_symbols_of
from obverse.collect.simulate import played
from obverse.collect.spec import Spec, spec_of
from obverse.collect.tally import Tally, tallied
from obverse.core.errors import Refused
from obverse.testing.noiseless import SeededRng

SURNAMES = Path(__file__).parents[4] / "shared" / "data" / "us1990_surnames_percent.csv"
SMALL = Spelling(9, "abcdef")
KINDS = ["prefixes", "fragments"]
TOML = """
[project]
name = "typing"
[surveys.it]
question = "Which word?"
text = true
letters = {letters}
alphabet = "{alphabet}"
protocol = "{protocol}"
epsilon = {epsilon}
people = 100000
retention_days = 90
purpose = "A dictionary."
consent = "I agree."
"""


def spec_for(protocol: str = "auto", epsilon: str = "4", spelling: Spelling = SMALL) -> Spec:
    survey = loads(
        TOML.format(protocol=protocol, epsilon=epsilon, letters=spelling.letters, alphabet=spelling.alphabet), "."
    )
    return Spec(survey.surveys["it"], chosen(survey.surveys["it"]).protocol)


def small(kind: str, epsilon: int = 4) -> WordProtocol:
    """Three groups, or five pieces of two letters; a letter is one of 7 symbols or the end."""
    answer = Projective.fitted(50, Fraction(epsilon, 1 if kind == "prefixes" else 2), most=200)
    sketch = ProjectiveSketch(64, replace(answer, size=answer.points))
    return Prefixes(8, 9, 3, 3, sketch) if kind == "prefixes" else Fragments(8, 9, 2, sketch)


def people(shares: dict[str, float], n: int, generator: np.random.Generator, spelling: Spelling = SMALL) -> Any:
    """Numbers of words, of these shares; all other people have words of their own."""
    held = generator.multinomial(n, [*shares.values(), 1 - sum(shares.values())])
    codes = np.array([spelling.code(word) for word in shares], dtype=np.uint64)
    own = np.zeros(held[-1], dtype=np.uint64)
    for _ in range(spelling.letters):
        own = own << np.uint64(spelling.bits) | generator.integers(1, spelling.symbols, len(own), dtype=np.uint64)
    return np.concatenate([np.repeat(codes, held[:-1]), own])


def tally_of(spec: Spec, codes: Any, rng: SeededRng) -> Tally:
    return tallied(spec.digest, spec.protocol, spec.protocol.reports(codes, rng))


def test_all_beginnings_are_words_that_end_once() -> None:
    two = beginnings(4, 2)
    assert sorted(two.tolist()) == [a << 2 | b for a in (1, 2, 3) for b in range(4)]
    assert sorted(extended(np.array([4, 5], dtype=np.uint64), 4, 1).tolist()) == [16, 20, 21, 22, 23]
    assert len(beginnings(8, 3)) == 7 + 49 + 343


@pytest.mark.parametrize("kind", KINDS)
def test_planted_words_are_found_short_cut_and_strange_ones_too(kind: str) -> None:
    """Shares far above what is visible: a word is missed with a chance below 1e-6, and a false one found with at
    most 0.001.
    """
    protocol = small(kind)
    rng = SeededRng(3)
    planted = {"a": 0.12, "fade": 0.1, "ab\u00e9": 0.1, "decadefaced": 0.1}
    codes = people(planted, 60_000, np.random.default_rng(1))
    found = protocol.discover(protocol.fold(protocol.reports(codes, rng)), len(codes), 0.001)
    words = {SMALL.word(int(code)): place for place, code in enumerate(found.codes)}
    assert set(words) == {"a", "fade", "ab\ufffd", "decadefac"}
    for word, share in planted.items():
        place = words[SMALL.word(SMALL.code(word))]
        assert abs(found.found.value[place] - share) < 6.5 * (
            found.found.variance[place] ** 0.5 + (share / 60_000) ** 0.5
        )
    assert max(found.p_values) <= 0.001


@pytest.mark.parametrize("kind", KINDS)
def test_words_that_nobody_has_are_found_as_seldom_as_is_said(kind: str) -> None:
    """20 rounds at 5 %: more than 6 have a chance below 1e-4; heavy words are beside them, which collide with
    others.
    """
    protocol = small(kind, 3)
    rng = SeededRng(5)
    generator = np.random.default_rng(2)
    false = 0
    planted = {"bad": 0.3, "cafe": 0.1}
    known = [SMALL.code(word) for word in planted]
    for _ in range(20):
        codes = people(planted, 6000, generator)
        found = protocol.discover(protocol.fold(protocol.reports(codes, rng)), len(codes), 0.05)
        false += not set(found.codes.tolist()) <= {*known, *codes.tolist()}
    assert false <= 6


@pytest.mark.parametrize("kind", KINDS)
def test_a_word_of_the_visible_share_is_found_as_often_as_is_said(kind: str) -> None:
    """Two words in 20 rounds, missed 1 time in 20: more than 8 misses of 40 have a chance below 2e-3."""
    protocol = small(kind)
    rng = SeededRng(6)
    generator = np.random.default_rng(3)
    missed = 0
    share = protocol.visible(10_000, 0.05, 0.05)
    wanted = {SMALL.code("ace"), SMALL.code("facade")}
    for _ in range(20):
        codes = people({"ace": share, "facade": share}, 10_000, generator)
        found = protocol.discover(protocol.fold(protocol.reports(codes, rng)), len(codes), 0.05)
        missed += len(wanted - set(found.codes.tolist()))
    assert missed <= 8
    assert protocol.visible(40_000, 0.05, 0.05) < 0.6 * share


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_found_in_nothing(kind: str) -> None:
    protocol = small(kind)
    found = protocol.discover(np.zeros(protocol.shape, dtype=np.int64), 20, 0.05)
    assert (len(found.codes), len(found.p_values), found.full) == (0, 0, False)
    assert protocol.visible(20, 0.05, 0.05) > protocol.visible(2000, 0.05, 0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_shards_find_together_what_all_reports_find(kind: str) -> None:
    spec = replace(spec_for(), protocol=small(kind))
    codes = people({"ace": 0.2, "bee": 0.2}, 30_000, np.random.default_rng(4))
    rng = SeededRng(7)
    shards = [tally_of(spec, codes[start : start + 7000], rng) for start in range(0, len(codes), 7000)]
    total = shards[0]
    for shard in shards[1:]:
        total = shard.plus(total)
    found = estimate(spec, total)
    assert {"ace", "bee"} <= {row.item for row in found.rows}
    assert found.n == 30_000


def test_an_estimate_names_words_pays_for_the_choice_and_tells_its_power() -> None:
    spec = replace(spec_for(), protocol=small("prefixes"))
    tally = tally_of(spec, people({"ace": 0.2, "bee": 0.15}, 30_000, np.random.default_rng(8)), SeededRng(8))
    found = estimate(spec, tally)
    assert found.discovery is not None
    assert (found.discovery.found, found.discovery.false_alarm) == (len(found.rows), pytest.approx(0.05))
    told = found.as_json()["discovery"]
    assert told["tested"] > 100
    assert told["needed"] == people_for(small("prefixes"), 0.01)
    row = found.rows[0]
    wide = estimate(spec, tally, simultaneous=True).rows[0]
    assert wide.high - wide.low > row.high - row.low > 3 * row.deviation
    assert row.low < 0.2 < row.high
    (named,) = estimate(spec, tally, ["Ace"]).rows
    assert named.high - named.low < row.high - row.low
    with pytest.raises(Refused) as caught:
        estimate(spec, tally, level=1.5)
    assert caught.value.code == "bad_parameter"
    assert "nobody sent is among them" in dict(found.discovery.words())["Found"]


def test_where_nothing_stands_out_people_are_told_how_many_it_takes() -> None:
    spec = replace(spec_for(), protocol=small("prefixes"))
    found = estimate(spec, tally_of(spec, people({}, 200, np.random.default_rng(9)), SeededRng(1)), level=0.999)
    assert found.rows == ()
    assert found.discovery is not None
    words = dict(found.discovery.words())
    assert words["Found"] == "no word stands out"
    assert f"{found.discovery.needed:,} people" in words["Power"]
    assert found.plot() is not None


def test_auto_takes_the_protocol_that_finds_the_rarest_words_and_says_why() -> None:
    spec = spec_for()
    assert spec.protocol.name == "prefixes"
    why = chosen(spec.survey).why
    assert "100,000 people" in why
    assert "fragments" in why
    assert people_needed(spec, 0.01) < people_needed(spec_for("fragments"), 0.01)
    assert foresee(spec, 1000).visible > foresee(spec, 100_000).visible


@pytest.mark.parametrize("kind", ["auto", *KINDS])
def test_a_specification_of_words_comes_back_from_its_document(kind: str) -> None:
    spec = spec_for(kind)
    again = spec_of(json.loads(spec.document))
    assert (again.document, again.protocol, again.survey.spelling) == (spec.document, spec.protocol, SMALL)
    assert again.code("FADE") == SMALL.code("fade")
    assert spec.protocol.loss() <= 4
    assert "Of your word" in card_text(spec)
    assert spec_for(kind, spelling=Spelling(9, "abcdeg")).id != spec.id


@pytest.mark.parametrize(
    "break_it",
    [
        lambda told: told.pop("words"),
        lambda told: told["words"].update(letters=8),
        lambda told: told["words"].update(letters=True),
        lambda told: told["words"].update(alphabet="abc"),
        lambda told: told["words"].update(alphabet="abcdee"),
        lambda told: told["words"].update(more=1),
        lambda told: told["protocol"].update(symbols=9),
        lambda told: told["protocol"].update(groups=9),
        lambda told: told["protocol"]["sketch"].update(rows=0),
    ],
)
def test_letters_that_were_changed_are_refused(break_it: Any) -> None:
    told = spec_for("prefixes").as_json()
    break_it(told)
    with pytest.raises(Refused) as caught:
        spec_of(told)
    assert caught.value.code == "bad_spec"


def test_protocols_of_words_need_letters_and_others_need_none() -> None:
    with pytest.raises(Refused) as caught:
        spec_for("count_mean")
    assert caught.value.code == "bad_choice"
    text = TOML.format(protocol="prefixes", epsilon=4, letters=4, alphabet="ab").replace(
        'letters = 4\nalphabet = "ab"', ""
    )
    with pytest.raises(Refused) as caught:
        chosen(loads(text, ".").surveys["it"])
    assert "letters = 8" in caught.value.fix


@pytest.mark.parametrize("kind", KINDS)
def test_a_device_beyond_its_lifetime_sends_a_word_that_no_answer_moves(kind: str) -> None:
    spec = spec_for(kind)
    memo = Memo(bytes(32), b"")
    reports = set()
    for answer in ("ace", "bee"):
        coins = Coins(SeededRng(3).raw)
        step = Step(Record(consent="given"), tells=False)
        reports.add(made(spec, step, answer, token=bytes(32), epoch=0, coins=coins, memo=memo))
    assert len(reports) == 1


def test_a_survey_of_words_is_played_with_made_up_people() -> None:
    spec = replace(spec_for(), protocol=small("prefixes"))
    held = played(spec, ["Ace=0.2", "decadefaced=0.2"], 20_000)
    assert held.truth["ace"] == pytest.approx(0.2, abs=0.02)
    assert {"ace", "decadefac"} <= {row.item for row in estimate(spec, held.tally).rows}
    for shares in (["ace=0.7", "bee=0.7"], ["=0.5"], ["ace"]):
        with pytest.raises(Refused) as caught:
            played(spec, shares, 1000)
        assert caught.value.code == "bad_parameter"


@pytest.mark.skipif(not SURNAMES.exists(), reason="no surnames beside the project")
def test_the_most_frequent_surnames_are_found_of_a_million_people() -> None:
    """US 1990, epsilon 4, six letters: those of a visible share are all found, and no false one (chance 0.001)."""
    with SURNAMES.open() as file:
        shares = {row["surname"]: float(row["percent"]) for row in csv.DictReader(file)}
    spelling = Spelling(6, "abcdefghijklmnopqrstuvwxyz'")
    protocol = Prefixes.of_words(6, spelling.symbols, Fraction(4))
    n = 1_000_000
    generator = np.random.default_rng(1990)
    held = generator.choice(len(shares), n, p=np.array(list(shares.values())) / sum(shares.values()))
    codes = np.array([spelling.code(name) for name in shares], dtype=np.uint64)[held]
    found = protocol.discover(protocol.fold(protocol.reports(codes, SeededRng(4))), n, 0.001)
    names, people_with = np.unique(codes, return_counts=True)
    frequent = names[people_with / n > 1.2 * protocol.visible(n, 0.001, 1e-4)]
    assert {spelling.word(int(name)) for name in frequent} >= {"smith", "johnso", "willia", "jones"}
    assert set(frequent.tolist()) <= set(found.codes.tolist()) <= set(names.tolist())


def test_liars_move_a_word_that_was_found_by_no_more_than_is_told() -> None:
    """Words are told apart by the rows in which they meet, so reports that support one take from others."""
    sketch = small("prefixes", 1).sketch
    rng = SeededRng(6)
    n = 240_000
    crafted = 1_280
    keys = rng.words(30)
    counts = sketch.fold(sketch.reports(np.repeat(keys, n // 30), rng))
    slopes = np.linalg.inv(_meeting(sketch, keys, 30) + np.eye(30))[0]
    columns = [key_symbols_of(np.array([row], dtype=np.uint64), keys, sketch.columns) for row in range(sketch.rows)]
    gains = np.array([slopes @ sketch.answer.agreement()[own.astype(np.int64)] for own in columns])
    added = counts.copy()
    added[np.arange(sketch.rows), gains.argmax(axis=1)] += crafted // sketch.rows
    before, after = (sifted(sketch, table, keys, 0.01) for table in (counts, added))
    assert len(before.places) == len(after.places) == 30
    total = n + crafted
    share = crafted / (n + crafted)
    shift = float(after.found.value[after.places == 0][0] - before.found.value[before.places == 0][0] * n / total)
    assert 1.05 * share * sketch.leverage() < shift <= share * after.leverage
    assert after.leverage < 2 * sketch.leverage()
