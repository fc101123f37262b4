"""When a reply leaves tells nothing of one unit: a classifier of times on D against D', and a known gap at a tick's
edge.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import pytest

from obverse.curator import accounts
from obverse.server.project import Host
from obverse.server.queries import Desk, Wanted
from obverse.session.planning import Wish
from tests import served

pytestmark = [pytest.mark.soak, pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a cage needs Linux")]
REPLIES = int(os.environ.get("TIMING_REPLIES", "2000"))
AUC_MAX = 0.55
EDGE = min(REPLIES, 200)
BESIDE = min(REPLIES, 400)
# replies by which a place at the edge is looked for; from the first tick to the next
TRIED = 20
NEXT_TICK_S = 0.1
Measured = Callable[[str, object], None]  # told at the end of the run
HEAVY = 20_000  # rows of the heaviest unit, of which five count
JOIN = (
    "SELECT COUNT(*) AS n FROM visits a JOIN visits b ON a.person_id = b.person_id WHERE a.cost <> b.cost AND "
    "a.cost > {x}"
)


def neighbours(folder: Path, rows_about: int, visits: int = HEAVY) -> tuple[Path, Path]:
    """D, and D' with one unit more that has as many visits as everybody else together, or more, and long texts."""
    toml = served.TOML.replace(
        "[budget]\nepsilon = 50", "[serve]\nrequests_per_minute = 1000000\n[budget]\nepsilon = 100"
    )
    toml = toml.replace("rows_about = 5000", f"rows_about = {rows_about}")
    plain = served.project(folder / "d", toml.replace('"hospital"', '"plain"'))
    heavy = served.project(folder / "heavy", toml.replace('"hospital"', '"heavy"'))
    with duckdb.connect() as connection:
        for table, row in (
            ("people", "SELECT 99999 AS person_id, 40 AS age, 'F' AS sex, repeat('x', 60000) AS town,"
                       " DATE '1960-01-01' AS born"),
            ("visits", f"SELECT 900000 + i AS visit_id, 99999 AS person_id, 'Oncology' AS clinic, i % 700 + 0.5 AS cost"
                       f" FROM range({visits}) r(i)"),
        ):  # fmt: skip
            file = heavy / f"{table}.parquet"
            connection.execute(f"CREATE TABLE {table} AS SELECT * FROM '{file}' UNION ALL BY NAME {row}")
            connection.execute(f"COPY {table} TO '{file}'")
    return plain, heavy


def auc(times: list[tuple[bool, float]]) -> float:
    """The chance that a time on D' is longer than one on D, ties halved; of this or of the reverse, whichever is
    larger.
    """
    with_unit = np.array([t for heavy, t in times if heavy])
    without = np.array([t for heavy, t in times if not heavy])
    ordered = np.sort(without)
    above = (np.searchsorted(ordered, with_unit, "left") + np.searchsorted(ordered, with_unit, "right")) / 2
    found = float(above.mean() / len(without))
    return max(found, 1 - found)


@pytest.fixture
def hosts(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Host, Host]]:
    made = tuple(Host(folder) for folder in neighbours(tmp_path, request.param))
    yield made[0], made[1]
    for host in made:
        host.close()


def measured(
    hosts: tuple[Host, Host], replies: int, seed: int, told: list[float] | None = None
) -> list[tuple[bool, float]]:
    """Times of replies, each with its side; `told` gets the answers."""
    tokens = [accounts.issue(host.path, "ana", "analyst").token for host in hosts]

    async def main() -> list[tuple[bool, float]]:
        desk = Desk(tuple(dict.fromkeys(hosts)))
        draw = random.Random(seed)
        times = []
        callers = [await desk.sign_in(host.name, token) for host, token in zip(hosts, tokens)]
        for number in range(replies + 20):
            heavy = draw.random() < 0.5
            wanted = Wanted(JOIN.format(x=-1 - number - 10_000 * seed), Wish(epsilon=0.04))  # none was asked before
            begun = time.perf_counter()
            answer = await desk.ask(callers[heavy], wanted)
            assert not answer.price.stored
            if told is not None:
                told.append(float(answer.rows[0][0]))  # type: ignore[arg-type]
            if number >= 20:  # the first ones open ledgers
                times.append((heavy, time.perf_counter() - begun))
        return times

    return asyncio.run(main())


