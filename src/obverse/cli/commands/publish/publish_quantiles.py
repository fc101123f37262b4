"""obverse publish quantiles: the distribution of one number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from obverse.cli.errors import Verb

USUAL = "0.05,0.1,0.25,0.5,0.75,0.9,0.95"


def quantiles_command(
    with_release: Callable[[Any], Any],
    pair: Callable[[str], tuple[str, str]],
    run: Callable[[Callable[..., Any], dict[str, Any]], None],
) -> click.Command:
    """The command, with the options that all releases share and what runs them."""

    @click.command(cls=Verb)
    @click.argument("table")
    @click.argument("column")
    @click.option("--by", default="", metavar="COLUMNS", help="Told within each group of these public columns too.")
    @click.option("--at", default=USUAL, metavar="SHARES", show_default=True, help="Which quantiles, between 0 and 1.")
    @click.option("--range", "ranges", multiple=True, metavar="LOW,HIGH", help="Rows from LOW to HIGH; again for another.")
    @click.option("--cells", is_flag=True, help="The rows of each leaf too.")
    @with_release
    def quantiles(table: str, column: str, by: str, at: str, ranges: tuple[str, ...], cells: bool, **told: Any) -> None:
        """Quantiles, ranges and the CDF of one number, all from one measurement, with bands.

        The number's line is cut into public leaves: its whole numbers or grid between the declared bounds, about 1,024 equal
        ones where there are too many, or --bins. What is measured along it (weighted running sums, or levels of a tree) is
        whatever errs least under the project's noise; --plan tells it. Each quantile has an interval of its own, and one that
        holds together with all others.

        \b
        Example:
          obverse publish quantiles people age --by sex --range 18,65 --epsilon 0.5 --plan
          obverse publish quantiles people salary --at 0.1,0.5,0.9 --epsilon 0.5 --out release
          obverse publish check release
        """
        from obverse.publish.quantiles.request import Distribution, quantile_release

        names = tuple(part.strip() for part in by.split(",") if part.strip())
        wanted = Distribution(table, column, names, at, ranges, cells, dict(map(pair, told["bins"])), told["where"])
        run(lambda session, *price: quantile_release(session, wanted, *price), told)

    return quantiles
