"""obverse collect: surveys whose answers are randomized before they are sent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from obverse.cli.device import answer, consent, withdraw
from obverse.cli.failures import VerbGroup
from obverse.cli.options import print_json, with_json, with_project
from obverse.cli.terminal import Heading, print_fact, print_table

if TYPE_CHECKING:
    from obverse.local.discover import Discovery


@click.group(cls=VerbGroup)
def collect() -> None:
    """Collect answers that are randomized before they are sent.

    Surveys are declared in obverse.toml as [surveys.NAME]. Respondents flip the coins on their own devices; nobody here ever
    sees an answer.
    """


@collect.command()
@click.argument("name")
@click.option("--language", default="und", metavar="CODE", help="Language of the card, such as de.")
@with_json
@with_project
def card(name: str, language: str, as_json: bool, project: Path) -> None:
    """The public transparency card: what is sent, the odds, every epsilon, limits and retention."""
    from obverse.local.card import card_json, card_text
    from obverse.session.surveys import spec_in

    spec, _ = spec_in(project, name)
    if as_json:
        print_json({"version": 1, **card_json(spec)})
    else:
        click.echo(card_text(spec, language))


@collect.command()
@click.argument("name")
@with_json
@with_project
def spec(name: str, as_json: bool, project: Path) -> None:
    """The specification for devices, as canonical JSON; its hash is the survey's id. With --json the id beside it."""
    from obverse.session.surveys import spec_in

    found, _ = spec_in(project, name)
    if as_json:
        print_json({"version": 1, "id": found.id, "spec": found.as_json()})
    else:
        click.echo(found.document.decode())


@collect.command()
@click.argument("name")
@click.option("--share", type=float, default=0.01, show_default=True, help="A share that is to be seen.")
@click.option("--people", type=int, help="How many answer; as declared unless told.")
@with_json
@with_project
def plan(name: str, share: float, people: int | None, as_json: bool, project: Path) -> None:
    """How many people are needed to see a share; error, bytes and what liars could do."""
    from obverse.local.foresee import foresee, people_needed
    from obverse.session.surveys import spec_in

    found, choice = spec_in(project, name)
    foreseen, needed = foresee(found, people or found.survey.people), people_needed(found, share)
    if as_json:
        told = {field: getattr(foreseen, field) for field in foreseen.__slots__}
        print_json({"version": 1, "share": share, "people_needed": needed, "why": choice.why, **told})
        return
    print_fact("Protocol", choice.why)
    print_fact("People", f"{needed:,} are needed to see a share of {share:g}")
    print_fact("Error", f"a rare answer's share is off by {foreseen.deviation:.2g} with {foreseen.people:,} people;"
               f" shares above {foreseen.visible:.2g} are seen")  # fmt: skip
    print_fact("Trust", f"a trusted curator's noise would be {foreseen.central:.2g} at the same epsilon")
    print_fact("Sent", f"{foreseen.bytes} bytes a report")
    print_fact("Liars", f"1 % of reports, crafted, move a share by up to {foreseen.worst_shift:.2g};"
               f" one report counts as up to {foreseen.leverage:.3g} people")  # fmt: skip


@collect.command()
@click.argument("name")
@click.option("--share", "shares", multiple=True, metavar="ANSWER=SHARE", help="Shares to play; evenly spread unless told.")
@click.option("--people", type=int, help="How many answer; as declared unless told.")
@with_json
@with_project
def simulate(name: str, shares: tuple[str, ...], people: int | None, as_json: bool, project: Path) -> None:
    """Play the survey with made-up people: what would be estimated, beside the truth. Costs nothing, protects nobody."""
    from obverse.local.estimate import estimate as estimated
    from obverse.local.simulate import played
    from obverse.session.surveys import spec_in

    found, _ = spec_in(project, name)
    held = played(found, shares, people or found.survey.people)
    result = estimated(found, held.tally)
    if as_json:
        print_json({**result.as_json(), "truth": held.truth})
        return
    rows = [
        [row.item, f"{held.truth.get(row.item, 0.0):.4f}", f"{row.value:.4f}", f"{row.low:.4f} to {row.high:.4f}"]
        for row in result.rows
    ]
    shown = {row.item for row in result.rows}
    rows += [[item, f"{share:.4f}", "not found", ""] for item, share in held.truth.items() if item not in shown]
    headings = [Heading("answer"), *(Heading(title, "right") for title in ("truth", "estimate", "interval"))]
    print_table(headings, rows)
    _print_discovery(result.discovery)
    print_fact("Played", f"{result.n:,} made-up people, by {held.how}")


