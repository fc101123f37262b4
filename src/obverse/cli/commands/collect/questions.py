"""What `obverse collect` prints of surveys with several questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from obverse.cli.commands.collect.estimated import print_lifetime
from obverse.cli.options import print_json
from obverse.cli.output.terminal import Heading, print_fact, print_table

if TYPE_CHECKING:
    from obverse.collect.questions import Estimates
    from obverse.collect.spec import Spec


def print_plan(spec: Spec, people: int, share: float, as_json: bool) -> None:
    from obverse.collect.cautions import cautions
    from obverse.collect.foresee import needed_words
    from obverse.collect.questions import outlooks

    found = outlooks(spec, people, share)
    known = [one.needed for one in found if one.needed is not None]
    needed = max(known) if len(known) == len(found) else None
    if as_json:
        told = [
            {"name": one.name, "why": one.why, "people_needed": one.needed}
            | {field: getattr(one.foreseen, field) for field in one.foreseen.__slots__}
            for one in found
        ]
        warned = [one.as_json() for one in cautions(spec)]
        print_json(
            {"version": 1, "share": share, "people": people, "people_needed": needed, "questions": told, "warnings": warned}
        )
        return
    headings = [Heading("question"), *(Heading(title, "right") for title in ("asked", "error", "seen from", "people needed"))]
    rows = [
        [one.name, f"{one.foreseen.people:,}", *(f"{x:.2g}" for x in (one.foreseen.deviation, one.foreseen.visible)),
         "-" if one.needed is None else f"{one.needed:,}"]
        for one in found
    ]  # fmt: skip
    print_table(headings, rows)
    for one in found:
        print_fact("Protocol", f"{one.name}: {one.why}")
    print_fact("People", needed_words(needed, f"share of {share:g} in every question"))
    print_fact("Sent", f"{spec.frame.length} bytes a report")
    print_cautions(spec)


def print_cautions(spec: Spec) -> None:
    """What the survey's maker should think about before anybody is asked."""
    from obverse.collect.cautions import cautions

    for one in cautions(spec):
        print_fact("Warning", one.words(), colour="yellow")


def print_estimates(found: Estimates, truth: Mapping[str, float] | None = None) -> None:
    """Each question with its rows; with the truth where it is known."""
    titles = ("truth", "estimate", "interval", "on the simplex")[truth is None :]
    headings = [Heading("question"), Heading("answer"), *(Heading(title, "right") for title in titles)]
    rows = [
        [one.name, row.item, *([] if truth is None else [f"{truth[f'{one.name}={row.item}']:.4f}"]), f"{row.value:.4f}",
         f"{row.low:.4f} to {row.high:.4f}", "" if row.simplex is None else f"{row.simplex:.4f}"]
        for one in found.questions if one.estimate is not None for row in one.estimate.rows
    ]  # fmt: skip
    print_table(headings, rows)
    for one in found.questions:
        told = f"fewer than {found.minimum}, so nothing is estimated"
        if one.estimate is not None:
            told = f"{100 * one.estimate.malice:g} % of them, crafted, would move it by up to {one.estimate.worst_shift:.2g}"
        print_fact("Reports", f"{one.name}: {one.n:,}; {told}")
    some = next(one.estimate for one in found.questions if one.estimate is not None)
    print_lifetime(some.beyond)
    kind = "all intervals at once" if some.simultaneous else "each interval"
    print_fact("Noise", f"{kind} at {100 * some.level:g} %; the simplex view adds up to one, and is biased")
    print_fact("Loss", f"epsilon {found.epsilon} for each report, spent by the respondents; estimating costs nothing")
