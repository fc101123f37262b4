"""Answers and explanations in words: the table, the price, what is left, and the claim."""

from __future__ import annotations

import click

from obverse.answers.answer import Answer, Price, Remaining
from obverse.cli.options import print_json
from obverse.cli.output import terminal as figures
from obverse.cli.output.terminal import Heading, print_fact, print_table, shown_lines
from obverse.session.planning import Explained

BARE = (
    "no interval can be told, and the noise may have moved it far; ask what it is computed from as columns of their own"
)


def print_answer(answer: Answer, *, claim: str | None = None) -> None:
    """The whole answer; `claim` replaces the sentence where it was printed just before."""
    print_rows(answer)
    print_costs(answer)
    print_fact("Claim", answer.claim.sentence if claim is None else claim)


def print_batch(questions: list[str], answers: list[Answer]) -> None:
    """Several answers, and what they cost together."""
    for number, (question, answer) in enumerate(zip(questions, answers), start=1):
        click.echo(f"-- {number} of {len(answers)}\n{shown_lines(question)}\n")
        print_rows(answer)
    click.echo("-- all together")
    print_costs(answers[0])
    print_fact("Claim", answers[0].claim.sentence)


def print_rows(answer: Answer) -> None:
    headings = [Heading(c.name, "right" if c.role == "value" and c.type.numeric else "left") for c in answer.columns]
    rows = [
        [figures.cell(value, bar) for value, bar in zip(row, bars)] for row, bars in zip(answer.rows, answer.intervals)
    ]
    print_table(headings, rows)
    if not answer.rows:
        click.echo("(no rows)\n")


def print_costs(answer: Answer, *, err: bool = False) -> None:
    """The level of the intervals, the price, and what is left."""
    if any(bar is not None for bars in answer.intervals for bar in bars):
        words = f"{figures.percent(answer.level)} interval: how far the added noise may have moved each number."
        print_fact("Noise", words, err=err)
    if bare := without_interval(answer):
        print_fact("No bars", f"of {', '.join(bare)}: {BARE}", err=err)
    if answer.claim.bias:
        print_fact("Bias", answer.claim.bias, err=err)
    print_fact("Price", price_words(answer.price), err=err)
    if answer.claim.receipt:
        print_fact("Left", left_words(answer.remaining), err=err)


def without_interval(answer: Answer) -> list[str]:
    """Columns of a private answer with a number of which nobody can say how far it is off, as of a ratio to almost
    nothing.
    """
    told = [number for number, one in enumerate(answer.columns) if one.role == "value" and one.type.numeric]
    cells = [(number, row[number], bars[number]) for row, bars in zip(answer.rows, answer.intervals) for number in told]
    bare = {number for number, value, bar in cells if value is not None and bar is None}
    return [answer.columns[number].name for number in sorted(bare)] if answer.claim.receipt else []


def price_words(price: Price) -> str:
    if price.stored:
        return f"free this time: answered from store. When first asked: {cost_words(price)}."
    return f"{cost_words(price)}. The same question again is free." if price.share else "free"


def cost_words(price: Price) -> str:
    """Epsilon and delta of the question alone, and its share."""
    if not price.share:
        return "free"
    delta = f", delta {price.delta}" if price.delta != "0" else ""
    return f"epsilon {price.epsilon}{delta}, {figures.percent(price.share)} of the budget"


def left_words(remaining: Remaining) -> str:
    """What is left of the budget, and for this analyst how many such questions."""
    amount = f"epsilon {remaining.epsilon}, " if remaining.epsilon is not None else ""
    words = f"{amount}{figures.percent(remaining.share)} of the budget"
    return f"{words}: {remaining.more}" if remaining.more else words


def print_result(answer: Answer, *, as_csv: bool, as_json: bool) -> None:
    """An answer in the form that was asked for; beside CSV, price and claim go to stderr."""
    if as_json:
        print_json(answer.as_json())
    elif as_csv:
        from obverse.answers.csv import csv_text

        click.echo(csv_text(answer).replace("\r\n", "\n"), nl=False)
        print_costs(answer, err=True)
        print_fact("Claim", answer.claim.sentence, err=True)
    else:
        print_answer(answer)


def print_explained(explained: Explained) -> None:
    if explained.measures:
        _print_measures(explained)
    for number, line in enumerate(explained.plan.split("\n")):
        print_fact("Plan" if number == 0 else "", line)
    if explained.note:
        print_fact("Note", explained.note)
    print_fact("Price", cost_words(explained.price) + ("" if explained.remaining is None else ", not yet spent"))
    if explained.remaining is not None:
        print_fact("Left", left_words(explained.remaining))


def _print_measures(explained: Explained) -> None:
    """One line per measure: how far one unit moves it, and the noise that hides that."""
    wide = f"± {figures.percent(explained.level)}"
    names = ("measure", "groups", "one unit moves it by", "noise", "deviation", wide)
    headings = [Heading(name, "left" if name in ("measure", "noise") else "right") for name in names]
    rows: list[list[str]] = []
    for m in explained.measures:
        noise = ["", "", ""]
        if m["mechanism"] is not None:
            known = ["" if m[figure] is None else figures.about(m[figure]) for figure in ("stddev", "half_width")]
            noise = [m["mechanism"].replace("_", " "), *known]
        rows.append([m["name"], str(m["l0"]), f"{m['l1']:,g}", *noise])
    print_table(headings, rows)
