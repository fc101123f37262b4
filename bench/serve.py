"""What a service costs beside the question itself: refusals, stored answers, the cage, bombs; and fifty analysts at
once.

SERVE_MINUTES=10 is how long the fifty ask; one minute unless told.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import asking

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
from tests import caged, served  # noqa: E402

REFUSED = 400
STORED = 60
FRESH = 40
REFUSAL_MS = 20.0
CAGE_WALL_MS = 10.0
CAGE_CPU_MS = 60.0
TICK_S = 0.1
LATE_MS = 20.0  # after a tick, at the 99th percentile
# after the limit; of each kind
DEAD_S = 1.0
BOMBS = 5
ANALYSTS = 50
GROWTH_MB = 64.0


def project(folder: Path) -> tuple[Path, list[str]]:
    names = [f"a{number}" for number in range(ANALYSTS)]
    toml = served.TOML.replace("[analysts.ana]", "[analysts.ana]\n" + "\n".join(f"[analysts.{name}]" for name in names))
    toml = toml.replace("[budget]\nepsilon = 50", "[serve]\nrequests_per_minute = 1000000\n[budget]\nepsilon = 100")
    return served.project(folder, toml), names


class Server:
    """`obverse serve` in a process of its own."""

    def __init__(self, folder: Path) -> None:
        obverse = str(Path(sys.executable).parent / "obverse")
        command = [obverse, "serve", str(folder), "--port", "0", "--pg-port", "0", "--json"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        text = ""
        while not text.rstrip().endswith("}"):
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit("the server did not start")
            text += line
        self.address = json.loads(text)["http"].removeprefix("http://")

    def memory_mb(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)


class Client:
    """One connection that is kept."""

    def __init__(self, address: str, token: str) -> None:
        self.connection = http.client.HTTPConnection(address, timeout=120)
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask(self, sql: str, epsilon: float = 0.001) -> tuple[int, float]:
        begun = time.perf_counter()
        body = json.dumps({"sql": sql, "epsilon": epsilon})
        self.connection.request("POST", "/v1/hospital/ask", body, self.headers)
        answer = self.connection.getresponse()
        answer.read()
        return answer.status, time.perf_counter() - begun


def percentile(times: list[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, int(share * len(times)))]


def one_client(server: Server, token: str) -> list[dict[str, Any]]:
    client = Client(server.address, token)
    found = []
    for number in range(20):  # threads open their ledgers
        client.ask(f"SELECT COUNT(*) FROM people WHERE age <> {1000 + number}")
    refused = [client.ask(f"SELECT age, sex FROM people WHERE age > {number}") for number in range(REFUSED)]
    assert {status for status, _ in refused} == {422}, refused[0]
    p99 = 1000 * percentile([took for _, took in refused], 0.99)
    half = 1000 * percentile([took for _, took in refused], 0.5)
    told = f"{p99:.1f} ms, median {half:.1f}"
    found.append(asking.bar("refused question, one client: p99", told, f"< {REFUSAL_MS:.0f} ms", p99 < REFUSAL_MS))
    fresh = [client.ask(f"SELECT COUNT(*) FROM people WHERE age <> {number}") for number in range(FRESH)]
    stored = [client.ask("SELECT COUNT(*) FROM people WHERE age <> 3") for _ in range(STORED)]
    assert {status for status, _ in fresh + stored} == {200}
    for name, times in (("fresh", fresh), ("stored", stored)):
        late = 1000 * (percentile([took for _, took in times], 0.9) - TICK_S)
        told = f"{late:.1f} ms after its tick at the 90th percentile"
        found.append(asking.bar(f"{name} answer", told, f"0 to {LATE_MS:.0f} ms", -1.0 <= late <= LATE_MS))
    return found


def cage(folder: Path) -> list[dict[str, Any]]:
    """What a process of its own adds to one question: time until it can start, and time of the processor."""
    from obverse.catalog.load import load
    from obverse.core.rng import Rng
    from obverse.server.sandbox.pool import Cage
    from obverse.session.execution import released
    from obverse.session.project import engine_of

    made = Cage(load(folder))
    try:
        project, asked = counting(folder, made)
        zygote = made._zygote.pid
        waits = []
        before = _spent(zygote)
        for _ in range(FRESH):
            time.sleep(TICK_S)  # as often as answers leave
            begun = time.perf_counter()
            child = made.taken()
            waits.append(time.perf_counter() - begun)
            made.release(asked.costed, asked.sql, 30.0, child)
        time.sleep(1.0)
        whole = 1000 * (_spent(zygote) - before) / FRESH
    finally:
        made.close()
    with closing(engine_of(project.catalog)) as engine:
        released(asked.costed, asked.sql, engine, Rng())
        begun = time.process_time()
        for _ in range(FRESH):
            released(asked.costed, asked.sql, engine, Rng())
        itself = 1000 * (time.process_time() - begun) / FRESH
    wall = 1000 * percentile(waits, 0.5)
    added = whole - itself
    told = f"{added:.0f} ms, beside {itself:.1f} of the question itself"
    return [
        asking.bar(
            "cage: until a question can start", f"{wall:.1f} ms", f"<= {CAGE_WALL_MS:.0f} ms", wall <= CAGE_WALL_MS
        ),
        asking.bar("cage: processor time that it adds", told, f"<= {CAGE_CPU_MS:.0f} ms", added <= CAGE_CPU_MS),
    ]


def counting(folder: Path, made: Any) -> tuple[Any, Any]:
    """The project as it is read through a cage, and the thinnest question of it."""
    import datetime as dt

    from obverse.session.planning import Wish, plan, read
    from obverse.session.project import load_project

    sql = "SELECT COUNT(*) FROM people"
    project = load_project(folder, open_engine=lambda catalog: made)
    return project, plan(sql, read(sql, project.catalog, dt.datetime.now()), project.catalog, Wish(), "key")


def bombs(folder: Path) -> list[dict[str, Any]]:
    """How long after its limit a question that would never end is over: the slowest of all."""
    from obverse.catalog.load import load
    from obverse.core.errors import ObverseError
    from obverse.server.sandbox.pool import Cage, Killed

    limit = 1.0
    late = []
    made = Cage(load(folder))
    try:
        _, asked = counting(folder, made)
        for bomb in BOMBS * list(caged.BOMBS.values()):
            child = made.taken()
            with caged.watched(caged.pid_of(child)) as ended:
                begun = time.monotonic()
                with suppress(Killed, ObverseError):
                    made.release(asked.costed, bomb, limit, child)
                late.append(ended() - begun - limit)
    finally:
        made.close()
    told = f"{1000 * max(late):.0f} ms after it, median {1000 * percentile(late, 0.5):.0f}"
    return [
        asking.bar(
            f"bombs, {len(late)}: the slowest to be dead at its limit", told, f"< {DEAD_S:g} s", max(late) < DEAD_S
        )
    ]


def _spent(pid: int) -> float:
    """Of a process and its ended children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def many(server: Server, tokens: list[str], minutes: float) -> list[dict[str, Any]]:
    """Fifty analysts who ask without a pause: every answer comes, and the server's memory stays."""
    counts: dict[int, int] = {}
    times: list[float] = []
    lock = threading.Lock()
    ends = time.monotonic() + 60 * minutes

    def analyst(place: int) -> None:
        client = Client(server.address, tokens[place])
        number = 0
        while time.monotonic() < ends:
            number += 1
            sql = f"SELECT COUNT(*) FROM people WHERE age <> {number % 50}"  # in the end most are stored, as in life
            status, took = client.ask(sql, 0.0001)
            with lock:
                counts[status] = counts.get(status, 0) + 1
                times.append(took)

    threads = [threading.Thread(target=analyst, args=(place,)) for place in range(len(tokens))]
    for thread in threads:
        thread.start()
    time.sleep(min(10.0, 15 * minutes))
    early = server.memory_mb()
    for thread in threads:
        thread.join()
    grown = server.memory_mb() - early
    answered = counts.get(200, 0)
    told = f"{answered:,} answers, {sum(counts.values()) - answered} others, p99 {percentile(times, 0.99):.1f} s"
    only = set(counts) == {200}
    return [
        asking.bar(f"{ANALYSTS} analysts, {minutes:g} min", told, "all answered", only),
        asking.bar(
            "server's memory grew by", f"{grown:.0f} MB of {early:.0f}", f"< {GROWTH_MB:.0f} MB", grown < GROWTH_MB
        ),
    ]


def main() -> None:
    from obverse.curator import accounts

    minutes = float(os.environ.get("SERVE_MINUTES", "1"))
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["OBVERSE_HOME"] = str(Path(temporary) / "home")
        folder, names = project(Path(temporary) / "p")
        token = accounts.issue(folder, "ana", "analyst").token
        tokens = [accounts.issue(folder, name, "analyst").token for name in names]
        found = cage(folder) + bombs(folder)
        server = Server(folder)
        try:
            found += one_client(server, token) + many(server, tokens, minutes)
        finally:
            server.stop()
    asking.print_bars(found)
    sys.exit(0 if all(one["holds"] for one in found) else 1)


if __name__ == "__main__":
    main()
