"""obverse publish graph: statistics of a social network, in a folder that anyone may have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from obverse.cli.commands.publish.options import names, run_release
from obverse.cli.errors import Verb
from obverse.cli.options import number, print_json, with_asker, with_json, with_project
from obverse.cli.output.terminal import Heading, print_fact, print_table


@click.command(cls=Verb)
@click.argument("graph")
@click.option(
    "--stats",
    required=True,
    metavar="STATS",
    help="edges, people, degrees, mixing:A, triangles, stars:2, spread:A; A is a public attribute.",
)
@click.option(
    "--cap", type=int, metavar="N", help="Unit node: connections of one that count; default: the degree promise."
)
@click.option(
    "--tell",
    default="0.1",
    show_default=True,
    metavar="P",
    help="spread: how likely somebody who knows a rumour tells a friend in one step.",
)
@click.option(
    "--share", multiple=True, metavar="STAT=N", help="Shares of the price of one of the measured; 1 unless told."
)
@click.option("--epsilon", metavar="E", help="Price of the release; default: [privacy] epsilon.")
@click.option("--delta", metavar="D", help="Delta of the release; default: [privacy] delta.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FOLDER", help="Where the release goes: a new folder.")
@click.option("--plan", "only_plan", is_flag=True, help="Print measurements, noise, errors and size; reads no edge.")
@click.option("--key", default="", metavar="ID", help="Request id: repeating it never charges a second time.")
@click.option("--report", type=click.Path(path_type=Path), metavar="FILE", help="Internal: compare with the truth.")
@click.option("--reason", default="", metavar="TEXT", help="With --report: why edges are read; sealed into the ledger.")
@with_asker
@with_json
@with_project
def graph(graph: str, stats: str, cap: int | None, tell: str, share: tuple[str, ...], **told: Any) -> None:
    """Statistics of a social network, declared as [graphs.NAME]: who befriends whom, how fast rumours spread.

    The unit is an edge (that two people are connected is hidden) or a node (that a person is present at all is hidden).
    All statistics are one debit, charged before any edge is read.

    \b
    Example:
      obverse publish graph friends --stats edges,degrees,mixing:party,spread:party --epsilon 1 --plan
      obverse publish graph friends --stats edges,degrees,mixing:party,spread:party --epsilon 1 --out release
    """  # fmt: skip
    from obverse.publish.graph.request import Wished, graph_release, publish_graph

    probability = number(tell)
    assert probability is not None
    wished = Wished(graph, names(stats), cap, probability, dict(map(_share, share)))
    run_release(
        told,
        lambda session, *price: graph_release(session, wished, *price),
        publish_graph,
        print_plan=_print_plan,
        print_done=_print_done,
    )


def _share(text: str) -> tuple[str, Any]:
    name, equals, share = text.partition("=")
    if not equals:
        raise click.UsageError("write --share triangles=2.")
    return name.strip(), number(share)


def _print_plan(made: Any, *, as_json: bool) -> None:
    from obverse.publish.graph.request import plan_json

    plan = plan_json(made)
    if as_json:
        print_json(plan)
        return
    price = plan["price"]
    print_fact("Price", f"epsilon {price['epsilon']}, delta {price['delta']}: {price['share']:.1%} of the budget")
    print_fact("Unit", f"{plan['unit']}, among {plan['people']:,} people of the public list")
    print_fact("Rests on", plan["rests_on"])
    rows = []
    for one in plan["measured"]:
        width = "by the network" if one["half_width"] is None else f"± {one['half_width']:,}"
        noise = one["mechanism"].replace("_", " ")
        rows.append([one["name"], f"{one['entries']:,}", f"{one['share']:.1%}", noise, width])
    print_table(
        [
            Heading("measured"), Heading("entries", "right"), Heading("share", "right"), Heading("noise"),
            Heading("95 %", "right"),
        ],
        rows,
    )  # fmt: skip
    print_fact(
        "Size",
        f"about {plan['memory_mb']:,} MB, {plan['memory_mb_per_million_edges']} MB more for each million edges; "
        f"{plan['seconds']:,.1f} s for noise, about 1 s for each million edges",
    )
    print_fact("Spent", "nothing; no edge was read")


def _print_done(done: Any, out: Path, *, as_json: bool) -> None:
    from obverse.publish.graph.method import summary

    claim = done.receipted.claim
    lines = summary(done.measured, done.rumours)
    if as_json:
        found = [{"statistic": name, "estimate": value, "low": low, "high": high} for name, value, low, high in lines]
        fits = [{"attribute": one.attribute, "model": one.verdict, "words": one.words} for one in done.rumours]
        checks = [one.as_json() for one in done.checks]
        print_json({"version": 1, "folder": str(out), "claim": claim, "stored": done.receipted.stored, "found": found,
                    "spread": fits, "checks": checks})  # fmt: skip
        return
    print_fact(
        "Wrote", f"{out}: data, measurements, errors.csv, metadata.json, statement.md and .html, plots, verify.json"
    )
    rows = [[n, f"{v:,.4g}", "" if low is None else f"{low:,.4g} to {high:,.4g}"] for n, v, low, high in lines]
    print_table([Heading("statistic"), Heading("estimate", "right"), Heading("95 %", "right")], rows)
    for one in done.rumours:
        print_fact("Model", one.words, colour="green" if one.verdict == "fits" else "yellow")
    told = f"epsilon {claim['epsilon']}, delta {claim['delta']}"
    print_fact("Price", "nothing: the same release was stored" if done.receipted.stored else told)
    print_fact("Claim", claim["sentence"])
    bad = [one for one in done.checks if not one.holds]
    print_fact("Checks", "; ".join(f"{one.name} fails: {one.words}" for one in bad) or f"all {len(done.checks)} hold")
