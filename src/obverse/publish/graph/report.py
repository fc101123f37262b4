"""A released network beside the exact one: read through the curator's own door, and never in the folder of the release."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from obverse.core.errors import Refused
from obverse.plan.strategy.graph.graph_base import Graph, GraphFacts, graph_of
from obverse.plan.strategy.graph.pricing import Part
from obverse.publish.base import Expected
from obverse.publish.comparison import Beside, Compared, compared
from obverse.publish.folder.folder import METADATA
from obverse.publish.graph.graph_metadata import facts_json
from obverse.publish.graph.graph_tables import Measured
from obverse.publish.graph.method import GraphMethod, summary
from obverse.publish.graph.request import facts_of
from obverse.session.custody import counted
from obverse.session.networks import edges_sql

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from obverse.session.session import Session

    Integers = NDArray[np.int64]


def network_in(folder: Path) -> dict[str, Any] | None:
    """The metadata of a network's release; None of any other folder, and of one that cannot be read."""
    fields = metadata_in(folder)
    return fields if fields.get("kind") == GraphMethod.name else None


def metadata_in(folder: Path) -> dict[str, Any]:
    """The metadata of a release; nothing where it cannot be read, which is an error where the folder is opened."""
    try:
        fields = json.loads((folder / METADATA).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return fields if isinstance(fields, dict) else {}


def network_truth(
    session: Session, fields: dict[str, Any], method: GraphMethod, measured: Measured, what: str, reason: str
) -> tuple[Integers, ...]:
    """Every measured part without noise. Edges are read once; the ledger records it, and why."""
    recipe = fields.get("recipe") or {}
    graph = session.catalog.graphs.get(str(recipe.get("graph", "")))
    if graph is None:
        message = "the release does not tell what was asked for, so it cannot be compared with the truth."
        raise Refused("no_recipe" if not recipe else "project_changed", message)
    cap = measured.facts.cap if graph.unit == "node" else None
    facts = facts_of(session, graph, method, cap)
    if facts_json(facts) != fields["network"]:
        raise Refused("project_changed", "what is public of the network is not what it was when it was released.")
    sql = edges_sql(session.catalog, graph, session.engine)
    found = counted(session, graph.name, graph.ends, sql, what=what, reason=reason)
    exact = graph_of(found, facts)
    return tuple(_exact(part, exact, facts) for part in measured.parts)


def _exact(part: Part, graph: Graph, facts: GraphFacts) -> Integers:
    """A part with no connection cut away, where it has as many entries then; else as it was measured."""
    whole = replace(facts, cap=facts.people - 1) if facts.cap is not None else facts
    same = part.kernel.entries(whole) == part.kernel.entries(facts)
    return part.kernel.exact(graph, whole if same else facts)


def against(measured: Measured, exact: tuple[Integers, ...]) -> tuple[tuple[Compared, ...], tuple[Beside, ...]]:
    """Each measured part beside its exact entries, and each number of the summary beside what exact ones give."""
    import numpy as np

    assert measured.values is not None
    tables = []
    for part, values, truth in zip(measured.parts, measured.values, exact, strict=True):
        text, half = part.kernel.text, measured.half_width(part.kernel.text)
        told = Expected(text, text, len(values), measured.stddev(text), half)
        table = {"estimate": values, "low": values - half, "high": values + half, "count": np.maximum(values, 0)}
        tables.append(compared(told, table, truth.astype(np.float64)))
    there = {name: value for name, value, *_ in summary(replace(measured, values=exact), ())}
    lines = [Beside(name, value, there[name]) for name, value, *_ in summary(measured, ()) if name in there]
    return tuple(tables), tuple(lines)
