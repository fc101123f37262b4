"""A released network beside the exact one: exact numbers, recorded, for the curator alone, and never in the folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import obverse
from obverse.cli.main import cli
from obverse.core.errors import Refused
from obverse.plan.strategy.graph.pricing import weigh_graph
from obverse.publish.folder.check import check
from obverse.publish.graph.folder import opened_graph
from obverse.publish.graph.request import Wished, graph_release, publish_graph
from obverse.publish.report import network_truth, report
from tests.unit.publish.graph.networks_made import network, project

REASON = "a look before the press release"
STATS = ("edges", "degrees", "mixing:party", "triangles")


def released(folder: Path, unit: str = "edge", more: str = "", cap: int | None = None) -> tuple[Path, Path]:
    made = project(folder / "p", unit, more)
    out = folder / "r"
    with obverse.open(made) as session:
        stats = STATS if unit == "edge" else STATS[:2]
        publish_graph(session, graph_release(session, Wished("friends", stats, cap)), out)
    return made, out


def test_the_truth_is_exact_whatever_the_noise(tmp_path: Path) -> None:
    made, out = released(tmp_path)
    fields = json.loads((out / "metadata.json").read_text())
    method, measured = opened_graph(out, fields)
    with obverse.open(made) as session:
        exact = network_truth(session, fields, method, measured, "publish report", REASON)
        plan = weigh_graph(measured.facts, method.weights(), session.catalog.epsilon, session.catalog.delta, "pure")
    edges = {frozenset(edge) for edge in network()}
    told = {part.kernel.text: values for part, values in zip(plan.parts, exact, strict=True)}
    assert told["edges"].tolist() == [len(edges)]
    assert told["degrees"].sum() == 2 * len(edges)
    within = sum(a % 2 == b % 2 for a, b in map(sorted, edges))
    assert told["mixing:party"].sum() == len(edges)
    assert told["mixing:party"][[0, 2]].sum() == within


def test_what_a_cap_left_out_is_part_of_the_error(tmp_path: Path) -> None:
    """At most one connection of each counts, but the truth has all of them."""
    made, out = released(tmp_path, "node", cap=1)
    found = report(made, out, tmp_path / "internal.json", REASON)
    (line,) = [line for line in found.statistics if line.name.startswith("connections")]
    assert line.exact == len({frozenset(edge) for edge in network()})


def test_it_is_recorded_costs_nothing_and_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    made, out = released(tmp_path)
    before = check(out)
    with obverse.open(made) as session:
        spent = session.ledger.spent()
    found = report(made, out, tmp_path / "mine" / "internal.html", REASON)
    with obverse.open(made) as session:
        *_, last = session.ledger.entries()
        assert session.ledger.spent() == spent
    assert (last.kind, last.fields["what"], last.fields["reason"]) == ("custody", "publish report", REASON)
    assert (last.fields["table"], last.fields["columns"]) == ("friends", ["from", "to"])
    assert check(out) == before
    assert "INTERNAL: not for release" in found.out.read_text()
    assert found.out.stat().st_mode & 0o077 == 0
    assert [table.title for table in found.tables] == ["edges", "degrees", "mixing:party", "triangles", "most_shared"]
    for table in found.tables:
        assert table.largest < 20 * table.told + 1  # Laplace noise: e^-28 for each of 165 entries
        assert sum(band.cells for band in table.bands) == table.cells
    names = [line.name for line in found.statistics]
    assert "connections" in names
    assert "assortativity by party" in names


def test_a_report_in_a_release_without_a_reason_or_of_another_project_is_refused(tmp_path: Path) -> None:
    made, out = released(tmp_path)
    (tmp_path / "other").mkdir()
    other = project(tmp_path / "other" / "p")
    with (other / "friends.csv").open("a") as file:
        file.write("p0,p159\n")  # the same files would be the same data, and have the same ledger
    path = out / "metadata.json"
    fields = json.loads(path.read_text())
    for code, root, place, reason, told in (
        ("report_in_release", made, out / "data" / "in.html", REASON, fields),
        ("no_reason", made, tmp_path / "in.html", " ", fields),
        ("not_our_release", other, tmp_path / "in.html", REASON, fields),
        ("no_recipe", made, tmp_path / "in.html", REASON, fields | {"recipe": None}),
        (
            "project_changed",
            made,
            tmp_path / "in.html",
            REASON,
            fields | {"recipe": {"verb": "graph", "graph": "gone"}},
        ),
        (
            "project_changed",
            made,
            tmp_path / "in.html",
            REASON,
            fields | {"network": fields["network"] | {"degree": 50}},
        ),
        ("bad_release", made, tmp_path / "in.html", REASON, fields | {"network": None}),
    ):
        path.write_text(json.dumps(told))
        with pytest.raises(Refused) as refused:
            report(root, out, place, reason)
        assert refused.value.code == code
        assert not place.exists()
    with obverse.open(made) as session:
        assert not any(entry.kind == "custody" for entry in session.ledger.entries())
    path.write_text(json.dumps(fields))
    measurements = next((out / "measurements").glob("02*.csv"))
    measurements.write_text("\n".join(measurements.read_text().splitlines()[:-1]))
    with pytest.raises(Refused, match="not complete"):
        report(made, out, tmp_path / "in.html", REASON)
    measurements.unlink()
    with pytest.raises(Refused, match="missing"):
        report(made, out, tmp_path / "in.html", REASON)


def test_the_commands_compare(tmp_path: Path) -> None:
    run = CliRunner().invoke
    made = project(tmp_path / "p")
    told = ["-p", str(made), "--reason", REASON]
    args = ["publish", "graph", "friends", "--stats", "edges", "--out", str(tmp_path / "r"), *told]
    assert run(cli, [*args, "--report", str(tmp_path / "r" / "in.html")]).exit_code == 3
    assert not (tmp_path / "r").exists()
    found = run(cli, [*args, "--report", str(tmp_path / "in.html")])
    assert found.exit_code == 0, found.output
    assert "INTERNAL" in (tmp_path / "in.html").read_text()
    shown = run(cli, ["publish", "report", str(tmp_path / "r"), "--out", str(tmp_path / "a.md"), *told])
    assert shown.exit_code == 0, shown.output
    assert "INTERNAL" in shown.stdout
    assert "connections" in shown.stdout
    assert (tmp_path / "a.md").read_text().startswith("# INTERNAL")
