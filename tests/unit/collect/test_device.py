"""A device's own ledger: written before a report leaves, kept when consent is withdrawn, and read by its owner
alone.
"""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest

from obverse.collect.device import Device, Record
from obverse.collect.protocols import MemoisedUnary
from obverse.core.errors import InvariantBroken, LedgerError, ObverseError, Refused
from obverse.core.rng import Rng
from obverse.testing.noiseless import SeededRng
from tests.unit.collect.surveys import spec_for

TOKEN = bytes(32)
MONDAY = date(2026, 11, 16)
TUESDAY = date(2026, 11, 17)
FRESH = spec_for(more="reports = 5\nper_day = 2\nlifetime = 3.5")
LASTING = replace(
    spec_for(["a", "b", "c"], more="reports = 50\nper_day = 50\nlifetime = 3"),
    protocol=MemoisedUnary.symmetric(3, Fraction(2), Fraction(1)),
)
WIDE = replace(
    spec_for([str(number) for number in range(200)], more="reports = 50\nper_day = 50\nlifetime = 9"),
    protocol=MemoisedUnary.symmetric(200, Fraction(2), Fraction(1)),
)


class Watched(SeededRng):
    """Calls back whenever randomness is read, once it is armed."""

    __slots__ = ("seen",)

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.seen: Callable[[], None] = lambda: None

    def raw(self, n: int) -> bytes:
        self.seen()
        return super().raw(n)


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(ObverseError) as refused:
        call()
    return refused.value.code


def test_consent_is_off_until_it_is_given_and_declining_is_as_short(tmp_path: Path) -> None:
    device = Device(tmp_path)
    assert device.record(FRESH) == Record()
    report = lambda: device.report(FRESH, "yes", token=TOKEN)  # noqa: E731
    assert code_of(report) == "no_consent"
    device.decline(FRESH)
    assert code_of(report) == "no_consent"
    assert device.record(FRESH).reports == 0
    assert "I agree." in device.consent_text(FRESH)
    device.consent(FRESH)
    assert len(report()) == FRESH.frame.length


def test_limits_hold_across_days_and_openings(tmp_path: Path) -> None:
    Device(tmp_path).consent(FRESH)

    def sent(day: date) -> bytes:
        device = Device(tmp_path)
        try:
            return device.report(FRESH, "no", token=TOKEN, epoch=7, today=day)
        finally:
            device.close()

    assert sent(MONDAY)[8:10] == b"\x07\x00"
    sent(MONDAY)
    assert code_of(lambda: sent(MONDAY)) == "too_soon"
    sent(TUESDAY)
    sent(TUESDAY)  # the fourth: beyond the lifetime of 3.5, and it goes on
    assert code_of(lambda: sent(MONDAY)) == "too_soon"
    sent(date(2026, 11, 18))
    assert code_of(lambda: sent(date(2026, 11, 19))) == "schedule_over"
    record = Device(tmp_path).record(FRESH)
    assert (record.reports, record.spent, record.over) == (5, 3 * FRESH.protocol.loss(), True)


def test_surveys_have_records_of_their_own(tmp_path: Path) -> None:
    device = Device(tmp_path)
    device.consent(FRESH)
    assert code_of(lambda: device.report(spec_for(), "no", token=TOKEN)) == "no_consent"


def test_losses_of_all_surveys_add_up(tmp_path: Path) -> None:
    """A survey that is declared anew has a budget of its own; what a device lost in all is told nevertheless."""
    device = Device(tmp_path)
    anew = spec_for(more="reports = 5\nper_day = 3\nlifetime = 3.5")
    assert device.spent() == 0
    for spec in (FRESH, anew, LASTING):
        device.consent(spec)
        device.report(spec, spec.survey.options[0], token=TOKEN)
    assert device.spent() == 2 * FRESH.loss + LASTING.loss
    device.withdraw(LASTING)
    assert (
        device.spent()
        == sum(device.record(spec).spent for spec in (FRESH, anew, LASTING))
        > 2 * FRESH.loss + LASTING.loss
    )


