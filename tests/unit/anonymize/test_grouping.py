"""Grouping by counting, by sorting and by columns gives what a dictionary gives."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from obverse.anonymize.grouping import grouped, numbered


@pytest.mark.parametrize(
    "spread", [1, 1 << 5, 1 << 8, 1 << 10, 1 << 16, 1 << 20, 1 << 28],
    ids=["counted", "sorted in 32 bits", "30 bits and weights", "36 bits", "54 bits", "by columns", "by wide columns"],
)  # fmt: skip
@pytest.mark.parametrize("heavy", [1, 1 << 50])
def test_groups_are_those_of_a_dictionary(spread: int, heavy: int) -> None:
    codes = [np.array([(7 * i + j) % (2 + j) for i in range(50)], dtype=np.int32) for j in range(3)]
    columns = [c * np.int32(spread // 4 or 1) for c in codes]
    sizes = [4 * spread] * 3
    weights = np.arange(50, dtype=np.int64) * heavy
    expected = Counter[tuple[int, ...]]()
    for row, weight in zip(zip(*(c.tolist() for c in columns)), weights.tolist()):
        expected[row] += weight
    found = grouped(columns, sizes, (weights,))
    assert dict(zip(zip(*(c.tolist() for c in found.columns)), found.weights[0].tolist())) == dict(expected)
    assert len(found.starts(3)) == len(found) == len(expected)
    assert len(found.starts(1)) == len({row[0] for row in expected})
    index, count = numbered(columns, sizes)
    assert count == len(expected)
    assert len(set(zip(index.tolist(), *(c.tolist() for c in columns)))) == count


def test_a_table_without_rows_has_no_groups() -> None:
    nothing = np.zeros(0, dtype=np.int32)
    assert len(grouped([nothing], [3], (nothing.astype(np.int64),))) == 0
