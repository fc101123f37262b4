"""GROUP BY: keys, and the sets of them that ROLLUP, CUBE and GROUPING SETS stand for."""

from __future__ import annotations

import itertools

from sqlglot import expressions as exp

from obverse.sql.parse import refuse

SETS_MAX, KEYS_MAX = 64, 64
FORMS = ("rollup", "cube", "grouping_sets")
Nodes = tuple[exp.Expression, ...]


def grouping(group: exp.Group) -> tuple[list[exp.Expression], list[tuple[int, ...]]]:
    """The keys that GROUP BY names, each once, and the sets, as places among them. Plain GROUP BY is one set of all."""
    if group.args.get("all") is not None:
        raise refuse("group_by_all")
    if group.args.get("totals"):
        raise refuse("grouping_sets", group, "WITH TOTALS")
    if len(group.expressions) > KEYS_MAX:
        raise refuse("key_size", group, f"{KEYS_MAX} keys, or their")
    parts: list[list[Nodes]] = []
    for node in [*group.expressions, *(n for form in FORMS for n in group.args.get(form) or ())]:
        parts.append(_sets(node))
    found = [tuple(itertools.chain(*chosen)) for chosen in itertools.product(*parts)]
    if len(found) > SETS_MAX:
        raise refuse("key_size", group, f"{SETS_MAX} grouping sets")
    keys: dict[str, exp.Expression] = {}
    for chosen in found:
        for node in chosen:
            keys.setdefault(node.sql(dialect="duckdb"), node)
    order = list(keys)
    places = [tuple(sorted({order.index(node.sql(dialect="duckdb")) for node in chosen})) for chosen in found]
    return list(keys.values()), places


def _rollup(node: exp.Expression) -> list[Nodes]:
    """All, then one less from the right each time."""
    items = [_items(part) for part in node.expressions]
    if not items:
        raise refuse("grouping_sets", node, "WITH ROLLUP")
    return [tuple(itertools.chain(*items[:n])) for n in range(len(items), -1, -1)]


def _cube(node: exp.Expression) -> list[Nodes]:
    items = [_items(part) for part in node.expressions]
    if not items:
        raise refuse("grouping_sets", node, "WITH CUBE")
    if 2 ** len(items) > SETS_MAX:
        raise refuse("key_size", node, f"{SETS_MAX} grouping sets")
    chosen = itertools.product((True, False), repeat=len(items))
    return [tuple(itertools.chain(*(item for item, there in zip(items, mask) if there))) for mask in chosen]


def _sets(node: exp.Expression) -> list[Nodes]:
    if isinstance(node, exp.Rollup):
        return _rollup(node)
    if isinstance(node, exp.Cube):
        return _cube(node)
    if isinstance(node, exp.GroupingSets):
        return [chosen for part in node.expressions for chosen in _sets(part)]
    return [_items(node)]


def _items(node: exp.Expression) -> Nodes:
    """One expression, or several in parentheses."""
    if isinstance(node, exp.Tuple):
        return tuple(node.expressions)
    return (node.this,) if isinstance(node, exp.Paren) else (node,)
