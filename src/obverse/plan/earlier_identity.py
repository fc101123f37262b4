"""The former identity of a plan: the text that versions up to 0.1 hashed, frozen.

Ledgers written by them hold its hash, so nothing here follows the classes or the words for people that it prints.
"""

from __future__ import annotations

import hashlib

from obverse.mechanisms.base import Additive
from obverse.mechanisms.discrete_gaussian import DiscreteGaussian
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.mechanisms.ladder import Ladder
from obverse.mechanisms.sparse_vector import SparseVector
from obverse.plan.expressions import AggregateRef, Call, Expr, GroupingRef, KeyRef, Literal, Ref, canonical
from obverse.plan.pricing import Adaptive, MatrixStrategy, Plan, SparseVectorRun
from obverse.plan.query import AggregateCall, Question
from obverse.plan.relation import Filter, Join, Listed, Map, Mark, Reduce, Relation, Scan, Trim, Union
from obverse.plan.strategy.graph.pricing import GraphPlan
from obverse.plan.strategy.matrix import Strategy


def former_lines(costed: Plan) -> list[str]:
    """What earlier versions hashed of a query."""
    setting = costed.setting
    question = costed.question
    lines = [
        _question(question) + (f"\nleast {question.least_units}" if question.least_units > 1 else ""),
        str(costed.epsilon),
        str(costed.delta),
        costed.accounting,
        repr(costed.level),
        repr((setting.rows, setting.groups, [measure.cap for measure in costed.measures])),
        _series(costed.noise.mechanism if isinstance(costed.noise, SparseVectorRun) else None),
    ]
    match costed.noise:
        case MatrixStrategy(strategy, _):
            return [*lines, _strategy(strategy)]
        case Adaptive(course):
            return [*lines, course.identity]
        case _:
            return lines


def former_network_lines(costed: GraphPlan) -> list[str]:
    """What earlier versions hashed of a network's release."""
    facts = costed.facts
    lines = ["graph", repr((facts.unit, facts.people, facts.degree, facts.cap, facts.listed))]
    for name, one in sorted(facts.blocks.items()):
        lines.append(repr((name, one.labels, hashlib.sha256(one.code.tobytes()).hexdigest())))
    lines += [f"{part.kernel.text} {part.share} {_noise(part.noise)}" for part in costed.parts]
    return ["\n".join(lines), str(costed.epsilon), str(costed.delta), costed.accounting]


def _question(question: Question) -> str:
    lines = [_relation(question.relation)]
    for n, key in enumerate(question.keys):
        size = "discovered" if key.domain is None else f"in {len(key.domain)}{'+null' if key.null_cell else ''}"
        lines.append(f"key {n}: {_expression(key.expr)} {size}")
    if question.sets:
        lines.append(f"sets {question.sets}")
    lines += [f"aggregate {n}: {_aggregate(call)}" for n, call in enumerate(question.aggregates)]
    lines += [f"output {output.name!r}: {_expression(output.expr)}" for output in question.outputs]
    lines += ["distinct"] if question.distinct else []
    if question.having is not None:
        lines.append(f"having {_expression(question.having)}")
    for term in question.order:
        lines.append(f"order {_expression(term.expr)} {'desc' if term.descending else 'asc'} {term.nulls_first}")
    lines.append(f"limit {question.limit} offset {question.offset}")
    lines += [f"bounds of {search.name} found by {_question(first)}" for search, first in question.searches]
    return "\n".join(lines)


def _aggregate(call: AggregateCall) -> str:
    arguments = ", ".join(map(_expression, call.arguments)) or "*"
    return f"{call.function}({arguments}{'' if call.parameter is None else f', {call.parameter!r}'})"


def _relation(relation: Relation) -> str:
    match relation:
        case Scan(table):
            return f"scan {table}"
        case Listed(columns, rows):
            return f"listed {', '.join(f'{name!r} {kind.value}' for name, kind in columns)}: {rows!r}"
        case Filter(child, predicate):
            return f"{_relation(child)}\nfilter {_expression(predicate)}"
        case Map(child, columns):
            return f"{_relation(child)}\nmap {_named(columns)}"
        case Join(left, right, kind, on):
            terms = " and ".join(map(_expression, on))
            return f"{_relation(left)}\n{kind.value} join on {terms or 'the unit'}\n{_inner(right)}"
        case Union(children):
            return "union all\n" + "\n".join(map(_inner, children))
        case Reduce(child, keys, folds):
            found = [
                f"{f.name}: {f.kind}({'*' if f.expr is None else _expression(f.expr)}) up to {f.rows} rows"
                for f in folds
            ]
            also = f" and {_named(keys)}" if keys else ""
            return f"{_relation(child)}\nper unit{also}: {', '.join(found) or 'one row'}"
        case Mark(left, right, on, name, unknown):
            pairs = " and ".join(f"{_expression(a)} = {_expression(b)}" for a, b in on)
            word = "in" if unknown else "exists"
            return f"{_relation(left)}\n{name}: {word} where {pairs or 'same unit'}\n{_inner(right)}"
        case Trim(child, rows):
            return f"{_relation(child)}\nat most {rows} rows per unit"


def _named(columns: tuple[tuple[str, Expr], ...]) -> str:
    return ", ".join(f"{name} = {_expression(expr)}" for name, expr in columns)


def _inner(relation: Relation) -> str:
    return "\n".join(f"  {line}" for line in _relation(relation).split("\n"))


def _expression(expr: Expr) -> str:
    match expr:
        case Ref(name):
            return '"' + name.replace('"', '""') + '"'
        case KeyRef() | AggregateRef() | GroupingRef():
            return canonical(expr)
        case Literal(value, facts):
            return f"{facts.type.value}:{value!r}"
        case Call(function, args):
            return f"{function}({', '.join(map(_expression, args))})"


def _strategy(strategy: Strategy) -> str:
    blocks = [f"{b.of}: {' x '.join(one.identity for one in b.maps)} at {b.weight}" for b in strategy.blocks]
    return "\n".join(blocks)


def _series(series: SparseVector | None) -> str:
    if series is None:
        return "None"
    return (
        f"SparseVector(sensitivity={series.sensitivity!r}, epsilon={series.epsilon!r}, threshold={series.threshold!r}, "
        f"first={series.first!r}, monotone={series.monotone!r})"
    )


def _noise(noise: Additive | Ladder) -> str:
    match noise:
        case DiscreteLaplace(sensitivity, scale):
            return f"DiscreteLaplace(sensitivity={sensitivity!r}, scale={scale!r})"
        case DiscreteGaussian(squared, sigma_squared):
            return f"DiscreteGaussian(sensitivity_squared={squared!r}, sigma_squared={sigma_squared!r})"
        case Ladder(scale, top, step):
            return f"Ladder(scale={scale!r}, top={top!r}, step={step!r})"
        case _:
            return noise.name
