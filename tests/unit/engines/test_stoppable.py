from __future__ import annotations

import gzip
import os
import signal
import threading
import time
from pathlib import Path

import duckdb
import pytest

from obverse.catalog.model import Source
from obverse.core.errors import CatalogError
from obverse.engines.base import stoppable
from obverse.engines.csv import header_of

ENDLESS = "SELECT sum(hash(a.range, b.range) % 7) FROM range(10000000) a, range(10000000) b"


def test_work_gives_its_value_or_its_error() -> None:
    assert stoppable(lambda: 5, lambda: None, 10) == 5
    with pytest.raises(ZeroDivisionError):
        stoppable(lambda: 1 // 0, lambda: None, 10)


def test_a_query_that_is_out_of_time_is_stopped() -> None:
    began = time.monotonic()
    with duckdb.connect() as connection, pytest.raises(duckdb.Error):
        stoppable(lambda: connection.execute(ENDLESS).fetchall(), connection.interrupt, 0.2)
    assert time.monotonic() - began < 20


@pytest.mark.skipif(not hasattr(signal, "raise_signal") or os.name == "nt", reason="sends a Unix signal")
def test_ctrl_c_is_heard_while_a_query_runs() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # which a job in the background does not have
    began = time.monotonic()
    connection = duckdb.connect()

    def endless() -> object:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()  # by now somebody waits for it
        return connection.execute(ENDLESS).fetchall()

    try:
        with connection, pytest.raises(KeyboardInterrupt):
            stoppable(endless, connection.interrupt, 60)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - began < 20


def test_the_header_of_a_packed_file_is_read_and_that_of_rubbish_refused(tmp_path: Path) -> None:
    packed = tmp_path / "people.csv.gz"
    packed.write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert header_of(Source("csv", packed)) == ["a", "b"]
    for rubbish in (b"a,b\n1,2\n", gzip.compress(b"a,b\n")[:12]):
        packed.write_bytes(rubbish)
        with pytest.raises(CatalogError) as refused:
            header_of(Source("csv", packed))
        assert refused.value.code == "source_unreadable"
