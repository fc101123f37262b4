"""l and t of classes, beside a count by hand over all values."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings

from obverse.anonymize.grouping import classes_by
from obverse.anonymize.models import entropies, equal, hierarchical, ordered, per_class, tails
from obverse.anonymize.table import Table
from tests.unit.anonymize.tables import tables


@settings(max_examples=60, deadline=None)
@given(given=tables())
def test_numbers_of_each_class_are_those_counted_by_hand(given: Table) -> None:
    index = given.quasi[1].codes.astype(np.int64)
    secret = given.sensitive[0]
    classes = classes_by(index, given.quasi[1].size, given, given.counts)
    everyone = Counter(secret.codes.tolist())
    whole = np.array([everyone[code] / given.rows for code in range(secret.size)])
    groups = np.array([code // 2 for code in range(secret.size)], dtype=np.int32)
    found = {
        "n": per_class(classes, 0, np.ones_like),
        "h": entropies(classes, 0),
        "e": equal(classes, 0, whole),
        "o": ordered(classes, 0, whole),
        "t": hierarchical(classes, 0, whole, (np.arange(secret.size, dtype=np.int32), groups)),
    }
    largest, tail = tails(classes, 0, 2)
    present = [value for value in range(secret.size) if everyone[value]]
    for one in set(index.tolist()):
        here = Counter(secret.codes[index == one].tolist())
        n = sum(here.values())
        share = [here[value] / n for value in range(secret.size)]
        gap = np.array(share) - whole
        counts = sorted(here.values(), reverse=True)
        assert found["n"][one] == len(here)
        assert found["h"][one] == pytest.approx(-sum(p * math.log(p) for p in share if p), abs=1e-9)
        assert found["e"][one] == pytest.approx(np.abs(gap).sum() / 2)
        cumulated = list(itertools.accumulate(gap[value] for value in present))[:-1]
        assert found["o"][one] == pytest.approx(sum(map(abs, cumulated)) / max(len(present) - 1, 1), abs=1e-9)
        lifted = np.abs(np.bincount(groups, weights=gap)).sum() / 2
        assert found["t"][one] == pytest.approx((np.abs(gap).sum() / 2 + lifted) / 2)
        assert (largest[one], tail[one]) == (counts[0], sum(counts[1:]))


def test_the_hierarchical_distance_is_that_of_its_paper() -> None:
    """Nine diseases under three organs of two kinds: by height of the common ancestor, moved mass by mass."""
    leaves = 9
    organs = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2], dtype=np.int32)
    kinds = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1], dtype=np.int32)
    counts = np.zeros(leaves, dtype=np.int64)
    counts[[0, 1, 2]] = 1
    from obverse.anonymize.table import Column

    secret = Column("d", tuple("abcdefghi"), np.arange(leaves, dtype=np.int32))
    given = Table((secret,), (secret,), counts)
    classes = classes_by(np.zeros(leaves, dtype=np.int64), 1, given, counts)
    levels = tuple(np.append(level, level.max() + 1).astype(np.int32) for level in (np.arange(leaves), organs, kinds))
    whole = np.append(np.full(leaves, 1 / 9), 0.0)
    # a third of the mass goes to the other organ of the same kind (height 2 of 3), a third to the other kind (3 of 3)
    assert hierarchical(classes, 0, whole, levels)[0] == pytest.approx(1 / 3 * 2 / 3 + 1 / 3)
