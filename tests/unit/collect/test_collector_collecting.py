"""A survey's collection: reports are counted once and for good, and nothing that tells who sent them is kept."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Self

import numpy as np
import pytest

from obverse.collect import collector
from obverse.collect.collector import Collection, Submitted
from obverse.collect.estimate import estimate
from obverse.collect.project import collection_in, forgotten_in
from obverse.collect.randomness.coins import Coins
from obverse.collect.spec import Spec
from obverse.collect.tally import Tally
from obverse.core.errors import Refused
from tests.unit.collect.surveys import spec_for, survey_text


def answered(collection: Collection, answers: list[str]) -> list[Submitted]:
    spec = collection.spec
    coins = Coins(os.urandom)
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
    (rows,) = collector.read_reports([path], spec.protocol.length)
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
        patch.setattr(collector.os, "fsync", power_loss)
        with pytest.raises(KeyboardInterrupt):
            collection.add(came)
    assert len(list((tmp_path / "it").glob("*.parquet"))) == 1  # written, and not counted
    assert collection.tally().n == 0
    assert collection.add(came) == {}
    assert collection.tally().n == 40
    again = Collection(tmp_path / "it", spec_for())
    assert len(list((tmp_path / "it").glob("*.parquet"))) == 1
    assert again.tally().n == 40


def test_a_survey_may_be_changed_until_a_report_came_in(tmp_path: Path) -> None:
    first = Collection(tmp_path / "it", spec_for())
    (void,) = answered(first, ["yes"])
    first.close()
    changed = Collection(tmp_path / "it", spec_for(epsilon="2"))
    assert changed.add([void]) == {"survey": 1}  # what was agreed on was another survey
    with pytest.raises(Refused) as caught:
        Collection(tmp_path / "it", spec_for())
    assert caught.value.code == "survey_changed"
    assert Collection(tmp_path / "it", spec_for(epsilon="2")).tally().n == 0


def test_tokens_survive_a_restart_and_are_all_different(tmp_path: Path) -> None:
    first = Collection(tmp_path / "it", spec_for())
    came = answered(first, ["no"] * 50)
    first.close()
    assert Collection(tmp_path / "it", spec_for()).add(came) == {}
    assert len({one.token for one in came}) == 50


def test_many_reports_fold_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("obverse.engines.files.CHUNK_ROWS", 64)
    spec = spec_for([f"{i}" for i in range(70)], "unary")
    collection = Collection(tmp_path / "it", spec)
    came = answered(collection, [f"{i % 70}" for i in range(500)])
    collection.add(came)
    whole = spec.protocol.fold(np.array([list(one.report[10:]) for one in came], dtype=np.uint8))
    assert np.array_equal(collection.tally().counts, whole)


def kept_for(days: int, minimum: int = 20) -> Spec:
    spec = spec_for()
    return replace(spec, survey=replace(spec.survey, retention_days=days, minimum=minimum))


def on(day: int) -> date:
    return date(2026, 1, 1) + timedelta(days=day)


@pytest.mark.parametrize(("retention", "came"), [(30, 0), (30, 7), (1, 0), (365, 200)])
def test_reports_are_deleted_in_time_and_their_counts_stay(tmp_path: Path, retention: int, came: int) -> None:
    spec = kept_for(retention)
    first = Collection(tmp_path / "it", spec, today=lambda: on(came))
    first.add(answered(first, ["yes"] * 15 + ["no"] * 15))
    before = first.tally()
    assert list((tmp_path / "it").glob("*.parquet"))
    soon = Collection(tmp_path / "it", spec, today=lambda: on(came + retention - max(1, retention // 10) - 1))
    assert soon.forgotten == 0 or retention == 1
    late = Collection(tmp_path / "it", spec, today=lambda: on(came + retention))
    assert not list((tmp_path / "it").glob("*.parquet"))
    assert late.tally().same(before)
    late.add(answered(late, ["yes"]))
    assert late.tally().n == 31


def test_reports_that_are_deleted_while_they_are_counted_count_once(tmp_path: Path) -> None:
    """A service estimates while another process ends a retention; files that are lost otherwise are told."""
    spec = kept_for(10)

    def forgotten_meanwhile(spec: Spec, paths: Sequence[Path]) -> Tally:
        Collection(tmp_path / "it", spec, today=lambda: on(10))
        return collector.folded(spec, paths)

    first = Collection(tmp_path / "it", spec, today=lambda: on(0), folding=forgotten_meanwhile)
    first.add(answered(first, ["yes"] * 30))
    assert first.tally().n == 30
    last = Collection(tmp_path / "it", spec, today=lambda: on(10))
    last.add(answered(last, ["yes"]))
    for path in (tmp_path / "it").glob("*.parquet"):
        path.unlink()
    with pytest.raises(OSError, match="could not be read"):
        last.tally()


def test_counts_of_too_few_are_deleted_with_the_reports(tmp_path: Path) -> None:
    spec = kept_for(10)
    first = Collection(tmp_path / "it", spec, today=lambda: on(0))
    first.add(answered(first, ["yes"] * 19))
    late = Collection(tmp_path / "it", spec, today=lambda: on(10))
    assert (late.forgotten, late.tally().n, late.tally().gone) == (19, 0, 19)
    assert late.add(answered(first, ["yes"])) == {}  # what was spent stays spent, and tokens stay good
    (spoiled,) = answered(late, ["no"])
    late.add([replace(spoiled, report=spoiled.report[:-1] + b"\xff")])  # it costs its token, and was never counted
    assert (late.tally().n, late.tally().rejected, late.tally().gone) == (1, {"range": 1}, 19)


class Later(datetime):
    """A clock that is beyond every retention here."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return cls(2126, 1, 1, tzinfo=tz)


