"""Released keys are told in the order of their values, whatever order they came in; a key that stands twice is a
defect.
"""

from __future__ import annotations

import datetime as dt
import math
import random
from typing import Any

import numpy as np
import pytest

from obverse.core.errors import InvariantBroken
from obverse.core.types import Type
from obverse.plan.release.noise import value_order


def column(values: list[Any]) -> Any:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (Type.INTEGER, [-(2**63), -1, 0, 2**53, 2**53 + 1, 2**63 - 1, None]),
        (Type.DOUBLE, [-math.inf, -1.5, 0.0, 1e300, math.inf, math.nan, None]),
        (Type.TEXT, ["", "A", "B", "a", "é", "\uffff", "\U0001f600", None]),
        (Type.BOOLEAN, [False, True, None]),
        (Type.DATE, [dt.datetime(1999, 1, 1), dt.datetime(2020, 2, 29), None]),
        (Type.TIMESTAMP, [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 0, 0, 0, 1), None]),
    ],
)
def test_values_ascend_with_null_last(kind: Type, values: list[Any]) -> None:
    for seed in range(5):
        shuffled = random.Random(seed).sample(values, len(values))
        order = value_order([column(shuffled)], [kind])
        assert repr([shuffled[place] for place in order]) == repr(values)


def test_the_first_key_goes_before_the_second() -> None:
    first = column(["b", None, "a", "b"])
    second = column([1, 0, 9, None])
    order = value_order([first, second], [Type.TEXT, Type.INTEGER])
    assert [(first[i], second[i]) for i in order] == [("a", 9), ("b", 1), ("b", None), (None, 0)]


@pytest.mark.parametrize("twice", [["a", "b", "a"], [None, None]])
def test_a_key_that_stands_twice_is_a_defect(twice: list[Any]) -> None:
    with pytest.raises(InvariantBroken, match="twice"):
        value_order([column(twice)], [Type.TEXT])


def test_no_keys_have_an_order() -> None:
    assert value_order([column([])], [Type.TEXT]).tolist() == []
