"""Anonymize: the optimum beside all nodes, both searches and all checks at a million rows, anjana and pycanon.

`python bench/anonymize.py`; BENCH_QUICK=1 leaves the peers out. CPU is user and system time, each in a process of its
own; a search is timed with and without reading and writing. Adult must be at hand (see adults.py).
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import adults
import asking
import trips
from peers import setup

MILLION = 1_000_000
SMALL = 30_000
K = 5
SUPPRESS = 0.05
OPTIMAL_S = 10.0
MONDRIAN_S = 3.0
CHECKS_S = 1.0
MEMORY_MB = 2048
AVERAGE = 1.4
TIMES_ANJANA = 10
TIMES_PYCANON = 50


def wish(search: str) -> Any:
    from obverse.anonymize.files import hierarchy_files
    from obverse.anonymize.request import Wish

    recipes = {name: one for name, one in hierarchy_files(adults.hierarchies()).items() if name in adults.QUASI}
    limit = SUPPRESS if search == "optimal" else 0.0
    return Wish(quasi=adults.QUASI, sensitive=(adults.SENSITIVE,), k=K, suppress=limit, search=search,
                loss="discernibility", hierarchies=recipes)  # fmt: skip


def searched(search: str, rows: int) -> dict[str, Any]:
    """A whole run from a Parquet file, and the search in it."""
    from obverse.anonymize import files as a

    seconds: dict[str, float] = {}
    whole = a.anonymized

    def timed(*arguments: Any) -> Any:
        before = trips.cpu_s()
        found = whole(*arguments)
        seconds["search_s"] = trips.cpu_s() - before
        seconds["read_s"] = before - begun
        seconds["searched_s"] = trips.cpu_s() - begun
        return found

    a.anonymized = timed
    with tempfile.TemporaryDirectory(prefix="obverse-bench-") as made:
        begun = trips.cpu_s()
        report = a.anonymize(a.Files(adults.table(rows, "parquet"), Path(made)), wish(search), {})
        seconds["whole_s"] = trips.cpu_s() - begun
    told = {name: report["utility"][name] for name in ("average_over_k", "discernibility", "suppressed", "classes")}
    return seconds | told | {"search": report["search"], "peak_mb": trips.peak_mb()}


def checked(rows: int) -> dict[str, Any]:
    """All checks on a file, from opening it to the report: least of several, after one that is not counted."""
    import duckdb

    from obverse.anonymize.files import Checked, check

    costs = []
    with tempfile.TemporaryDirectory(prefix="obverse-bench-") as made:
        path = Path(made) / "people.parquet"
        with duckdb.connect() as connection:
            source = f"SELECT * REPLACE (decade AS age) FROM read_parquet('{adults.table(rows, 'parquet')}')"
            connection.execute(f"COPY ({source}) TO '{path}' (FORMAT parquet)")
        for _ in range(6):
            before = trips.cpu_s()
            report = check(path, Checked(adults.CHECKED, (adults.SENSITIVE,)))
            costs.append(trips.cpu_s() - before)
    return {"cpu_s": min(costs[1:]), "first_s": costs[0], "reaches": report["reaches"]}


def every_node() -> dict[str, Any]:
    """Adult itself, nine columns: the search's optimum and that of all 12,960 nodes."""
    from obverse.anonymize.files import Columns, collapsed, hierarchy_files
    from obverse.anonymize.hierarchies import built
    from obverse.anonymize.lattice import Judge, Search
    from obverse.anonymize.models import Large
    from obverse.engines.collapse import Preparation, Workshop

    recipes = hierarchy_files(adults.HIERARCHIES)
    with Workshop(adults.HOME / "adult.csv") as shop:
        shop.prepare(Preparation(tuple(shop.columns)))
        table = collapsed(shop, Columns(tuple(shop.columns), (), 0, None), None)
    levels = [built(recipes[c.name], c.name, c.values) for c in table.quasi]
    limit = int(SUPPRESS * table.rows)
    begun = time.process_time()
    found = Search(table, levels, [Large(K)], limit).run()
    taken = time.process_time() - begun
    judge = Judge(table, levels, [Large(K)], limit, False)
    judged = (judge.judge(node) for node in itertools.product(*(range(one.height) for one in levels)))
    best = min((one.loss.whole, one.node) for one in judged if one.holds)
    same = best == (found.loss, found.judged.node)
    return {"cpu_s": taken, "same": same, "nodes": found.nodes, "looked_at": found.looked_at, "loss": found.loss}


