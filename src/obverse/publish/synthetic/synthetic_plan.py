"""What `--plan` tells of synthetic rows, before any private row is read: steps, noise, when a pair is worth measuring."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from obverse.plan.strategy.adaptive import Noised
from obverse.publish.publish_plan import CELL_BYTES, NOISE_S
from obverse.publish.synthetic.marginals import CHOICES, ONES, Seen, variance
from obverse.publish.synthetic.picking import Picking
from obverse.publish.synthetic.publish_synthetic import Course
from obverse.publish.synthetic.rounds import LAST, MIDDLE, ROUNDS, least_left, per_round
from obverse.publish.synthetic.triples import Noisy, pooled

SCORED_S = 2e-8  # for a cell of a table that is compared with another, at one choice


def plan_json(made: Course) -> dict[str, Any]:
    picking, ground, paid = made.method.course, made.ground, made.paid
    first = picking.first(ground, paid)
    fine = finest(picking, made, first)
    alone = picking.measured(fine, (), ground, (1 - ONES) * paid, LAST)
    unit, cells = float(made.unit), ground.cells.count
    pair = float(variance(picking.table_noise(ground, paid))) ** 0.5 * unit
    names = [one.name for one in made.method.workload.attributes]
    pairs = [{"name": f"{names[a]} x {names[b]}", "cells": fine.cells((a, b)), "stddev": pair,
              "from_counts": fine.penalty((a, b)) * unit} for a, b in combinations(range(len(names)), 2)]  # fmt: skip
    columns = []
    for n, (name, size) in enumerate(zip(names, picking.sizes)):
        own, more = (float(variance(step.mechanisms[n])) for step in (first, alone))
        columns.append({"name": name, "cells": size, "first": own**0.5 * unit, "stddev": _together(own, more) * unit})
    return {
        "version": 1,
        "price": {"epsilon": made.price.epsilon, "delta": made.price.delta, "share": made.price.share},
        "shares": {
            "columns": float(ONES),
            "choices of a forest, at most": float(CHOICES),
            "pairs of a forest and columns, if there are any": float(MIDDLE),
            "rounds of more tables, at most": float((1 - ONES) * (1 - least_left())),
            "all chosen tables and columns, at least": float((1 - ONES - CHOICES - MIDDLE) * least_left()),
        },
        "columns": columns,
        "pairs": sorted(pairs, key=lambda one: float(str(one["from_counts"]))),
        "choices_max": len(names) - 1 + ROUNDS * per_round(len(names)),
        "rows_min": min(fine.penalty(one) for one in picking.tables) * unit / 2,
        "cells": cells,
        "memory_mb": max(1, round(cells * CELL_BYTES / 1e6)),
        "seconds": cells * (NOISE_S + len(names) * SCORED_S),
    }


def finest(picking: Picking, made: Course, first: Noised) -> Seen:
    """As if every value stood by itself: the most cells that a pair may have."""
    import numpy as np

    ones = tuple(np.zeros(size, dtype=np.int64) for size in picking.sizes)
    seen = picking.look(first, ones, made.ground, made.paid)
    stray = tuple(int(size * float(variance(mechanism)) ** 0.5) for size, mechanism in zip(picking.sizes, first.mechanisms))
    groups = tuple(np.arange(size) for size in picking.sizes)
    return Seen(groups, tuple(np.zeros(size) for size in picking.sizes), 1, seen.noise, stray, seen.luck)


def _together(own: float, more: float) -> float:
    import numpy as np

    nothing = np.zeros(1)
    return float(pooled([Noisy(nothing, own), Noisy(nothing, more)]).variance ** 0.5)
