"""A shuffler between people and the collector: what it attests is counted once, and nothing else is."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from obverse.collect.card import card_json, card_text
from obverse.collect.collector import Collection, Submitted
from obverse.collect.randomness.coins import Coins
from obverse.collect.shuffler import Shuffler, add_batch, shuffling
from obverse.collect.spec import Spec, read_spec
from obverse.core.errors import CatalogError, LedgerError, Refused
from tests.unit.collect.surveys import spec_for


@pytest.fixture
def shuffler(tmp_path: Path) -> Shuffler:
    return Shuffler(tmp_path / "shuffler")


def declared(shuffler: Shuffler, protocol: str = "direct", options: list[str] | None = None, more: str = "") -> Spec:
    return spec_for(options, protocol, more=f'{more}\nshuffler = {{ key = "{shuffler.public}" }}')


def answered(spec: Spec, tokens: list[bytes], answers: list[str]) -> list[Submitted]:
    coins = Coins(os.urandom)
    found = []
    for token, answer in zip(tokens, answers):
        payload = spec.protocol.report(spec.code(answer), coins, spec.seed(token))
        found.append(Submitted(spec.frame.framed(0, payload), token))
    return found


def batch_of(shuffler: Shuffler, spec: Spec, out: Path, n: int = 200) -> bytes:
    shuffler.shuffle(spec, answered(spec, shuffler.tokens(spec, n), ["yes"] * n), out)
    return out.read_bytes()


def code_of(call) -> str:
    with pytest.raises(Refused) as caught:
        call()
    return caught.value.code


@pytest.mark.parametrize("protocol", ["direct", "unary", "local_hash", "pooled_hash"])
def test_what_is_attested_is_counted_and_its_epsilon_told(tmp_path: Path, shuffler: Shuffler, protocol: str) -> None:
    spec = declared(shuffler, protocol)
    collection = Collection(tmp_path / "it", spec)
    assert shuffling(collection, 1e-6, 0.0) is None
    for n, name in ((300, "a"), (200, "b")):
        assert add_batch(collection, batch_of(shuffler, spec, tmp_path / name, n)) == n
    assert collection.tally().n == 500
    found = shuffling(collection, 1e-6, 0.0)
    assert found is not None
    assert found.reports == 200
    assert 0.1 < float(found.epsilon) < 0.6 < spec.loss
    assert "not against the shuffler" in found.words()
    fewer = shuffling(collection, 1e-6, 0.1)
    assert fewer is not None
    assert (fewer.reports, float(fewer.epsilon) > float(found.epsilon)) == (180, True)
    again = Collection(tmp_path / "it", spec)
    assert (again.tally().n, sorted(again.attested())) == (500, [200, 300])


def test_a_batch_has_no_token_and_another_order(tmp_path: Path, shuffler: Shuffler) -> None:
    spec = spec_for([f"{i}" for i in range(200)], "direct", "19", f'shuffler = {{ key = "{shuffler.public}" }}')
    tokens = shuffler.tokens(spec, 200)
    shuffler.shuffle(spec, answered(spec, tokens, [f"{i}" for i in range(200)]), tmp_path / "batch")
    batch = (tmp_path / "batch").read_bytes()
    assert not any(token in batch or token.hex().encode() in batch for token in tokens)
    rows = spec.frame.rows(batch.partition(b"\n")[2])
    assert rows is not None
    sent = rows[:, -1].tolist()
    assert len(set(sent)) > 190
    assert sorted(sent) != sent
    assert sum(place == number for place, number in enumerate(sent)) < 20
    assert (tmp_path / "batch").stat().st_mode & 0o077 == 0


def test_a_report_is_in_one_batch_only_and_faults_are_told(tmp_path: Path, shuffler: Shuffler) -> None:
    spec = declared(shuffler)
    came = answered(spec, shuffler.tokens(spec, 50), ["no"] * 50)
    forged = [Submitted(came[0].report, bytes(32)), Submitted(b"", b"")]
    assert shuffler.shuffle(spec, came[:30] + forged, tmp_path / "a") == {"token": 1, "length": 1}
    assert Shuffler(tmp_path / "shuffler").shuffle(spec, came, tmp_path / "b") == {"spent": 30}
    assert code_of(lambda: shuffler.shuffle(spec, came, tmp_path / "c")) == "nothing_to_shuffle"
    assert not (tmp_path / "c").exists()


def changed(raw: bytes, /, **change: object) -> bytes:
    head, _, reports = raw.partition(b"\n")
    told = json.loads(head) | change
    return json.dumps(told, sort_keys=True, separators=(",", ":")).encode() + b"\n" + reports


def test_batches_that_were_tampered_with_are_refused(tmp_path: Path, shuffler: Shuffler) -> None:
    spec = declared(shuffler)
    collection = Collection(tmp_path / "it", spec)
    batch = batch_of(shuffler, spec, tmp_path / "a")
    size = spec.frame.length
    wrong = {
        "a report is another": batch[:-1] + bytes([batch[-1] ^ 1]),
        "one is missing": batch[:-size],
        "one is more": batch + batch[-size:],
        "half a report": batch[:-1],
        "more are attested": changed(batch, reports=2000),
        "fewer are attested": changed(changed(batch, reports=199), sha256="00" * 32),
        "another number": changed(batch, batch="00" * 16),
        "another epoch": changed(batch, epoch=1),
        "another survey": changed(batch, survey="00" * 32),
        "a key more": changed(batch, extra=1),
        "blanks": batch.replace(b'"epoch":', b'"epoch": '),
        "no signature": changed(batch, signature="00" * 64),
    }
    for name, raw in wrong.items():
        assert code_of(lambda raw=raw: add_batch(collection, raw)) == "bad_attestation", name
    for raw in (b"", b"{}\n", b"[]", b"\xff\n", batch.partition(b"\n")[2], changed(batch, signature="x")):
        assert code_of(lambda raw=raw: add_batch(collection, raw)) == "not_attested"
    assert collection.tally().n == 0
    assert shuffling(collection, 1e-6, 0.0) is None
    assert add_batch(collection, batch) == 200
    assert code_of(lambda: add_batch(collection, batch)) == "batch_known"
    assert collection.tally().n == 200


def test_other_keys_and_other_surveys_are_refused(tmp_path: Path, shuffler: Shuffler) -> None:
    spec = declared(shuffler)
    other = Shuffler(tmp_path / "other")
    assert code_of(lambda: other.tokens(spec, 1)) == "other_shuffler"
    theirs = declared(other)
    batch = batch_of(other, theirs, tmp_path / "theirs")
    assert code_of(lambda: add_batch(Collection(tmp_path / "it", spec), batch)) == "bad_attestation"
    second = declared(shuffler, "unary")
    batch = batch_of(shuffler, second, tmp_path / "second")
    assert code_of(lambda: add_batch(Collection(tmp_path / "it", spec), batch)) == "other_survey"
    plain = spec_for()
    assert code_of(lambda: shuffler.tokens(plain, 1)) == "no_shuffler"
    assert code_of(lambda: add_batch(Collection(tmp_path / "plain", plain), batch)) == "no_shuffler"


def test_a_shuffler_that_signs_what_no_device_could_send_is_refused(tmp_path: Path, shuffler: Shuffler) -> None:
    from obverse.collect.batch import shuffled
    from obverse.core.rng import Rng

    spec = declared(shuffler)
    collection = Collection(tmp_path / "it", spec)
    rows = np.array([[0], [1], [2]], dtype=np.uint8)
    for epoch, payloads in ((0, rows), (1, rows[:2])):
        batch = shuffled(spec, epoch, payloads, Rng(), shuffler._key.sign)
        assert code_of(lambda batch=batch: add_batch(collection, batch)) == "bad_attestation"


def test_where_there_is_a_shuffler_the_collector_sees_no_report_alone(tmp_path: Path, shuffler: Shuffler) -> None:
    collection = Collection(tmp_path / "it", declared(shuffler))
    assert code_of(lambda: collection.tokens(1)) == "attested_only"
    assert code_of(lambda: collection.add([])) == "attested_only"


def test_without_attestation_nothing_is_amplified(tmp_path: Path) -> None:
    collection = Collection(tmp_path / "it", spec_for())
    collection.add(answered(collection.spec, collection.tokens(500), ["yes"] * 500))
    assert shuffling(collection, 1e-6, 0.0) is None


def test_permanent_answers_are_not_amplified(tmp_path: Path, shuffler: Shuffler) -> None:
    spec = declared(shuffler, "loloha", ["no", "yes", "c"])
    collection = Collection(tmp_path / "it", spec)
    add_batch(collection, batch_of(shuffler, spec, tmp_path / "a"))
    assert collection.tally().n == 200
    assert shuffling(collection, 1e-6, 0.0) is None


def test_the_shuffler_is_part_of_what_people_agree_to(shuffler: Shuffler) -> None:
    spec = declared(shuffler)
    assert read_spec(spec.document).id == spec.id != spec_for().id
    assert card_json(spec)["shuffler"] == shuffler.public
    assert shuffler.public in card_text(spec)
    assert "shuffler" not in card_text(spec_for())
    with pytest.raises(CatalogError) as caught:
        spec_for(more='shuffler = { key = "ABC" }')
    assert caught.value.code == "bad_values"
    with pytest.raises(Refused) as refused:
        read_spec(spec.document.replace(shuffler.public.encode(), b"00"))
    assert refused.value.code == "bad_spec"


def test_a_crash_before_tokens_are_spent_leaves_no_batch(
    tmp_path: Path, shuffler: Shuffler, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = declared(shuffler)
    came = answered(spec, shuffler.tokens(spec, 30), ["no"] * 30)

    def power_loss(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("obverse.collect.shuffler.os.fsync", power_loss)
        with pytest.raises(KeyboardInterrupt):
            shuffler.shuffle(spec, came, tmp_path / "batch")
    assert not (tmp_path / "batch").exists()
    assert shuffler.shuffle(spec, came, tmp_path / "batch") == {}


def test_a_batch_whose_tokens_cannot_be_spent_is_deleted(tmp_path: Path, shuffler: Shuffler) -> None:
    """It is signed already: whoever found it would count its reports, and then those of the batch that is made
    again.
    """
    spec = declared(shuffler)
    came = answered(spec, shuffler.tokens(spec, 30), ["no"] * 30)
    (database,) = tmp_path.rglob("shuffler.db")
    with contextlib.closing(sqlite3.connect(database)) as full:
        full.execute("CREATE TRIGGER full BEFORE INSERT ON spent BEGIN SELECT RAISE(ABORT, 'full'); END")
        with pytest.raises(LedgerError):
            shuffler.shuffle(spec, came, tmp_path / "batch")
        assert not list(tmp_path.glob("batch*"))
        full.execute("DROP TRIGGER full")
    assert shuffler.shuffle(spec, came, tmp_path / "batch") == {}


def test_a_batch_in_which_nobody_hides_is_neither_made_nor_taken(tmp_path: Path, shuffler: Shuffler) -> None:
    spec = declared(shuffler)
    came = answered(spec, shuffler.tokens(spec, 19), ["yes"] * 19)
    assert code_of(lambda: shuffler.shuffle(spec, came, tmp_path / "few")) == "nothing_to_shuffle"
    assert not list(tmp_path.glob("few*"))
    more = answered(spec, shuffler.tokens(spec, 1), ["no"])
    assert shuffler.shuffle(spec, [*came, *more], tmp_path / "enough") == {}  # no token was spent
