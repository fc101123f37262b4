"""What tests measure with measures."""

from __future__ import annotations

import signal
import sys
import time

import pytest

from tests.effort import ruler


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="stops a process")
def test_a_ruler_tells_how_much_of_a_processor_there_was() -> None:
    """Stopped for half of the time it has at most about half of one; left alone it has some."""
    with ruler() as share:
        share.measure_from(time.monotonic())
        time.sleep(0.3)
        assert 0 < share.until_now() <= 1
        share.measure_from(begun := time.monotonic())
        time.sleep(0.05)
        share._process.send_signal(signal.SIGSTOP)
        stopped = time.monotonic()
        time.sleep(0.3)
        still = time.monotonic() - stopped
        share._process.send_signal(signal.SIGCONT)
        had = share.until_now()
        assert had <= 1.1 - still / (time.monotonic() - begun)
