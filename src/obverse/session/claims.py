"""The claim of an answer, in data and in plain words."""

from __future__ import annotations

import math

from obverse.accounting.belief import belief
from obverse.catalog.assumptions import as_declared
from obverse.catalog.check import read_with
from obverse.catalog.model import Catalog
from obverse.core.claim import Claim
from obverse.core.ledger import Budget
from obverse.core.numbers import plain, several
from obverse.plan.partitions import partitioned
from obverse.plan.pricing import Plan
from obverse.plan.relation import Reduce, Shape, Trim, every, scans

IN_PROCESS = "Asked in process, the analyst's name is bookkeeping: whoever can run this can read the files."
OF_A_SERVICE = "Asked of a service, which alone reads the rows."


def claim_of(
    costed: Plan,
    catalog: Catalog,
    budget: Budget,
    receipt: str,
    charged: Budget,
    what: str,
    person: str = "",
    boundary: str = IN_PROCESS,
) -> Claim:
    """What is promised of this answer, under the cap of the whole budget; `charged` is what was debited for `what`."""
    assert catalog.unit is not None
    epsilon = plain(charged.epsilon)
    delta = plain(charged.delta)
    believed = belief_words(budget, catalog)
    price = f"epsilon {epsilon}" + (f", delta {delta}" if charged.delta else "")
    lost = f" {person}" if person else ""
    assumes = assumed_by(costed, catalog)
    sentence = (
        f"Protects {catalog.unit.words} ({catalog.neighbours.words}): {what} costs {price}, of a budget of "
        f"{budget_words(budget)}{parallel_words(catalog)}. {believed}{lost} {boundary}{assumed_words(assumes)}"
    )
    return Claim(
        unit=catalog.unit.words,
        neighbours=catalog.neighbours.value,
        epsilon=epsilon,
        delta=delta,
        mechanisms=tuple(sorted({one.name for one in costed.all_mechanisms})),
        limits=limits_words(costed),
        bias=bias_words(costed, catalog),
        belief=believed,
        receipt=receipt,
        sentence=sentence,
        assumes=assumes,
    )


def assumed_by(costed: Plan, catalog: Catalog) -> tuple[str, ...]:
    """What the plan believes of the tables that it reads and nothing checks, as they are declared."""
    read = {there for scan in scans(costed.question.relation) for there in read_with(catalog, scan.table)}
    return tuple(
        words for name in catalog.tables if name in read for words in as_declared(catalog.tables[name]).assumes
    )


def assumed_words(assumes: tuple[str, ...]) -> str:
    return f" Assumes that {'; that '.join(assumes)}." if assumes else ""


def parallel_words(catalog: Catalog) -> str:
    """What the budget is of, where the data grows by partitions."""
    assert catalog.unit is not None
    column = catalog.unit.first or catalog.unit.each
    base = base_said(catalog)
    return (f" for each {column}, in parallel" if column else "") + (f"; {base}" if base else "")


def base_said(catalog: Catalog) -> str:
    """What counts as spent on each partition of growing data before it is asked of; empty where none is retired."""
    table = partitioned(catalog)
    return "" if table is None or table.partition is None else table.partition.base


def budget_words(budget: Budget) -> str:
    return f"epsilon {plain(budget.epsilon)}" + (f" and delta {plain(budget.delta)}" if budget.delta else "")


def belief_words(budget: Budget, catalog: Catalog) -> str:
    """What an attacker with even odds may at most come to believe, once the whole budget is spent."""
    found = belief(budget, catalog.accounting, catalog.neighbours)
    except_part = _exception(found.taking_part_except)
    except_value = _exception(found.value_except)
    related = "k times epsilon" if catalog.accounting == "pure" else "k squared times rho"
    for graph in catalog.graphs.values():
        what = "two people are connected" if graph.unit == "edge" else "someone is in the network"
        return (
            f"Once all of it is spent, an attacker who held even odds may at most come to believe with "
            f"{percent(found.taking_part)} that {what}{except_part}; k {graph.unit}s count {related}."
        )
    return (
        f"Once all of it is spent, an attacker who held even odds may at most come to believe with "
        f"{percent(found.taking_part)} that someone took part{except_part}, "
        f"and with {percent(found.value)} that someone's value is so{except_value}; "
        f"k related people count {related}."
    )


