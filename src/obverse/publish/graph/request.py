"""`publish graph`: a declared network, statistics of it, one debit, and a folder that anyone may have."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from obverse.answers.answer import Price
from obverse.catalog import parameters
from obverse.catalog.keys import suggestion
from obverse.catalog.model import Catalog, Network
from obverse.core.claim import Claim
from obverse.core.errors import Refused, invariant
from obverse.core.ledger import Receipt
from obverse.core.loss import PureLoss, ZcdpLoss
from obverse.core.numbers import plain
from obverse.mechanisms.ladder import Ladder
from obverse.plan.release.postprocess import Finished
from obverse.plan.strategy.graph.network import Blocks, GraphFacts
from obverse.plan.strategy.graph.pricing import GraphPlan, weigh_graph
from obverse.publish.folder.check import Check, sealed
from obverse.publish.folder.files import fresh
from obverse.publish.folder.write import save
from obverse.publish.graph.folder import GraphFolder, Paid, metadata, write
from obverse.publish.graph.method import TELL, GraphMethod
from obverse.publish.graph.model import Rumour
from obverse.publish.graph.tables import Measured
from obverse.publish.pipeline import Receipted, packed, paid, price_json, price_of, sealed_release, unpacked
from obverse.publish.workload import label
from obverse.session.claims import IN_PROCESS, belief_words, budget_words
from obverse.session.execution import Sealed
from obverse.session.networks import edges_sql, listed
from obverse.session.planning import PlannedGraph
from obverse.session.session import Session

LABELS_MAX = 200
EDGE_BYTES = 120
NODE_BYTES = 64
ENTRY_S = 1e-6


@dataclass(frozen=True, slots=True)
class Wished:
    """Statistics of a network: edges, degrees, mixing:A, triangles, stars:K, spread:A."""

    graph: str
    stats: tuple[str, ...]
    cap: int | None = None  # connections of one person that count, under the unit node
    tell: Fraction = TELL
    shares: Mapping[str, Fraction] | None = None

    @property
    def title(self) -> str:
        return f"{self.graph}: {', '.join(self.stats)}"

    @property
    def note(self) -> str:
        told = "".join(f" --share {name}={share}" for name, share in sorted((self.shares or {}).items()))
        cap = "" if self.cap is None else f" --cap {self.cap}"
        return f"publish graph {self.graph} --stats {','.join(self.stats)}{cap}{told}"


@dataclass(frozen=True, slots=True)
class GraphRelease:
    """A release before any edge is read: what would be measured, with which noise, for how much."""

    title: str
    graph: str
    method: GraphMethod
    planned: PlannedGraph
    price: Price

    @property
    def plan(self) -> GraphPlan:
        return self.planned.costed


@dataclass(frozen=True, slots=True)
class DoneGraph:
    """A released network that stands in its folder."""

    measured: Measured
    rumours: tuple[Rumour, ...]
    receipted: Receipted
    checks: tuple[Check, ...]


def graph_release(
    session: Session, wished: Wished, epsilon: Fraction | None = None, delta: Fraction | None = None
) -> GraphRelease:
    """Planned and priced; no edge is read. The public list of people is."""
    catalog = session.catalog
    graph = catalog.graphs.get(wished.graph)
    if graph is None:
        message = f"no network {wished.graph!r} is declared."
        fix = suggestion(wished.graph, catalog.graphs)
        raise Refused("no_such_graph", message, fix=fix)
    method = GraphMethod(wished.stats, wished.tell)
    weights = method.weights(wished.shares)
    facts = facts_of(session, graph, method, wished.cap)
    paid = parameters.epsilon(epsilon) if epsilon is not None else catalog.epsilon
    at = parameters.delta(delta) if delta is not None else catalog.delta
    plan = weigh_graph(facts, weights, paid, at, catalog.accounting)
    planned = PlannedGraph(wished.note, plan, edges_sql(catalog, graph, session.engine))
    return GraphRelease(wished.title, wished.graph, method, planned, price_of(session, planned))


def facts_of(session: Session, graph: Network, method: GraphMethod, cap: int | None) -> GraphFacts:
    """What is public of the network: promises as declared, attributes from the public list."""
    if cap is not None and (graph.unit == "edge" or cap < 1):
        fix = "Leave --cap out." if graph.unit == "edge" else "Give --cap 50."
        raise Refused("bad_parameter", "a cap is a whole number, for networks whose nodes are protected.", fix=fix)
    told = listed(session.catalog, graph, session.engine, method.attributes())
    blocks = {}
    for name, values in told.attributes.items():
        different = sorted(set(values), key=lambda value: (value is None, str(type(value)), str(value)))
        if len(different) > LABELS_MAX:
            message = f"{name!r} has {len(different):,} values in the public list; at most {LABELS_MAX} are blocks."
            raise Refused("release_too_wide", message, fix="Publish by a coarser attribute.")
        place = {value: n for n, value in enumerate(different)}
        code = np.fromiter((place[value] for value in values), dtype=np.int64, count=len(values))
        blocks[name] = Blocks(tuple(label(value) for value in different), code)
    kept = cap if cap is not None else (graph.degree if graph.unit == "node" else None)
    return GraphFacts(graph.unit, told.people, graph.degree, kept, graph.listed, blocks)


def publish_graph(
    session: Session, made: GraphRelease, out: Path, key: str = "", told: Callable[[float], None] = lambda share: None
) -> DoneGraph:
    """Charged once, measured, finished, written, and checked as anybody would."""
    fresh(out)
    measured, receipted = measure(session, made, key)
    loss = made.plan.loss
    assert isinstance(loss, (PureLoss, ZcdpLoss))
    cost = Paid(made.plan.accounting, loss.epsilon if isinstance(loss, PureLoss) else loss.rho)
    with paid(receipted.stored):
        rumours = made.method.rumours(measured)
        fields = metadata(made.title, made.method, measured, cost, receipted.claim, made.graph)
        write(GraphFolder(made.method, measured, rumours, fields), out, save, told)
        return DoneGraph(measured, rumours, receipted, sealed(out))


def measure(session: Session, made: GraphRelease, key: str = "") -> tuple[Measured, Receipted]:
    """Charged, read, noised and stored; or what is stored of the same release."""
    plan = made.plan

    def seal(finished: Finished, receipt: Receipt) -> Sealed:
        claim = claim_of(plan, session.catalog, session.purse.whole(), receipt.id)
        return sealed_release(made.price, [packed(values) for values in finished.blocks], {"claim": claim.as_json()})

    stored, again = session.measure(made.planned, seal, key)
    fields = json.loads(stored)
    values = tuple(unpacked(text) for text in fields["blocks"])
    for one, part in zip(values, plan.parts, strict=True):
        invariant(len(one) == part.kernel.entries(plan.facts), "an entry for each place")
    return Measured(plan.facts, plan.parts, values), Receipted((), fields["claim"], fields["price"], again)


def claim_of(plan: GraphPlan, catalog: Catalog, budget: Any, receipt: str) -> Claim:
    """What is promised, and what it rests on: a degree promise makes the claim conditional, and is printed."""
    assert catalog.unit is not None
    epsilon = plain(plan.epsilon)
    delta = plain(plan.delta)
    believed = belief_words(budget, catalog)
    price = f"epsilon {epsilon}" + (f", delta {delta}" if plan.delta else "")
    limits = limits_words(plan)
    bias = f"connections beyond {plan.facts.cap} of one person are cut away" if plan.facts.cap is not None else ""
    promised = f" This holds {promise_words(plan)}." if plan.promised else ""
    sentence = (
        f"Protects {catalog.unit.words} ({catalog.neighbours.words}): this release costs {price}, of a budget of "
        f"{budget_words(budget)}.{promised} {believed} {IN_PROCESS}"
    )
    kinds = tuple(sorted({one.noise.name for one in plan.parts}))
    unit = catalog.unit.words
    neighbours = catalog.neighbours.value
    return Claim(
        unit=unit,
        neighbours=neighbours,
        epsilon=epsilon,
        delta=delta,
        mechanisms=kinds,
        limits=limits,
        bias=bias,
        belief=believed,
        receipt=receipt,
        sentence=sentence,
    )


def promise_words(plan: GraphPlan) -> str:
    return (
        f"provided that nobody has more than {plan.facts.degree} connections, which the curator promises and "
        "nobody "
        "checked"
    )


def limits_words(plan: GraphPlan) -> str:
    """How far one unit reaches, in words."""
    said = []
    if plan.promised:
        texts = ", ".join(one.kernel.text for one in plan.parts if one.kernel.promised(plan.facts))
        said.append(
            f"the guarantee holds {promise_words(plan)} ({texts} rest on it); without that, nothing is promised"
        )
    if plan.facts.cap is not None:
        said.append(
            f"of each person at most {plan.facts.cap} connections count in edges and degrees, which needs no promise"
        )
    if any(isinstance(one.noise, Ladder) for one in plan.parts):
        said.append("where one edge has no fixed reach, noise follows a ladder, which needs no promise")
    for reach in (one for one in plan.parts if one.serves):
        said.append(f"{reach.kernel.text} is measured and paid once, for itself and for the interval of {reach.serves}")
    if plan.facts.unit == "edge" and not said:
        said.append("one edge moves each statistic by a fixed amount, which needs no promise")
    return "; ".join(said) or "one person moves each statistic by a fixed amount, which needs no promise"


def plan_json(made: GraphRelease) -> dict[str, Any]:
    """What `--plan` tells, before any edge is read."""
    plan = made.plan
    parts = []
    for one in plan.parts:
        fixed = None if isinstance(one.noise, Ladder) else one.noise
        parts.append(
            {
                "name": one.kernel.text,
                "entries": one.kernel.entries(plan.facts),
                "share": float(one.share),
                "mechanism": one.noise.name,
                "stddev": fixed and fixed.stddev(),
                "half_width": fixed and fixed.interval(0.95),
                "promised": one.kernel.promised(plan.facts),
                "serves": one.serves,
            }
        )
    return {
        "version": 1,
        "price": price_json(made.price),
        "unit": plan.facts.unit,
        "people": plan.facts.people,
        "rests_on": limits_words(plan),
        "measured": parts,
        "memory_mb": max(1, round(plan.facts.people * NODE_BYTES / 1e6)),
        "memory_mb_per_million_edges": EDGE_BYTES,
        "seconds": plan.entries() * ENTRY_S,
    }
