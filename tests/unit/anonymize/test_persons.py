"""People with several rows: k, l, t, risks, searches and attacks, compared with counting them one after the other."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from obverse.anonymize.hierarchies import Hierarchy, Recipe, built, guessed
from obverse.anonymize.lattice import LOSSES, Judge, Search
from obverse.anonymize.measures import by_both, by_class, by_several, measured, risk, utility
from obverse.anonymize.recoding import Recoded, at_node, unchanged
from obverse.anonymize.report import report_of, weaknesses
from obverse.anonymize.request import Wish, anonymized, models_of
from obverse.anonymize.table import Persons, Table
from obverse.core.errors import Refused
from tests.unit.anonymize.tables import table

Row = tuple[str, str, str | None, int]  # age, city, disease, person
QUASI = ("age", "city")
BASE = Wish(quasi=QUASI, sensitive=("disease",), k=2)
DEMANDS: list[dict[str, tuple[str, ...]]] = [
    {}, {"l": ("2",)}, {"l": ("3",)}, {"l": ("entropy:1.5",)}, {"l": ("recursive:3,2",)}, {"t": ("0.4",)},
    {"t": ("ordered:0.3",)}, {"t": ("hierarchical:0.4",)}, {"alpha": ("0.7",)},
]  # fmt: skip
SEARCHES = [{"search": "optimal", "suppress": 0.3}, {"search": "optimal"}, {"search": "mondrian"}]


def of_people(rows: Iterable[Row], *, named: bool = False) -> tuple[Table, list[list[int]]]:
    """Collapsed as the engine does it: equal rows of a person once, and people of one entry without their names; and
    which
    people each entry has. With `named` everybody keeps their code."""
    times = Counter(rows)
    entries = defaultdict(list)
    for row in times:
        entries[row[3]].append(row)
    alone = {} if named else {who: some[0] for who, some in entries.items() if len(some) == 1}
    keys: dict[tuple[str, str, str | None, int], list[int]] = defaultdict(list)
    for age, city, disease, who in sorted(times, key=str):
        keys[age, city, disease, 0 if who in alone else who + 1].append(who)
    ages, cities, diseases, codes = zip(*keys)
    counts = [[times[(*key[:3], who)] for who in people] for key, people in keys.items()]
    dense = {code: place for place, code in enumerate(sorted({0, *codes}))}
    persons = Persons(
        np.array([dense[code] for code in codes], dtype=np.int32),
        np.array([len(people) for people in keys.values()], dtype=np.int64),
        np.array([max(some) for some in counts], dtype=np.int64),
    )
    found = table({"age": ages, "city": cities}, {"disease": diseases})
    return replace(found, counts=np.array([sum(some) for some in counts], dtype=np.int64), persons=persons), list(
        keys.values()
    )


VISITS = st.lists(
    st.tuples(st.integers(20, 45).map(str), st.sampled_from(["01001", "01002", "01101", "02139"]),
              st.sampled_from(["flu", "gout", "aids", None]), st.integers(0, 9)), min_size=4, max_size=40,
)  # fmt: skip
CONSTANT = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 3)), min_size=4, max_size=40).map(  # one disease each
    lambda drawn: [(str(20 + 7 * ((n + town) % 3)), f"0{town}", ["flu", "gout", "aids"][n % 3], n) for n, town in drawn]
)
HOME = st.lists(
    st.tuples(st.integers(0, 14), st.sampled_from(["flu", "gout"])), min_size=4, max_size=40
).map(  # of one city each
    lambda drawn: [(str(20 + who), f"0100{who % 4}", disease, who) for who, disease in drawn]
)
TABLES = st.one_of(VISITS, CONSTANT, HOME)


# Reference: plain loops over rows.


def by_label(recoded: Recoded, whose: list[list[int]]) -> dict[tuple[str | None, ...], list[tuple[int, int]]]:
    """Of each class, as its labels say: the person and the place of the value of each released row (each entry
    once).
    """
    found = defaultdict(list)
    labels = list(zip(*([c.labels[i] for i in c.places] for c in recoded.columns)))
    for n, kept in enumerate(recoded.kept):
        if kept:
            found[labels[n]] += [(who, int(recoded.table.sensitive[0].codes[n])) for who in whose[n]]
    return found


def sets_of(rows: list[tuple[int, int]]) -> dict[int, set[int]]:
    found = defaultdict(set)
    for who, value in rows:
        found[who].add(value)
    return found


def shares_of(sets: dict[int, set[int]], size: int) -> list[float]:
    """Everybody counts one, shared evenly by their values."""
    found = [0.0] * size
    for values in sets.values():
        for value in values:
            found[value] += 1 / len(values) / len(sets)
    return found


def fewest_values(sets: dict[int, set[int]]) -> int:
    """The fewest values of which everybody has at least one: what is left to be ruled out."""
    values = set().union(*sets.values())
    return next(n for n in itertools.count(1) for some in itertools.combinations(values, n)
                if all(set(some) & own for own in sets.values()))  # fmt: skip


def choices(sets: dict[int, set[int]]) -> Iterable[Counter[int]]:
    """All ways in which everybody counts with one of their values."""
    return (Counter(chosen) for chosen in itertools.product(*sets.values()))


def earth(own: list[float], whole: list[float], values: int) -> float:
    """Neighbours of the values that occur at all lie 1 / (m - 1) apart."""
    here = [v for v in range(values) if whole[v] > 0]
    moved = np.cumsum([own[v] - whole[v] for v in here])
    return float(np.abs(moved[:-1]).sum() / (len(here) - 1)) if len(here) > 1 else 0.0


@settings(max_examples=150, deadline=None)
@given(rows=TABLES)
def test_what_a_table_reaches_is_what_loops_over_people_find(rows: list[Row]) -> None:
    people, whose = of_people(rows)
    recoded = unchanged(people)
    found = measured(recoded)
    size = people.sensitive[0].size
    classes = [sets_of(some) for some in by_label(recoded, whose).values()]
    whole = shares_of(sets_of([row for some in by_label(recoded, whose).values() for row in some]), size)
    disease = found["sensitive"]["disease"]
    assert found["k"] == min(len(sets) for sets in classes)
    assert disease["alpha"] == pytest.approx(max(max(Counter(v for s in sets.values() for v in s).values()) / len(sets)
                                                 for sets in classes))  # fmt: skip
    shares = [shares_of(sets, size) for sets in classes]
    assert disease["t_equal"] == pytest.approx(max(sum(map(abs, np.subtract(own, whole))) / 2 for own in shares))
    assert disease["t_ordered"] == pytest.approx(max(earth(own, whole, size) for own in shares))
    assert people.people == len({row[3] for row in rows})
    assert people.rows == len(rows)


@settings(max_examples=150, deadline=None)
@given(rows=TABLES)
def test_diversity_is_never_more_than_by_any_choice_of_a_value_for_everybody(rows: list[Row]) -> None:
    """Exact where everybody has one value, and for l of 1 and 2; else at most what the least diverse choice gives."""
    people, whose = of_people(rows)
    recoded = unchanged(people)
    classes = [sets_of(some) for some in by_label(recoded, whose).values()]
    assume(all(math.prod(len(own) for own in sets.values()) <= 2000 for sets in classes))
    found = measured(recoded)["sensitive"]["disease"]
    distinct = min(fewest_values(sets) for sets in classes)
    assert found["distinct_l"] <= distinct
    assert (found["distinct_l"] == 1) is (distinct == 1)
    least = math.inf
    ratio = 0.0
    for sets in classes:
        for chosen in choices(sets):
            counts = sorted(chosen.values(), reverse=True)
            least = min(least, math.exp(-sum(n / len(sets) * math.log(n / len(sets)) for n in counts)))
            ratio = max(ratio, counts[0] / sum(counts[1:]) if counts[1:] else math.inf)
    assert found["entropy_l"] <= least + 1e-9
    assert (math.inf if found["recursive_c"] is None else found["recursive_c"]) >= ratio - 1e-9
    if all(len(own) == 1 for sets in classes for own in sets.values()):
        assert found["distinct_l"] == distinct
        assert found["entropy_l"] == pytest.approx(least)


@settings(max_examples=80, deadline=None)
@given(rows=TABLES, demand=st.sampled_from(DEMANDS), search=st.sampled_from(SEARCHES))
def test_what_is_released_has_k_people_in_each_class_and_keeps_to_the_limit(
    rows: list[Row], demand: dict[str, tuple[str, ...]], search: dict[str, object]
) -> None:
    people, whose = of_people(rows)
    try:
        outcome = anonymized(people, replace(BASE, **demand, **search))  # type: ignore[arg-type]
    except Refused:
        return
    recoded = outcome.recoded
    classes = [sets_of(some) for some in by_label(recoded, whose).values()]
    assert all(len(sets) >= 2 for sets in classes)
    left_out = {who for n, kept in enumerate(recoded.kept) if not kept for who in whose[n]}
    assert recoded.people_suppressed == len(left_out) <= search.get("suppress", 0) * people.people  # type: ignore[operator]
    assert recoded.people == len({who for sets in classes for who in sets})
    if demand == {"l": ("2",)}:
        assert all(not set.intersection(*sets.values()) for sets in classes)
    if demand == {"l": ("3",)}:
        assert all(fewest_values(sets) >= 3 for sets in classes)
    if demand == {"alpha": ("0.7",)}:
        assert all(sum(v in own for own in sets.values()) <= 0.7 * len(sets) + 1e-6
                   for sets in classes for v in range(people.sensitive[0].size))  # fmt: skip
    if classes:
        assert measured(recoded)["k"] == min(map(len, classes))


def hierarchies_of(people: Table) -> list[Hierarchy]:
    return [built(guessed(c.name, c.values), c.name, c.values) for c in people.quasi]


@settings(max_examples=80, deadline=None)
@given(
    rows=TABLES, demand=st.sampled_from(DEMANDS), share=st.sampled_from([0.0, 0.1, 0.3]), loss=st.sampled_from(LOSSES)
)
def test_the_search_finds_the_best_of_all_tables_that_could_be_written(
    rows: list[Row], demand: dict[str, tuple[str, ...]], share: float, loss: str
) -> None:
    """Every node is released and measured on its own, past the collapsed tables and past what is concluded from
    others.
    """
    people, _ = of_people(rows)
    hierarchies = hierarchies_of(people)
    models = models_of(replace(BASE, **demand), people)
    limit = int(share * people.people)
    losses = []
    for node in itertools.product(*(range(h.height) for h in hierarchies)):
        recoded = at_node(people, hierarchies, node, models)
        if recoded.people_suppressed <= limit:
            lost = utility(recoded, 2)
            losses.append(
                lost.discernibility if loss == "discernibility" else float(np.mean(list(lost.columns.values())))
            )
    search = Search(people, hierarchies, models, limit, loss)
    if not losses:
        with pytest.raises(Refused):
            search.run()
        return
    assert search.run().loss == pytest.approx(min(losses), rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(rows=TABLES, demand=st.sampled_from(DEMANDS), share=st.sampled_from([0.0, 0.2]))
def test_what_is_concluded_from_a_node_to_those_below_is_true(
    rows: list[Row], demand: dict[str, tuple[str, ...]], share: float
) -> None:
    people, _ = of_people(rows)
    hierarchies = hierarchies_of(people)
    models = models_of(replace(BASE, **demand), people)
    judge = Judge(people, hierarchies, models, int(share * people.people), False)
    judged = {node: judge.judge(node) for node in itertools.product(*(range(h.height) for h in hierarchies))}
    for (node, one), (low, below) in itertools.product(judged.items(), repeat=2):
        if all(a <= b for a, b in zip(low, node)):
            assert not (one.hopeless and below.holds)
            assert below.loss.base <= one.loss.base
            assert below.loss.fee >= one.loss.fee


@settings(max_examples=60, deadline=None)
@given(rows=TABLES, demand=st.sampled_from(DEMANDS))
def test_a_node_is_judged_the_same_from_any_collapsed_table_below(
    rows: list[Row], demand: dict[str, tuple[str, ...]]
) -> None:
    people, _ = of_people(rows)
    hierarchies = hierarchies_of(people)
    models = models_of(replace(BASE, **demand), people)
    nodes = list(itertools.product(*(range(h.height) for h in hierarchies)))
    going = Judge(people, hierarchies, models, 3, False)
    for node in nodes:
        assert going.judge(node) == Judge(people, hierarchies, models, 3, False).judge(node)


@settings(max_examples=60, deadline=None)
@given(rows=TABLES, search=st.sampled_from(SEARCHES), demand=st.sampled_from(DEMANDS))
def test_people_whose_rows_are_all_alike_may_keep_their_names_or_not(
    rows: list[Row], search: dict[str, object], demand: dict[str, tuple[str, ...]]
) -> None:
    """Unnamed and added up, or each under a code: the same release and the same report."""
    try:
        one = anonymized(of_people(rows)[0], replace(BASE, **demand, **search))  # type: ignore[arg-type]
    except Refused:
        with pytest.raises(Refused):
            anonymized(of_people(rows, named=True)[0], replace(BASE, **demand, **search))  # type: ignore[arg-type]
        return
    two = anonymized(of_people(rows, named=True)[0], replace(BASE, **demand, **search))  # type: ignore[arg-type]
    told = [report_of(outcome) for outcome in (one, two)]
    for report in told:
        report["search"].pop("looked_at", None)
    assert _near(told[0], told[1])


def _near(one: object, two: object) -> bool:
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(_near(one[key], two[key]) for key in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(_near, one, two))
    return one == pytest.approx(two) if isinstance(one, float) else one == two


@settings(max_examples=100, deadline=None)
@given(rows=TABLES)
def test_risks_are_those_of_people(rows: list[Row]) -> None:
    people, _ = of_people(rows)
    classes = defaultdict(list)
    for age, city, _, who in rows:
        classes[age, city].append(who)
    found = risk(unchanged(people))
    everybody = len({row[3] for row in rows})
    most = {key: max(Counter(some).values()) / len(some) for key, some in classes.items()}
    assert found.prosecutor == pytest.approx(max(most.values()))
    exposed = {who for key, some in classes.items() if most[key] >= max(most.values()) for who in some}
    assert found.prosecutor_rows == pytest.approx(len(exposed) / everybody)
    assert found.marketer == pytest.approx(sum(len(some) / len(set(some)) for some in classes.values()) / len(rows))
    alone = {who for some in classes.values() for who in some if len(set(some)) == 1}
    assert found.unique == pytest.approx(len(alone) / everybody)
    cities = defaultdict(list)
    for _, city, _, who in rows:
        cities[city].append(who)
    without = sum(len(some) / len(set(some)) for some in cities.values()) / len(rows)
    assert found.contributions["age"] == pytest.approx(found.marketer - without)
    assert sum(found.sizes.values()) == len(rows)
    linkage, homogeneity = weaknesses(unchanged(people))
    assert linkage.share == pytest.approx(len(alone) / everybody)
    by_class = defaultdict(lambda: defaultdict(set))  # type: ignore[var-annotated]
    for age, city, disease, who in rows:
        by_class[age, city][who].add(disease)
    known = {who for sets in by_class.values() if set.intersection(*sets.values()) for who in sets}
    assert homogeneity.share == pytest.approx(len(known) / everybody)


@settings(max_examples=150, deadline=None)
@given(rows=TABLES)
def test_guesses_with_and_without_the_own_rows_are_those_of_a_loop(rows: list[Row]) -> None:
    people, whose = of_people(rows)
    recoded = unchanged(people)
    classes = [sets_of(some) for some in by_label(recoded, whose).values()]

    def usual(sets: Iterable[set[int]]) -> int:
        counts = Counter(v for own in sets for v in own)
        return min(counts, key=lambda value: (-counts[value], value))

    everywhere = usual(own for sets in classes for own in sets.values())
    right = without = trials = 0
    for sets in classes:
        for who, own in sets.items():
            others = [values for other, values in sets.items() if other != who]
            trials = trials + 1
            right = right + (usual(sets.values()) in own)
            without += (usual(others) if others else everywhere) in own
    assert by_class(recoded, 0) == (right, without, trials)


@settings(max_examples=150, deadline=None)
@given(rows=st.one_of(VISITS, CONSTANT))
def test_several_classes_of_a_person_leave_what_all_of_them_hold(rows: list[Row]) -> None:
    people, whose = of_people(rows)
    classes = {key: sets_of(some) for key, some in by_label(unchanged(people), whose).items()}
    values = {key: set().union(*sets.values()) for key, sets in classes.items()}
    wanted = 0
    for who in {row[3] for row in rows}:
        mine = [key for key, sets in classes.items() if who in sets]
        own = set().union(*(classes[key][who] for key in mine))
        common = set.intersection(*(values[key] for key in mine))
        wanted += len(mine) > 1 and len(own) == 1 and common == own and all(len(values[key]) > 1 for key in mine)
    assert by_several(unchanged(people), 0) == wanted


@settings(max_examples=60, deadline=None)
@given(rows=TABLES)
def test_two_releases_are_counted_by_people(rows: list[Row]) -> None:
    people, whose = of_people(rows)
    one, two = (unchanged(replace(people, quasi=(column,))) for column in people.quasi)
    allowed = [[{int(s) for s, j in zip(people.sensitive[0].codes, release.index) if j == i} for i in release.index]
               for release in (one, two)]  # fmt: skip
    decided = [len(a & b) == 1 and len(a) > 1 and len(b) > 1 for a, b in zip(*allowed)]
    wanted = {who for n, won in enumerate(decided) if won for who in whose[n]}
    assert by_both(replace(one, table=people), replace(two, table=people), 0) == len(wanted)


def test_the_people_of_two_classes_do_not_add_up_where_somebody_is_in_both() -> None:
    """Two cities with the same two people: brought together they are two, not four."""
    rows: list[Row] = [("20", city, "flu", who) for city in ("01001", "01002") for who in (1, 2)]
    people, _ = of_people(rows)
    with pytest.raises(Refused) as refused:
        anonymized(people, replace(BASE, k=3))
    assert refused.value.code == "not_reachable"
    assert measured(anonymized(people, BASE).recoded)["k"] == 2


def test_merging_can_make_homogeneous_what_was_not_and_the_search_knows() -> None:
    """Each city alone is 2-diverse; both together everybody has both diseases.

    So a node above one that holds may fail.
    """
    had = [("01001", "flu", 1), ("01001", "gout", 2), ("01002", "gout", 1), ("01002", "flu", 2)]
    rows: list[Row] = [("20", city, disease, who) for city, disease, who in had]
    people, _ = of_people(rows)
    wish = replace(BASE, l=("2",), hierarchies={"city": Recipe("file", lines=(("01001",), ("01002",)))})
    outcome = anonymized(people, wish)
    assert measured(outcome.recoded)["classes"] == 2
    assert measured(outcome.recoded)["sensitive"]["disease"]["distinct_l"] == 2
    models = models_of(wish, people)
    hierarchies = hierarchies_of(people)
    top = tuple(h.height - 1 for h in hierarchies)
    assert not at_node(people, hierarchies, top, models).kept.any()
    judge = Judge(people, hierarchies, models, 0, False)
    assert judge.judge((0, 0)).holds
    assert not judge.judge(top).holds
    assert not judge.judge(top).hopeless  # it says nothing of what is below
