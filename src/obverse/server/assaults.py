"""The attacks of a trial, each on scratch projects that this service answers for, and an epsilon that is surely lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp

from obverse.attack.attacks import Averaging, Bypass, Differencing, Reconstruction, Timing
from obverse.attack.lower_bound.trial import trial
from obverse.attack.targets import Counting, Interface, Person, Put
from obverse.core.errors import Refused
from obverse.review.http_endpoint import CLAIMED, one_number
from obverse.review.neighbouring import of_question
from obverse.review.scratch import KEY, SECRET, TABLE
from obverse.server.errors import only_for_the_operator
from obverse.server.inside import posted

WAIT_S = 300.0
AT_ONCE = 8
ATTACKED, RECONSTRUCTED, QUESTIONS, REPEATS, REPLIES = 40, 24, 12, 10, 30
SAMPLES_OF_SQL = 5000
ALPHA = 1e-4  # a claim that holds is refuted once in so many trials: reviewers repeat them, and "refuted" is a grave word
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
    """Two neighbours, a project with a small budget, and who is in the first. `total` is what the real project may lose in all:
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
    """The epsilon that one count surely loses, by answers over both neighbours, each to another question of the same rows."""
    stands, numbers = {"with": arena.present, "without": arena.absent}, {"with": 0, "without": 0}

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
    """The same for a question of the project itself, over neighbours made up from its declarations: its plan and its noise,
    sampled without the service around them, so that there can be thousands."""
    with only_for_the_operator():
        target = of_question(path, sql, epsilon, None)
    claimed, delta = target.epsilon, target.delta
    found = trial(target.draw, target.pairs, SAMPLES_OF_SQL, claimed=claimed, delta=delta, alpha=ALPHA, progress=progress)
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
