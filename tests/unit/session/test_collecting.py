"""A survey's collection: reports are counted once and for good, and nothing that tells who sent them is kept."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from obverse.core.errors import Refused
from obverse.local.accept import Submitted
from obverse.local.coins import Coins
from obverse.local.estimate import estimate
from obverse.session import collecting
from obverse.session.collecting import Collection
from tests.unit.local.surveys import spec_for


def answered(collection: Collection, answers: list[str]) -> list[Submitted]:
    spec, coins = collection.spec, Coins(os.urandom)
    found = []
    for token, answer in zip(collection.tokens(len(answers)), answers):
        payload = spec.protocol.report(spec.code(answer), coins, spec.seed(token))
        found.append(Submitted(spec.frame.framed(collection.epoch, payload), token))
    return found


@pytest.mark.parametrize("protocol", ["direct", "unary", "local_hash", "hadamard_count_mean"])
def test_what_was_collected_is_estimated_again_after_a_restart(tmp_path: Path, protocol: str) -> None:
    spec = spec_for(protocol=protocol, epsilon="8")
    first = Collection(tmp_path / "it", spec)
    came = answered(first, ["yes"] * 300 + ["no"] * 700)
    assert first.add(came[:600]) == {}
    first.close()
    second = Collection(tmp_path / "it", spec)
    assert second.add(came[500:]) == {"spent": 100}
    tally = second.tally()
    assert (tally.n, dict(tally.rejected)) == (1000, {"spent": 100})
    shares = {row.item: row.value for row in estimate(spec, tally).rows}
    assert shares["yes"] == pytest.approx(0.3, abs=0.15)


def test_nothing_kept_tells_who_sent_what_or_when(tmp_path: Path) -> None:
    spec = spec_for([f"{i}" for i in range(200)], "direct", "19")  # nearly the truth, so that the order would show
    collection = Collection(tmp_path / "it", spec)
    came = answered(collection, [f"{i}" for i in range(200)])
    collection.add(came)
    collection.close()
    kept = b"".join(path.read_bytes() for path in sorted((tmp_path / "it").iterdir()))
    for one in came:
        assert one.token not in kept
        assert one.token[:16] not in kept
    for path in (tmp_path / "it").iterdir():
        assert path.stat().st_mode & 0o077 == 0
        if path.suffix == ".parquet":
            assert path.stat().st_mtime == 0
    (path,) = (tmp_path / "it").glob("*.parquet")
    (rows,) = collecting.read_reports([path], spec.protocol.length)
    stored = rows[:, 0].tolist()
    assert sorted(stored) != stored
    assert len(set(stored)) > 190


def test_a_crash_before_the_commit_counts_nothing_and_spends_no_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = Collection(tmp_path / "it", spec_for())
    came = answered(collection, ["yes"] * 40)

    def power_loss(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(collecting.os, "fsync", power_loss)
        with pytest.raises(KeyboardInterrupt):
            collection.add(came)
    assert len(list((tmp_path / "it").glob("*.parquet"))) == 1  # written, and not counted
    assert collection.tally().n == 0
    assert collection.add(came) == {}
    assert collection.tally().n == 40
    again = Collection(tmp_path / "it", spec_for())
    assert len(list((tmp_path / "it").glob("*.parquet"))) == 1
    assert again.tally().n == 40


def test_a_survey_that_was_changed_is_refused(tmp_path: Path) -> None:
    Collection(tmp_path / "it", spec_for()).close()
    with pytest.raises(Refused) as caught:
        Collection(tmp_path / "it", spec_for(epsilon="2"))
    assert caught.value.code == "survey_changed"
    assert Collection(tmp_path / "it", spec_for()).tally().n == 0


def test_tokens_survive_a_restart_and_are_all_different(tmp_path: Path) -> None:
    first = Collection(tmp_path / "it", spec_for())
    came = answered(first, ["no"] * 50)
    first.close()
    assert Collection(tmp_path / "it", spec_for()).add(came) == {}
    assert len({one.token for one in came}) == 50


def test_many_reports_fold_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("obverse.engines.report_files.CHUNK_ROWS", 64)
    spec = spec_for([f"{i}" for i in range(70)], "unary")
    collection = Collection(tmp_path / "it", spec)
    came = answered(collection, [f"{i % 70}" for i in range(500)])
    collection.add(came)
    whole = spec.protocol.fold(np.array([list(one.report[10:]) for one in came], dtype=np.uint8))
    assert np.array_equal(collection.tally().counts, whole)
