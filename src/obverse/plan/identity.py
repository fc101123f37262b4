"""The identity of a plan: what is measured and what is presented, each as canonical JSON.

Claim:   two plans with the same measurement draw the same release from the same data; with the same presentation
         besides, an answer to one is an answer to the other.
Proof:   the measurement holds all that the emitted SQL, the noise and its price follow from under one catalog:
         relation, keys, aggregates, contribution bounds, caps, mechanisms' parameters. The presentation holds what is
         post-processed from them.
Assumes: `core.canonical` has its rules; the catalog and the data's version stand beside it (session.marks).
"""

from __future__ import annotations

import hashlib

from obverse.core.canonical import Json, fields, number_json, value_json
from obverse.core.errors import InvariantBroken
from obverse.mechanisms.base import Additive
from obverse.mechanisms.discrete_gaussian import DiscreteGaussian
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.mechanisms.ladder import Ladder
from obverse.mechanisms.sparse_vector import SparseVector
from obverse.plan.expressions import AggregateRef, Call, Expr, GroupingRef, KeyRef, Literal, Ref
from obverse.plan.pricing import Adaptive, MatrixStrategy, Plan, SparseVectorRun
from obverse.plan.query import AggregateCall, Question
from obverse.plan.relation import Filter, Fold, Join, Key, Listed, Map, Mark, Reduce, Relation, Scan, Trim, Union
from obverse.plan.strategy.graph.pricing import GraphPlan
from obverse.plan.strategy.matrix import Strategy


def measurement(costed: Plan) -> Json:
    """What is measured, with its noise and price."""
    setting = costed.setting
    noise = costed.noise
    return ["query", fields(
        **query_json(costed.question),
        epsilon=number_json(costed.epsilon),
        delta=number_json(costed.delta),
        accounting=costed.accounting,
        rows=setting.rows,
        groups=setting.groups,
        caps=[measure.cap for measure in costed.measures],
        sparse_vector=_sparse_vector(noise.mechanism) if isinstance(noise, SparseVectorRun) else None,
        strategy=_strategy(noise.strategy) if isinstance(noise, MatrixStrategy) else None,
        adaptive=noise.course.identity if isinstance(noise, Adaptive) else None,
    )]  # fmt: skip


def presentation(costed: Plan) -> Json:
    """What is made of the noisy measurements: names, order, filters, the level of the intervals."""
    return [presented(costed.question), costed.level.hex()]


def presented(question: Question) -> Json:
    """How a query wants its results shown."""
    return fields(
        outputs=[[output.name, expression_json(output.expr)] for output in question.outputs],
        distinct=question.distinct,
        having=None if question.having is None else expression_json(question.having),
        order=[[expression_json(term.expr), term.descending, term.nulls_first] for term in question.order],
        limit=question.limit,
        offset=question.offset,
    )


def network_measurement(costed: GraphPlan) -> Json:
    """What is measured of a network, with its noise and price."""
    facts = costed.facts
    blocks = [
        [name, list(one.labels), hashlib.sha256(one.code.tobytes()).hexdigest()]
        for name, one in sorted(facts.blocks.items())
    ]
    return ["network", fields(
        unit=facts.unit,
        people=facts.people,
        degree=facts.degree,
        cap=facts.cap,
        listed=facts.listed,
        blocks=blocks,
        parts=[[part.kernel.text, number_json(part.share), _noise(part.noise)] for part in costed.parts],
        epsilon=number_json(costed.epsilon),
        delta=number_json(costed.delta),
        accounting=costed.accounting,
    )]  # fmt: skip


def query_json(question: Question) -> dict[str, Json]:
    """What a query asks to be measured, before bounds and price."""
    searches = [[search.name, query_json(first)] for search, first in question.searches]
    return fields(
        relation=relation_json(question.relation),
        keys=[_key(key) for key in question.keys],
        sets=[list(chosen) for chosen in question.sets],
        aggregates=[_aggregate(call) for call in question.aggregates],
        least_units=question.least_units if question.least_units > 1 else None,
        searches=searches,
    )


def _key(key: Key) -> Json:
    values = None if key.domain is None else len(key.domain)
    return fields(of=expression_json(key.expr), values=values, private=key.domain is None, null=key.null_cell)


def _aggregate(call: AggregateCall) -> Json:
    arguments = [expression_json(expr) for expr in call.arguments]
    return fields(function=call.function, arguments=arguments, parameter=value_json(call.parameter))


def relation_json(relation: Relation) -> Json:
    """A relation from the outside inwards, each node a tagged list."""
    match relation:
        case Scan(table):
            return ["scan", table]
        case Listed(columns, rows):
            listed = [[value_json(value) for value in row] for row in rows]
            return ["listed", [[name, kind.value] for name, kind in columns], listed]
        case Filter(child, predicate):
            return ["filter", relation_json(child), expression_json(predicate)]
        case Map(child, columns):
            return ["map", relation_json(child), _named(columns)]
        case Join(left, right, kind, on, copies):
            terms = [expression_json(term) for term in on]
            return ["join", relation_json(left), relation_json(right), kind.value, terms, copies]
        case Union(children):
            return ["union", [relation_json(child) for child in children]]
        case Reduce(child, keys, folds):
            return ["per_unit", relation_json(child), _named(keys), [_fold(fold) for fold in folds]]
        case Mark(left, right, on, name, unknown):
            pairs = [[expression_json(a), expression_json(b)] for a, b in on]
            return ["semijoin", relation_json(left), relation_json(right), pairs, name, unknown]
        case Trim(child, rows):
            return ["rows", relation_json(child), rows]


def _fold(fold: Fold) -> Json:
    expr = None if fold.expr is None else expression_json(fold.expr)
    return [fold.name, fold.kind, expr, fold.rows, fold.bits]


def _named(columns: tuple[tuple[str, Expr], ...]) -> Json:
    return [[name, expression_json(expr)] for name, expr in columns]


def expression_json(expr: Expr) -> Json:
    """An expression in postfix order, so that long chains nest nothing."""
    found: list[Json] = []
    left = [expr]
    while left:  # calls before their arguments, from the right: read backwards it is postfix
        match left.pop():
            case Ref(name):
                found.append(["column", name])
            case KeyRef(index):
                found.append(["key", index])
            case AggregateRef(index):
                found.append(["aggregate", index])
            case GroupingRef(index):
                found.append(["column", f"left_out{index}"])
            case Literal(value, facts):
                found.append(["literal", facts.type.value, value_json(value)])
            case Call(function, args):
                found.append(["call", function, len(args)])
                left.extend(args)
    return found[::-1]


def _strategy(strategy: Strategy) -> Json:
    return [[block.of, [one.identity for one in block.maps], number_json(block.weight)] for block in strategy.blocks]


def _noise(noise: Additive | Ladder) -> Json:
    match noise:
        case DiscreteLaplace(sensitivity, scale):
            return ["discrete_laplace", number_json(sensitivity), number_json(scale)]
        case DiscreteGaussian(sensitivity_squared, sigma_squared):
            return ["discrete_gaussian", number_json(sensitivity_squared), number_json(sigma_squared)]
        case Ladder(scale, top, step):
            return ["ladder", number_json(scale), top, step]
        case _:
            raise InvariantBroken(f"{noise.name} has no canonical form")


def _sparse_vector(one: SparseVector) -> Json:
    return fields(
        sensitivity=one.sensitivity,
        epsilon=number_json(one.epsilon),
        threshold=one.threshold,
        first=one.first,
        monotone=one.monotone,
    )
