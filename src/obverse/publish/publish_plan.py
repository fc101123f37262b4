"""What `--plan` tells, before any row is read: measurements, noise, errors, memory and time."""

from __future__ import annotations

from typing import Any

from obverse.publish.publishing import Release
from obverse.publish.rounding import JOINT_MAX, SWEEPS

CELL_BYTES = 64  # of a counted cell, while its maps are taken and its noise is drawn
NOISE_S, SWEEP_S = 1e-6, 1.2e-8  # for one number of noise; for one cell in one sweep of raking


def plan_json(made: Release) -> dict[str, Any]:
    workload, release = made.method.workload, made.priced
    strategy = release.planned.costed.strategy
    assert strategy is not None
    errors = made.method.errors(release.measured, release.terms)
    cells = release.planned.costed.annotated.limited.setting.cells
    entries = sum(one.block.entries for one in release.measured)
    joint = workload.cells(tuple(range(len(workload.attributes))))
    raked = joint * SWEEPS * len(workload.tables) if joint <= JOINT_MAX else 0
    return {
        "version": 1,
        "price": {"epsilon": release.price.epsilon, "delta": release.price.delta, "share": release.price.share},
        "first": [one.as_json() for one in made.first],
        "measured": [
            {
                "name": made.method.block_title(one.block.name),
                "entries": one.block.entries,
                "share": float(share),
                "mechanism": one.mechanism.name,
                "stddev": one.mechanism.stddev() * one.unit,
            }
            for one, share in zip(release.measured, strategy.shares)
        ],
        "tables": [{"name": e.title, "cells": e.cells, "stddev": e.stddev, "half_width": e.half_width} for e in errors],
        "cells": cells,
        "memory_mb": max(1, round((cells + entries) * CELL_BYTES / 1e6)),
        "seconds": entries * NOISE_S + raked * SWEEP_S,
    }
