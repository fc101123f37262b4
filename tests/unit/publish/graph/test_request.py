"""Networks published: one debit before any edge is read, a folder that checks itself, objects of networkx and
igraph.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import obverse
from obverse.cli.main import cli
from obverse.core.errors import BudgetExceeded, ObverseError, Refused
from obverse.plan.strategy.graph.network import graph_of
from obverse.publish.folder.check import check
from obverse.publish.graph.method import summary
from obverse.publish.graph.request import GraphRelease, Wished, graph_release, measure, publish_graph
from obverse.publish.graph.tables import Measured
from obverse.session.execution import Asked
from obverse.session.rehearsal import rehearsal
from obverse.testing.noiseless import noiseless, noiseless_gateway
from obverse.testing.spies import spy_on
from tests.unit.publish.graph.networks_made import EDGES, PEOPLE, network, project
from tests.unit.publish.published import held, rows

STATS = ("edges", "people", "degrees", "mixing:party", "triangles", "spread:party")
ARGS = ["publish", "graph", "friends", "--stats", ",".join(STATS)]


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One release under a promise, of which tests take copies."""
    folder = tmp_path_factory.mktemp("once")
    with obverse.open(project(folder / "p", more="degree = 40")) as session:
        publish_graph(session, graph_release(session, Wished("friends", (*STATS[:-2], "spread:party"))), folder / "r")
    return folder / "r"


@pytest.fixture
def out(once: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(once, tmp_path / "r"))


def test_all_statistics_are_one_debit_reserved_before_the_edges_are_read(tmp_path: Path) -> None:
    with obverse.open(project(tmp_path / "p")) as session:
        log = spy_on(session)
        made = graph_release(session, Wished("friends", STATS), Fraction(3, 2))
        assert "run" not in log.events
        assert "reserve" not in log.events
        done = publish_graph(session, made, tmp_path / "r")
        assert [event for event in log.events if event != "run_public"] == ["reserve", "run", "settle"]
        assert session.ledger.spent().amount == Fraction(3, 2)
        again = publish_graph(
            session, graph_release(session, Wished("friends", STATS), Fraction(3, 2)), tmp_path / "again"
        )
        assert again.receipted.stored
        assert not done.receipted.stored
        assert session.ledger.spent().amount == Fraction(3, 2)
        same = [(a == b).all() for a, b in zip(done.measured.values or (), again.measured.values or ())]
        assert len(same) == len(made.plan.parts)
        assert all(same)
        assert (tmp_path / "r/data/spread-party.csv").read_text() == (
            tmp_path / "again/data/spread-party.csv"
        ).read_text()


def test_the_budget_is_never_exceeded_and_what_does_not_fit_reads_nothing(tmp_path: Path) -> None:
    with obverse.open(project(tmp_path / "p")) as session:
        for epsilon in (Fraction(3), Fraction(2)):
            measure(session, graph_release(session, Wished("friends", ("edges",)), epsilon))
        log = spy_on(session)
        with pytest.raises(BudgetExceeded):
            measure(session, graph_release(session, Wished("friends", ("people",)), Fraction(1, 10**6)))
        assert "run" not in log.events
        assert session.ledger.spent().amount == 5


def test_another_price_cap_share_or_promise_is_another_release(tmp_path: Path) -> None:
    with obverse.open(project(tmp_path / "p", "node", "degree = 40")) as session:
        wishes = [
            Wished("friends", ("edges",)),
            Wished("friends", ("edges",), cap=7),
            Wished("friends", ("people",)),
            Wished("friends", ("edges", "people")),
            Wished("friends", ("edges", "people"), shares={"edges": Fraction(3)}),
        ]
        for n, wish in enumerate(wishes):
            _, receipted = measure(session, graph_release(session, wish, Fraction(1, 2)))
            assert not receipted.stored
            assert session.ledger.spent().amount == Fraction(n + 1, 2)


