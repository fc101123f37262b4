from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.attack.tables.cells import standing
from obverse.attack.tables.classes import classes, coded
from obverse.attack.tables.matching import matched
from obverse.core.errors import Refused


def table(**columns: Any) -> dict[str, Any]:
    return {name: np.array(values, dtype=object) for name, values in columns.items()}


CELLS = st.sampled_from(["*", "[1-3]", "<3", "2", "4", "{1, 4}", "3-4"])
VALUES = st.sampled_from(["1", "2", "3", "4"])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=12),
    st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=12),
)
def test_the_search_finds_exactly_the_rows_that_comparing_every_pair_finds(released: Any, known: Any) -> None:
    rows = table(a=[r[0] for r in released], b=[r[1] for r in released])
    people = table(a=[k[0] for k in known], b=[k[1] for k in known])
    search = matched(rows, people, ("a", "b"))
    fitting, _, by_class = search.counts()
    for i, person in enumerate(known):
        fits = [all(len(standing([cell], [value])[0]) for cell, value in zip(row, person)) for row in released]
        assert fitting[search.people.codes[i]] == sum(fits)
    for i, row in enumerate(released):
        fits = [all(len(standing([cell], [value])[0]) for cell, value in zip(row, person)) for person in known]
        assert by_class[search.released.codes[i]] == sum(fits)


def test_a_link_is_one_row_and_one_person() -> None:
    released = table(zip=["021**", "021**", "022**"], sex=["M", "F", "F"])
    known = table(zip=["02138", "02139", "02139", "02210"], sex=["M", "F", "F", "F"])
    assert matched(released, known, ("zip", "sex")).links().tolist() == [0, -1, -1, 2]


def test_numbers_and_texts_of_one_value_are_one_code() -> None:
    found = coded(np.array([1.0, "1", 1, None, float("nan"), " 1 "], dtype=object))
    assert found.texts == ("1", None)
    assert found.codes.tolist() == [0, 0, 0, 1, 1, 0]


def test_a_column_that_is_not_there_is_refused_by_name() -> None:
    with pytest.raises(Refused) as refused:
        classes(table(a=["x"]), ("b",))
    assert refused.value.code == "no_such_column"


def test_many_people_and_many_overlapping_classes_are_searched_in_time() -> None:
    """Ranges that overlap, as local recoding makes them: 5,000 people, 2,000 classes, three columns."""
    generator = np.random.default_rng(1)
    low = generator.integers(0, 80, (2000, 3))
    released = table(**{f"c{i}": [f"[{a}, {a + 12}]" for a in low[:, i]] for i in range(3)})
    values = generator.integers(0, 92, (5000, 3))
    known = table(**{f"c{i}": [str(v) for v in values[:, i]] for i in range(3)})
    search = matched(released, known, ("c0", "c1", "c2"))
    fitting, _, _ = search.counts()
    inside = ((values[:, None, :] >= low[None]) & (values[:, None, :] <= low[None] + 12)).all(axis=2).sum(axis=1)
    assert np.array_equal(fitting[search.people.codes], inside)