@collect.command()
@click.argument("name")
@click.option("-n", "number", type=click.IntRange(1, 1_000_000), default=1, show_default=True, help="How many.")
@with_json
@with_project
def tokens(name: str, number: int, as_json: bool, project: Path) -> None:
    """Tokens to hand out, one line each; each allows one report. Which goes to whom is not written down."""
    from obverse.session.surveys import collection_in

    made = [token.hex() for token in collection_in(project, name).tokens(number)]
    if as_json:
        print_json({"version": 1, "tokens": made})
    else:
        click.echo("\n".join(made))


@collect.command()
@click.argument("name")
@click.argument("reports", type=click.File("r"), default="-")
@with_json
@with_project
def add(name: str, reports: TextIO, as_json: bool, project: Path) -> None:
    """Count reports: lines of a token and a report, in hexadecimal, from a file or standard input."""
    from obverse.session.surveys import collection_in, submitted

    collection = collection_in(project, name)
    came = submitted(reports)
    rejected = collection.add(came)
    counted = len(came) - sum(rejected.values())
    if as_json:
        print_json({"version": 1, "counted": counted, "rejected": rejected})
        return
    print_fact("Counted", f"{counted:,}")
    for reason, count in rejected.items():
        print_fact("Rejected", f"{count:,} ({reason})")


@collect.command()
@click.argument("name")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Level of the intervals.")
@click.option("--simultaneous", is_flag=True, help="Widen intervals so that all of them hold at once.")
@click.option("--malicious", type=click.FloatRange(0, 1), default=0.01, show_default=True, help="Share of crafted reports.")
@click.option("--items", type=click.File("r"), help="Texts to estimate, one a line; else words are discovered.")
@click.option("--plot", type=click.Path(path_type=Path), metavar="FILE", help="Draw it, as .html, .svg or .png.")
@with_json
@with_project
def estimate(
    name: str,
    confidence: float,
    simultaneous: bool,
    malicious: float,
    items: TextIO | None,
    plot: Path | None,
    as_json: bool,
    project: Path,
) -> None:
    """Shares of the answers, unbiased, with intervals, tests and the worst that liars could do."""
    from obverse.local.estimate import estimate as estimated
    from obverse.session.surveys import collection_in

    collection = collection_in(project, name)
    named = [line.strip() for line in items or () if line.strip()]
    found = estimated(
        collection.spec, collection.tally(), named, level=confidence, simultaneous=simultaneous, malice=malicious
    )
    if plot is not None:
        found.plot().save(str(plot))
    if as_json:
        print_json(found.as_json())
        return
    headings = [Heading("answer"), Heading("share", "right"), Heading("interval", "right"), Heading("on the simplex", "right")]
    rows = [
        [row.item, f"{row.value:.4f}", f"{row.low:.4f} to {row.high:.4f}", "" if row.simplex is None else f"{row.simplex:.4f}"]
        for row in found.rows
    ]
    if rows:
        print_table(headings, rows)
    _print_discovery(found.discovery)
    print_fact("Reports", f"{found.n:,}")
    kind = "all intervals at once" if simultaneous else "each interval"
    chosen = "the simplex view adds up to one, and is biased" if found.discovery is None else "wider, because words were chosen"
    print_fact("Noise", f"{kind} at {100 * found.level:g} %; {chosen}")
    print_fact("Liars", f"{100 * found.malice:g} % of reports, crafted, would move a share by up to {found.worst_shift:.2g}")
    print_fact("Loss", f"epsilon {found.epsilon} for each report, spent by the respondents; estimating costs nothing")


def _print_discovery(discovery: Discovery | None) -> None:
    for title, text in () if discovery is None else discovery.words():
        print_fact(title, text)


for verb in (consent, answer, withdraw):
    collect.add_command(verb)
