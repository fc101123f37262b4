"""A hundred million trips from Parquet on DuckDB: ours beside the hand-written SQL, and the most memory that a process
held.

Each in fresh processes, in turn, of one call each. DuckDB's memory is limited on neither side, beyond its own default
of four fifths of the machine's. `python bench/large.py` prints the comparison, BENCH_LARGE_ROWS chooses another size.
The table takes about 0.7 GB on disk and is written in pieces of a million rows.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import asking
import trips

ROWS = int(os.environ.get("BENCH_LARGE_ROWS", "100000000"))
PASSES = int(os.environ.get("BENCH_LARGE_PASSES", "2"))
TIMES = 1.3
PEAK_MB = 3000.0
BYTES_PER_ROW = 20  # of disk, the table and what DuckDB puts aside


def compare() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Measurements of ours and of the hand-written SQL, and their bars."""
    size = trips.size_name(ROWS)
    trips.WORK.mkdir(exist_ok=True)
    free = shutil.disk_usage(trips.WORK).free
    if free < BYTES_PER_ROW * ROWS:
        return [], [
            asking.bar(f"{size} rows", f"{free / 1e9:.1f} GB of disk", f"{BYTES_PER_ROW * ROWS / 1e9:.0f} GB", None)
        ]
    for name in trips.QUESTIONS:
        trips.truth(ROWS, name)
    records = []
    bars = []
    with tempfile.TemporaryDirectory(prefix="obverse-bench-") as made:
        opened = asking.measured("ours", ROWS, "prepare", Path(made))
        if "why" in opened:
            return [], [asking.bar(f"{size} rows", opened["why"], "an opened project", False)]
        print(f"{size}: first open {opened['first_open_s']:.2f} s CPU, later {opened['open_s']:.3f} s", flush=True)
        for name in trips.QUESTIONS:
            runs: dict[str, list[dict[str, Any]]] = {"hand": [], "ours": []}
            for _ in range(PASSES):
                for system, kept in runs.items():
                    kept.append(asking.measured(system, ROWS, name, Path(made), BENCH_ROUNDS="0"))
            head = {"rows": ROWS, "question": name}
            found = {system: head | {"system": system} | together(kept) for system, kept in runs.items()}
            for system, record in found.items():
                print(f"  {size} {name:<26} {system:<6} {asking.shown(record)}", flush=True)
            records += list(found.values())
            bars += judged(f"{size} {name}", found["ours"], found["hand"])
    return records, bars


def together(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Runs of one question as one; of the peaks the most, as the bar is absolute."""
    first = asking.together(records)
    return first if "why" in first else first | {"peak_mb": max(r["peak_mb"] for r in records)}


def judged(what: str, mine: dict[str, Any], theirs: dict[str, Any]) -> list[dict[str, Any]]:
    if "why" in mine or "why" in theirs:
        return [asking.bar(what, mine.get("why") or theirs["why"], "an answer", False)]
    ratio = mine["cpu_s"] / theirs["cpu_s"]
    peak = mine["peak_mb"]
    return [
        asking.bar(f"{what}: CPU / hand-written", f"{ratio:.2f}", f"<= {TIMES}", ratio <= TIMES),
        asking.bar(f"{what}: peak", f"{peak:.0f} MB", f"< {PEAK_MB:.0f} MB", peak < PEAK_MB),
    ]


def main() -> None:
    raise SystemExit(0 if asking.print_bars(compare()[1]) else 1)


if __name__ == "__main__":
    main()