def test_toggling_consent_gives_nothing_back(tmp_path: Path) -> None:
    """Neither epsilon nor fresh permanent answers: one who toggles each time is asked no more often than another."""
    device = Device(tmp_path, rng=SeededRng(4))
    sent = []
    for _ in range(6):
        device.consent(LASTING)
        before = device.record(LASTING).spent
        sent.append(device.report(LASTING, "a", token=TOKEN, today=MONDAY))
        assert device.record(LASTING).spent >= before
        device.withdraw(LASTING)
        assert device.record(LASTING).marks == {}
    record = device.record(LASTING)
    assert (record.consent, record.reports, record.over) == ("withdrawn", 6, True)
    assert record.spent == LASTING.protocol.lasting() + LASTING.protocol.loss() <= LASTING.survey.lifetime


def test_permanent_answers_are_the_same_after_consent_was_withdrawn(tmp_path: Path) -> None:
    """The same fresh coins make the same report of it, before and after; another device's is another one."""
    made = []
    for folder, toggled in ((tmp_path / "one", False), (tmp_path / "one", True), (tmp_path / "two", False)):
        device = Device(folder)
        device.consent(WIDE)
        if toggled:
            device.withdraw(WIDE)
            device.consent(WIDE)
        device._rng = SeededRng(8)
        made.append([device.report(WIDE, answer, token=TOKEN, today=MONDAY) for answer in "77777"])
        device.close()
        forget(folder)
    assert made[0] == made[1]
    assert made[0] != made[2]


def forget(folder: Path) -> None:
    """Undo the counts, so that the same reports can be asked for once more."""
    connection = sqlite3.connect(folder / "device.db")
    with connection:
        connection.execute("DELETE FROM mark")
        connection.execute("DELETE FROM survey")
    connection.close()


@pytest.mark.parametrize("stop", [Device.withdraw, Device.decline])
def test_what_was_withdrawn_is_in_no_file_of_the_folder_any_more(tmp_path: Path, stop: Callable[..., None]) -> None:
    device = Device(tmp_path)
    device.consent(LASTING)
    device.report(LASTING, "a", token=TOKEN, today=MONDAY)
    (mark,) = device.record(LASTING).marks
    stored = lambda: b"".join(path.read_bytes() for path in sorted(tmp_path.iterdir()))  # noqa: E731
    assert mark in stored()
    stop(device, LASTING)
    assert mark not in stored()
    assert LASTING.digest in stored()


@pytest.mark.parametrize("token", [b"", bytes(31), bytes(32).hex().encode(), "00" * 16])
def test_what_is_no_token_is_refused_before_anything_is_charged(tmp_path: Path, token: bytes) -> None:
    device = Device(tmp_path)
    device.consent(FRESH)
    with pytest.raises(Refused) as caught:
        device.report(FRESH, "yes", token=token)
    assert (caught.value.code, device.record(FRESH).reports) == ("bad_token", 0)


def test_the_folder_is_the_owners_alone_and_holds_no_answer(tmp_path: Path) -> None:
    spec = spec_for(["certainly not", "by all means"], more="reports = 3\nper_day = 3")
    device = Device(tmp_path / "device")
    device.consent(spec)
    device.report(spec, "by all means", token=TOKEN)
    for path in (tmp_path / "device").iterdir():
        assert path.stat().st_mode & 0o077 == 0, path
        assert b"by all means" not in path.read_bytes()


def test_the_record_is_on_disk_before_any_coin_of_the_report_is_flipped(tmp_path: Path) -> None:
    rng = Watched(1)
    device = Device(tmp_path, rng=rng)
    device.consent(FRESH)
    stored: list[int] = []

    def look() -> None:
        connection = sqlite3.connect(f"file:{tmp_path / 'device.db'}?mode=ro", uri=True)
        stored.append(connection.execute("SELECT reports FROM survey").fetchone()[0])
        connection.close()

    rng.seen = look
    device.report(FRESH, "no", token=TOKEN, today=MONDAY)
    assert set(stored) == {1}


