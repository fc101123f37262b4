"""pure-ldp: reports per CPU second of its clients and servers, one thread; `pure_ldp.py` in its own environment (see
setup.py).

It takes one report at a time. Its Hadamard response server stores reports and decodes them at the end, so decoding is
counted there, over as many reports as ours is given.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
sys.path.remove(os.path.dirname(os.path.abspath(__file__)))  # where this file would be imported in its stead
import people
from pure_ldp.frequency_oracles.apple_cms import CMSClient, CMSServer
from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer
from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

PHASE_S = 0.4
ROUNDS = 3
CHUNK = 200
DECODED = 1_000_000


def same(item: int) -> int:
    return item


def pairs(size: int, epsilon: float) -> dict[str, tuple[Any, Any]]:
    response = HadamardResponseServer(epsilon, size, same)
    rows = people.SKETCH_ROWS
    columns = people.SKETCH_COLUMNS
    sketches = {kind: CMSServer(epsilon, rows, columns, is_hadamard=kind) for kind in (False, True)}
    clients = {kind: CMSClient(epsilon, s.get_hash_funcs(), columns, is_hadamard=kind) for kind, s in sketches.items()}
    return {
        "unary": (UEClient(epsilon, size, True, same), UEServer(epsilon, size, True, same)),
        "local_hash": (
            LHClient(epsilon, size, use_olh=True, index_mapper=same),
            LHServer(epsilon, size, use_olh=True, index_mapper=same),
        ),
        "hadamard": (HadamardResponseClient(epsilon, size, response.get_hash_funcs(), same), response),
        "count_mean": (clients[False], sketches[False]),
        "hadamard_count_mean": (clients[True], sketches[True]),
    }


def rate(call: Callable[[Any], Any], given: list[Any]) -> float:
    """Calls per CPU second, over chunks until the phase's time is up."""
    done = 0
    begun = time.process_time()
    while time.process_time() - begun < PHASE_S:
        for one in given[done % len(given) : done % len(given) + CHUNK]:
            call(one)
        done += CHUNK
    return done / (time.process_time() - begun)


def decoding(server: Any, reports: list[Any], size: int) -> float:
    """Reports per CPU second that are stored and decoded."""
    server.reset()
    begun = time.process_time()
    for _ in range(DECODED // len(reports)):
        for one in reports:
            server.aggregate(one)
    server.estimate_all(range(size), suppress_warnings=True)
    return DECODED / (time.process_time() - begun)


def main() -> None:
    warnings.filterwarnings("ignore")
    size = people.ITEMS
    asked = people.items(4000, people.ITEMS).tolist()
    found = {}
    for name, (client, server) in pairs(size, people.EPSILON).items():
        reports = [client.privatise(item) for item in asked]
        clients = max(rate(client.privatise, asked) for _ in range(ROUNDS))
        if name == "hadamard":
            servers = max(decoding(server, reports, size) for _ in range(ROUNDS))
        else:
            servers = max(rate(server.aggregate, reports) for _ in range(ROUNDS))
        found[name] = {"client": clients, "server": servers}
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