CHILDREN = {"search": searched, "checks": checked, "nodes": every_node}


def ours(what: str, *arguments: str) -> dict[str, Any]:
    found = trips.in_child([sys.executable, __file__, what, *arguments], {}, setup.LONGEST_S)
    print(f"  {what} {' '.join(arguments)}: {json.dumps(found)[:400]}", flush=True)
    return found


def theirs(what: str, rows: int) -> dict[str, Any]:
    wrong = setup.install("anjana")
    script = str(setup.BENCH / "peers" / "anjana.py")
    command = [str(setup.python_of("anjana")), script, what, str(rows)]
    found = {"why": wrong} if wrong else trips.in_child(command, {"PYTHONPATH": str(setup.BENCH)}, setup.LONGEST_S)
    print(f"  anjana {what} {rows:,}: {json.dumps(found)[:400]}", flush=True)
    return found


def below(what: str, found: dict[str, Any], field: str, most: float, unit: str) -> dict[str, Any]:
    if "why" in found:
        return asking.bar(what, found["why"][:24], f"<= {most:g}", False)
    return asking.bar(what, f"{found[field]:.2f} {unit}", f"<= {most:g}", found[field] <= most)


def ratio(what: str, mine: dict[str, Any], field: str, other: dict[str, Any], least: float) -> dict[str, Any]:
    if "why" in mine or "why" in other:
        return asking.bar(what, (mine.get("why") or other["why"])[:24], f">= {least:g}", None)
    times = other["cpu_s"] / mine[field]
    return asking.bar(what, f"{times:.0f}", f">= {least:g}", times >= least)


def bars() -> list[dict[str, Any]]:
    nodes = ours("nodes")
    small = ours("search", "optimal", str(SMALL))
    optimal, boxes = (ours("search", search, str(MILLION)) for search in ("optimal", "mondrian"))
    checks = ours("checks", str(MILLION))
    shown = "no answer" if "why" in nodes else f"{nodes['looked_at']:,} of {nodes['nodes']:,}"
    found = [
        asking.bar("Adult: optimum of all nodes, looked at", shown, "the same", nodes.get("same", False)),
        below("1M rows, optimal: reading and search", optimal, "searched_s", OPTIMAL_S, "s"),
        below("1M rows, optimal: peak", optimal, "peak_mb", MEMORY_MB, "MB"),
        below("1M rows, Mondrian: search", boxes, "search_s", MONDRIAN_S, "s"),
        below("1M rows, Mondrian: average class / k", boxes, "average_over_k", AVERAGE, ""),
        below("1M rows, all checks", checks, "cpu_s", CHECKS_S, "s"),
    ]  # fmt: skip
    if not os.environ.get("BENCH_QUICK"):
        found.append(ratio("30,000 rows: anjana CPU / ours", small, "search_s", theirs("k", SMALL), TIMES_ANJANA))
        found.append(
            ratio("1M rows, all checks: pycanon CPU / ours", checks, "cpu_s", theirs("checks", MILLION), TIMES_PYCANON)
        )
    return found


def main() -> None:
    if len(sys.argv) > 1:
        what, *arguments = sys.argv[1:]
        print(json.dumps(CHILDREN[what](*(int(a) if a.isdigit() else a for a in arguments))), flush=True)
        return
    if not adults.at_hand():
        print("Adult is not at hand, so nothing is measured (see bench/adults.py)")
        return
    raise SystemExit(0 if asking.print_bars(bars()) else 1)


if __name__ == "__main__":
    main()
