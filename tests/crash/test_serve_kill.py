"""A server and its caged processes killed at any moment: nothing is lost, nothing charged twice, nothing outlives
it.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import select
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from obverse.core.errors import ObverseError
from obverse.curator.ledger import opened_ledger, verify_ledger
from obverse.server.project import Host
from obverse.server.queries import Caller, Desk, Wanted
from obverse.session.planning import Wish
from tests import served

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a cage needs Linux")
AT_ONCE = 3
EPSILON = 0.001
PRICE = Wish(epsilon=EPSILON)
READY_S = 120.0


def serve(folder: Path, token: str, keys: list[str], out: int) -> None:
    """The whole life of a server: ask all keys, and tell each answer when it is out."""

    async def one(desk: Desk, caller: Caller, key: str) -> None:
        sql = f"SELECT COUNT(*) AS n FROM people WHERE age <> {int(key.rpartition('-')[2])}"
        try:
            answer = await desk.ask(caller, Wanted(sql, PRICE, key=key))
            told = {"key": key, "rows": answer.rows, "stored": answer.price.stored}
        except ObverseError as error:
            told = {"key": key, "code": error.code}
        os.write(out, json.dumps(told).encode() + b"\n")

    async def main() -> None:
        host = Host(folder)
        desk = Desk([host])
        caller = await desk.sign_in("hospital", token)
        os.write(out, json.dumps({"zygote": host.cage._zygote.pid}).encode() + b"\n")
        waiting = list(keys)

        async def worker() -> None:
            while waiting:
                await one(desk, caller, waiting.pop(0))

        await asyncio.gather(*(worker() for _ in range(AT_ONCE)))

    asyncio.run(main())


def killed_while_serving(
    folder: Path, token: str, keys: list[str], after: int, more_s: float, *, child: bool
) -> list[dict[str, object]]:
    """What a server told; it is killed some moments after so many answers, perhaps after the one its children come
    from.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            serve(folder, token, keys, writing)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        zygote = json.loads(_line(pipe))["zygote"]
        told = [json.loads(_line(pipe)) for _ in range(after)]
        time.sleep(more_s)  # any moment will do: each round has another
        if child:
            os.kill(zygote, signal.SIGKILL)
            told += [json.loads(_line(pipe)) for _ in range(2)]  # it goes on with a fresh one
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        told += [json.loads(line) for line in pipe.read().splitlines() if line.endswith(b"}")]
    deadline = time.monotonic() + 60
    while _alive(zygote) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _alive(zygote), "nothing outlives a server"
    return told


def _line(pipe: object) -> bytes:
    found = b""
    while not found.endswith(b"\n"):
        assert select.select([pipe], [], [], READY_S)[0], "the server goes on"  # type: ignore[list-item]
        found += pipe.read(1)  # type: ignore[attr-defined]
    return found


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def check(folder: Path, told: list[dict[str, object]]) -> None:
    """Every answer that was told is stored as it was told, each key was charged at most once, and the totals say so."""
    verify_ledger(folder)
    with opened_ledger(folder) as (_, _, opened):
        charges = [entry for entry in opened.ledger.entries() if entry.kind == "charge"]
        spent = float(opened.ledger.spent().amount)
        assert spent == pytest.approx(EPSILON * len(charges))
        keys = Counter(entry.fields["key"] for entry in charges)
        assert max(keys.values(), default=0) <= 1, "no key is charged twice"
        for one in told:
            if "rows" in one:
                number = next(entry for entry in charges if entry.fields["key"] == one["key"])
                stored = opened.ledger.answered(number.fields["id"])
                assert stored is not None, "what was told is stored"
                assert json.loads(stored[0].answer)["rows"] == one["rows"]
            else:
                assert one["code"] in ("answer_lost", "engine_failure"), one


def killed_many_times(tmp_path: Path, times: int, seed: int) -> None:
    folder = served.project(tmp_path / "p")
    token = served.tokens(folder)["ana"]
    draw = random.Random(seed)
    keys: list[str] = []
    answers: dict[object, object] = {}
    for number in range(times):
        keys = [key for key in keys if draw.random() < 0.5] + [f"{number}-{number * 40 + i}" for i in range(40)]
        told = killed_while_serving(
            folder, token, keys, draw.randrange(5), draw.uniform(0, 0.15), child=number % 5 == 4
        )
        check(folder, told)
        for one in told:
            if "rows" in one:
                assert answers.setdefault(one["key"], one["rows"]) == one["rows"], "a repeated key repeats its answer"
        keys = keys[-60:]
    assert len(answers) >= times, "most servers lived long enough to answer"


def test_a_killed_server_loses_nothing_and_charges_nothing_twice(tmp_path: Path) -> None:
    killed_many_times(tmp_path, 20, seed=1)


@pytest.mark.soak
def test_a_server_killed_two_hundred_times(tmp_path: Path) -> None:
    killed_many_times(tmp_path, 200, seed=2)
