"""obverse collect: surveys whose answers are randomized before they are sent.

obverse collect new: the first step of a survey.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from obverse.cli.commands.collect.device import answer, consent, withdraw
from obverse.cli.commands.collect.estimate import estimate, fresh_tokens, shuffle, shuffler, with_shuffler
from obverse.cli.commands.collect.output import print_cautions, print_discovery, print_estimates, print_plan
from obverse.cli.errors import Verb, VerbGroup
from obverse.cli.options import Range, number, print_json, with_json, with_project
from obverse.cli.output.terminal import Heading, near, print_fact, print_table, print_text

if TYPE_CHECKING:
    from obverse.catalog.edit import Fact


CONSENT = "I agree that my randomized answer is counted."


@click.command(cls=Verb)
@click.argument("name")
@click.argument("question")
@click.option(
    "--options", default="no,yes", show_default=True, metavar="A,B,...", help="The answers, with commas between."
)
@click.option("--epsilon", default="1", show_default=True, metavar="E", help="Loss of one report: less hides more.")
@click.option("--purpose", required=True, metavar="TEXT", help="What the answers are used for; people read it first.")
@click.option("--consent", default=CONSENT, show_default=True, metavar="TEXT", help="What people agree to.")
@click.option("--days", type=click.IntRange(1), default=30, show_default=True, help="How long reports are kept.")
@with_json
@with_project
def new(
    name: str,
    question: str,
    options: str,
    epsilon: str,
    purpose: str,
    consent: str,
    days: int,
    as_json: bool,
    project: Path,
) -> None:
    """Declare a survey of one question in obverse.toml, and show its card. What else a survey may be: docs/collect.md.

    \b
    Example:
      obverse collect new missed_dose "Have you missed a dose this month?" --purpose "To learn how many do."
    """
    from fractions import Fraction

    from obverse.collect.card import card_text
    from obverse.collect.project import add_survey, spec_in

    answers = tuple(part.strip() for part in options.split(",") if part.strip())
    facts: dict[str, Fact] = {"question": question, "options": answers, "epsilon": number(epsilon) or Fraction(0)}
    facts |= {"retention_days": Fraction(days), "purpose": purpose, "consent": consent}
    file = add_survey(project, name, facts)
    if as_json:
        print_json({"version": 1, "survey": name, "file": str(file)})
        return
    print_fact("Added", f"{name}, in {near(file.absolute())}")
    print_text(f"\n{card_text(spec_in(project, name)[0], 'und')}\n")
    print_fact(
        "Next", f"`obverse collect plan {name}` tells how many people it takes, `obverse serve` shows people its page"
    )


PEOPLE_MAX = 10**12


@click.group(cls=VerbGroup)
def collect() -> None:
    """Collect answers that are randomized before they are sent.

    Surveys are declared in obverse.toml as [surveys.NAME]; `collect new` writes one. Respondents flip the coins on
    their own devices; nobody here ever sees an answer.
    """


collect.add_command(new)


@collect.command()
@click.argument("name")
@click.option("--language", default="und", metavar="CODE", help="Language of the card, such as de.")
@with_json
@with_project
def card(name: str, language: str, as_json: bool, project: Path) -> None:
    """The public transparency card: what is sent, the odds, every epsilon, limits and retention."""
    from obverse.collect.card import card_json, card_text
    from obverse.collect.cautions import cautions
    from obverse.collect.project import spec_in

    spec, _ = spec_in(project, name)
    if as_json:
        print_json({"version": 1, **card_json(spec), "warnings": [one.as_json() for one in cautions(spec)]})
        return
    print_text(card_text(spec, language))
    print_cautions(spec)


@collect.command()
@click.argument("name")
@with_json
@with_project
def spec(name: str, as_json: bool, project: Path) -> None:
    """The specification for devices, as canonical JSON; its hash is the survey's id. With --json the id beside it."""
    from obverse.collect.project import spec_in

    found, _ = spec_in(project, name)
    if as_json:
        print_json({"version": 1, "id": found.id, "spec": found.as_json()})
    else:
        click.echo(found.document.decode(), nl=sys.stdout.isatty())  # a file gets these bytes and no others


@collect.command()
@click.argument("name")
@click.option("--share", type=Range(0, 1, min_open=True), default=0.01, show_default=True,
              help="A share that is to be seen.")  # fmt: skip
