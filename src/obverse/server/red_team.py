"""The attacks of a trial, each on scratch projects that this service answers for, and an epsilon that is surely lost.

A request to this very service, from within: through the shield, the routes and the desk, like any other.

Trials: a reviewer's attacks on this very service, over scratch projects of made-up neighbours that it serves meanwhile.

Claim:   a trial spends nothing of a real budget, and reads no row of a real table.
Proof:   its questions go to projects of their own, with rows of their own, a ledger of their own in a folder that is
         deleted, and a home of their own; the names and tokens of these are random, and are told to nobody.
Assumes: the folder for temporary files is the server's own.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Message

from obverse.attack.attacks import Averaging, Bypass, Differencing, Reconstruction, Timing
from obverse.attack.lower_bound.trial import trial
from obverse.attack.targets import Counting, Interface, Person, Put
from obverse.catalog.model import Catalog
from obverse.core.errors import ObverseError, Refused
from obverse.core.ledger import Budget
from obverse.core.numbers import up
from obverse.curator.accounts import issue_in
from obverse.review.interfaces import CLAIMED, one_number
from obverse.review.neighbours import ANALYST, KEY, PEOPLE, SECRET, TABLE, Scratch, of_question, write_scratch
from obverse.server.errors import only_for_the_operator
from obverse.server.project import Host
from obverse.server.queries import Desk

SCRATCH_ADDRESS = "scratch"  # of whoever attacks a scratch project: nobody else's requests are counted with these


async def posted(
    app: ASGIApp, path: str, token: str, body: Mapping[str, Any], told: Mapping[str, str]
) -> tuple[int, Any]:
    """The status of the reply, and its JSON."""
    raw = json.dumps(body).encode()
    named = {"content-type": "application/json", "authorization": f"Bearer {token}", **told}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "client": (SCRATCH_ADDRESS, 0),
        "server": ("", 0),
        "headers": [(name.lower().encode(), value.encode()) for name, value in named.items()],
    }
    came = [{"type": "http.request", "body": raw, "more_body": False}]
    status = 0
    parts = []

    async def receive() -> Message:
        return came.pop() if came else await asyncio.get_running_loop().create_future()  # the client stays

    async def send(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        elif message["type"] == "http.response.body":
            parts.append(message.get("body", b""))

    await app(scope, receive, send)
    return status, json.loads(b"".join(parts))


WAIT_S = 300.0
AT_ONCE = 8
ATTACKED = 40
RECONSTRUCTED = 24
QUESTIONS = 12
REPEATS = 10
REPLIES = 30
SAMPLES_OF_SQL = 5000
# a claim that holds is refuted once in so many trials: reviewers repeat them, and "refuted" is a grave word
ALPHA = 1e-4
TARGET = "this service, over made-up rows"
OVER_BUDGET = 402
Progress = Callable[[float], None]
Assault = Callable[["Arena", Progress], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Stand:
    """One scratch project of the running service, with a token for it. Its methods are called from a thread."""

    app: ASGIApp
    loop: asyncio.AbstractEventLoop
    project: str
    token: str

    def ask(self, sql: str, epsilon: float) -> float | None:
        return self._asked({"sql": sql, "epsilon": epsilon}, {})

    def put(self, put: Put) -> float | None:
        told = {"Idempotency-Key": put.key} if put.key else {}
        told |= dict.fromkeys(CLAIMED, put.name) if put.name else {}
        return self._asked({"sql": put.sql, "epsilon": float(put.price)}, told)

    def reply(self, path: str, body: Mapping[str, Any], told: Mapping[str, str]) -> tuple[int, Any]:
        sent = posted(self.app, f"/v1/{self.project}{path}", self.token, body, told)
        return asyncio.run_coroutine_threadsafe(sent, self.loop).result(WAIT_S)

    def _asked(self, body: Mapping[str, Any], told: Mapping[str, str]) -> float | None:
        status, reply = self.reply("/ask", body, told)
        if status == OVER_BUDGET:
            return None
        if status != 200:
            raise Refused(str(reply.get("code", "trial_failed")), f"the service says: {reply.get('detail', '')}")
        return one_number(reply["rows"])


@dataclass(frozen=True, slots=True)
class Arena:
    """Two neighbours, a project with a small budget, and who is in the first. `total` is what the real project may lose
    in all:
    whoever attacks people spends so much and no more, for with more than its budget every project tells."""

    present: Stand
    absent: Stand
    small: Stand
    budget: Fraction
    people: Sequence[Person]
    total: float
    epsilon: float
    delta: float  # beside the claimed epsilon, where losses are concentrated
    samples: int

    def sharing(self, questions: int) -> Callable[[str], float | None]:
        """Asks at a price at which so many questions cost all of the budget."""
        return lambda sql: self.present.ask(sql, self.total / questions)


def differencing(arena: Arena, progress: Progress) -> dict[str, Any]:
    """Everybody with a secret, and everybody but one, for each of some people."""
    asked = _counted(arena.sharing(ATTACKED + 1), ATTACKED + 1, progress)
    return Differencing().ask(Counting(asked, TABLE, KEY), SECRET, arena.people[:ATTACKED], TARGET).as_json()


def averaging(arena: Arena, progress: Progress) -> dict[str, Any]:
    """One question again and again, in other words: noise that were drawn anew would average out."""
    questions = [f"SELECT COUNT(*) FROM {TABLE} WHERE {KEY} < {20 + 5 * i}" for i in range(QUESTIONS)]
    truth = [20 + 5 * i for i in range(QUESTIONS)]
    asked = _counted(arena.sharing(QUESTIONS), QUESTIONS * REPEATS, progress)
    return Averaging(REPEATS).ask(asked, questions, truth, TARGET).as_json()


def reconstruction(arena: Arena, progress: Progress) -> dict[str, Any]:
    """Sums over random halves of some people, four for each of them."""
    import numpy as np

    people = list(arena.people[:RECONSTRUCTED])
    asked = _counted(arena.sharing(4 * RECONSTRUCTED), 4 * RECONSTRUCTED, progress)
    truth = np.array([person.secret for person in people])
    return Reconstruction().run(Counting(asked, TABLE, KEY).sums(people, SECRET), truth, TARGET).as_json()


def timing(arena: Arena, progress: Progress) -> dict[str, Any]:
    """The time of a reply, with the one person in the data and without."""
    said = [0]

    def side(stand: Stand) -> Callable[[int], float | None]:
        def replied(number: int) -> float | None:
            said[0] += 1
            progress(said[0] / (2 * REPLIES))
            return stand.ask(f"SELECT COUNT(*) FROM {TABLE} WHERE age > {-1000 - number}", arena.epsilon)

        return replied

    return Timing(REPLIES).ask(side(arena.present), side(arena.absent), TARGET).as_json()


def bypass(arena: Arena, progress: Progress) -> dict[str, Any]:
    """More fresh answers than the budget pays for: at once, under keys, in others' names, in small coin."""
    price = arena.budget / 10
    status, told = arena.small.reply("/explain", {"sql": _question(0), "epsilon": float(price)}, {})
    pays = told["remaining"]["like_this"] if status == 200 else 10
    parts = 10 if pays == 10 else 1  # where losses do not simply add up, small coin is worth more
    interface = Interface(lambda: nullcontext(arena.small.put), frozenset({"key", "name", "price"}))
    found = Bypass(price * pays, price, AT_ONCE, parts).run(interface, _question, TARGET)
    progress(1.0)
    return found.as_json()


