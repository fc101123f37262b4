"""Reports of permanent answers have coins in common: the variance that is told holds for devices that send again and
again.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from obverse.collect.estimate import estimate
from obverse.collect.protocols import Direct, LastingProtocol, Loloha, MemoisedUnary, Rappor
from obverse.collect.protocols.base import Estimated, repeated
from obverse.collect.randomness.coins import ONE, Coins
from obverse.collect.tally import Tally, tallied
from obverse.testing.noiseless import SeededRng
from tests.unit.collect.surveys import lasting_spec, spec_for

TIMES = 30
TRIALS = 25
HOLDERS = np.array([20, 15, 5])
LASTING: list[LastingProtocol] = [
    MemoisedUnary.optimized(3, Fraction(2), Fraction(1)),
    Loloha.lasting_at(3, Fraction(4), Fraction(2)),
    Rappor(16, 2, 64, ONE // 4, ONE // 2, ONE // 4 * 3),
]


def found_by(protocol: LastingProtocol, rng: SeededRng) -> Estimated:
    """What devices that send TIMES reports each make of one answer each."""
    coins = Coins(rng.raw)
    rows = []
    for code in np.repeat(np.arange(3), HOLDERS).tolist():
        seed = int(rng.words(1)[0])
        permanent = protocol.permanent(code, coins, seed)
        rows += [protocol.instant(permanent, coins, seed) for _ in range(TIMES)]
    payloads = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), protocol.length)
    return protocol.estimate(protocol.fold(payloads), len(rows), np.arange(3, dtype=np.uint64))


@pytest.mark.parametrize("protocol", LASTING, ids=lambda protocol: protocol.name)
def test_the_variance_holds_for_devices_that_send_again_and_again(protocol: LastingProtocol) -> None:
    """Seeded, so there are no false alarms.

    As if all were of different devices, it would be too small by 2 to 8 times.
    """
    rng = SeededRng(5)
    once = []
    often = []
    for _ in range(TRIALS):
        found = found_by(protocol, rng)
        for kept, times in ((once, 1), (often, TIMES)):
            told = repeated(found, times)
            kept.append(float(((told.value - HOLDERS / HOLDERS.sum()) ** 2 / told.variance).mean()))
    assert np.mean(once) > 1.7
    assert 0.4 < np.mean(often) < 1.4


def test_an_interval_goes_by_all_that_a_device_may_send_unless_told() -> None:
    spec = lasting_spec(MemoisedUnary.optimized(4, Fraction(2), Fraction(1)))
    counts = np.array([400, 300, 200, 100])
    tally = Tally(spec.digest, 1000, counts)
    told = {each: estimate(spec, tally, each=each) for each in (None, 1, 30, 400, 5000)}
    assert [told[each].each for each in told] == [400, 1, 30, 400, 1000]  # `reports` is 400; nobody sent more than came
    assert told[None].rows == told[400].rows
    widths = [told[each].rows[0].high - told[each].rows[0].low for each in (1, 30, 400, 5000)]
    assert widths == sorted(widths)
    assert widths[1] > 2 * widths[0]
    assert told[30].rows[0].p_value > told[1].rows[0].p_value
    assert told[30].as_json()["each"] == 30


def test_fresh_coins_are_of_one_report_however_many_a_device_sends() -> None:
    often = spec_for(more="reports = 30\nper_day = 30\nlifetime = 30")
    once = replace(often, survey=replace(often.survey, reports=1))
    codes = np.repeat(np.arange(2, dtype=np.uint64), [300, 100])
    assert isinstance(often.protocol, Direct)
    reports = often.protocol.reports(codes, SeededRng(2))
    rows = [estimate(spec, tallied(spec.digest, spec.protocol, reports), beyond=0).rows for spec in (once, often)]
    assert rows[0] == rows[1]