def test_sql_never_reaches_a_network(tmp_path: Path) -> None:
    with obverse.open(project(tmp_path / "p")) as session:
        for sql in ("SELECT COUNT(*) FROM friends", 'SELECT COUNT(*) FROM "friends"', "SELECT * FROM people, friends"):
            with pytest.raises(ObverseError) as refused:
                session.ask(sql)
            assert not refused.value.charged
        assert session.ledger.spent().amount == 0
        assert session.ask("SELECT COUNT(*) FROM people").value == PEOPLE
        assert [table.name for table in session.tables()] == ["people"]


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
@pytest.mark.parametrize(
    ("unit", "more"), [("edge", ""), ("edge", "degree = 40"), ("node", "degree = 40\nlisted = true")]
)
def test_a_release_is_complete_and_holds(tmp_path: Path, accounting: str, unit: str, more: str) -> None:
    where = project(tmp_path / "p", unit, more, accounting, own="listed" in more)
    with obverse.open(where) as session:
        publish_graph(session, graph_release(session, Wished("friends", STATS)), tmp_path / "r")
    out = tmp_path / "r"
    files = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    tables = ("summary", "degrees-party", "mixing-party", "spread-party")
    assert {f"data/{name}.{end}" for name in tables for end in ("csv", "parquet")} <= files
    assert {"errors.csv", "metadata.json", "statement.md", "statement.html", "verify.json"} <= files
    assert len([name for name in files if name.startswith("plots/")]) == 3
    assert held(out) == dict.fromkeys(("sizes", "price", "tables", "counts", "statement", "complete", "files"), True)
    statement = (out / "statement.md").read_text()
    words = {"edge": "That two people are connected is hidden", "node": "That a person is present at all is hidden"}
    assert words[unit] in statement
    assert words["node" if unit == "edge" else "edge"] not in statement
    claim = json.loads((out / "metadata.json").read_text())["claim"]
    for text in (statement, claim["sentence"] + claim["limits"]):
        assert ("nobody has more than 40 connections, which the curator promises" in text) is ("degree" in more)
    for words_ in ("What an attacker still learns", "Ledger entry", "epsilon 2", "160 people"):
        assert words_ in statement
    assert "<script" not in (out / "statement.html").read_text()
    assert "http" not in (out / "statement.html").read_text()


def bare(session: obverse.Session, wish: Wished) -> tuple[GraphRelease, Measured]:
    """The release without its noise: what kernels count of what the engine reads."""
    made = graph_release(session, wish)
    facts = made.plan.facts
    graph = graph_of(session.engine.run(made.planned.sql, timeout_s=60).reveal(), facts)
    return made, Measured(facts, made.plan.parts, tuple(one.kernel.exact(graph, facts) for one in made.plan.parts))


