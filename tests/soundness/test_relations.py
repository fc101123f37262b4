"""The master law over every shape: FROM (joins, subqueries, set operations, look-ups) with SELECT (sums, different
values,
order statistics, choices, keys that are discovered, grouping sets) with WHERE."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence

import pytest

from obverse.testing.neighbours import family
from tests.soundness.shapes import Related, Shape, shapes
from tests.stands import STANDS

BOTH = ("add-remove", "replace")
UNITS = 8  # added to a base, each alone
ALL = tuple(shapes())
SOURCES = tuple(dict.fromkeys(shape.source for shape in ALL))


def chosen(source: str, neighbours: str) -> list[Shape]:
    """For `make test` a sixth of the product: every FROM with every SELECT, each with one WHERE and one kind of
    neighbours.
    """
    mine = [shape for shape in ALL if shape.source == source]
    place = SOURCES.index(source)
    turn = BOTH.index(neighbours)
    return [shape for n, shape in enumerate(mine) if n % 3 == (n // 3 + place) % 3 and (n // 3 + place) % 2 == turn]


@pytest.fixture(scope="module")
def related() -> Iterator[Callable[..., Related]]:
    made: list[Related] = []

    @functools.cache
    def make(world: str, neighbours: str, kind: str = "duckdb") -> Related:
        made.append(Related(neighbours, world, kind))
        return made[-1]

    yield make
    for one in made:
        one.stand.close()


def law(here: Related, asked: Sequence[Shape], seed: int, units: int) -> int:
    """Check the law on every shape that is not refused; gives the number of pairs."""
    plans = {shape.text: made for shape in asked if (made := here.plan_or_none(shape.text)) is not None}
    families = [family(here.catalog, here.schemas, seed, units=units, crowd=3 * (seed % 2))]
    reach, pairs = here.reach_of(list(plans.values()), families)
    for text, found in zip(plans, reach):
        for claim in found:
            assert claim.holds(), (
                f"{here.label}: {text}: measure {claim.measure} moved {claim.ratio} times its {claim.norm}"
            )
    return pairs * len(plans)


@pytest.mark.parametrize("kind", [kind for kind in STANDS if kind != "duckdb"])
@pytest.mark.parametrize("source", SOURCES)
def test_the_law_holds_on_every_engine(source: str, kind: str, related: Callable[..., Related]) -> None:
    """A third of what DuckDB is asked, with both kinds of neighbours in turn; on Spark, where each takes a job, a
    ninth.
    """
    place = SOURCES.index(source)
    neighbours = BOTH[place % 2]
    step = 9 if kind == "spark" else 3
    here = related(chosen(source, neighbours)[0].world, neighbours, kind)
    allowed = [shape for shape in chosen(source, neighbours) if here.plan_or_none(shape.text) is not None]
    assert law(here, allowed[place % min(step, len(allowed)) :: step], 6, UNITS) >= UNITS


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("source", SOURCES)
def test_no_unit_moves_a_question_over_a_relation_further_than_claimed(
    source: str, neighbours: str, related: Callable[..., Related]
) -> None:
    asked = chosen(source, neighbours)
    seed = 4 + SOURCES.index(source) % 2
    assert law(related(asked[0].world, neighbours), asked, seed, UNITS) >= 2 * UNITS


def test_there_are_hundreds_of_shapes_and_thousands_of_pairs(related: Callable[..., Related]) -> None:
    """200 shapes and 4,000 pairs for `make test`, 100,000 pairs for `make soak`; what is refused does not count."""
    each = {"add-remove": UNITS, "replace": UNITS * (UNITS - 1) // 2}
    tested: list[tuple[Shape, int]] = []
    for neighbours in BOTH:
        for source in SOURCES:
            for shape in chosen(source, neighbours):
                if related(shape.world, neighbours).plan_or_none(shape.text) is not None:
                    tested.append((shape, each[neighbours]))
    assert len({shape.text for shape, _ in tested}) >= 700
    assert sum(pairs for _, pairs in tested) >= 14_000
    assert len(ALL) * SOAKED * sum(each.values()) >= 200_000  # less about a tenth that is refused


SOAKED = 2


@pytest.mark.soak
@pytest.mark.parametrize("kind", STANDS)
@pytest.mark.parametrize("seed", range(40, 40 + SOAKED))
@pytest.mark.parametrize("source", SOURCES)
def test_the_law_holds_on_the_whole_product(source: str, seed: int, kind: str, related: Callable[..., Related]) -> None:
    asked = [shape for shape in ALL if shape.source == source]
    for neighbours in BOTH:
        assert law(related(asked[0].world, neighbours, kind), asked, seed, UNITS + seed % 3) >= UNITS * len(asked) // 4