@pytest.mark.parametrize("change", [('"A lecture."', '"Another."'), ("[surveys.it]", "[surveys.other]")])
def test_reports_are_deleted_in_time_whatever_became_of_the_survey(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: tuple[str, str]
) -> None:
    """People were promised that by the specification they agreed to, and it stays promised."""
    (tmp_path / "obverse.toml").write_text(survey_text(), encoding="utf-8")
    first = collection_in(tmp_path, "it")
    first.add(answered(first, ["yes"] * 30))
    first.close()
    (tmp_path / "obverse.toml").write_text(survey_text().replace(*change), encoding="utf-8")
    assert forgotten_in(tmp_path, "it") == 0
    assert list(first.folder.glob("*.parquet"))
    monkeypatch.setattr(collector, "datetime", Later)
    assert forgotten_in(tmp_path, "it") == 30
    assert not list(first.folder.glob("*.parquet"))


def test_a_survey_that_was_changed_is_refused_and_its_reports_are_deleted_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "obverse.toml").write_text(survey_text(), encoding="utf-8")
    first = collection_in(tmp_path, "it")
    first.add(answered(first, ["yes"] * 30))
    first.close()
    (tmp_path / "obverse.toml").write_text(survey_text(epsilon="2"), encoding="utf-8")
    monkeypatch.setattr(collector, "datetime", Later)
    with pytest.raises(Refused) as caught:
        collection_in(tmp_path, "it")
    assert caught.value.code == "survey_changed"
    assert not list(first.folder.glob("*.parquet"))


def test_nothing_is_forgotten_of_a_survey_that_never_was(tmp_path: Path) -> None:
    (tmp_path / "obverse.toml").write_text(survey_text(), encoding="utf-8")
    assert forgotten_in(tmp_path, "it") == 0
    with pytest.raises(Refused) as caught:
        forgotten_in(tmp_path, "nobody")
    assert caught.value.code == "no_such_survey"


def test_the_day_of_deletion_tells_no_day_of_arrival(tmp_path: Path) -> None:
    untils = set()
    for day in range(100, 109):
        made = Collection(tmp_path / f"{day}", kept_for(90), today=lambda day=day: on(day))
        made.add(answered(made, ["yes"]))
        with made._database.reading() as connection:
            untils.add(connection.execute("SELECT until FROM batch").fetchone()[0] - on(day).toordinal() <= 90)
            untils.add(connection.execute("SELECT until FROM batch").fetchone()[0] % 9 == 0)
    assert untils == {True}


def test_reports_with_impossible_weights_count_and_are_flagged(tmp_path: Path) -> None:
    spec = spec_for([f"{i}" for i in range(256)], "unary")
    collection = Collection(tmp_path / "it", spec)
    honest = answered(collection, ["1"] * 40)
    crafted = answered(collection, ["1"] * 3)
    ones = spec.frame.framed(collection.epoch, b"\xff" * 32)
    assert collection.add([*honest, *(Submitted(ones, one.token) for one in crafted)]) == {}
    tally = collection.tally()
    assert (tally.n, tally.odd, dict(tally.rejected)) == (43, 3, {})
