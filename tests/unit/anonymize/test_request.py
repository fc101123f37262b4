"""Laws of what is released: it satisfies the models, goes only up the hierarchy, and is the same each time."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.anonymize.grouping import grouped
from obverse.anonymize.hierarchies import Recipe, built
from obverse.anonymize.measures import Utility, measured, risk, utility
from obverse.anonymize.models import all_hold
from obverse.anonymize.recoding import Recoded, unchanged
from obverse.anonymize.report import checked, report_of, weaknesses
from obverse.anonymize.request import Wish, anonymized, models_of
from obverse.anonymize.table import Table
from obverse.core.errors import Refused
from tests.unit.anonymize.tables import table, tables

QUASI = ("age", "zip", "race")
BASE = Wish(quasi=QUASI, sensitive=("disease",), k=2)
MODELS = [
    {},
    {"l": ("2",)},
    {"l": ("entropy:1.5",)},
    {"l": ("recursive:3,2",)},
    {"t": ("0.5",)},
    {"t": ("ordered:0.4",)},
    {"t": ("hierarchical:0.5",)},
    {"alpha": ("disease=0.8",)},
]
SEARCHES = [{"search": "optimal", "suppress": 0.3}, {"search": "optimal"}, {"search": "mondrian"}]


def released(recoded: Recoded) -> list[tuple[str | None, ...]]:
    return list(zip(*([c.labels[i] for i in c.places] for c in recoded.columns)))


@settings(max_examples=60, deadline=None)
@given(given=tables(), model=st.sampled_from(MODELS), search=st.sampled_from(SEARCHES))
def test_what_is_released_satisfies_the_models(given: Table, model: dict, search: dict) -> None:  # type: ignore[type-arg]
    wish = replace(BASE, **model, **search)
    try:
        outcome = anonymized(given, wish)
    except Refused:
        return
    recoded = outcome.recoded
    # by labels alone, as somebody who holds the table sees it
    labels = released(recoded)
    seen = {}
    index = np.array([seen.setdefault(one, len(seen)) for one in labels])
    again = Recoded(given, recoded.columns, index, len(seen), recoded.kept)
    classes = again.classes()
    assert all_hold(models_of(outcome.wish, given), classes)[classes.sizes > 0].all()
    assert recoded.suppressed <= round(wish.suppress * given.rows, 9)
    assert measured(again)["k"] >= 2 or not again.people
    assert utility(again, 2).classes == utility(recoded, 2).classes


@settings(max_examples=40, deadline=None)
@given(given=tables(), search=st.sampled_from(SEARCHES))
def test_a_value_only_goes_up_and_missing_is_like_nothing_else_but_a_star(given: Table, search: dict) -> None:  # type: ignore[type-arg]
    try:
        outcome = anonymized(given, replace(BASE, **search))
    except Refused:
        return
    for column, labelled in zip(given.quasi, outcome.recoded.columns):
        hierarchy = built(outcome.wish.hierarchies[column.name], column.name, column.values)
        for code, place in zip(column.codes, labelled.places):
            label = labelled.labels[place]
            if code == column.missing:
                assert label in (None, "*")
            elif search["search"] == "optimal":
                assert label in {level.labels[level.groups[code]] for level in hierarchy.levels}
            else:
                assert label is not None
                value = column.values[code]
                low, _, high = label.partition("-")
                within = hierarchy.ordered and high and low <= value <= high
                groups = {level.labels[level.groups[code]] for level in hierarchy.levels}
                assert within or groups & set(label.split(" | ")) or any(g and g in label for g in groups)


@settings(max_examples=20, deadline=None)
@given(given=tables(), search=st.sampled_from(SEARCHES), seed=st.randoms(use_true_random=False))
def test_the_same_table_in_another_order_gives_the_same_release(given: Table, search: dict, seed) -> None:  # type: ignore[type-arg, no-untyped-def]
    order = list(range(len(given.counts)))
    seed.shuffle(order)
    turned = Table(
        tuple(replace(c, codes=c.codes[order]) for c in given.quasi),
        tuple(replace(c, codes=c.codes[order]) for c in given.sensitive),
        given.counts[order],
    )
    try:
        first = anonymized(given, replace(BASE, **search))
    except Refused:
        return
    second = anonymized(turned, replace(BASE, **search))
    assert [released(first.recoded)[i] for i in order] == released(second.recoded)
    assert report_of(first) == report_of(second)


@settings(max_examples=20, deadline=None)
@given(given=tables(), search=st.sampled_from(SEARCHES), times=st.sampled_from([1, 3, 1 << 45]))
def test_rows_that_are_counted_are_like_rows_that_are_written_out(given: Table, search: dict, times: int) -> None:  # type: ignore[type-arg]
    """Collapsed by GROUP BY or not, and with counts beyond what a word holds beside its key."""
    columns = [c.codes for c in (*given.quasi, *given.sensitive)]
    rows = grouped(columns, [c.size for c in (*given.quasi, *given.sensitive)], (given.counts * times,))
    secret = replace(given.sensitive[0], codes=rows.columns[-1])
    counted = Table(
        tuple(replace(c, codes=rows.columns[j]) for j, c in enumerate(given.quasi)), (secret,), rows.weights[0]
    )
    try:
        first = anonymized(given, replace(BASE, **search)).recoded
    except Refused:
        return
    second = anonymized(counted, replace(BASE, k=2 * times, **search)).recoded
    told = Counter[tuple[str | None, ...]]()
    for one, people in zip(released(second), second.rows.tolist()):
        told[one] += people
    if times < 1 << 40:  # beyond, discernibility is no longer a whole number that a double holds
        assert told == {
            one: n * times
            for one, n in Counter(one for one, people in zip(released(first), first.rows) if people).items()
        } | {one: 0 for one in told if not told[one]}
    assert min((n for n in told.values() if n), default=2 * times) >= 2 * times


def test_a_wish_is_read_back_from_its_manifest() -> None:
    given = table(
        {"age": ["20", "21", "30", "31"], "zip": ["01001"] * 4, "race": list("abab")}, {"disease": list("xyxy")}
    )
    outcome = anonymized(given, replace(BASE, l=("2",), suppress=0.1))
    again = Wish.from_json(outcome.wish.as_json())
    assert again == outcome.wish
    assert report_of(anonymized(given, again)) == report_of(outcome)


@pytest.mark.parametrize("told", [None, {}, {"version": 2}, {"version": 1, "quasi": 3}])
def test_a_manifest_that_is_none_is_refused(told: object) -> None:
    with pytest.raises(Refused) as refused:
        Wish.from_json(told)
    assert refused.value.code == "bad_manifest"


@pytest.mark.parametrize(
    "told",
    [
        {}, {"quasi": ("a",)},
        {"k": 2}, {"quasi": ("a",), "k": 0}, {"quasi": ("a", "a"), "k": 2}, {"quasi": ("a",), "l": ("2",)},
        {"quasi": ("a",), "k": 2, "suppress": 1.0}, {"quasi": ("a",), "k": 2, "search": "best"}, {"sample": 0.0},
        {"quasi": ("a",), "k": 2, "search": "mondrian", "suppress": 0.1},
    ],
)  # fmt: skip
def test_a_wish_that_makes_no_sense_is_refused(told: dict) -> None:  # type: ignore[type-arg]
    with pytest.raises(Refused) as refused:
        Wish(**told)
    assert refused.value.code == "bad_parameter"


@pytest.mark.parametrize(
    "told",
    [{"l": ("many:2",)}, {"l": ("0",)}, {"l": ("1.5",)}, {"l": ("recursive:2",)}, {"l": ("x=2",)}, {"l": ("two",)},
     {"t": ("2",)}, {"alpha": ("0.5,1",)}, {"presence": "0.5"}, {"presence": "0,1"},
     {"l": ("entropy:nan",)}, {"l": ("recursive:inf,2",)}, {"l": ("recursive:nan,2",)}],
)  # fmt: skip
def test_a_demand_that_cannot_be_read_is_refused(told: dict) -> None:  # type: ignore[type-arg]
    given = table({name: ["1", "2"] for name in QUASI}, {"disease": ["x", "y"]})
    with pytest.raises(Refused) as refused:
        models_of(replace(BASE, **told), given)
    assert refused.value.code == "bad_parameter"


@pytest.mark.parametrize("search", ["optimal", "mondrian"])
def test_presence_is_bounded_against_a_population(search: str) -> None:
    ages = ["20", "20", "21", "40", "41", "42", "43"]
    given = table({"age": ages})
    people = np.array([1, 0, 1, 1, 1, 0, 0])
    population = np.ones(7, dtype=np.int64)
    given = Table(given.quasi, (), people.astype(np.int64), population)
    outcome = anonymized(given, Wish(quasi=("age",), presence="0.4,0.7", search=search))
    low, high = measured(outcome.recoded)["presence"]
    assert 0.4 <= low <= high <= 0.7
    assert risk(outcome.recoded).journalist is not None
    assert risk(outcome.recoded).journalist <= risk(outcome.recoded).prosecutor  # type: ignore[operator]


def test_figures_of_a_small_table() -> None:
    """Two classes, of two and one: sizes squared are 5; two classes among three rows."""
    given = table({"age": ["20", "20", "30"], "sex": list("ffm")}, {"disease": ["x", "x", "y"]})
    found = checked(unchanged(given))
    assert found["reaches"]["k"] == 1
    assert found["risk"]["marketer"] == pytest.approx(2 / 3)
    assert found["risk"]["prosecutor"] == 1.0
    assert found["risk"]["contributions"] == {"age": 0.0, "sex": 0.0}  # either tells as much as both
    assert utility(unchanged(given), None).discernibility == 5
    assert {one.attack: one.share for one in weaknesses(unchanged(given))} == {
        "linkage": pytest.approx(1 / 3),
        "homogeneity": 1.0,
    }
    assert all(sentence.endswith(".") for sentence in found["risk"]["sentences"].values())


def test_as_often_is_not_less_often() -> None:
    """1.1 * 110 is above 121 in doubles; recursive (c, l)-diversity asks for less."""
    secret = ["a"] * 121 + ["b"] * 110
    people = table({"age": ["30"] * len(secret)}, {"disease": secret})
    wish = Wish(quasi=("age",), sensitive=("disease",), l=("recursive:1.1,2",))
    with pytest.raises(Refused) as refused:
        anonymized(people, wish)
    assert refused.value.code == "not_reachable"
    assert anonymized(people, replace(wish, l=("recursive:1.101,2",))).recoded.suppressed == 0


def test_as_many_rows_may_be_left_out_as_the_share_says() -> None:
    """0.29 * 100 is below 29 in doubles."""
    ages = ["30"] * 71 + [str(i) for i in range(31, 60)]
    wish = Wish(
        quasi=("age",), k=2, suppress=0.29, hierarchies={"age": Recipe("file", lines=tuple((age,) for age in ages))}
    )
    assert anonymized(table({"age": ages}), wish).recoded.suppressed == 29


def test_sizes_of_classes_are_told_in_plain_numbers() -> None:
    told = Utility(20_000, 0, 11, 0.0, 20_000 / 11, None, {}).sentences["average_class"]
    assert told == "There are 11 classes of 1,818 rows on average."
