"""How much of the processor a call takes by itself, and how much of one there is."""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class Effort:
    cpu_s: float = 0.0


@contextmanager
def effort() -> Iterator[Effort]:
    """CPU seconds of this thread inside the block, without what other tests left behind.

    A process that ran thousands of tests holds millions of objects, and one look of the collector at all of them takes
    half a second, charged to whoever happens to allocate next. What was there before is put aside; garbage made inside
    counts.
    """
    gc.collect()
    gc.freeze()
    spent = Effort()
    began = time.thread_time()
    try:
        yield spent
    finally:
        spent.cpu_s = time.thread_time() - began
        gc.unfreeze()


RULER = """
import os, select, time
os.write(1, b"ready\\n")
said = b""
while True:
    while b"\\n" not in said:
        came = os.read(0, 100)
        if not came:
            raise SystemExit
        said += came
    begins, _, said = said.partition(b"\\n")
    time.sleep(max(0.0, float(begins) - time.monotonic()))
    began = time.process_time()
    while b"\\n" not in said:
        sum(range(1000))
        if select.select([0], [], [], 0)[0]:
            said += os.read(0, 100)
    said = said.partition(b"\\n")[2]
    os.write(1, b"%r %r\\n" % (time.process_time() - began, time.monotonic() - float(begins)))
"""


class Ruler:
    """A process that wants a processor from a given moment on, and tells how much of one it had."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def measure_from(self, moment: float) -> None:
        self._say(str(moment))

    def until_now(self) -> float:
        self._say("")
        cpu_s, wall_s = map(float, self._hear().split())
        return min(1.0, cpu_s / wall_s) if wall_s > 0 else 1.0

    def _say(self, word: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()

    def _hear(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


@contextmanager
def ruler() -> Iterator[Ruler]:
    command = [sys.executable, "-c", RULER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        made = Ruler(process)
        try:
            assert made._hear() == "ready\n"
            yield made
        finally:
            process.kill()
