"""When an answer may leave: at a tick that was chosen before any row was read, so that how long it took is not told.

Claim:   the time of a reply, and that at which the ledger has the answer, is a function of the plan and of public figures,
         unless a question outruns its tick; then it is the next tick that tells one bit more.
Proof:   `first_tick` sees the prediction alone, and that the plan alone; what ran in between is waited for, before the answer
         is stored: what comes after is a function of noisy numbers. But planning before and storing after were seen to take a
         little more or less, perhaps by what caches remember of what ran: the one is rounded down, so that the tick
         holds what is left of it, and the other up.
Assumes: the prediction reads nothing of the rows, and a slot is held until its tick, so that others' waiting tells no more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from time import monotonic, sleep

HEADROOM = 2.0  # a tick is at least so many times the predicted time; up to a step of it goes to planning
STEP_S = 0.01  # to which what is done before and after a tick is rounded; it takes some 4 ms and 2 ms


def ticks() -> Iterator[float]:
    """0.1, 0.2, 0.5, 1, 2, 5, ... seconds."""
    for power in count(-1):
        for step in (1, 2, 5):
            yield step * 10.0**power


def first_tick(predicted_s: float) -> float:
    return next(tick for tick in ticks() if tick >= HEADROOM * predicted_s)


def tick_after(first_s: float, elapsed_s: float) -> float:
    """The tick at which a question leaves that took so long."""
    return next(tick for tick in ticks() if tick >= first_s and tick >= elapsed_s)


STORED = next(ticks())  # an answer that was given before leaves at the first of all


def begun_at(came: float) -> float:
    """Now, in whole steps since a question came."""
    return came + (monotonic() - came) // STEP_S * STEP_S


@dataclass(slots=True)
class Departure:
    """Of one question, from the moment when it has its slot."""

    first_s: float
    begun: float = field(default_factory=monotonic)
    gone: float | None = None  # when its tick came

    def wait(self) -> None:
        """In a thread: until the tick of what was charged; once."""
        if self.gone is None:
            elapsed = monotonic() - self.begun
            tick = tick_after(self.first_s, elapsed)
            sleep(tick - elapsed)
            self.gone = self.begun + tick

    def settle(self) -> None:
        """In a thread, after what is done at the tick: how long that took is not told."""
        if self.gone is not None:
            sleep((self.gone - monotonic()) % STEP_S)

    def rest_s(self) -> float:
        """What is left to wait where nothing was charged: until the first tick of all."""
        if self.gone is not None:
            return 0.0
        elapsed = monotonic() - self.begun
        return tick_after(STORED, elapsed) - elapsed
