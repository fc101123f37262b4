"""`make bench`: samplers, planning, local protocols, anonymize, attacks, verify, serve, the page, asking, peers,
engines, many rows.

BENCH_PARTS=asking,engines chooses of samplers, ask, local, anonymize, attacks, verify, serve, wire, page, asking,
peers, engines, large. BENCH_QUICK=1: 1M rows, neither peers nor local nor large. BENCH_ROWS=1000000 chooses the sizes
of asking and its peers, BENCH_PEERS=qrlew the peers; engines.py and large.py tell what chooses theirs. All figures of
one run are kept in .bench/results.json; those of samplers, ask, local, anonymize, attacks, verify, serve, wire and page
are printed.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from typing import Any

import asking
import engines
import large
import trips
from peers import setup

NAMES = {
    "ours": "obverse",
    "auto": "obverse, auto",
    "hand": "hand-written SQL",
    "smartnoise": "smartnoise-sql",
    "opendp_polars": "OpenDP Polars",
    "qrlew": "Qrlew",
    "tumult": "Tumult Analytics",
    "pipelinedp": "PipelineDP",
    "postgres ours": "PostgreSQL: obverse",
    "postgres hand": "PostgreSQL: SQL",
    "spark ours": "Spark: obverse",
    "spark hand": "Spark: SQL",
    "spark few": "Spark: SQL, 1000",
}
SCRIPTS = {
    "samplers": "samplers.py",
    "ask": "ask.py",
    "local": "local_rates.py",
    "anonymize": "anonymize.py",
    "attacks": "attacks.py",
    "verify": "verify.py",
    "serve": "serve.py",
    "wire": "wire.py",
    "page": "page.py",
    "publish": "publish.py",
    "publish_graph": "publish_graph.py",
    "quantiles": "publish_quantiles.py",
    "synthetic": "publish_synthetic.py",
}
PARTS = (*SCRIPTS, "asking", "peers", "engines", "large")


def wanted_parts() -> list[str]:
    usual = [part for part in PARTS if not (os.environ.get("BENCH_QUICK") and part in ("peers", "local", "large"))]
    found = [part for part in os.environ.get("BENCH_PARTS", ",".join(usual)).split(",") if part]
    unknown = [part for part in found if part not in PARTS]
    if unknown:
        raise SystemExit(f"BENCH_PARTS: {', '.join(unknown)} is none of {', '.join(PARTS)}")
    return found


def wanted_peers() -> list[str]:
    return [peer for peer in os.environ.get("BENCH_PEERS", ",".join(setup.PEERS)).split(",") if peer]


def script(name: str) -> dict[str, Any]:
    """One of the smaller benchmarks, which print their own bars and end with 1 where one is missed."""
    print(f"== {name}", flush=True)
    sizes = {"BENCH_ROWS": str(max(trips.wanted_rows()))}  # these take one
    done = subprocess.run([sys.executable, str(trips.BENCH / name)], env={**os.environ, **sizes})
    return asking.bar(name, f"ended with {done.returncode}", "0", done.returncode == 0)


def peer_bars(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """CPU of a peer over ours, and our error over the peer's, wherever it can answer at all.

    Errors at the same epsilon: of declared limits or of learned ones, whose histograms are paid from it, whichever errs
    less.
    """
    found = {(r["system"], r["rows"], r["question"]): r for r in records}
    result = []
    for (system, rows, name), theirs in found.items():
        mine = found.get(("ours", rows, name))
        if system not in setup.PEERS or mine is None or "why" in mine:
            continue
        what = f"{trips.size_name(rows)} {name}: {NAMES[system]}"
        if "why" in theirs:
            result.append(asking.bar(f"{what}", "no answer", "-", None))
            continue
        least = setup.PEERS[system]
        ratio = theirs["cpu_s"] / mine["cpu_s"]
        result.append(asking.bar(f"{what} CPU / ours", f"{ratio:.1f}", f">= {least:.0f}", ratio >= least))
        learned = found.get(("auto", rows, name), mine).get("error", mine["error"])
        for part, declared in mine["error"].items():
            other = theirs["error"][part]
            error = min(declared, learned[part])
            said = f"{error:.3g}{' auto' if error < declared else ''} / {other:.3g}"
            label = "error ours / theirs" if part == "value" else f"{part} error ours / theirs"
            result.append(asking.bar(f"{what} {label}", said, "<= 1.02", error <= 1.02 * other))
    return result


def print_table(records: list[dict[str, Any]]) -> None:
    print(f"\n{'rows':<6}{'question':<27}{'system':<20}{'CPU s':>8}{'/ ours':>8}{'peak MB':>9}  relative error")
    costs = {(r["rows"], r["question"], r["system"]): r.get("cpu_s") for r in records}
    order = {name: place for place, name in enumerate(trips.QUESTIONS)}
    for r in sorted(records, key=lambda r: (r["rows"], order[r["question"]], list(NAMES).index(r["system"]))):
        head = f"{trips.size_name(r['rows']):<6}{r['question']:<27}{NAMES[r['system']]:<20}"
        if "why" in r:
            print(f"{head}{'-':>8}{'-':>8}{'-':>9}  {r['why'][:110]}")
            continue
        engine, among, _ = r["system"].partition(" ")
        base = costs.get((r["rows"], r["question"], f"{engine} ours" if among else "ours"))
        ratio = f"{r['cpu_s'] / base:.2f}" if base else "-"
        peak = f"{r['peak_mb']:.0f}" if "peak_mb" in r else "-"
        print(f"{head}{r['cpu_s']:>8.3f}{ratio:>8}{peak:>9}  {trips.shown_error(r['error']) if 'error' in r else '-'}")


def asking_and_peers(parts: list[str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Ours at each size, of which peers are told apart from the same run."""
    print("== planning and asking", flush=True)
    records: list[dict[str, Any]] = []
    bars = [asking.planning()]
    for rows in trips.wanted_rows():
        measured, held = asking.compare(rows)
        records += measured
        bars += held
        for peer in wanted_peers() if "peers" in parts else ():
            for record in setup.measured(peer, rows):
                print(
                    f"  {trips.size_name(rows)} {record['question']:<26} {peer:<14} {asking.shown(record)}", flush=True
                )
                records.append(record)
    return records, bars + peer_bars(records)


def measured_parts(parts: list[str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    records: list[dict[str, Any]] = []
    bars = [script(name) for part, name in SCRIPTS.items() if part in parts]
    found = []
    if "asking" in parts or "peers" in parts:
        found.append(asking_and_peers(parts))
    if "engines" in parts:
        print("== other engines", flush=True)
        found += [engines.compare(engine, rows) for engine in engines.wanted() for rows in engines.wanted_rows()]
    if "large" in parts:
        print("== many rows", flush=True)
        found.append(large.compare())
    for some, held in found:
        records += some
        bars += held
    return records, bars


def main() -> None:
    os.environ["OBVERSE_HOME"] = tempfile.mkdtemp(prefix="obverse-bench-home-")
    begun = time.monotonic()
    parts = wanted_parts()
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "?"
    machine = (
        f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, load {load} at the start"
    )
    print(machine, flush=True)
    records, bars = measured_parts(parts)
    print_table(records)
    print()
    holds = asking.print_bars(bars)
    trips.WORK.mkdir(exist_ok=True)
    kept = {"machine": machine, "parts": parts, "records": records, "bars": bars}
    (trips.WORK / "results.json").write_text(json.dumps(kept, indent=1) + "\n")
    print(f"\n{time.monotonic() - begun:.0f} s in all; figures in .bench/results.json")
    raise SystemExit(0 if holds else 1)


if __name__ == "__main__":
    main()
