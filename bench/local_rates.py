"""Local protocols: rates beside pure-ldp's, a long list decoded, memory, one report, errors; each bar as pass or FAIL.

`python bench/local_rates.py`, or `BENCH_PARTS=local make bench`. One thread; rates are of CPU time, the best of several
passes on both sides, ours and theirs in turn. Clients draw from AES-256 in counter mode (the extra `collect`).
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import importlib.util
import itertools
import json
import math
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import asking
import local_error
import local_words
import numpy as np
import people
import trips
from peers import setup
from stream import Stream

from obverse.collect.protocols import (
    PROTOCOLS,
    CountMean,
    Direct,
    Hadamard,
    HadamardCountMean,
    LocalHash,
    LocalProtocol,
    Projective,
    Unary,
)
from obverse.collect.randomness.coins import Coins

ONE = Fraction(1)
SKETCH = (people.SKETCH_ROWS, people.SKETCH_COLUMNS)
COMPARED: dict[str, LocalProtocol] = {
    "unary": Unary.fitted(people.ITEMS, ONE),
    "count_mean": CountMean(*SKETCH, Unary.symmetric(2, ONE).own),
    "local_hash": LocalHash.fitted(people.ITEMS, ONE),
    "hadamard": Hadamard.fitted(people.ITEMS, ONE),
    "hadamard_count_mean": HadamardCountMean(*SKETCH, Direct.fitted(2, ONE).truth),
}
CLIENT = {"unary": 15, "count_mean": 15, "local_hash": 100, "hadamard": 100, "hadamard_count_mean": 100}  # times theirs
SERVER = {"unary": 50, "count_mean": 100, "local_hash": 300, "hadamard": 100, "hadamard_count_mean": 100}
MADE = {"unary": 1 << 17, "count_mean": 1 << 17}  # reports at a time, where they are long
MANY = 1 << 20
PASSES = 3
ROUNDS = 5
SWEEPS = 8
TURNS = 15
LONG_LIST = 65_536
DECODED = 1_000_000
DECODING_S = 5.0
NEAR = 1.05
LATENCY_US = 100.0
MEMORY = 1.1
CHUNK = 1 << 16


def least_s(call: Callable[[], Any]) -> float:
    """CPU seconds of a call: the least of several, after one that is not counted."""
    call()
    costs = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        call()
        costs.append(time.process_time() - begun)
    return min(costs)


def ours(name: str) -> dict[str, float]:
    """Reports per CPU second that are made, and that are counted; of Hadamard response, that are counted and
    decoded.
    """
    protocol = COMPARED[name]
    rng = Stream()
    n = MADE.get(name, MANY)
    codes = local_error.keys(people.items(n, people.ITEMS), protocol)
    made = n / least_s(lambda: protocol.reports(codes, rng))
    payloads = protocol.reports(codes, rng)[: 1 << 17 if name == "local_hash" else n]
    items = np.arange(people.ITEMS, dtype=np.uint64)
    if name == "hadamard":
        return {"client": made, "server": n / least_s(lambda: protocol.estimate(protocol.fold(payloads), n, items))}
    return {"client": made, "server": len(payloads) / least_s(lambda: protocol.fold(payloads))}


def theirs() -> dict[str, Any]:
    script = str(setup.BENCH / "peers" / "pure_ldp.py")
    return trips.in_child([str(setup.python_of("pure_ldp")), script], {"PYTHONPATH": str(setup.BENCH)}, setup.LONGEST_S)


def rates() -> list[dict[str, Any]]:
    wrong = setup.install("pure_ldp")
    best: dict[tuple[str, str, str], float] = {}
    for _ in range(PASSES):
        told = {} if wrong else theirs()
        wrong = wrong or told.pop("why", "")
        for system, measured in (("pure-ldp", told), ("ours", {name: ours(name) for name in COMPARED})):
            for name, sides in measured.items():
                for side, rate in sides.items():
                    best[system, name, side] = max(rate, best.get((system, name, side), 0.0))
    found = []
    print(f"{people.ITEMS:,} items, epsilon 1; reports per CPU second")
    for side, least in (("client", CLIENT), ("server", SERVER)):
        for name, times in least.items():
            mine = best["ours", name, side]
            other = best.get(("pure-ldp", name, side))
            print(f"  {side} {name:<22}{mine:>14,.0f}   pure-ldp {other or 0:>12,.0f}", flush=True)
            what = f"{side} {name}: rate / pure-ldp"
            if other is None:
                found.append(asking.bar(what, wrong[:24], f">= {times}", None))
            else:
                found.append(asking.bar(what, f"{mine / other:.0f}", f">= {times}", mine >= times * other))
    return found


def long_list() -> list[dict[str, Any]]:
    """A million reports over 65,536 items, counted and decoded; and the error beside the least that is possible."""
    found = []
    for epsilon in local_error.EPSILONS:
        protocol = Projective.fitted(LONG_LIST, epsilon)
        held = people.items(DECODED, LONG_LIST)
        items = np.arange(LONG_LIST, dtype=np.uint64)
        payloads = protocol.reports(held.astype(np.uint64), Stream())
        begun = time.process_time()
        estimated = protocol.estimate(protocol.fold(payloads), DECODED, items)
        taken = time.process_time() - begun
        growth = math.exp(epsilon)
        optimum = 4 * growth / (DECODED * (growth - 1) ** 2)
        what = f"{protocol.name}, 1M reports, {LONG_LIST:,} items, epsilon {epsilon}"
        found.append(asking.bar(f"{what}: decoded", f"{taken:.2f} s", f"< {DECODING_S:.0f} s", taken < DECODING_S))
        ratio = float(estimated.variance.mean()) / optimum
        error = float(np.mean((estimated.value - np.bincount(held, minlength=LONG_LIST) / DECODED) ** 2)) / optimum
        shown = f"{ratio:.3f}, measured {error:.3f}"
        found.append(asking.bar(f"{what}: variance / optimum", shown, f"<= {NEAR}", ratio <= NEAR))
    return found


def folding(name: str, n: int) -> None:
    """The whole of a child: n reports made and counted in chunks; its peak memory."""
    protocol = COMPARED[name]
    rng = Stream()
    counts = None
    for start in range(0, n, CHUNK):
        codes = local_error.keys(people.items(min(CHUNK, n - start), people.ITEMS), protocol)
        folded = protocol.fold(protocol.reports(codes, rng))
        counts = folded if counts is None else counts + folded
    print(json.dumps({"peak_mb": trips.peak_mb()}))


def memory() -> list[dict[str, Any]]:
    found = []
    for name in ("unary", "count_mean", "hadamard"):
        peaks = []
        for n in (DECODED, 4 * DECODED):
            told = trips.in_child([sys.executable, __file__, name, str(n)], {}, setup.LONGEST_S)
            peaks.append(told.get("peak_mb", math.inf))
        one, four = peaks
        shown = f"{one:.0f} MB, {four:.0f} MB"
        holds = four <= MEMORY * one
        found.append(asking.bar(f"server {name}: peak at 1M, at 4M reports", shown, f"{MEMORY} x", holds))
    return found


def single() -> list[dict[str, Any]]:
    """One report at a time, as a device makes it, of the operating system's entropy: the least of many turns."""
    coins = Coins(os.urandom)
    costs = dict.fromkeys(PROTOCOLS, math.inf)
    made = {kind: kind.fitted(people.ITEMS, ONE) for kind in PROTOCOLS}
    for _ in range(SWEEPS):
        for (kind, protocol), turn in itertools.product(made.items(), range(TURNS)):
            begun = time.process_time()
            for code in range(25):
                protocol.report(code, coins, 25 * turn + code)
            costs[kind] = min(costs[kind], (time.process_time() - begun) / 25 * 1e6)
    return [
        asking.bar(f"one report: {kind.name}", f"{cost:.1f} us", f"< {LATENCY_US:.0f} us", cost < LATENCY_US)
        for kind, cost in costs.items()
    ]


def main() -> None:
    if len(sys.argv) > 1:
        folding(sys.argv[1], int(sys.argv[2]))
        return
    if importlib.util.find_spec("cryptography") is None:
        print("the extra `collect` is not installed: clients draw from the operating system, which is slower")
    print(f"load {os.getloadavg()[0]:.1f} at the start", flush=True)
    bars = rates() + long_list() + memory() + single() + local_error.bars() + local_words.bars()
    raise SystemExit(0 if asking.print_bars(bars) else 1)


if __name__ == "__main__":
    main()
