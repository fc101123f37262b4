"""The registry of graph kernels: one file each, one line here; and how they are asked for."""

from __future__ import annotations

from collections.abc import Sequence

from obverse.core.errors import Refused
from obverse.plan.strategy.graph.counts import EdgeCount, Mixing, People
from obverse.plan.strategy.graph.degrees import Degrees, MostConnected, Stars
from obverse.plan.strategy.graph.network import GraphKernel
from obverse.plan.strategy.graph.triangles import MostShared, Triangles

GRAPH_KERNELS: tuple[type[GraphKernel], ...] = (
    EdgeCount, People, Degrees, Mixing, Triangles, MostShared, Stars, MostConnected,
)  # fmt: skip
# of a ladder's first rung
REACHES: dict[str, GraphKernel] = {Triangles.name: MostShared(), Stars.name: MostConnected()}


def kernel_of(text: str, attributes: Sequence[str]) -> GraphKernel:
    """A kernel as it is asked for: its name, and after a colon an attribute or a number."""
    name, _, told = text.partition(":")
    for kernel in (EdgeCount, People, Triangles, MostShared, MostConnected):
        if text == kernel.name:
            return kernel()
    if name == Stars.name and (told or "2").isascii() and (told or "2").isdigit() and len(told) < 3:
        return Stars(int(told or "2"))
    if name == Degrees.name and (not told or told in attributes):
        return Degrees(told)
    if name == Mixing.name and told in attributes:
        return Mixing(told)
    raise bad_statistic(text)


def bad_statistic(text: str) -> Refused:
    return Refused(
        "bad_statistic",
        f"{text!r} is no statistic of a network.",
        fix="Write edges, people, degrees, triangles, stars:2, mixing:ATTRIBUTE or spread:ATTRIBUTE; an attribute is a "
        "column "
        "of the public list of people.",
    )
