"""anjana and pycanon on Adult-like rows: CPU seconds; `anjana.py k ROWS` or `anjana.py checks ROWS` in its own
environment.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from typing import Any

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
sys.path.remove(os.path.dirname(os.path.abspath(__file__)))  # where this file would be imported in its stead
import adults
import pandas as pd

K = 5
SUPPRESSED_PERCENT = 5


def anonymized(rows: int) -> dict[str, Any]:
    from anjana.anonymity import k_anonymity

    people = pd.read_csv(adults.table(rows), sep=";", dtype=str)
    quasi = list(adults.QUASI)
    levels = {}
    for name in quasi:
        levels[name] = dict(pd.read_csv(adults.hierarchies() / f"{name}.csv", sep=";", header=None, dtype=str))
    begun = time.process_time()
    found = k_anonymity(people, [], quasi, K, SUPPRESSED_PERCENT, levels)
    taken = time.process_time() - begun
    sizes = found.groupby(quasi, sort=False).size()
    loss = float((sizes.astype(float) ** 2).sum() + (rows - sizes.sum()) * rows)
    return {"cpu_s": taken, "classes": len(sizes), "suppressed": int(rows - sizes.sum()), "discernibility": loss}


def checks(rows: int) -> dict[str, Any]:
    from pycanon import anonymity

    people = pd.read_csv(adults.table(rows), sep=";", dtype=str)
    quasi = list(adults.CHECKED)
    secret = [adults.SENSITIVE]
    people["age"] = people["decade"]
    found: dict[str, float] = {}
    reached: dict[str, float] = {}
    for name, call in {
        "k": lambda: anonymity.k_anonymity(people, quasi),
        "l": lambda: anonymity.l_diversity(people, quasi, secret),
        "entropy": lambda: anonymity.entropy_l_diversity(people, quasi, secret),
        "t": lambda: anonymity.t_closeness(people, quasi, secret),
        "alpha": lambda: anonymity.alpha_k_anonymity(people, quasi, secret)[0],
    }.items():
        begun = time.process_time()
        reached[name] = float(call())
        found[name] = time.process_time() - begun
    return {"cpu_s": sum(found.values()), "each": found, "reached": reached}


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    print(json.dumps({"k": anonymized, "checks": checks}[sys.argv[1]](int(sys.argv[2]))), flush=True)
