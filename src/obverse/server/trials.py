"""Trials: a reviewer's attacks on this very service, over scratch projects of made-up neighbours that it serves meanwhile.

Claim:   a trial spends nothing of a real budget, and reads no row of a real table.
Proof:   its questions go to projects of their own, with rows of their own, a ledger of their own in a folder that is deleted,
         and a home of their own; the names and tokens of these are random, and are told to nobody.
Assumes: the folder for temporary files is the server's own.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp

from obverse.catalog.model import Budget, Catalog
from obverse.core.errors import ObverseError, Refused
from obverse.core.numbers import up
from obverse.curator.accounts import issue_in
from obverse.review.scratch import ANALYST, PEOPLE, Scratch, write_scratch
from obverse.server.assaults import ASSAULTS, Arena, Stand, question_tried
from obverse.server.desk import Desk
from obverse.server.host import Host

SMALL = Fraction(1)  # the budget that `bypass` tries to overdraw
PLENTY = Fraction(10**6)  # attacks pay for every answer like anybody, out of a budget that protects nobody
DAYS = 1
BROKEN = {"code": "trial_failed", "message": "the trial could not be finished; the operator's log says why."}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be tried, at which price, with how many answers of each neighbour."""

    attacks: tuple[str, ...]
    epsilon: float
    samples: int
    sql: str = ""


@dataclass(slots=True)
class Trial:
    """One run, as far as it has come."""

    wanted: Wanted
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    now: str = "making neighbours"
    progress: float = 0.0
    done: bool = False
    found: list[dict[str, Any]] = field(default_factory=list)
    problem: dict[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "version": 1, "trial": self.id, "attacks": list(self.wanted.attacks), "epsilon": self.wanted.epsilon,
            "samples": self.wanted.samples, "sql": self.wanted.sql, "now": self.now, "progress": self.progress,
            "done": self.done, "found": self.found, "problem": self.problem,
        }  # fmt: skip


class Trials:
    """One runs on a server at a time, and others wait for it; of each project the latest is remembered, in memory."""

    def __init__(self) -> None:
        self._latest: dict[str, Trial] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()

    def latest(self, project: str) -> Trial | None:
        return self._latest.get(project)

    def start(self, app: ASGIApp, desk: Desk, project: str, wanted: Wanted) -> Trial:
        before = self._latest.get(project)
        if before is not None and not before.done:
            raise Refused("trial_running", "a trial of this project is running.", fix="wait until it is done.")
        trial = self._latest[project] = Trial(wanted)
        task = asyncio.ensure_future(self._in_turn(app, desk, project, trial))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return trial

    async def stop(self, patience_s: float) -> None:
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=patience_s)

    async def _in_turn(self, app: ASGIApp, desk: Desk, project: str, trial: Trial) -> None:
        """Behind those of other projects, of which nothing is told."""
        async with self._turn:
            await _run(app, desk, project, trial)


async def _run(app: ASGIApp, desk: Desk, project: str, trial: Trial) -> None:
    host, loop = desk.host(project), asyncio.get_running_loop()
    folder = Path(tempfile.mkdtemp(prefix="obverse-scratch-"))
    hosts: list[Host] = []
    try:
        made = await asyncio.to_thread(_hosted, folder, host.catalog, hosts)
        for one in hosts:
            desk.take_in(one)
        stands = [Stand(app, loop, scratch.name, token) for scratch, token in made]
        total, wanted = float(host.catalog.budget.epsilon), trial.wanted
        delta = up(host.catalog.delta) if host.catalog.accounting == "zcdp" else 0.0
        arena = Arena(stands[0], stands[1], stands[2], SMALL, made[0][0].people, total, wanted.epsilon, delta, wanted.samples)
        await asyncio.to_thread(_tried, trial, arena, host.path)
    except ObverseError as error:
        trial.problem = {"code": error.code, "message": error.message}
    except Exception:
        trial.problem = BROKEN
        raise
    finally:
        for one in hosts:
            desk.let_go(one.name)
        try:
            await asyncio.to_thread(_cleared, folder, hosts)
        finally:
            trial.done, trial.progress, trial.now = True, 1.0, ""


def _hosted(folder: Path, terms: Catalog, hosts: list[Host]) -> Sequence[tuple[Scratch, str]]:
    """Two neighbours with plenty of budget and one with little, each under a random name, with a token."""
    wanted = (("with", PLENTY, False, PEOPLE), ("without", PLENTY, True, PEOPLE), ("small", SMALL, False, PEOPLE + 1))
    made = []
    for name, budget, absent, people in wanted:
        hidden = f"scratch-{secrets.token_hex(16)}"
        scratch = write_scratch(folder / name, hidden, terms, absent=absent, people=people)
        hosts.append(Host(scratch.folder, home=folder / "home", budget=Budget(budget, max(terms.budget.delta, terms.delta))))
        made.append((scratch, issue_in(hosts[-1].clerk().ledger, ANALYST, "analyst", DAYS, "trial").token))
    return made


def _tried(trial: Trial, arena: Arena, path: Path) -> None:
    steps = len(trial.wanted.attacks) + bool(trial.wanted.sql)
    for place, name in enumerate(trial.wanted.attacks):
        trial.now = name
        trial.found.append(ASSAULTS[name](arena, _within(trial, place, steps)))
        trial.progress = (place + 1) / steps
    if trial.wanted.sql:
        trial.now = "question"
        progress = _within(trial, steps - 1, steps)
        trial.found.append(question_tried(path, trial.wanted.sql, trial.wanted.epsilon, progress))


def _within(trial: Trial, place: int, steps: int) -> Callable[[float], None]:
    def told(share: float) -> None:
        trial.progress = (place + min(1.0, share)) / steps

    return told


def _cleared(folder: Path, hosts: Sequence[Host]) -> None:
    for one in hosts:
        with suppress(Exception):
            one.close()
    shutil.rmtree(folder, ignore_errors=True)
