"""metadata.json of a released network: what is public of it, what was measured, with which noise. No private counts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from obverse._version import __version__
from obverse.catalog.model import Accounting
from obverse.core.errors import Refused
from obverse.mechanisms.discrete_gaussian import DiscreteGaussian
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.mechanisms.ladder import Ladder
from obverse.plan.strategy.graph.graph_base import Blocks, GraphFacts
from obverse.plan.strategy.graph.pricing import Noise, Part
from obverse.plan.strategy.graph.registry import kernel_of
from obverse.publish.folder.metadata import FORMAT, NO_INVARIANTS
from obverse.publish.graph.graph_tables import Measured
from obverse.publish.graph.method import GraphMethod


@dataclass(frozen=True, slots=True)
class Paid:
    """What all parts together cost."""

    accounting: Accounting
    loss: Fraction  # epsilon, or rho


def metadata(
    title: str, method: GraphMethod, measured: Measured, paid: Paid, claim: dict[str, Any], graph: str
) -> dict[str, Any]:
    """Everything but the numbers."""
    return {
        "format": FORMAT,
        "version": __version__,
        "kind": method.name,
        "title": title,
        "terms": {"accounting": paid.accounting, "neighbours": "add-remove"},
        "loss": {"epsilon" if paid.accounting == "pure" else "rho": str(paid.loss)},
        "method": method.as_json(),
        "network": facts_json(measured.facts),
        "parts": [_part_json(one) for one in measured.parts],
        "post_processing": list(method.after),
        "invariants": NO_INVARIANTS,
        "recipe": {"verb": "graph", "graph": graph},
        "claim": claim,
    }


def facts_json(facts: GraphFacts) -> dict[str, Any]:
    """Of attributes the labels, and how many of the public list have each."""
    blocks = {name: {"labels": list(one.labels), "people": one.sizes.tolist()} for name, one in facts.blocks.items()}
    return {
        "unit": facts.unit, "people": facts.people, "degree": facts.degree, "cap": facts.cap, "listed": facts.listed,
        "attributes": blocks,
    }  # fmt: skip


def facts_of(fields: dict[str, Any]) -> GraphFacts:
    """Public facts with people in the order of their blocks, which is all that tables and norms hang on."""
    import numpy as np

    blocks = {}
    for name, one in fields["attributes"].items():
        sizes = np.array(one["people"], dtype=np.int64)
        if len(sizes) != len(one["labels"]) or int(sizes.min(initial=0)) < 0 or int(sizes.sum()) != fields["people"]:
            raise ValueError("attributes of other people")
        blocks[name] = Blocks(tuple(one["labels"]), np.repeat(np.arange(len(sizes)), sizes))
    return GraphFacts(fields["unit"], fields["people"], fields["degree"], fields["cap"], fields["listed"], blocks)


def _part_json(part: Part) -> dict[str, Any]:
    noise = part.noise
    if isinstance(noise, Ladder):
        told: dict[str, Any] = {"parameter": str(noise.scale), "top": noise.top, "step": noise.step}
    else:
        scale = noise.scale if isinstance(noise, DiscreteLaplace) else getattr(noise, "sigma_squared", None)
        told = {"parameter": str(scale), "stddev": noise.stddev()}
    return {"name": part.kernel.text, "share": str(part.share), "mechanism": noise.name, **told}


def parts_of(fields: dict[str, Any], facts: GraphFacts) -> tuple[Part, ...]:
    found = []
    for one in fields["parts"]:
        kernel = kernel_of(one["name"], tuple(facts.blocks))
        found.append(Part(kernel, Fraction(one["share"]), _noise(one)))
    return tuple(found)


def _noise(one: dict[str, Any]) -> Noise:
    parameter = Fraction(one["parameter"])
    match one["mechanism"]:
        case DiscreteLaplace.name:
            return DiscreteLaplace(Fraction(0), parameter)
        case DiscreteGaussian.name:
            return DiscreteGaussian(Fraction(0), parameter)
        case Ladder.name:
            return Ladder(parameter, int(one["top"]), int(one["step"]))
        case _:
            raise Refused("bad_release", "metadata.json names noise that is not known here.")


def paid_of(fields: dict[str, Any]) -> Paid:
    accounting = fields["terms"]["accounting"]
    return Paid(accounting, Fraction(fields["loss"]["epsilon" if accounting == "pure" else "rho"]))
