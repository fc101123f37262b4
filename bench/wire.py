"""How fast the wire answers one client: refusals, the catalogue, prices, stored answers, logins: `python
bench/wire.py`.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import asking

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
from tests import wired  # noqa: E402

TIMES = 300
REFUSAL_MS = 20.0
LOGIN_MS = 50.0
TICK_MS = 100.0
LATE_MS = 20.0


def percentile(call: Callable[[], object], times: int = TIMES) -> tuple[float, float]:
    """Milliseconds: the median and the 99th percentile."""
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        call()
        taken.append(1000 * (time.perf_counter() - begun))
    taken.sort()
    return taken[times // 2], taken[int(0.99 * times)]


def main() -> None:
    print(f"load {os.getloadavg()[0]:.1f} at the start", flush=True)
    found = []
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["OBVERSE_HOME"] = str(Path(temporary) / "home")
        with wired.served(wired.made(Path(temporary) / "hospital")) as server, server.login() as client:
            client.query(wired.COUNT)
            for what, text in (
                ("refused question", "SELECT name FROM people WHERE age > 3"),
                ("question of the catalogue", "SELECT relname FROM pg_class"),
                ("EXPLAIN", "EXPLAIN SELECT sex, COUNT(*) FROM people GROUP BY sex"),
            ):
                half, most = percentile(lambda text=text: client.query(text))  # type: ignore[misc]
                told = f"{most:.1f} ms, median {half:.1f}"
                found.append(asking.bar(f"wire, {what}: p99", told, f"< {REFUSAL_MS:.0f} ms", most < REFUSAL_MS))
            half, most = percentile(lambda: client.query(wired.COUNT), 50)
            late = most - TICK_MS
            what = "wire, stored answer: p99 after its tick"
            found.append(asking.bar(what, f"{late:.1f} ms", f"< {LATE_MS:.0f} ms", late < LATE_MS))
            half, most = percentile(lambda: server.login().close(), 100)
            told = f"{most:.1f} ms, median {half:.1f}"
            found.append(asking.bar("wire, login: p99", told, f"< {LOGIN_MS:.0f} ms", most < LOGIN_MS))
    raise SystemExit(0 if asking.print_bars(found) else 1)


if __name__ == "__main__":
    main()
