"""metadata.json: how a release was made, so that anybody can make its tables again from its measurements.

No private counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from obverse._version import __version__
from obverse.core.bounds import Interval
from obverse.core.errors import Refused
from obverse.core.types import Type
from obverse.core.units import Neighbours
from obverse.mechanisms.base import Additive
from obverse.mechanisms.discrete_gaussian import DiscreteGaussian
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.plan.expressions import ColumnFacts, Ref
from obverse.plan.relation import Cells, Key
from obverse.publish.method import Draft, Measured, Method, Terms
from obverse.publish.registry import METHODS
from obverse.publish.workload import Workload

FORMAT = 1
NO_INVARIANTS = "Nothing: every number has noise, totals too."


@dataclass(frozen=True, slots=True)
class Figures:
    """What a release's noise follows from."""

    terms: Terms
    loss: Fraction  # epsilon, or rho
    weight: int  # of one unit, in released integers
    unit: Fraction  # what a released integer is worth
    total: bool  # every row has a cell of every key


def blocks_json(measured: Measured) -> list[dict[str, Any]]:
    found = []
    for entries in measured:
        mechanism = entries.mechanism
        parameter = (
            mechanism.scale if isinstance(mechanism, DiscreteLaplace) else getattr(mechanism, "sigma_squared", None)
        )
        found.append(
            {
                "name": entries.block.name,
                "weight": str(entries.block.weight),
                "mechanism": mechanism.name,
                "parameter": str(parameter),
                "stddev": mechanism.stddev() * entries.unit,
            }
        )
    return found


def metadata(
    title: str,
    method: Method,
    measured: Measured,
    figures: Figures,
    claim: dict[str, Any],
    agree: bool,
    recipe: dict[str, Any] | None = None,
    before: list[dict[str, Any]] | None = None,
    notes: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Everything but the numbers."""
    name = "epsilon" if figures.terms.accounting == "pure" else "rho"
    return {
        "format": FORMAT,
        "version": __version__,
        "kind": method.name,
        "title": title,
        "terms": {"accounting": figures.terms.accounting, "neighbours": figures.terms.neighbours.value},
        "loss": {name: str(figures.loss)},
        "unit_weight": str(figures.weight),
        "integer_worth": str(figures.unit),
        "every_row_has_a_cell": figures.total,
        "method": method.as_json(),
        "blocks": blocks_json(measured),
        "post_processing": list(method.after),
        "agree": agree,
        "invariants": method.invariants() or NO_INVARIANTS,
        "claim": claim,
        "before": before or [],
        "notes": list(notes),
        "recipe": recipe or {},
    }


def figures_of(fields: dict[str, Any]) -> Figures:
    told = fields["terms"]
    terms = Terms(told["accounting"], Neighbours(told["neighbours"]))
    (loss,) = fields["loss"].values()
    return Figures(
        terms,
        Fraction(loss),
        int(fields["unit_weight"]),
        Fraction(fields["integer_worth"]),
        bool(fields["every_row_has_a_cell"]),
    )


def method_of(fields: dict[str, Any]) -> Method:
    """The method that made it."""
    found: dict[str, type[Method]] = {method.name: method for method in METHODS}
    if fields["format"] != FORMAT or fields["kind"] not in found:
        raise Refused("bad_release", "the folder was made by another version.")
    return found[fields["kind"]].from_json(fields["method"])


def draft_of(method: Method, fields: dict[str, Any], terms: Terms) -> Draft:
    return method.weighted(terms, {one["name"]: Fraction(one["weight"]) for one in fields["blocks"]})


def noise_told(fields: dict[str, Any]) -> tuple[Additive, ...]:
    """The mechanisms that the metadata names."""
    found: list[Additive] = []
    for one in fields["blocks"]:
        parameter = Fraction(one["parameter"])
        if one["mechanism"] == DiscreteLaplace.name:
            found.append(DiscreteLaplace(Fraction(0), parameter))
        elif one["mechanism"] == DiscreteGaussian.name:
            found.append(DiscreteGaussian(Fraction(0), parameter))
        else:
            raise Refused("bad_release", "metadata.json names noise that is not known here.")
    return tuple(found)


def cells_of(workload: Workload, draft: Draft, *, total: bool) -> Cells:
    """Keys as the norms see them: how many cells, and whether a row may be in none."""
    keys = []
    for one in workload.attributes:
        facts = ColumnFacts(Type.INTEGER, False, Interval(Fraction(0), Fraction(one.cells - total)), Fraction(1))
        keys.append(Key(one.name, Ref(one.name, facts), tuple(range(one.cells)), null_cell=False))
    return Cells(tuple(keys), draft.sets)
