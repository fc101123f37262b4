"""obverse collect new: the first step of a survey."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from obverse.cli.errors import Verb
from obverse.cli.options import number, print_json, with_json, with_project
from obverse.cli.output.terminal import near, print_fact, print_text

if TYPE_CHECKING:
    from obverse.catalog.edit import Fact

CONSENT = "I agree that my randomized answer is counted."


@click.command(cls=Verb)
@click.argument("name")
@click.argument("question")
@click.option("--options", default="no,yes", show_default=True, metavar="A,B,...", help="The answers, with commas between.")
@click.option("--epsilon", default="1", show_default=True, metavar="E", help="Loss of one report: less hides more.")
@click.option("--purpose", required=True, metavar="TEXT", help="What the answers are used for; people read it first.")
@click.option("--consent", default=CONSENT, show_default=True, metavar="TEXT", help="What people agree to.")
@click.option("--days", type=click.IntRange(1), default=30, show_default=True, help="How long reports are kept.")
@with_json
@with_project
def new(
    name: str, question: str, options: str, epsilon: str, purpose: str, consent: str, days: int, as_json: bool, project: Path
) -> None:
    """Declare a survey of one question in obverse.toml, and show its card. What else a survey may be: docs/collect.md.

    \b
    Example:
      obverse collect new missed_dose "Have you missed a dose this month?" --purpose "To learn how many do."
    """
    from fractions import Fraction

    from obverse.collect.card import card_text
    from obverse.collect.survey_draft import add_survey
    from obverse.collect.surveys import spec_in

    answers = tuple(part.strip() for part in options.split(",") if part.strip())
    facts: dict[str, Fact] = {"question": question, "options": answers, "epsilon": number(epsilon) or Fraction(0)}
    facts |= {"retention_days": Fraction(days), "purpose": purpose, "consent": consent}
    file = add_survey(project, name, facts)
    if as_json:
        print_json({"version": 1, "survey": name, "file": str(file)})
        return
    print_fact("Added", f"{name}, in {near(file.absolute())}")
    print_text(f"\n{card_text(spec_in(project, name)[0], 'und')}\n")
    print_fact("Next", f"`obverse collect plan {name}` tells how many people it takes, `obverse serve` shows people its page")
