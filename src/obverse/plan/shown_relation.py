"""A relation as stable text, from its tables upwards: for people, and for the fingerprint of a question."""

from __future__ import annotations

from obverse.plan.expressions import Expr, canonical
from obverse.plan.nodes import Filter, Join, Listed, Map, Mark, Reduce, Relation, Scan, Trim, Union


def relation_text(relation: Relation) -> str:
    match relation:
        case Scan(table):
            return f"scan {table}"
        case Listed(columns, rows):
            return f"listed {', '.join(f'{name!r} {kind.value}' for name, kind in columns)}: {rows!r}"
        case Filter(child, predicate):
            return f"{relation_text(child)}\nfilter {canonical(predicate)}"
        case Map(child, columns):
            return f"{relation_text(child)}\nmap {_named(columns)}"
        case Join(left, right, kind, on):
            terms = " and ".join(canonical(term) for term in on)
            return f"{relation_text(left)}\n{kind.value} join on {terms or 'the unit'}\n{_inner(right)}"
        case Union(children):
            return "union all\n" + "\n".join(_inner(child) for child in children)
        case Reduce(child, keys, folds):
            found = [f"{f.name}: {f.kind}({'*' if f.expr is None else canonical(f.expr)}) up to {f.rows} rows" for f in folds]
            also = f" and {_named(keys)}" if keys else ""
            return f"{relation_text(child)}\nper unit{also}: {', '.join(found) or 'one row'}"
        case Mark(left, right, on, name, unknown):
            pairs = " and ".join(f"{canonical(a)} = {canonical(b)}" for a, b in on)
            word = "in" if unknown else "exists"
            return f"{relation_text(left)}\n{name}: {word} where {pairs or 'same unit'}\n{_inner(right)}"
        case Trim(child, rows):
            return f"{relation_text(child)}\nat most {rows} rows per unit"


def _named(columns: tuple[tuple[str, Expr], ...]) -> str:
    return ", ".join(f"{name} = {canonical(expr)}" for name, expr in columns)


def _inner(relation: Relation) -> str:
    return "\n".join(f"  {line}" for line in relation_text(relation).split("\n"))
