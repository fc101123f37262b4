"""Facts of a relation, bottom up; and its columns that nobody reads taken away, top down."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import replace

from obverse.catalog.model import Catalog
from obverse.core.errors import invariant
from obverse.core.types import Type
from obverse.core.units import Neighbours
from obverse.plan.expressions import Expr, refs
from obverse.plan.query import Question
from obverse.plan.relation import Facts, Filter, Join, Listed, Map, Mark, Reduce, Relation, Scan, Trim, Union
from obverse.plan.stability.filter import keep
from obverse.plan.stability.join import join, mark
from obverse.plan.stability.project import project, trim
from obverse.plan.stability.reduce import reduce
from obverse.plan.stability.scan import keys_named, scan
from obverse.plan.stability.union import union
from obverse.plan.stability.values import listed


def facts_of(relation: Relation, catalog: Catalog) -> Facts:
    """What is proved of the relation's rows."""
    match relation:
        case Scan(name, columns):
            table = catalog.tables[name]
            neighbours = Neighbours.ADD_REMOVE if table.public else catalog.neighbours
            alone = sum(not t.public for t in catalog.tables.values()) == 1
            return scan(table, neighbours, columns, keys_named(catalog).get(name, {}), alone=alone)
        case Listed(listed_columns, listed_rows):
            return listed(listed_columns, listed_rows)
        case Filter(child, predicate):
            return keep(facts_of(child, catalog), predicate)
        case Map(child, columns_):
            return project(facts_of(child, catalog), columns_)
        case Join(left, right, kind, on, copies):
            return join(facts_of(left, catalog), facts_of(right, catalog), kind, on, copies)
        case Union(children):
            return union(tuple(facts_of(child, catalog) for child in children))
        case Reduce(child, keys, folds):
            return reduce(facts_of(child, catalog), keys, folds, unit_key(catalog))
        case Mark(left, right, pairs, name, unknown):
            here = facts_of(left, catalog)
            there = facts_of(right, catalog)
            invariant(
                there.stability is None or here.stability is not None, "public rows do not look among private ones"
            )
            return mark(here, name, unknown=unknown and any(a.facts.nullable or b.facts.nullable for a, b in pairs))
        case Trim(child, rows):
            return trim(facts_of(child, catalog), rows)


def unit_key(catalog: Catalog) -> str:
    """The protected key as columns name it; empty where there is none."""
    return (
        f"{catalog.unit.table}.{catalog.unit.key}" if catalog.unit is not None and catalog.unit.key is not None else ""
    )


def unit_type(catalog: Catalog) -> Type:
    """The type of the protected key."""
    invariant(catalog.unit is not None and catalog.unit.key is not None, "units are told by a key")
    assert catalog.unit is not None
    assert catalog.unit.key is not None
    return Type.TEXT if catalog.unit.each else catalog.tables[catalog.unit.table].columns[catalog.unit.key].type


def own_type(catalog: Catalog) -> Type:
    """The type of the key by which somebody is known; text where there is none."""
    unit = catalog.unit
    return Type.TEXT if unit is None or unit.key is None else catalog.tables[unit.table].columns[unit.key].type


def unused(name: str, taken: Container[str]) -> str:
    """A name for a column of our own making that no column has, whatever an analyst called his."""
    while name in taken:
        name += "_"
    return name


def reads(*exprs: Expr) -> frozenset[str]:
    return frozenset(ref.name for expr in exprs for ref in refs(expr))


def pruned(question: Question) -> Question:
    """The question over the columns that its keys and aggregates read."""
    exprs = [key.expr for key in question.keys] + [e for a in question.aggregates for e in a.arguments]
    return replace(question, relation=prune(question.relation, reads(*exprs)))


def prune(relation: Relation, needed: Iterable[str]) -> Relation:
    """The relation with the needed columns alone: a column that nobody reads is neither read nor enforced."""
    wanted = frozenset(needed)
    match relation:
        case Scan(table):
            return Scan(table, tuple(sorted(wanted)))
        case Listed(found, rows_):
            places = [n for n, (name, _) in enumerate(found) if name in wanted]
            return Listed(tuple(found[n] for n in places), tuple(tuple(row[n] for n in places) for row in rows_))
        case Filter(child, predicate):
            return Filter(prune(child, wanted | reads(predicate)), predicate)
        case Map(child, columns):
            kept = tuple((name, expr) for name, expr in columns if name in wanted)
            return Map(prune(child, reads(*(expr for _, expr in kept))), kept)
        case Join(left, right, _, on):
            needs = wanted | reads(*on)
            return replace(relation, left=prune(left, needs & names(left)), right=prune(right, needs & names(right)))
        case Union(children):
            return Union(tuple(prune(child, wanted) for child in children))
        case Reduce(child, keys, folds):
            folded = tuple(fold for fold in folds if fold.name in wanted)
            exprs = [expr for _, expr in keys] + [fold.expr for fold in folded if fold.expr is not None]
            return Reduce(prune(child, reads(*exprs)), keys, folded)
        case Mark(left, right, on, name):
            ours = reads(*(a for a, _ in on))
            theirs = reads(*(b for _, b in on))
            return replace(relation, left=prune(left, (wanted - {name}) | ours), right=prune(right, theirs))
        case Trim(child):
            return replace(relation, child=prune(child, wanted))


def names(relation: Relation) -> frozenset[str]:
    """Names of the relation's columns."""
    match relation:
        case Scan(_, columns):
            return frozenset(columns)
        case Filter(child) | Trim(child):
            return names(child)
        case Map(_, columns_):
            return frozenset(name for name, _ in columns_)
        case Listed(found):
            return frozenset(name for name, _ in found)
        case Join(left, right):
            return names(left) | names(right)
        case Union(children):
            return names(children[0])
        case Reduce(_, keys, folds):
            return frozenset([name for name, _ in keys] + [fold.name for fold in folds])
        case Mark(left, _, _, name):
            return names(left) | {name}