@pytest.mark.parametrize("hosts", [20_000], indirect=True)
def test_times_of_replies_do_not_tell_the_heaviest_unit(hosts: tuple[Host, Host], record_property: Measured) -> None:
    """By chance alone the area is above 0.55 once in 10,000 runs (its standard error is 0.013)."""
    times = measured(hosts, REPLIES, seed=3)
    told = f"AUC {auc(times):.3f} over {len(times)} replies; median {np.median([t for _, t in times]):.3f} s"
    record_property("times of replies", told)
    assert auc(times) <= AUC_MAX


@pytest.mark.parametrize("hosts", [20_000], indirect=True)
def test_times_of_replies_do_not_tell_the_noise(hosts: tuple[Host, Host], record_property: Measured) -> None:
    """By chance alone a correlation is beyond four standard errors once in 15,000 runs."""
    told: list[float] = []
    times = [took for _, took in measured((hosts[0], hosts[0]), REPLIES // 4, seed=5, told=told)]
    noise = np.abs(np.array(told[20:]) - np.median(told))
    found = abs(float(np.corrcoef(times, noise)[0, 1]))
    record_property("correlation of times and noise", f"{found:.3f} over {len(times)} replies")
    assert found <= 4 / len(times) ** 0.5


def test_at_the_edge_of_a_tick_times_may_tell_and_how_well_is_printed(
    tmp_path: Path, record_property: Measured
) -> None:
    """`rows_about` says one row, so that the prediction is far too low, and the unit has so many that its question
    outruns the
    first tick where the others' alone does not: what outruns a tick is told. A known gap."""
    for visits in (HEAVY * 4**power for power in range(1, 7)):
        with closing(Neighbours(tmp_path / str(visits), visits)) as pair:
            if _apart(measured(pair.hosts, TRIED, seed=6)) < NEXT_TICK_S / 2:
                continue
            times = measured(pair.hosts, EDGE, seed=4)
            break
    with_, without = ([t for heavy, t in times if heavy is side] for side in (True, False))
    told = (
        f"AUC {auc(times):.3f}; medians {np.median(with_):.3f} and {np.median(without):.3f} s; {visits:,} rows of "
        "one unit"
    )
    record_property("known gap, at a tick's edge", told)
    assert len(times) == EDGE
    assert auc(times) > AUC_MAX, "where nothing tells any more, docs/not-promised.md says too much"


@pytest.mark.parametrize("hosts", [20_000], indirect=True)
def test_how_well_other_requests_tell_that_the_machine_is_busy_is_printed(
    hosts: tuple[Host, Host], record_property: Measured
) -> None:
    """Free requests that are sent one after the other while a question runs: how many are answered before it.

    A known gap.
    """
    tokens = [accounts.issue(host.path, "ana", "analyst").token for host in hosts]

    async def main() -> list[tuple[bool, float]]:
        desk = Desk(hosts)
        draw = random.Random(7)
        counts = list[tuple[bool, float]]()
        callers = [await desk.sign_in(host.name, token) for host, token in zip(hosts, tokens)]
        for number in range(BESIDE + 20):
            heavy = draw.random() < 0.5
            answered = 0
            asked = asyncio.ensure_future(
                desk.ask(callers[heavy], Wanted(JOIN.format(x=-1 - number), Wish(epsilon=0.04)))
            )
            while not asked.done():
                await desk.explain(callers[heavy], Wanted("SELECT COUNT(*) AS n FROM people"))
                answered += 1
            await asked
            if number >= 20:
                counts.append((heavy, -answered))
        return counts

    counts = asyncio.run(main())
    told = f"AUC {auc(counts):.3f} over {len(counts)} replies; median {-np.median([c for _, c in counts]):.0f} requests"
    record_property("known gap, other requests meanwhile", told)
    assert len(counts) == BESIDE


class Neighbours:
    """Both, served with a prediction that is far too low."""

    def __init__(self, folder: Path, visits: int) -> None:
        plain, heavy = neighbours(folder, 1, visits)
        self.hosts = Host(plain), Host(heavy)

    def close(self) -> None:
        for host in self.hosts:
            host.close()


def _apart(times: list[tuple[bool, float]]) -> float:
    """By how much the median reply on D' is later."""
    return float(np.median([t for heavy, t in times if heavy]) - np.median([t for heavy, t in times if not heavy]))
