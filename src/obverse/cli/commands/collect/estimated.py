"""What a survey found, as a table and facts below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from obverse.cli.output.terminal import Heading, print_fact, print_table

if TYPE_CHECKING:
    from obverse.collect.beyond import Uninformative
    from obverse.collect.result import Estimate


def print_estimate(found: Estimate, candidates: int) -> None:
    """Shares with their intervals, and everything that they may be off by."""
    from obverse.collect.result import FLOOR_TOLD

    on_simplex = any(row.simplex is not None for row in found.rows)
    by_chance = [] if found.is_mean else ["by chance"]
    titles = ["value" if found.is_mean else "share", "interval", *by_chance, *(["on the simplex"] if on_simplex else [])]
    rows = [
        [row.item, f"{row.value:.4f}", f"{row.low:.4f} to {row.high:.4f}", *([f"{row.p_value:.2g}"] if by_chance else []),
         *([f"{row.simplex:.4f}"] if row.simplex is not None else [])]
        for row in found.rows
    ]  # fmt: skip
    if rows:
        print_table([Heading("answer"), *(Heading(title, "right") for title in titles)], rows)
    print_discovery(found)
    print_fact("Reports", f"{found.n:,}")
    kind = "all intervals at once" if found.simultaneous else "each interval"
    beside = "; the simplex view adds up to one, and is biased" if on_simplex else ""
    beside += f"; as wide as if one device had sent up to {found.each:,} of these" if found.each > 1 else ""
    beside += "; wider, because words were chosen" if found.discovery is not None else ""
    print_fact("Noise", f"{kind} at {100 * found.level:g} %{beside}")
    if found.unexplained is not None:
        share, deviation = found.unexplained
        print_fact("Found", f"{len(found.rows):,} of {candidates:,} texts; a share of {share:.4f} is explained by none of them"
                   f" (deviation {deviation:.2g})")  # fmt: skip
    if found.floor_share > FLOOR_TOLD:
        print_fact("Floor", f"{found.floor:.2g} of a deviation is of texts that share a hash; more reports do not lessen it")
    print_lifetime(found.beyond)
    if found.odd:
        print_fact("Odd", f"{found.odd:,} of these reports have so many or so few bits set as coins hardly ever make them")
    print_fact("Liars", f"{100 * found.malice:g} % of reports, crafted, would move a value by up to {found.worst_shift:.2g}")
    print_fact("Loss", f"epsilon {found.epsilon} for each report, spent by the respondents; estimating costs nothing")


def print_lifetime(beyond: Uninformative) -> None:
    """Which reports carry no answer, and what that does to values and intervals."""
    if not beyond.most:
        return
    supposed = f"{100 * beyond.supposed:.3g}%"
    if beyond.known:
        wider = f"it is divided out, and errors are {1 / (1 - beyond.supposed):.3g} times as large"
        print_fact("Lifetime", f"{supposed} of reports carry no answer, because a lifetime's epsilon was spent; {wider}")
        return
    between = f"between {100 * beyond.least:.3g}% and {100 * beyond.most:.3g}%"
    print_fact("Lifetime", f"{between} of reports carry no answer, because a lifetime's epsilon was spent; values suppose"
               f" {supposed}, and intervals hold for any share between. --people, --each and --beyond narrow them")  # fmt: skip


def print_discovery(found: Estimate) -> None:
    for title, text in () if found.discovery is None else found.discovery.words():
        print_fact(title, text)