def test_without_noise_every_table_is_the_truth(tmp_path: Path) -> None:
    with obverse.open(project(tmp_path / "p", "edge", "degree = 60")) as session:
        made, measured = bare(session, Wished("friends", (*STATS, "stars:2")))
    pairs = set(network())
    degrees = np.bincount(np.array(sorted(pairs)).ravel(), minlength=PEOPLE)
    rumours = made.method.rumours(measured)
    numbers = {line[0]: line[1] for line in summary(measured, rumours)}
    assert numbers["connections"] == len(pairs)
    assert numbers["people with a connection"] == np.count_nonzero(degrees)
    assert numbers["stars of 2 ends"] == sum(d * (d - 1) // 2 for d in degrees.tolist())
    alike = sum((a - b) % 2 == 0 for a, b in pairs) / len(pairs)
    assert abs(numbers["share of connections within the same party"] - alike) < 1e-9
    table = {sheet.name: sheet.columns for sheet in made.method.sheets(measured, rumours)}["degrees-party"]
    for party, degree, count in zip(table["party"], table["degree"], table["count"]):
        assert count == np.count_nonzero(degrees[(1 if party == "left" else 0) :: 2] == degree)
    assert rumours[0].model < 2 * numbers["triangles"]
    assert 3 < rumours[0].run.half().mean() < 30


def test_nothing_private_stands_outside_the_noise(tmp_path: Path) -> None:
    with obverse.open(project(tmp_path / "p")) as session:
        publish_graph(session, graph_release(session, Wished("friends", ("edges", "mixing:party"))), tmp_path / "r")
    secret = len(set(network()))
    for name in ("metadata.json", "verify.json", "errors.csv"):
        assert not re.search(rf"(?<![\da-f]){secret}(?![\da-f])", (tmp_path / "r" / name).read_text()), name


@pytest.mark.parametrize(
    ("file", "column", "caught"),
    [("data/mixing-party.csv", "count", "tables"), ("data/spread-party.csv", "share", "tables"),
     ("data/degrees-party.csv", "count", "tables"), ("measurements/01-edges.csv", "value", "tables"),
     ("errors.csv", "half_width", "tables")],
)  # fmt: skip
def test_a_changed_number_is_caught(out: Path, file: str, column: str, caught: str) -> None:
    changed = rows(out / file)
    changed[0][column] = (
        str(float(changed[0][column]) + 3) if "." in changed[0][column] else str(int(changed[0][column]) + 3)
    )
    with (out / file).open("w", encoding="utf-8", newline="") as written:
        writer = csv.DictWriter(written, list(changed[0]))
        writer.writeheader()
        writer.writerows(changed)
    now = held(out)
    assert not now[caught]
    assert not now["files"]


@pytest.mark.parametrize("spoil", ["price", "claim", "unit", "promise", "missing", "garbage", "noise", "people"])
def test_a_folder_that_claims_too_much_fails_or_is_refused(out: Path, spoil: str) -> None:
    path = out / "metadata.json"
    fields = json.loads(path.read_text())
    parts = {one["name"]: one for one in fields["parts"]}
    match spoil:
        case "price":
            parts["edges"]["parameter"] = str(Fraction(parts["edges"]["parameter"]) * Fraction(10**9 - 1, 10**9))
        case "claim":
            fields["claim"]["epsilon"] = str(float(fields["claim"]["epsilon"]) * 0.999)
        case "promise":
            fields["network"]["degree"] = 41
        case "unit":
            fields["network"]["unit"] = "node"
        case "noise":
            parts["edges"]["mechanism"] = "none"
        case "people":
            fields["network"]["attributes"]["party"]["people"][0] += 1
        case "missing":
            (out / "data/summary.csv").unlink()
    path.write_text(json.dumps(fields) if spoil != "garbage" else "{")
    if spoil in ("price", "claim", "promise"):
        assert not held(out)["price"]
        return
    with pytest.raises(Refused) as refused:
        check(out)
    assert refused.value.code == ("no_degree_cap" if spoil == "unit" else "bad_release")


def test_a_ladder_that_is_steeper_than_it_claims_is_caught(tmp_path: Path) -> None:
    with obverse.open(project(tmp_path / "p")) as session:
        publish_graph(session, graph_release(session, Wished("friends", ("triangles",))), tmp_path / "r")
    path = tmp_path / "r/metadata.json"
    fields = json.loads(path.read_text())
    assert fields["parts"][0]["mechanism"] == "ladder"
    fields["parts"][0]["parameter"] = str(Fraction(fields["parts"][0]["parameter"]) / 2)
    path.write_text(json.dumps(fields))
    assert not held(tmp_path / "r")["price"]


# -- who is in the network


def test_who_is_listed_is_in_the_network_and_edges_of_others_do_not_count(tmp_path: Path) -> None:
    for own, people in ((True, 130), (False, 0)):
        with obverse.open(project(tmp_path / f"p{own}", "node", "degree = 40\nlisted = true", own=own)) as session:
            _, measured = bare(session, Wished("friends", ("people", "edges")))
        assert measured.of("people").tolist() == [people]
        assert measured.of("edges").tolist() == [len(set(network())) if own else 0]


class Nx:
    """What networkx has, as far as it is used."""

    adj: dict[Any, Any] = {}

    def number_of_edges(self) -> int:
        return EDGES

    def edges(self) -> list[tuple[str, str]]:
        return [(f"p{a}", f"p{b}") for a, b in network()]

    def nodes(self) -> list[str]:
        return [f"p{n}" for n in range(125)]


def networkx_graph() -> Any:
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_nodes_from(Nx().nodes())
    graph.add_edges_from(Nx().edges())
    return graph


def igraph_graph() -> Any:
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph(n=125)
    graph.vs["name"] = Nx().nodes()
    graph.add_edges(network())
    return graph


def frame() -> Any:
    pandas = pytest.importorskip("pandas")
    ends = [(*edge,) for edge in Nx().edges()] + [(node, None) for node in Nx().nodes()]
    return pandas.DataFrame(ends, columns=["from", "to"])


@pytest.mark.parametrize("made", [Nx, networkx_graph, igraph_graph, frame])
@pytest.mark.parametrize("unit", ["edge", "node"])
def test_objects_are_read_as_files_are(tmp_path: Path, made: Callable[[], Any], unit: str) -> None:
    more = "degree = 40\nlisted = true" if unit == "node" else ""
    with obverse.open(project(tmp_path / "p", unit, more, edges="python"), tables={"friends": made()}) as session:
        _, measured = bare(session, Wished("friends", ("edges", "people")))
    assert measured.of("edges").tolist() == [len(set(network()))]
    expected = 125 if unit == "node" else len({end for edge in network() for end in edge})
    assert measured.of("people").tolist() == [expected]


def test_numbers_in_texts_are_people_by_the_type_of_the_public_list(tmp_path: Path) -> None:
    where = project(tmp_path / "p")
    (where / "people.csv").write_text("id,party,age\n1,a,1\n2,b,1\n3,b,2\n")
    (where / "friends.csv").write_text("from,to\n01,2\n2,1\n2, 3\nx,1\n3,\n")
    with obverse.open(where) as session:
        _, measured = bare(session, Wished("friends", ("edges",)))
    assert measured.of("edges").tolist() == [2]


# -- the same file


def test_a_file_of_edges_is_one_dataset_whatever_project_asks_for_it(tmp_path: Path) -> None:
    with obverse.open(project(tmp_path / "p")) as session:
        measure(session, graph_release(session, Wished("friends", ("edges",)), Fraction(4)))
    other = project(tmp_path / "q")
    (other / "friends.csv").write_bytes((tmp_path / "p/friends.csv").read_bytes())
    with obverse.open(other) as session:
        assert session.ledger.spent().amount == 4
        with pytest.raises(BudgetExceeded):
            measure(session, graph_release(session, Wished("friends", ("people",)), Fraction(2)))


@pytest.mark.parametrize("change", ["unit", "rows", "public"])
def test_the_same_edges_are_not_another_unit_rows_of_a_table_or_public(tmp_path: Path, change: str) -> None:
    where = project(tmp_path / "p")
    obverse.open(where).close()
    text = (where / "obverse.toml").read_text()
    if change == "unit":
        text = text.replace('unit = "edge"', 'unit = "node"')
    else:
        more = 'unit = "row"' if change == "rows" else "public = true"
        text = text[: text.index("[graphs")] + f'[tables.friends]\nsource = "friends.csv"\n{more}\n'
    (where / "obverse.toml").write_text(text)
    with pytest.raises(ObverseError) as refused:
        obverse.open(where)
    assert not refused.value.charged
    assert refused.value.code == ("public_is_private" if change == "public" else "terms_conflict")


# -- refusals


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(ObverseError) as refused:
        call()
    assert not refused.value.charged
    return refused.value.code


def test_an_attribute_that_was_forgotten_is_asked_for_and_none_is_denied(tmp_path: Path) -> None:
    with obverse.open(project(tmp_path / "p")) as session, pytest.raises(Refused) as refused:
        graph_release(session, Wished("friends", ("mixing",)))
    assert refused.value.code == "bad_statistic"
    assert "none" not in refused.value.fix


@pytest.mark.parametrize(
    ("wish", "code"),
    [
        (Wished("freinds", ("edges",)), "no_such_graph"),
        (Wished("friends", ()), "bad_statistic"),
        (Wished("friends", ("edges", "edges")), "bad_statistic"),
        (Wished("friends", ("spread",)), "bad_statistic"),
        (Wished("friends", ("mixing:colour",)), "no_such_attribute"),
        (Wished("friends", ("mixing:id",)), "no_such_attribute"),
        (Wished("friends", ("edges",), cap=3), "bad_parameter"),
        (Wished("friends", ("edges",), tell=Fraction(2)), "bad_parameter"),
        (Wished("friends", ("edges",), shares={"people": Fraction(1)}), "bad_shares"),
        (Wished("friends", ("stars:3",)), "no_degree_promise"),
    ],
)
def test_what_cannot_be_published_is_refused_for_nothing(tmp_path: Path, wish: Wished, code: str) -> None:
    with obverse.open(project(tmp_path / "p")) as session:
        assert code_of(lambda: graph_release(session, wish)) == code


def test_a_network_of_people_whose_list_is_past_its_last_day_is_not_published(tmp_path: Path) -> None:
    folder = project(tmp_path / "p")
    told = (folder / "obverse.toml").read_text()
    (folder / "obverse.toml").write_text(told.replace("public = true", "public = true\nretain_until = 2020-01-31"))
    with obverse.open(folder) as session, pytest.raises(Refused) as refused:
        graph_release(session, Wished("friends", ("edges",)))
    assert refused.value.code == "retention_over"


def test_nodes_are_released_only_with_a_cap_or_a_promise(tmp_path: Path) -> None:
    with obverse.open(project(tmp_path / "p", "node")) as session:
        for stat, code in (
            ("degrees", "no_degree_cap"),
            ("edges", "no_degree_cap"),
            ("people", "no_degree_cap"),
            ("triangles", "no_degree_promise"),
            ("mixing:party", "no_degree_promise"),
            ("spread:party", "no_degree_promise"),
        ):
            assert code_of(lambda stat=stat: graph_release(session, Wished("friends", (stat,)))) == code  # type: ignore[misc]
        graph_release(session, Wished("friends", ("degrees", "edges", "people"), cap=10))


def test_an_attribute_of_too_many_values_and_a_list_with_somebody_twice_are_refused(tmp_path: Path) -> None:
    where = project(tmp_path / "p")
    with (where / "people.csv").open("a") as file:
        file.writelines(f"q{n},left,{1000 + n}\n" for n in range(100))
    with obverse.open(where) as session:
        assert code_of(lambda: graph_release(session, Wished("friends", ("mixing:age",)))) == "release_too_wide"
    with (where / "people.csv").open("a") as file:
        file.write("p1,left,1\n")
    with obverse.open(where) as session:
        assert code_of(lambda: graph_release(session, Wished("friends", ("edges",)))) == "bad_nodes"


@pytest.mark.parametrize(("old", "new", "code"), [
    ('nodes = "people.id"', 'nodes = "people.name"', "unit_type"),
    ('unit = "edge"', 'unit = "edge"\nends = ["a", "b"]', "column_missing"),
    ("friends.csv", "enemies.csv", "source_missing"),
])  # fmt: skip
def test_what_the_files_do_not_hold_is_refused(tmp_path: Path, old: str, new: str, code: str) -> None:
    where = project(tmp_path / "p")
    (where / "obverse.toml").write_text((where / "obverse.toml").read_text().replace(old, new))
    assert code_of(lambda: obverse.open(where)) == code


def test_a_network_is_never_released_without_noise(tmp_path: Path) -> None:
    where = project(tmp_path / "p")
    assert code_of(lambda: noiseless(where)) == "not_synthetic"
    with obverse.open(where) as session:
        made = graph_release(session, Wished("friends", ("edges",)))
        door = noiseless_gateway(session.catalog, lambda planned: planned)
        asked = Asked(made.plan, made.planned.sql, lambda finished, receipt: b"")
        assert code_of(lambda: door((asked,), None)) == "no_noiseless_graph"  # type: ignore[arg-type]


def test_a_rehearsal_neither_opens_nor_releases_a_network(tmp_path: Path) -> None:
    where = project(tmp_path / "p")
    (where / "friends.csv").unlink()
    assert obverse.rehearse(where, "SELECT COUNT(*) FROM people").value == PEOPLE
    with rehearsal(where) as session:
        assert code_of(lambda: graph_release(session, Wished("friends", ("edges",)))) == "no_such_graph"


# -- the command


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, args)


