"""Numbers of a release as they are told: six decimals, and a check that allows just that rounding."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from obverse.publish.folder.check import as_told
from obverse.publish.folder.files import DECIMALS, rounded

UNIT = 10.0**-DECIMALS
NUMBERS = st.floats(-1e6, 1e6)


@given(NUMBERS)
def test_what_is_told_is_as_it_was_made_but_for_one_rounding(value: float) -> None:
    made = np.array([value])
    assert as_told(rounded(made), made)
    text = repr(float(rounded(made)[0]))
    assert "e-" in text or len(text.partition(".")[2]) <= DECIMALS
    assert text != "-0.0"


@given(NUMBERS, st.sampled_from([-1, 1]), st.integers(1, 10**7))
def test_a_change_of_one_in_the_last_decimal_is_seen(value: float, way: int, units: int) -> None:
    """Seen always, except where what was made lies between two decimals and both are right."""
    made = np.array([value])
    changed = rounded(made) + way * units * UNIT
    between = abs(abs(float((changed - made)[0])) - UNIT / 2) < UNIT / 4
    assert not as_told(changed, made) or (units == 1 and between)


def test_noise_of_floats_is_not_told() -> None:
    assert rounded(np.array([2477.0000000000005, -1e-9, 0.1 + 0.2])).tolist() == [2477.0, 0.0, 0.3]
    assert not as_told(np.array([1.0]), np.array([1.0, 2.0]))
    assert as_told(np.array([1e12]), np.array([1e12 + 1e-3]))  # the last bits of a large double