def percent(share: float) -> str:
    """Rounded up to a tenth of a percent, or to as many nines as it takes not to say certainty."""
    if share >= 1:
        return "certainty"
    for digits in range(1, 13):
        step = 10 ** (digits + 2)
        rounded = math.ceil(share * step) / step
        if rounded < 1:
            return f"{100 * rounded:.{digits}f} %"
    return "near certainty"


def _exception(probability: float) -> str:
    return f" (except with probability {probability:.2g})" if probability else ""


def limits_words(costed: Plan) -> str:
    setting = costed.setting
    said = [
        f"of each unit no more than {_trimmed(trim)} {'is' if trim.rows == 1 else 'are'} kept, chosen at random"
        for trim in _trims(costed)
    ]
    match setting.shape:
        case Shape.ROW:
            stability = costed.facts.stability
            said.append("one row per unit" if stability is not None and stability.keyed else "each row is its own unit")
        case Shape.ONE:
            said.append("one row per unit" + ("" if said else "; several rows of one unit are merged into one"))
        case Shape.TOTAL:
            said.append(f"each unit's total is clamped to what {several(setting.rows, 'row')} can hold")
        case Shape.WEIGHTED:
            said.append(f"each unit's rows weigh at most {setting.rows} together")
    said += [f"each unit brings at most {setting.groups} {what}" for what in _chosen(costed)]
    return "; ".join(said)


def bias_words(costed: Plan, catalog: Catalog) -> str:
    """What declarations and bounding may have cost, apart from noise: not part of the interval."""
    setting = costed.setting
    said = [left_out(table, columns) for table, columns in dropping(costed, catalog)]
    said += [f"what a unit has beyond {_trimmed(trim)} is lost" for trim in _trims(costed)]
    if setting.shape in (Shape.TOTAL, Shape.WEIGHTED) and any(
        m.summed or m.term.leaves is not None for m in costed.measures
    ):
        said.append(f"units with more than {several(setting.rows, 'row')} count less than in full")
    said += [
        f"units with more than {setting.groups} {what} count with fewer, or less in each" for what in _chosen(costed)
    ]
    if costed.threshold is not None:
        seen = costed.threshold.seen_from(costed.level)
        said.append(f"groups of fewer than {seen} units may be left out")
    if any(m.term.grid is not None or m.term.kind == "tree" for m in costed.measures):
        said.append("values outside their bounds count as the nearest bound")
    said += [costed.bias] if costed.bias else []
    return "; ".join([*said, "the noise interval does not include this"]) if said else ""


def dropping(costed: Plan, catalog: Catalog) -> list[tuple[str, list[str]]]:
    """The private tables that are read, each with the columns whose missing and undeclared values take their rows
    out.
    """
    found: dict[str, dict[str, None]] = {}
    for scan in scans(costed.question.relation):
        table = catalog.tables[scan.table]
        if not table.public:
            found.setdefault(scan.table, {}).update(dict.fromkeys(c for c in scan.columns if table.columns[c].drops))
    return [(name, list(columns)) for name, columns in found.items() if columns]


def left_out(table: str, columns: list[str]) -> str:
    """From the declarations alone: whether there are such rows is not known here."""
    return f"rows of {table} whose {' or '.join(columns)} is missing or not declared are left out"


def _chosen(costed: Plan) -> list[str]:
    """What a unit that has several rows must choose among."""
    limited = costed
    if limited.setting.shape in (Shape.ROW, Shape.ONE):
        return []
    grouped = bool(limited.question.keys)
    kinds = {measure.term.kind for measure in costed.measures}
    found = ["different values" + (" over all groups" if grouped else "")] if "distinct" in kinds else []
    found += ["groups"] if "units" in kinds and grouped else []
    return found + (["groups that are not public"] if limited.setting.discovered else [])


def _trims(costed: Plan) -> list[Trim]:
    """Where rows of a unit are left out before anything is counted."""
    return [node for node in every(costed.question.relation) if isinstance(node, Trim)]


def _trimmed(trim: Trim) -> str:
    what = "group" if isinstance(trim.child, Reduce) else "row"
    return several(trim.rows, what)
