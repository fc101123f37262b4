"""Speed of networks: triangles, degrees and mixing of a million edges with their noise: `python
bench/publish_graph.py`.
"""

from __future__ import annotations

import os
import resource
import time
from fractions import Fraction
from typing import Any

import asking
import numpy as np

from obverse.core.rng import Rng
from obverse.plan.strategy.graph.network import Blocks, GraphFacts, graph_of, projected
from obverse.plan.strategy.graph.pricing import released_parts, weigh_graph
from obverse.plan.strategy.graph.registry import kernel_of
from obverse.plan.strategy.graph.triangles import most_shared

PEOPLE = 200_000
EACH = 5
STATS = ("triangles", "degrees", "mixing:group")
MOST_S = 1.0


def preferential(people: int, each: int, seed: int) -> dict[str, Any]:
    """Everybody meets `each` earlier people, by their degrees (Barabasi and Albert 1999): ends of earlier edges, at
    random.
    """
    random = np.random.default_rng(seed)
    later = np.repeat(np.arange(each, people), each)
    place = (random.random(len(later)) * 2 * np.arange(len(later))).astype(np.int64)  # among the ends of earlier edges
    where = place.copy()
    while (odd := where % 2 == 1).any():  # the end that edge chose itself
        where[odd] = place[where[odd] // 2]
    return {"u": later, "v": later[where // 2]}


def timed(work: Any) -> tuple[float, Any]:
    begun = time.process_time()
    found = work()
    return time.process_time() - begun, found


def released(facts: GraphFacts, rows: dict[str, Any], stats: tuple[str, ...], most_s: float) -> dict[str, Any]:
    """CPU of the whole release after the rows are read: a simple network, its kernels, their noise."""
    weights = {kernel_of(text, ("group",)): Fraction(1) for text in stats}
    plan = weigh_graph(facts, weights, Fraction(1), Fraction(0), "pure")
    cpu, found = timed(lambda: released_parts(rows, plan, Rng()))
    assert len(found) == len(plan.parts)
    how = "promise" if facts.degree else "ladder"
    name = f"network, {len(rows['u']):,} edges, {facts.unit}, {how}: CPU"
    return asking.bar(name, f"{cpu:.2f} s", f"< {most_s:g} s", cpu < most_s)


def main() -> None:
    print(f"load {os.getloadavg()[0]:.1f} at the start", flush=True)
    edges = int(os.environ.get("BENCH_EDGES", PEOPLE * EACH))
    rows = preferential(edges // EACH, EACH, 1)
    people = edges // EACH
    group = {"group": Blocks(tuple("abcdefgh"), np.random.default_rng(2).integers(0, 8, people))}
    bars = [
        released(GraphFacts("edge", people, blocks=group), rows, STATS, MOST_S),
        released(GraphFacts("edge", people, degree=5000, blocks=group), rows, STATS, MOST_S),
    ]
    node = GraphFacts("node", people, degree=5000, cap=64, blocks=group)
    bars.append(released(node, rows, STATS, MOST_S))
    graph = graph_of(rows, node)
    for name, work in (
        ("cutting at 64", lambda: projected(graph, 64)),
        ("most shared friends", lambda: most_shared(graph)),
    ):
        print(f"  {name}: {timed(work)[0]:.2f} CPU s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"  peak {peak:.2f} GB; largest degree {int(graph.degrees.max()):,}")
    raise SystemExit(0 if asking.print_bars(bars) else 1)


if __name__ == "__main__":
    main()
