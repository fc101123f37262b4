"""Names of the cells of pairs: values, missing ones and the group of rare ones, each under a name of its own."""

from __future__ import annotations

import numpy as np
import pytest

from obverse.core.types import Type
from obverse.publish.synthetic.method import Synthetic
from obverse.publish.workload import Attribute, Workload


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (("a", "b", "c", None), ["a", "(other)", "missing"]),
        (("a", "b", "c", "(other)", None), ["a", "(rare)", "(other)", "missing"]),
        (
            ("a", "b", "c", "(other)", "(rare)", "missing", None),
            ["a", "(rare 2)", "(other)", "(rare)", "missing", "(missing)"],
        ),
    ],
)
def test_no_two_cells_of_a_pair_have_one_name(values: tuple[str | None, ...], names: list[str]) -> None:
    attributes = (Attribute("town", values, Type.TEXT), Attribute("done", (True, False), Type.BOOLEAN))
    groups = (np.array([0, 1, 1, *range(2, len(values) - 1)]), np.array([0, 1]))
    method = Synthetic(Workload(attributes, ((0,), (1,))), ((0, 1),), groups)
    assert method.group_names(0) == names
    labels, _ = method.labels(2)
    assert len(set(zip(*(labels[name].tolist() for name in ("town", "done"))))) == 2 * len(names)
