"""The [graphs.NAME] of obverse.toml: a social network, what of it is protected, and the public list of who may be in
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from obverse.catalog.locate import Document, Place
from obverse.catalog.model import Catalog, Column, Network, Table
from obverse.catalog.tables import source_of
from obverse.core.errors import CatalogError
from obverse.core.types import Type
from obverse.core.units import KeyPath, Neighbours, PrivacyUnit

ENDS = ("from", "to")


def network(name: str, raw: dict[str, Any], root: Path, document: Document, engine: str) -> Network:
    path = ("graphs", name)
    ends = tuple(raw.get("ends", ENDS))
    if len(ends) != 2 or ends[0].lower() == ends[1].lower():
        message = "an edge has two ends, in two columns"
        raise document.error("bad_values", (*path, "ends"), message, fix='Write ends = ["from", "to"].')
    where, dot, column = raw["nodes"].partition(".")
    if not dot or not where or not column:
        message = "nodes are listed by a column of a public table"
        raise document.error("bad_values", (*path, "nodes"), message, fix='Write nodes = "people.id".')
    if raw.get("listed", False) and raw["unit"] == "edge":
        why = "Under the unit edge everybody of the public list is a node, and who has no edge is not told apart."
        fix = 'Remove it, or write unit = "node".'
        raise document.error("conflict", (*path, "listed"), "listed goes with the unit node", why=why, fix=fix)
    source = source_of(raw["edges"], raw, root, path, document, engine, "edges")
    columns = {end: Column(end, Type.TEXT) for end in ends}  # their type is that of the nodes, once it is known
    table = Table(name, source, columns, KeyPath(name, None))
    return Network(
        name, table, (ends[0], ends[1]), (where, column), raw["unit"], raw.get("degree"), raw.get("listed", False)
    )


def network_unit(graphs: Mapping[str, Network], neighbours: Neighbours) -> PrivacyUnit | None:
    """The protected entity of a project of a network."""
    for graph in graphs.values():
        return PrivacyUnit(graph.name, None, (), neighbours, graph=graph.unit)
    return None


def network_problems(catalog: Catalog, place: Place) -> Iterator[CatalogError]:
    """A network is alone in its project, and who may be in it is public."""
    for graph in catalog.graphs.values():
        where = place(("graphs", graph.name))
        private = [table.name for table in catalog.tables.values() if not table.public]
        if private or len(catalog.graphs) > 1:
            message = f"{graph.name!r} is not the only private part of this project"
            why = "An edge belongs to two people, so losses about edges and about rows do not add up to a statement."
            yield CatalogError("two_units", message, why=why, fix="Make a project of its own for it.", place=where)
        if catalog.neighbours is not Neighbours.ADD_REMOVE:
            message = "neighbours of a network have one edge or one person more"
            fix = 'Remove `neighbours = "replace"`.'
            yield CatalogError("conflict", message, fix=fix, place=place(("privacy", "neighbours")))
        if catalog.engine["kind"] != "duckdb":
            message = "networks are read by duckdb"
            yield CatalogError("conflict", message, fix="Remove [engine].", place=place(("engine", "kind")))
        listing = catalog.tables.get(graph.nodes[0])
        if listing is None or not listing.public:
            message = f"{graph.nodes[0]!r} is no public table"
            why = "A list of exactly the people of the network would tell who is in it."
            fix = "Declare a table of everybody who may be in it, from elsewhere, with public = true."
            yield CatalogError("bad_values", message, why=why, fix=fix, place=place(("graphs", graph.name, "nodes")))
        elif graph.table.source.kind != "object" and listing.source.path == graph.table.source.path:
            message = "the list of nodes is the file of edges"
            fix = "Name a list that was made without looking at the network."
            yield CatalogError("bad_values", message, fix=fix, place=place(("graphs", graph.name, "nodes")))
