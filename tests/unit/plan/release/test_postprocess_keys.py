"""Values of keys in an answer: what is no number is told as NULL, so that no answer fails by it."""

from __future__ import annotations

import math

import numpy as np

from obverse.core.types import Type
from obverse.plan.expressions import ColumnFacts, Ref
from obverse.plan.relation import Aggregate, Key, Limit, Project, Scan, Shape
from obverse.plan.release.noise import Released
from obverse.plan.release.postprocess import key_columns


def test_a_discovered_double_that_is_no_finite_number_is_told_as_null() -> None:
    key = Key("g * g", Ref("x", ColumnFacts(Type.DOUBLE)), None, null_cell=True)
    root = Aggregate(Project(Limit(Scan("t", ("x",)), Shape.ROW, 1), (key,), ()))
    values = np.array([1.5, math.inf, -math.inf, math.nan, None], dtype=object)
    told = key_columns(root, Released(5, {}, {}, (values,)))["key", 0]
    assert told.null.tolist() == [False, True, True, True, True]
    assert told.values[0] == 1.5