@click.option("--people", type=click.IntRange(1, PEOPLE_MAX), help="How many answer; as declared unless told.")
@with_json
@with_project
def plan(name: str, share: float, people: int | None, as_json: bool, project: Path) -> None:
    """How many people are needed to see a share; error, bytes and what liars could do."""
    from obverse.collect.cautions import cautions
    from obverse.collect.planning import foresee, needed_words, people_needed
    from obverse.collect.project import spec_in

    found, choice = spec_in(project, name)
    if found.parts:
        print_plan(found, people or found.survey.people, share, as_json)
        return
    foreseen = foresee(found, people or found.survey.people)
    needed = people_needed(found, share)
    if as_json:
        told = {field: getattr(foreseen, field) for field in foreseen.__slots__}
        told["warnings"] = [one.as_json() for one in cautions(found)]
        print_json({"version": 1, "share": share, "people_needed": needed, "why": choice.why, **told})
        return
    mean = found.grid is not None
    what, these, of = ("the mean", "changes", " of the range") if mean else ("a share", "shares", "")
    where = "the mean of people in the middle" if mean else "a rare answer's share"
    print_fact("Protocol", choice.why)
    print_fact("People", needed_words(needed, f"change of {share:g}{of}" if mean else f"share of {share:g}"))
    print_fact("Error", f"{where} is off by {foreseen.deviation:.2g}{of} with {foreseen.people:,} people;"
               f" {these} above {foreseen.visible:.2g}{of} are seen")  # fmt: skip
    print_fact("Trust", f"a trusted curator's noise would be {foreseen.central:.2g} at the same epsilon")
    print_fact("Sent", f"{foreseen.bytes} bytes a report")
    print_fact("Liars", f"1 % of reports, crafted, move {what} by up to {foreseen.worst_shift:.2g}{of};"
               f" one report counts as up to {foreseen.leverage:.3g} people")  # fmt: skip
    print_cautions(found)


@collect.command()
@click.argument("name")
@click.option(
    "--share", "shares", multiple=True, metavar="ANSWER=SHARE", help="Shares to play; evenly spread unless told."
)
@click.option("--people", type=click.IntRange(1, PEOPLE_MAX), help="How many answer; as declared unless told.")
@with_json
@with_project
def simulate(name: str, shares: tuple[str, ...], people: int | None, as_json: bool, project: Path) -> None:
    """Play the survey with made-up people: what would be estimated, beside the truth. Costs nothing, protects nobody.

    \b
    Example:
      obverse collect simulate missed_dose --people 5000 --share yes=0.3
    """
    from obverse.collect.estimate import estimate as estimated
    from obverse.collect.project import spec_in
    from obverse.collect.questions import estimates
    from obverse.collect.simulate import played

    found, _ = spec_in(project, name)
    held = played(found, shares, people or found.survey.people)
    if found.parts:
        several = estimates(found, held.tally, each=1)  # they were played to send once
        if as_json:
            print_json({**several.as_json(), "truth": held.truth})
        else:
            print_estimates(several, held.truth)
        return
    result = estimated(found, held.tally, each=1)
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
    print_discovery(result)
    once = " who sent one report each" if found.survey.reports > 1 else ""
    print_fact("Played", f"{result.n:,} made-up people{once}, by {held.how}")


@collect.command()
@click.argument("name")
@click.option(
    "-n", "--count", "number", type=click.IntRange(1, 1_000_000), default=1, show_default=True, help="How many."
)
@with_shuffler
@with_json
@with_project
def tokens(name: str, number: int, folder: Path | None, as_json: bool, project: Path) -> None:
    """Tokens to hand out, one line each; each allows one report. Which goes to whom is not written down."""
    made = [token.hex() for token in fresh_tokens(project, name, number, folder)]
    if as_json:
        print_json({"version": 1, "tokens": made})
    else:
        click.echo("\n".join(made))


@collect.command()
@click.argument("name")
@click.argument("reports", type=click.File("rb"), default="-")
@with_json
@with_project
def add(name: str, reports: BinaryIO, as_json: bool, project: Path) -> None:
    """Count reports: lines of a token and a report, in hexadecimal, from a file or standard input; or a shuffler's
    batch.
    """
    from obverse.collect.project import collection_in, submitted
    from obverse.collect.shuffler import add_batch

    collection = collection_in(project, name)
    counted = 0
    rejected = Counter[str]()
    if collection.spec.survey.shuffler is not None:
        counted = add_batch(collection, reports.read())
    else:
        for came in submitted(reports):
            refused = collection.add(came)
            counted += len(came) - sum(refused.values())
            rejected.update(refused)
    if as_json:
        print_json({"version": 1, "counted": counted, "rejected": rejected})
        return
    print_fact("Counted", f"{counted:,}")
    for reason, count in rejected.items():
        print_fact("Rejected", f"{count:,} ({reason})")


@collect.command()
@click.argument("name")
@click.argument("file", type=click.File("wb"))
@with_json
@with_project
def tally(name: str, file: BinaryIO, as_json: bool, project: Path) -> None:
    """Save the counts, for another collector of the same survey: `collect estimate --merge` adds them up."""
    from obverse.collect.estimate import enough
    from obverse.collect.project import collection_in

    collection = collection_in(project, name)
    found = collection.tally()
    enough(collection.spec, found.n)
    file.write(found.saved())
    if as_json:
        print_json({"version": 1, "survey": collection.spec.id, "reports": found.n})
    else:
        print_fact("Saved", f"the counts of {found.n:,} reports")


@collect.command()
@click.argument("name")
@with_json
@with_project
def forget(name: str, as_json: bool, project: Path) -> None:
    """Delete the reports whose retention is over. Every use of a survey does; this is for a daily job.

    Also of a survey that was changed since, or is no longer declared.
    """
    from obverse.collect.project import forgotten_in

    forgotten = forgotten_in(project, name)
    if as_json:
        print_json({"version": 1, "deleted": forgotten})
    else:
        print_fact("Deleted", f"{forgotten:,} reports")


for verb in (estimate, consent, answer, withdraw, shuffler, shuffle):
    collect.add_command(verb)
