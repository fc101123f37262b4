"""The part of the corpus that abuses collected reports: each line is one test, named in its first line."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import obverse
import obverse.collect
from obverse.catalog.load import loads
from obverse.collect.collector import Collection, Submitted
from obverse.collect.device import Device, check_source
from obverse.collect.estimate import estimate
from obverse.collect.planning import OF_ITEMS, OF_NUMBERS, OF_TEXTS, chosen, made
from obverse.collect.project import REPORTS_AT_ONCE, collection_in, submitted
from obverse.collect.randomness.coins import Coins, Memo
from obverse.collect.spec import Spec
from obverse.core.errors import CatalogError, Refused
from obverse.core.rng import Rng
from tests.unit.collect.surveys import LONG, numbers_spec, spec_for, survey_text

HERE = Path(__file__).parent
LOCAL = Path(obverse.collect.__file__).parent
ITEMS = [f"{i}" for i in range(64)]


def collection(folder: Path, spec: Spec) -> Collection:
    return Collection(folder / "it", spec)


def honest(collected: Collection, answers: list[str]) -> list[Submitted]:
    spec = collected.spec
    coins = Coins(os.urandom)
    return [
        Submitted(spec.frame.framed(0, spec.protocol.report(spec.code(answer), coins, spec.seed(token))), token)
        for token, answer in zip(collected.tokens(len(answers)), answers)
    ]


def test_every_line_of_the_corpus_is_a_test_here() -> None:
    lines = map(json.loads, (HERE / "corpus.jsonl").read_text().splitlines())
    wanted = {line["id"] for line in lines if line["kind"] == "ldp"}
    assert wanted == set(re.findall(r"ldp-\d{3}", Path(__file__).read_text()))


@pytest.mark.parametrize("raw", [b"yes", b'{"answer": "yes"}', "yes".encode("utf-16"), b"\x01"])
def test_an_answer_in_clear_is_never_counted(tmp_path: Path, raw: bytes) -> None:
    """ldp-003"""
    collected = collection(tmp_path, spec_for([f"{i}" for i in range(100)], "unary"))
    token, framed = collected.tokens(2)
    came = [Submitted(raw, token), Submitted(collected.spec.frame.survey + b"\0\0" + raw, framed)]
    assert collected.add(came) == {"length": 2}
    assert collected.tally().n == 0


def test_a_thousand_reports_of_one_client_count_once(tmp_path: Path) -> None:
    """ldp-004"""
    collected = collection(tmp_path, spec_for())
    (one,) = honest(collected, ["yes"])
    other = replace(one, report=one.report[:-1] + bytes([one.report[-1] ^ 1]))
    assert collected.add([one] * 500 + [other] * 500) == {"spent": 999}
    assert collected.add([one, other]) == {"spent": 2}
    assert collected.tally().n == 1


@pytest.mark.parametrize("protocol", ["loloha", "memoised_unary", "rappor"])
def test_a_device_that_sends_again_and_again_sends_of_one_permanent_answer(tmp_path: Path, protocol: str) -> None:
    """ldp-005"""
    spec = spec_for(ITEMS, protocol, "2", LONG.format(100))
    assert spec.lasting is not None
    device = Device(tmp_path / "device")
    device.consent(spec)
    memo = Memo(device._key, spec.digest)
    code = spec.code("7")
    drawn = {
        spec.lasting.permanent(code, memo.coins(spec.lasting.label(code, memo.seed())), memo.seed()) for _ in range(50)
    }
    assert len(drawn) == 1
    sent = [device.report(spec, "7", token=os.urandom(32)) for _ in range(200)]
    assert device.record(spec).spent <= spec.lasting.lasting()
    mean = np.unpackbits(np.array([list(one[10:]) for one in sent], dtype=np.uint8), axis=1).mean(axis=0)
    assert mean.shape[0] == 8 * spec.protocol.length  # averages show the permanent answer, which is no one's answer


def test_a_hundredth_of_crafted_reports_moves_a_share_by_no_more_than_is_told(tmp_path: Path) -> None:
    """ldp-008"""
    collected = collection(tmp_path, spec_for([f"{i}" for i in range(256)], "unary"))
    spec = collected.spec
    came = honest(collected, ["0"] * 990)
    # item 1 alone
    crafted = [Submitted(spec.frame.framed(0, b"\x02" + b"\0" * 31), token) for token in collected.tokens(10)]
    collected.add(came)
    before = collected.tally()
    collected.add(crafted)
    after = estimate(spec, collected.tally())
    lifted = after.rows[1].value - 0.99 * estimate(spec, before).rows[1].value
    assert 0 < lifted <= after.worst_shift * (1 + 1e-9)
    assert after.odd == 10  # one bit of 256, where about 69 are expected


@pytest.mark.parametrize("protocol", ["unary", "rappor"])
def test_a_vector_of_ones_is_flagged_and_counts_as_one_report(tmp_path: Path, protocol: str) -> None:
    """ldp-009"""
    collected = collection(tmp_path, spec_for([f"{i}" for i in range(256)], protocol, "1"))
    spec = collected.spec
    (one,) = honest(collected, ["0"])
    head = 1 if protocol == "rappor" else 0
    ones = one.report[: 10 + head] + b"\xff" * (len(one.report) - 10 - head)
    assert collected.add([replace(one, report=ones)]) in ({}, {"seed": 1})
    tally = collected.tally()
    assert tally.n == tally.odd == 1
    assert spec.protocol.leverage() < 10


def test_nobody_chooses_the_hash_of_their_own_report(tmp_path: Path) -> None:
    """ldp-010"""
    for protocol in ("local_hash", "pooled_hash", "hadamard_count_mean", "count_mean"):
        collected = collection(tmp_path / protocol, spec_for(ITEMS, protocol))
        spec = collected.spec
        (token,) = collected.tokens(1)
        chosen = next(seed for seed in range(1, 10**6) if _head(spec, seed) != _head(spec, spec.seed(token)))
        payload = spec.protocol.report(spec.code("3"), Coins(os.urandom), chosen)
        assert collected.add([Submitted(spec.frame.framed(0, payload), token)]) == {"seed": 1}, protocol


def _head(spec: Spec, seed: int) -> object:
    payloads = np.array([list(spec.protocol.report(0, Coins(os.urandom), seed))], dtype=np.uint8)
    return bool(spec.protocol.agrees(payloads, np.array([seed ^ 1], dtype=np.uint64))[0]), seed


@pytest.mark.parametrize("change", [-1, 1, 100])
def test_a_vector_of_another_length_is_rejected(tmp_path: Path, change: int) -> None:
    """ldp-011"""
    collected = collection(tmp_path, spec_for(ITEMS, "unary"))
    (one,) = honest(collected, ["0"])
    wrong = one.report[:change] if change < 0 else one.report + b"\0" * change
    assert collected.add([replace(one, report=wrong)]) == {"length": 1}


def test_a_flood_is_taken_in_parts_of_bounded_size() -> None:
    """ldp-014: what is read at once is bounded; that a service says 429 is told where it is served."""
    lines = io.BytesIO(b"zz\n" * (REPORTS_AT_ONCE + 5) + b"a" * (1 << 20))
    parts = [len(part) for part in submitted(lines)]
    assert parts == [REPORTS_AT_ONCE, 5 + (1 << 20) // (1 << 17)]


def test_another_epsilon_after_reports_came_in_is_refused(tmp_path: Path) -> None:
    """ldp-016"""
    toml = tmp_path / "obverse.toml"
    toml.write_text(survey_text(epsilon="1"))
    first = collection_in(tmp_path, "it")
    first.add(honest(first, ["yes"]))
    first.close()
    toml.write_text(survey_text(epsilon="2"))
    with pytest.raises(Refused) as caught:
        collection_in(tmp_path, "it")
    assert caught.value.code == "survey_changed"
    toml.write_text(survey_text(epsilon="2").replace("[surveys.it]", "[surveys.again]"))
    assert collection_in(tmp_path, "again").tally().n == 0


def test_a_group_of_one_is_not_estimated(tmp_path: Path) -> None:
    """ldp-017"""
    collected = collection(tmp_path, spec_for())
    collected.add(honest(collected, ["yes"]))
    with pytest.raises(Refused) as caught:
        estimate(collected.spec, collected.tally())
    assert caught.value.code == "too_few_reports"


def test_estimating_costs_the_curator_nothing(with_eve: object, tmp_path: Path) -> None:
    """ldp-019"""
    before = with_eve.session.budget()  # type: ignore[attr-defined]
    collected = collection(tmp_path, spec_for())
    collected.add(honest(collected, ["yes"] * 30))
    estimate(collected.spec, collected.tally())
    assert with_eve.session.budget() == before  # type: ignore[attr-defined]


def test_losses_of_surveys_stand_beside_those_of_tables_and_are_added(tmp_path: Path) -> None:
    """ldp-020"""
    toml = survey_text(epsilon="2", more="reports = 3")
    toml += (
        '[privacy]\n[budget]\nepsilon = 4\n[tables.people]\nsource = "people.csv"\nunit = "id"\nlimits = { rows = 1 }\n'
    )
    toml += '[tables.people.columns]\nsex = { type = "text", values = ["m", "f"] }\n'
    (tmp_path / "obverse.toml").write_text(toml)
    (tmp_path / "people.csv").write_text("id,sex\n1,m\n")
    with obverse.open(tmp_path) as session:
        view = session.budget()
    assert [(line.name, line.report, line.lifetime) for line in view.surveys] == [("it", "2", "6")]
    assert view.together == "epsilon 10"


def test_coins_come_from_the_system_alone_and_are_tried_at_the_start() -> None:
    """ldp-021"""
    for path in LOCAL.rglob("*.py"):
        if path.name != "simulate.py":
            assert not re.search(
                r"\bimport random\b|np\.random|numpy\.random|RandomState|Mersenne", path.read_text()
            ), path
    script = (LOCAL / "js" / "obverse-local.js").read_text()
    assert "Math.random" not in script
    assert "getRandomValues" in script

    class Stuck(Rng):
        def raw(self, size: int) -> bytes:
            return b"\x07" * size

    with pytest.raises(Refused) as caught:
        check_source(Stuck())
    assert caught.value.code == "no_entropy"


ONCE = sorted({*OF_ITEMS, *OF_TEXTS} - {"two_coins", "apple_emoji"})


@pytest.mark.parametrize("protocol", [*ONCE, "two_coins", *OF_NUMBERS])
def test_the_same_coins_are_read_whatever_the_answer_is(protocol: str) -> None:
    """ldp-023: the path of a report does not depend on the answer, so neither does its time."""
    if protocol in OF_NUMBERS:
        spec = numbers_spec()
        spec = replace(spec, protocol=OF_NUMBERS[protocol](11, Fraction(2), Fraction(1)))
        codes = list(range(11))
    else:
        spec = spec_for(
            None if protocol == "two_coins" else ITEMS, protocol, "1.0987" if protocol == "two_coins" else "4"
        )
        codes = [spec.code(option) for option in spec.survey.options[:8]]
    for attempt in range(20):
        read = {len(_read(spec, code, attempt)) for code in codes}
        assert len(read) == 1, f"{protocol}: {read}"


def _read(spec: Spec, code: int, stream: int) -> list[int]:
    """The sizes of what is read from one and the same stream of bytes."""
    asked: list[int] = []

    def raw(size: int) -> bytes:
        asked.append(size)
        return hashlib.shake_256(f"{stream} {len(asked)}".encode()).digest(size)

    spec.protocol.report(code, Coins(raw), 12345)
    return asked


def test_a_domain_of_a_billion_is_refused_or_a_sketch_with_its_bound() -> None:
    """ldp-024"""
    numbers = survey_text().replace('options = ["no", "yes"]', "bounds = [0, 1000000000]\nstep = 1")
    with pytest.raises(CatalogError) as caught:
        loads(numbers, ".")
    assert caught.value.code == "bad_grid"
    with pytest.raises(Refused) as refused:
        made(replace(spec_for().survey, options=tuple(map(str, range(1 << 13)))), "subset")
    assert refused.value.code == "bad_parameter"
    text = survey_text(protocol="count_mean", epsilon="8").replace('options = ["no", "yes"]', "text = true")
    survey = loads(text, ".").surveys["it"]
    spec = Spec(survey, chosen(survey).protocol)
    codes = np.arange(5000, dtype=np.uint64) // 2500  # half of the people have one text each
    counts = spec.protocol.fold(spec.protocol.reports(codes, Rng()))
    found = spec.protocol.estimate(counts, 5000, codes[:1])
    assert found.floor > 0  # told beside every estimate
