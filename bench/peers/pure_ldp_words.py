"""pure-ldp's prefix extension over its count mean sketch, on the words of people.py; in the environment of pure_ldp.

Its padding is put into the alphabet, so that it can find words shorter than the longest.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
sys.path.remove(os.path.dirname(os.path.abspath(__file__)))
import people
from pure_ldp.frequency_oracles.apple_cms import CMSClient, CMSServer
from pure_ldp.heavy_hitters.prefix_extending import PEMClient, PEMServer

LETTERS = 6
STEP = 2
KEPT = 20
ALPHABET = [*map(chr, range(97, 123)), "*"]


def main() -> None:
    warnings.filterwarnings("ignore")
    epsilon = float(sys.argv[1])
    n = int(sys.argv[2])
    known, held = people.words(n)
    oracle = CMSServer(epsilon, people.SKETCH_ROWS, people.SKETCH_COLUMNS)
    asked = CMSClient(epsilon, oracle.get_hash_funcs(), people.SKETCH_COLUMNS)
    client = PEMClient(epsilon, 0, LETTERS, STEP, alphabet=ALPHABET, index_mapper=str, fo_client=asked)
    server = PEMServer(epsilon, 0, LETTERS, STEP, alphabet=ALPHABET, index_mapper=str, fo_server=oracle)
    begun = time.process_time()
    reports = [client.privatise(known[item]) for item in held]
    made = time.process_time()
    for report in reports:
        server.aggregate(report)
    counted = time.process_time()
    found, _ = server.find_heavy_hitters(k=KEPT)
    done = time.process_time()
    words = [word.rstrip("*") for word in found]
    told = {"client": n / (made - begun), "server": n / (counted - made), "search_s": done - counted, "words": words}
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