def test_the_command_plans_for_nothing_publishes_and_checks(tmp_path: Path) -> None:
    where = str(project(tmp_path / "p", "node", "degree = 40"))
    planned = run(*ARGS, "-p", where, "--plan", "--json")
    assert planned.exit_code == 0, planned.output
    plan = json.loads(planned.stdout)
    assert "nobody has more than 40 connections" in plan["rests_on"]
    out = str(tmp_path / "r")
    made = run(*ARGS, "-p", where, "--out", out, "--share", "mixing:party=2", "--json")
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["spread"][0]["model"] in ("fits", "does not fit", "cannot be told")
    assert run("publish", "check", out).stdout.count("Holds") == 7
    checked = run("check", "-p", where)
    assert checked.exit_code == 0
    said = " ".join(checked.stdout.split())
    assert "friends: protects one node of friends" in said
    assert "that someone is in the network" in said
    assert "someone's value" not in said, "a network has no values, and claims of its releases say none"
    assert run("budget", "-p", where).exit_code == 0


def test_a_ladder_and_its_reach_are_one_measurement_and_the_quote_and_the_claim_say_so(tmp_path: Path) -> None:
    where = str(project(tmp_path / "p"))
    out = str(tmp_path / "r")
    args = ["publish", "graph", "friends", "--stats", "triangles,most_shared", "-p", where]
    plan = json.loads(run(*args, "--plan", "--json").stdout)
    assert [(one["name"], one["serves"]) for one in plan["measured"]] == [
        ("triangles", ""),
        ("most_shared", "triangles"),
    ]
    once = "most_shared is measured and paid once, for itself and for the interval of triangles"
    assert once in plan["rests_on"]
    assert once in " ".join(run(*args, "--plan").stdout.split())
    made = run(*args, "--out", out, "--json")
    assert made.exit_code == 0, made.output
    assert once in json.loads(made.stdout)["claim"]["limits"]
    assert sorted(path.stem for path in Path(out, "measurements").glob("*.csv")) == ["01-triangles", "02-most-shared"]
    assert run("publish", "check", out).stdout.count("Holds") == 7


def test_the_command_prints_for_people(tmp_path: Path) -> None:
    where = str(project(tmp_path / "p"))
    planned = run(*ARGS, "-p", where, "--plan")
    assert "no edge was read" in planned.stdout
    assert "by the network" in planned.stdout
    made = run(*ARGS, "-p", where, "--out", str(tmp_path / "r"))
    assert "all 6 hold" in made.stdout
    assert "the same release was stored" in run(*ARGS, "-p", where, "--out", str(tmp_path / "again")).stdout


@pytest.mark.parametrize("args", [[], ["--plan", "--out", "x"], ["--plan", "--share", "edges"]])
def test_a_command_that_cannot_be_meant_is_a_usage_error(tmp_path: Path, args: list[str]) -> None:
    assert run(*ARGS, *args, "-p", str(project(tmp_path / "p"))).exit_code == 2
