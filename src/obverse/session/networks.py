"""Networks of a project: their ends completed from the source, objects of networkx and igraph handed over, rows as
numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from obverse.catalog.check import within_policy
from obverse.catalog.complete import unit_type_of
from obverse.catalog.keys import suggestion
from obverse.catalog.locate import Place
from obverse.catalog.model import Catalog, Network
from obverse.core.engine import Engine
from obverse.core.errors import CatalogError, Refused
from obverse.core.types import Type
from obverse.plan.dialects import DIALECTS
from obverse.plan.emit.expressions import enforced
from obverse.session.authorization import today

PUBLIC_S = 600.0


def handed_over(catalog: Catalog, objects: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The objects as the engine takes them: a network as its edges, and everybody in it as a row of their own."""
    given = dict(objects or {})
    for graph in catalog.graphs.values():
        if graph.table.source.kind == "object" and graph.name in given:
            given[graph.name] = edge_rows(given[graph.name], graph.ends)
    return given if objects is not None else None


def edge_rows(found: Any, ends: tuple[str, str]) -> Any:
    """A networkx or igraph graph as two columns; anything else, such as a data frame, as it is.

    Attributes stay behind.
    """
    if hasattr(found, "get_edgelist") and hasattr(found, "vs"):  # igraph
        names = found.vs["name"] if "name" in found.vs.attributes() else list(range(found.vcount()))
        pairs = [(names[a], names[b]) for a, b in found.get_edgelist()]
        return _two_columns(pairs, names, ends)
    if hasattr(found, "adj") and hasattr(found, "number_of_edges"):  # networkx
        return _two_columns([edge[:2] for edge in found.edges()], list(found.nodes()), ends)
    return found


def _two_columns(pairs: list[tuple[Any, Any]], names: list[Any], ends: tuple[str, str]) -> dict[str, Any]:
    """As texts: what a person is called is compared with the public list by its type there."""
    columns = [*zip(*pairs)] if pairs else [(), ()]
    first = np.empty(len(pairs) + len(names), dtype=object)
    second = np.empty(len(pairs) + len(names), dtype=object)
    first[:] = [str(name) for name in (*columns[0], *names)]
    second[:] = [*(str(name) for name in columns[1]), *(None for _ in names)]
    return {ends[0]: first, ends[1]: second}


def with_networks(catalog: Catalog, engine: Engine, place: Place) -> Catalog:
    """The catalog whose networks' ends exist in their source and have the type of the public list of nodes."""
    graphs = {}
    for name, graph in catalog.graphs.items():
        schema = engine.schema(name)
        listing = catalog.tables[graph.nodes[0]]
        for end in graph.ends:
            if end not in schema:
                where = place(("graphs", name, "ends"))
                message = f"the edges of {name!r} have no column {end!r}"
                raise CatalogError("column_missing", message, fix=suggestion(end, schema), place=where)
        column = listing.columns.get(graph.nodes[1])
        kind = None if column is None else (column.type if column.type in (Type.INTEGER, Type.TEXT) else None)
        if column is None or kind is None or unit_type_of(engine.schema(listing.name)[graph.nodes[1]]) is None:
            where = place(("graphs", name, "nodes"))
            message = f"{'.'.join(graph.nodes)} is no column of integers or texts"
            raise CatalogError("unit_type", message, fix="Name the column that tells people apart.", place=where)
        ends = {end: replace(graph.table.columns[end], type=kind, stored=schema[end]) for end in graph.ends}
        graphs[name] = replace(graph, table=replace(graph.table, columns=ends))
    return replace(catalog, graphs=graphs)


@dataclass(frozen=True, slots=True)
class Listed:
    """The public list of a network's nodes: the value of each wanted attribute for each of the people, in their
    order.
    """

    people: int
    attributes: Mapping[str, tuple[Any, ...]]


def listed(catalog: Catalog, graph: Network, engine: Engine, attributes: tuple[str, ...]) -> Listed:
    """Read from the public table; people are numbered in the order of what tells them apart."""
    d = DIALECTS[engine.dialect]
    table = catalog.tables[graph.nodes[0]]
    within_policy([table.name], catalog, today())
    for name in attributes:
        if name not in table.columns or table.columns[name].hidden or name == graph.nodes[1]:
            usable = [c for c in table.columns if not table.columns[c].hidden and c != graph.nodes[1]]
            raise Refused(
                "no_such_attribute", f"{table.name!r} has no attribute {name!r}.", fix=suggestion(name, usable)
            )
    told = ", ".join(["p.k", *(f"p.{d.identifier(f'a{n}')}" for n in range(len(attributes)))])
    rows = engine.run_public(
        f"SELECT {told} FROM ({_numbered(catalog, graph, engine, attributes)}) AS p ORDER BY p.k", timeout_s=PUBLIC_S
    ).rows
    people = _numbered(catalog, graph, engine)
    twice = engine.run_public(f"SELECT COUNT(*) - COUNT(DISTINCT p.id) FROM ({people}) AS p", timeout_s=PUBLIC_S).rows[
        0
    ][0]
    if twice != 0 or len(rows) < 2:
        raise Refused(
            "bad_nodes",
            f"{'.'.join(graph.nodes)} lists somebody twice, or fewer than two people.",
            fix="List everybody who may be in the network once.",
        )
    columns = list(zip(*rows))[1:]
    return Listed(len(rows), dict(zip(attributes, columns)))


def _numbered(catalog: Catalog, graph: Network, engine: Engine, attributes: tuple[str, ...] = ()) -> str:
    """Everybody of the public list with a number."""
    d = DIALECTS[engine.dialect]
    table = catalog.tables[graph.nodes[0]]
    key = enforced(table.columns[graph.nodes[1]], d)
    kept = "".join(
        f", {enforced(table.columns[name], d)} AS {d.identifier(f'a{n}')}" for n, name in enumerate(attributes)
    )
    inner = f"SELECT {key} AS id{kept} FROM {d.relation(table)} AS t"
    return (
        f"SELECT r.*, CAST(ROW_NUMBER() OVER (ORDER BY r.id) - 1 AS BIGINT) AS k FROM ({inner}) AS r WHERE r.id IS "
        "NOT NULL"
    )


def edges_sql(catalog: Catalog, graph: Network, engine: Engine) -> str:
    """Edges as pairs of people's numbers, and everybody's own row with -1: who is not on the list is not there."""
    d = DIALECTS[engine.dialect]
    ends = [enforced(graph.table.columns[end], d) for end in graph.ends]
    rows = f"SELECT {ends[0]} AS x, {ends[1]} AS y FROM {d.relation(graph.table)} AS t"
    people = _numbered(catalog, graph, engine)
    own = (
        " UNION ALL SELECT a.k AS u, CAST(-1 AS BIGINT) AS v FROM e JOIN p AS a ON e.x = a.id WHERE e.y IS NULL"
        if graph.listed
        else ""
    )
    return (
        f"WITH p AS ({people}), e AS ({rows}) "
        f"SELECT a.k AS u, b.k AS v FROM e JOIN p AS a ON e.x = a.id JOIN p AS b ON e.y = b.id{own}"
    )
