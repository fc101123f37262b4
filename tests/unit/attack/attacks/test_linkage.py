"""Verdicts of `linkage` and `fuzzy-linkage` about people who are in a release and people who are not, few and many."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from obverse.attack.attacks import FuzzyLinkage, Linkage
from obverse.attack.examples import Film, clues_about, film_ratings
from obverse.attack.finding import TOO_FEW, Finding
from obverse.attack.tables.ratings import Clues, Ratings

SEVEN = {"id": np.arange(7), "zip": np.array([1, 2, 3, 4, 4, 5, 5])}
# of MovieLens-100k; and people who are not in it
USERS = 943
FILMS = 1682
OUTSIDE = 60


def alone(people: int) -> Mapping[str, Any]:
    return {"id": np.arange(people), "zip": np.arange(people)}


def some(table: Mapping[str, Any], count: int) -> Mapping[str, Any]:
    return {name: values[:count] for name, values in table.items()}


def linked(released: Mapping[str, Any], known: Mapping[str, Any], **options: Any) -> Finding:
    return Linkage().run(released, known, ("zip",), truth="id", **options)


def test_three_people_named_rightly_in_a_table_of_seven_are_a_leak() -> None:
    """By chance all three would be right once in 7 * 6 * 5 = 210."""
    found = linked(SEVEN, SEVEN)
    assert (found.rate.wins, found.figures["named"], found.leaks) == (3, 3, True)
    assert found.figures["best_guess_right"] == 5.0  # two pairs are alike, and a coin finds one of each
    assert [one.p for one in found.tests] == pytest.approx([1 / 210], rel=1e-5)


def test_three_people_named_wrongly_are_none() -> None:
    found = linked({**SEVEN, "id": np.roll(SEVEN["id"], 1)}, SEVEN)
    assert (found.rate.wins, found.figures["named"], found.verdict) == (0, 3, "no leak found")
    assert "not surely more than chance" in found.sentence


def test_three_of_seven_are_enough_with_people_outside_or_without() -> None:
    """Beside six people outside, being right and being named at all share the 5 %."""
    everybody = alone(13)
    assert linked(some(everybody, 7), some(everybody, 3)).leaks
    found = linked(some(everybody, 7), {name: values[[0, 1, 2, *range(7, 13)]] for name, values in everybody.items()})
    assert found.leaks
    assert [one.p for one in found.tests] == pytest.approx([1 / 210, 1 / 84], rel=1e-5)
    without = Linkage().run(some(everybody, 7), some(everybody, 3), ("zip",), outsiders={"zip": np.arange(20, 26)})
    assert (without.leaks, [one.p for one in without.tests]) == (True, pytest.approx([1 / 84], rel=1e-5))


@pytest.mark.parametrize("people", [1, 2, 3])
def test_of_so_few_people_nothing_is_said(people: int) -> None:
    """Three of three are right by chance once in six."""
    found = linked(alone(people), alone(people))
    assert (found.rate.wins, found.leaks, found.verdict) == (people, False, "too few to judge")
    assert found.sentence.endswith(TOO_FEW)


def test_nobody_of_enough_people_is_named_in_a_coarse_table() -> None:
    coarse = {"id": np.arange(12), "zip": np.arange(12) // 3}
    found = linked(coarse, {name: np.append(values, values + 50) for name, values in coarse.items()})
    assert (found.verdict, found.figures["best_guess_right"]) == ("no leak found", pytest.approx(4))
    strange = linked({**coarse, "id": coarse["id"] + 50}, coarse)
    assert strange.figures["best_guess_right"] == 0


def test_people_who_are_all_outside_are_no_leak() -> None:
    known = {name: values + 50 for name, values in alone(9).items()}
    found = linked(alone(9), known)
    assert (found.rate.trials, found.leaks, found.verdict) == (0, False, "too few to judge")


@pytest.fixture(scope="module")
def movies() -> Film:
    """Ratings of the size and sparsity of MovieLens-100k, and as much of sixty people more."""
    return film_ratings(np.random.default_rng(100_000), USERS + OUTSIDE, FILMS, 86)


def clues(made: Film, people: range, seed: int = 8) -> list[tuple[int, Clues]]:
    """Eight films of each, of which two are wrong; no dates."""
    generator = np.random.default_rng(seed)
    return [(p, clues_about(generator, made, p, known=8, wrong=2, days=None)) for p in people]


def strangers(made: Film) -> list[Clues]:
    return [one for _, one in clues(made, range(USERS, USERS + OUTSIDE), 9)]


def test_the_ratings_are_as_many_and_as_sparse_as_movielens(movies: Film) -> None:
    support = np.sort(movies.released(USERS).support)[::-1]
    assert 95_000 <= support.sum() <= 105_000
    assert support[0] > 500
    assert support[FILMS // 2] < 50


def test_people_with_a_record_are_found_and_it_is_called_a_leak(movies: Film) -> None:
    """One stranger who looks like a record changes nothing; a threshold above the clearest of them named hardly
    anybody.
    """
    inside = clues(movies, range(250))
    found = FuzzyLinkage().run(movies.released(USERS), inside, strangers(movies))
    assert found.rate.wins > 125
    assert found.control == pytest.approx(1 / USERS)
    assert (found.verdict, found.tests[0].p < 1e-9) == ("leaks", True)
    shown = found.figures
    assert shown["best_guess_right"] == found.rate.wins > shown["named_rightly"] > 0
    assert shown["eccentricity"] == 1.5
    assert shown["named"] >= shown["named_rightly"]
    assert shown["outsiders"] == OUTSIDE > shown["outsiders_named"]
    lookalike = clues(movies, range(1), 10)[0][1]
    assert FuzzyLinkage().run(movies.released(USERS), inside, [*strangers(movies), lookalike]).leaks
    assert FuzzyLinkage().run(movies.released(USERS), inside, []).leaks


def test_with_dates_own_records_also_fit_better_than_any_fits_a_stranger(movies: Film) -> None:
    generator = np.random.default_rng(11)
    inside = [(p, clues_about(generator, movies, p)) for p in range(100)]
    outside = [clues_about(generator, movies, p) for p in range(USERS, USERS + OUTSIDE)]
    released = movies.released(USERS)
    found = FuzzyLinkage().run(released, inside, outside)
    assert (found.rate.wins > 90, found.leaks, all(one.p < 1e-9 for one in found.tests)) == (True, True, True)
    moved = FuzzyLinkage().run(released, [((p + 501) % USERS, one) for p, one in inside], outside)
    assert (moved.leaks, moved.tests[1].p) == (False, 1.0)


def test_a_few_people_are_enough_among_so_many_records(movies: Film) -> None:
    inside = clues(movies, range(20))
    found = FuzzyLinkage().run(movies.released(USERS), inside, [])
    assert found.rate.wins >= 3
    assert found.leaks


def test_records_of_other_people_are_no_leak(movies: Film) -> None:
    released = movies.released(USERS)
    known = clues(movies, range(250))
    moved = [((p + 501) % USERS, one) for p, one in known]
    unrelated = clues(film_ratings(np.random.default_rng(7), 250, FILMS, 86), range(250))
    outside = strangers(movies)
    for inside, control in ((moved, outside), (unrelated, outside), (list(enumerate(outside[:40])), outside[40:])):
        found = FuzzyLinkage().run(released, inside, control)
        assert (found.verdict, found.rate.wins <= 3) == ("no leak found", True)
    nobody = FuzzyLinkage().run(released, [], strangers(movies))
    assert (nobody.leaks, nobody.verdict) == (False, "too few to judge")


def test_records_that_fit_alike_are_guessed_by_chance() -> None:
    """Ten records say the same: who is right is one of ten, whatever stands first."""
    same = Ratings(10, np.array([0, 10]), np.arange(10), np.full(10, 3.0), np.full(10, np.nan))
    padded = Ratings(11, same.start, same.person, same.stars, same.day)  # and one says nothing
    one = Clues(np.array([0]), np.array([3.0]), np.array([np.nan]))
    found = FuzzyLinkage().run(padded, [(p, one) for p in range(10)], [one] * 10)
    assert found.rate.wins <= 3
    assert not found.leaks
    nothing = FuzzyLinkage().run(same, [(p, one) for p in range(10)], [one] * 10)
    assert (nothing.rate.wins, nothing.figures["named"]) == (0, 0)


def small_table(generator: np.random.Generator, related: bool) -> Finding:
    """Five to fourteen rows by a column of some detail, all whose rows they are known, and perhaps people outside."""
    people = int(generator.integers(5, 15))
    outside = int(generator.integers(0, 8))
    known = {"id": np.arange(people + outside), "zip": generator.integers(0, 3 * people, people + outside)}
    released = {name: values[:people] for name, values in known.items()}
    return linked(released if related else {**released, "id": generator.permutation(people)}, known)


def small_ratings(generator: np.random.Generator, related: bool) -> Finding:
    """Forty records, of which twelve are looked for, by four films of which one is wrong; and fifteen people
    outside.
    """
    made = film_ratings(generator, 55, 150, 20)
    known = [(p, clues_about(generator, made, p, known=4, wrong=1, days=None)) for p in range(12)]
    outside = [clues_about(generator, made, p, known=4, wrong=1, days=None) for p in range(40, 55)]
    owner = np.arange(40) if related else generator.permutation(40)
    return FuzzyLinkage().run(made.released(40), [(int(owner[p]), one) for p, one in known], outside)


def outsiders_alone(generator: np.random.Generator, related: bool) -> Finding:
    """The same, but what is known is of people who have no record."""
    made = film_ratings(generator, 70, 150, 20)
    known = [clues_about(generator, made, p, known=4, wrong=1, days=None) for p in range(40, 70)]
    if related:
        return FuzzyLinkage().run(made.released(70), list(zip(range(40, 70), known)), [])
    return FuzzyLinkage().run(made.released(40), list(enumerate(known[:15])), known[15:])


@pytest.mark.parametrize("play", [small_table, small_ratings, outsiders_alone])
def test_the_harmless_are_blamed_no_more_often_than_stated(
    play: Callable[[np.random.Generator, bool], Finding],
) -> None:
    """400 harmless releases, each blamed with a chance of at most 5 %: 36 or more in 1 of 1,000 runs; the seeds are
    fixed.
    """
    blamed = sum(play(np.random.default_rng(seed), False).leaks for seed in range(400))
    assert blamed < 36
    assert sum(play(np.random.default_rng(seed), True).leaks for seed in range(100)) > 90
