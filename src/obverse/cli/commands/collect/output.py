"""What `obverse collect` prints of surveys with several questions.

What a survey found, as a table and facts below it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from obverse.cli.options import print_json
from obverse.cli.output.terminal import Heading, print_fact, print_table

if TYPE_CHECKING:
    from obverse.collect.estimate import Estimate, Uninformative
    from obverse.collect.questions import Estimates
    from obverse.collect.spec import Spec


def _print_shares(found: Estimate, on_simplex: bool) -> None:
    by_chance = [] if found.is_mean else ["by chance"]
    simplex = ["on the simplex"] if on_simplex else []
    titles = ["value" if found.is_mean else "share", "interval", *by_chance, *simplex]
    rows = [
        [
            row.item,
            f"{row.value:.4f}",
            f"{row.low:.4f} to {row.high:.4f}",
            *([f"{row.p_value:.2g}"] if by_chance else []),
            *([f"{row.simplex:.4f}"] if row.simplex is not None else []),
        ]
        for row in found.rows
    ]
    if rows:
        print_table([Heading("answer"), *(Heading(title, "right") for title in titles)], rows)


def print_estimate(found: Estimate, candidates: int) -> None:
    """Shares with their intervals, and everything that they may be off by."""
    from obverse.collect.estimate import FLOOR_TOLD

    on_simplex = any(row.simplex is not None for row in found.rows)
    _print_shares(found, on_simplex)
    print_discovery(found)
    print_fact("Reports", f"{found.n:,}")
    kind = "all intervals at once" if found.simultaneous else "each interval"
    beside = "; the simplex view adds up to one, and is biased" if on_simplex else ""
    beside += f"; as wide as if one device had sent up to {found.each:,} of these" if found.each > 1 else ""
    beside += "; wider, because words were chosen" if found.discovery is not None else ""
    print_fact("Noise", f"{kind} at {100 * found.level:g} %{beside}")
    if found.unexplained is not None:
        share, deviation = found.unexplained
        print_fact(
            "Found",
            f"{len(found.rows):,} of {candidates:,} texts; a share of {share:.4f} is explained by none "
            "of them"
            f" (deviation {deviation:.2g})",
        )
    if found.floor_share > FLOOR_TOLD:
        print_fact(
            "Floor", f"{found.floor:.2g} of a deviation is of texts that share a hash; more reports do not lessen it"
        )
    print_lifetime(found.beyond)
    if found.odd:
        print_fact(
            "Odd", f"{found.odd:,} of these reports have so many or so few bits set as coins hardly ever make them"
        )
    print_fact(
        "Liars", f"{100 * found.malice:g} % of reports, crafted, would move a value by up to {found.worst_shift:.2g}"
    )
    print_fact("Loss", f"epsilon {found.epsilon} for each report, spent by the respondents; estimating costs nothing")


def print_lifetime(beyond: Uninformative) -> None:
    """Which reports carry no answer, and what that does to values and intervals."""
    if not beyond.most:
        return
    supposed = f"{100 * beyond.supposed:.3g}%"
    if beyond.known:
        wider = f"it is divided out, and errors are {1 / (1 - beyond.supposed):.3g} times as large"
        print_fact(
            "Lifetime", f"{supposed} of reports carry no answer, because a lifetime's epsilon was spent; {wider}"
        )
        return
    between = f"between {100 * beyond.least:.3g}% and {100 * beyond.most:.3g}%"
    print_fact(
        "Lifetime",
        f"{between} of reports carry no answer, because a lifetime's epsilon was spent; values "
        "suppose"
        f" {supposed}, and intervals hold for any share between. --people, --each and --beyond narrow them",
    )


def print_discovery(found: Estimate) -> None:
    for title, text in () if found.discovery is None else found.discovery.words():
        print_fact(title, text)


def print_plan(spec: Spec, people: int, share: float, as_json: bool) -> None:
    from obverse.collect.cautions import cautions
    from obverse.collect.planning import needed_words
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
            {
                "version": 1,
                "share": share,
                "people": people,
                "people_needed": needed,
                "questions": told,
                "warnings": warned,
            }
        )
        return
    headings = [
        Heading("question"),
        *(Heading(title, "right") for title in ("asked", "error", "seen from", "people needed")),
    ]
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
            told = (
                f"{100 * one.estimate.malice:g} % of them, crafted, would move it by up to "
                f"{one.estimate.worst_shift:.2g}"
            )
        print_fact("Reports", f"{one.name}: {one.n:,}; {told}")
    some = next(one.estimate for one in found.questions if one.estimate is not None)
    print_lifetime(some.beyond)
    kind = "all intervals at once" if some.simultaneous else "each interval"
    print_fact("Noise", f"{kind} at {100 * some.level:g} %; the simplex view adds up to one, and is biased")
    print_fact("Loss", f"epsilon {found.epsilon} for each report, spent by the respondents; estimating costs nothing")