def lower_bound(arena: Arena, progress: Progress) -> dict[str, Any]:
    """The epsilon that one count surely loses, by answers over both neighbours, each to another question of the same
    rows.
    """
    stands = {"with": arena.present, "without": arena.absent}
    numbers = {"with": 0, "without": 0}

    def draw(side: str, n: int) -> list[float]:
        start = numbers[side]
        numbers[side] += n
        words = [f"SELECT COUNT(*) FROM {TABLE} WHERE age > {-1_000_000 - start - i}" for i in range(n)]
        with ThreadPoolExecutor(AT_ONCE) as threads:
            found = list(threads.map(lambda sql: stands[side].ask(sql, arena.epsilon), words))
        return [float("nan") if one is None else one for one in found]

    pair = [("with", "without")]
    verdict = trial(draw, pair, arena.samples, claimed=arena.epsilon, delta=arena.delta, alpha=ALPHA, progress=progress)
    return {"attack": "lower_bound", "target": TARGET, "leaks": verdict.refuted, **verdict.as_json()}


def question_tried(path: Path, sql: str, epsilon: float, progress: Progress) -> dict[str, Any]:
    """The same for a question of the project itself, over neighbours made up from its declarations: its plan and its
    noise,
    sampled without the service around them, so that there can be thousands."""
    with only_for_the_operator():
        target = of_question(path, sql, epsilon, None)
    claimed = target.epsilon
    delta = target.delta
    found = trial(
        target.draw, target.pairs, SAMPLES_OF_SQL, claimed=claimed, delta=delta, alpha=ALPHA, progress=progress
    )
    return {"attack": "question", "target": sql, "leaks": found.refuted, **found.as_json()}


def _question(number: int) -> str:
    return f"SELECT COUNT(*) FROM {TABLE} WHERE age > {-10 - number}"


def _counted(ask: Callable[[str], float | None], planned: int, progress: Progress) -> Callable[[str], float | None]:
    said = [0]

    def asked(sql: str) -> float | None:
        said[0] += 1
        progress(said[0] / planned)
        return ask(sql)

    return asked


ASSAULTS: dict[str, Assault] = {
    "differencing": differencing,
    "averaging": averaging,
    "reconstruction": reconstruction,
    "timing": timing,
    "bypass": bypass,
    "lower_bound": lower_bound,
}


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
    host = desk.host(project)
    loop = asyncio.get_running_loop()
    folder = Path(tempfile.mkdtemp(prefix="obverse-scratch-"))
    hosts: list[Host] = []
    try:
        made = await asyncio.to_thread(_hosted, folder, host.catalog, hosts)
        for one in hosts:
            desk.take_in(one)
        stands = [Stand(app, loop, scratch.name, token) for scratch, token in made]
        total = float(host.catalog.budget.epsilon)
        wanted = trial.wanted
        delta = up(host.catalog.delta) if host.catalog.accounting == "zcdp" else 0.0
        arena = Arena(
            stands[0], stands[1], stands[2], SMALL, made[0][0].people, total, wanted.epsilon, delta, wanted.samples
        )
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
            trial.done = True
            trial.progress = 1.0
            trial.now = ""


def _hosted(folder: Path, terms: Catalog, hosts: list[Host]) -> Sequence[tuple[Scratch, str]]:
    """Two neighbours with plenty of budget and one with little, each under a random name, with a token."""
    wanted = (("with", PLENTY, False, PEOPLE), ("without", PLENTY, True, PEOPLE), ("small", SMALL, False, PEOPLE + 1))
    made = []
    for name, budget, absent, people in wanted:
        hidden = f"scratch-{secrets.token_hex(16)}"
        scratch = write_scratch(folder / name, hidden, terms, absent=absent, people=people)
        hosts.append(
            Host(scratch.folder, home=folder / "home", budget=Budget(budget, max(terms.budget.delta, terms.delta)))
        )
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