def test_a_device_that_is_killed_before_it_sends_has_counted(tmp_path: Path) -> None:
    Device(tmp_path).consent(FRESH)
    child = os.fork()
    if child == 0:
        try:
            rng = Watched(1)
            device = Device(tmp_path, rng=rng)
            rng.seen = lambda: os.kill(os.getpid(), signal.SIGKILL)
            device.report(FRESH, "no", token=TOKEN, today=MONDAY)
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    record = Device(tmp_path).record(FRESH)
    assert (record.reports, record.today, record.spent) == (1, 1, FRESH.protocol.loss())


def test_two_processes_together_send_no_more_than_a_day_allows(tmp_path: Path) -> None:
    Device(tmp_path).consent(FRESH)
    children = []
    for _ in range(2):
        child = os.fork()
        if child == 0:
            sent = 0
            try:
                device = Device(tmp_path)
                for _ in range(4):
                    try:
                        device.report(FRESH, "no", token=TOKEN, today=MONDAY)
                        sent += 1
                    except Refused:
                        pass
            finally:
                os._exit(sent)
        children.append(child)
    assert sum(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children) == 2
    assert Device(tmp_path).record(FRESH).reports == 2


def test_what_is_no_answer_costs_nothing(tmp_path: Path) -> None:
    device = Device(tmp_path)
    device.consent(FRESH)
    assert code_of(lambda: device.report(FRESH, "perhaps", token=TOKEN)) == "not_an_option"
    with pytest.raises(InvariantBroken):
        device.report(FRESH, "no", token=TOKEN, epoch=1 << 16)
    assert device.record(FRESH).reports == 0


@pytest.mark.parametrize(
    "damage",
    ["spent = 'x'", "spent = x'ff'", "spent = '1/0'", "spent = '-1'", "reports = 'x'", "today = -1", "consent = 'yes'"],
)
def test_a_ledger_that_does_not_hold_together_sends_nothing(tmp_path: Path, damage: str) -> None:
    device = Device(tmp_path)
    device.consent(FRESH)
    device.close()
    connection = sqlite3.connect(tmp_path / "device.db")
    with connection:
        connection.execute(f"UPDATE survey SET {damage}")
    connection.close()
    with pytest.raises(LedgerError) as refused:
        Device(tmp_path).report(FRESH, "no", token=TOKEN)
    assert refused.value.code == "ledger_damaged"


def test_a_file_that_is_no_ledger_says_what_a_device_can_do(tmp_path: Path) -> None:
    """An older copy would give back what was spent, so none is asked for."""
    (tmp_path / "device.db").write_text("no database " * 50)
    with pytest.raises(LedgerError) as refused:
        Device(tmp_path)
    assert refused.value.code == "ledger_damaged"
    assert "not older than the last report" in refused.value.fix
    assert "restore" not in refused.value.fix


def test_a_key_that_is_none_is_refused(tmp_path: Path) -> None:
    Device(tmp_path).close()
    connection = sqlite3.connect(tmp_path / "device.db")
    with connection:
        connection.execute("UPDATE device SET key = x'00'")
    connection.close()
    assert code_of(lambda: Device(tmp_path)) == "ledger_damaged"


def test_a_device_without_randomness_does_not_start(tmp_path: Path) -> None:
    class Stuck(Rng):
        def raw(self, n: int) -> bytes:
            return bytes(n)

    assert code_of(lambda: Device(tmp_path, rng=Stuck())) == "no_entropy"
    assert not list(tmp_path.iterdir())


def test_devices_have_keys_of_their_own_which_are_the_systems_entropy(tmp_path: Path) -> None:
    keys = {Device(tmp_path / str(number))._key for number in range(3)} | {Device(tmp_path / "0")._key}
    assert len(keys) == 3
    assert {len(key) for key in keys} == {32}
