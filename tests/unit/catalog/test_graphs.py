"""[graphs.NAME]: alone in its project, with a public list of who may be in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from obverse.catalog.identity import fingerprint
from obverse.catalog.keys import json_schema
from obverse.catalog.load import loads
from obverse.core.errors import CatalogError
from obverse.core.units import Neighbours

TOML = """\
[project]
name = "friends"
[budget]
epsilon = 4
[tables.people]
source = "people.csv"
public = true
[graphs.friends]
edges = "friends.csv"
nodes = "people.id"
unit = "{unit}"
{more}
"""


def code_of(text: str) -> str:
    with pytest.raises(CatalogError) as refused:
        loads(text, Path("/nowhere"))
    return refused.value.code


@pytest.mark.parametrize("unit", ["edge", "node"])
def test_a_network_is_the_one_protected_part_of_its_project(unit: str) -> None:
    catalog = loads(TOML.format(unit=unit, more="degree = 50"), Path("/nowhere"))
    graph = catalog.graphs["friends"]
    assert (graph.ends, graph.nodes, graph.unit, graph.degree) == (("from", "to"), ("people", "id"), unit, 50)
    assert catalog.unit is not None
    assert catalog.neighbours is Neighbours.ADD_REMOVE
    words = {"edge": "that two people are connected", "node": "that a person is present at all"}
    assert words[unit] in catalog.unit.words
    assert set(catalog.tables) == {"people"}  # what SQL can reach
    assert [table.name for table in catalog.held] == ["people", "friends"]


def test_what_is_declared_of_a_network_is_a_fact_that_answers_hang_on() -> None:
    told = ("", "degree = 50", "degree = 51", "listed = true", 'ends = ["a", "b"]')
    found = [fingerprint(loads(TOML.format(unit="node", more=more), Path("/nowhere"))) for more in told]
    found.append(fingerprint(loads(TOML.format(unit="edge", more=""), Path("/nowhere"))))
    assert len(set(found)) == len(found)


def test_editors_know_it() -> None:
    assert "unit" in json_schema()["properties"]["graphs"]["additionalProperties"]["properties"]


PRIVATE = '[tables.rows]\nsource = "rows.csv"\nunit = "row"\n'
SECOND = '[graphs.other]\nedges = "other.csv"\nnodes = "people.id"\nunit = "edge"\n'


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (TOML.format(unit="edge", more=PRIVATE), "two_units"),
        (TOML.format(unit="edge", more=SECOND), "two_units"),
        (TOML.format(unit="edge", more="listed = true"), "conflict"),
        (TOML.format(unit="edge", more='[privacy]\nneighbours = "replace"'), "conflict"),
        (TOML.format(unit="edge", more='[engine]\nkind = "spark"'), "conflict"),
        (TOML.format(unit="person", more=""), "bad_choice"),
        (TOML.format(unit="edge", more='ends = ["a"]'), "bad_values"),
        (TOML.format(unit="edge", more='ends = ["a", "A"]'), "bad_values"),
        (TOML.format(unit="edge", more="").replace("people.id", "people"), "bad_values"),
        (TOML.format(unit="edge", more="").replace("people.id", "others.id"), "bad_values"),
        (TOML.format(unit="edge", more="").replace("public = true", 'unit = "row"'), "two_units"),
        (TOML.format(unit="edge", more="").replace("friends.csv", "people.csv"), "bad_values"),
        (TOML.format(unit="edge", more="").replace("graphs.friends", "graphs.People"), "name_twice"),
        (TOML.format(unit="edge", more="").replace("[budget]\nepsilon = 4\n", ""), "missing_key"),
        (TOML.format(unit="edge", more="degree = 0"), "bad_parameter"),
    ],
)  # fmt: skip
def test_what_cannot_be_promised_is_refused(text: str, code: str) -> None:
    assert code_of(text) == code
