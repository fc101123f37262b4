"""Small tables for the tests: rows as they are written, and tables that hypothesis makes up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from hypothesis import strategies as st

from obverse.anonymize.table import Column, Table


def column(name: str, values: Sequence[str | None]) -> Column:
    known = sorted(
        {value for value in values if value is not None}, key=lambda v: (len(v), v) if v.isdigit() else (0, v)
    )
    places = {value: place for place, value in enumerate(known)}
    codes = np.array([len(known) if v is None else places[v] for v in values], dtype=np.int32)
    return Column(name, tuple(known), codes)


def table(
    quasi: Mapping[str, Sequence[str | None]], sensitive: Mapping[str, Sequence[str | None]] | None = None
) -> Table:
    """One person a row."""
    keys = tuple(column(name, values) for name, values in quasi.items())
    secrets = tuple(column(name, values) for name, values in (sensitive or {}).items())
    return Table(keys, secrets, np.ones(len(keys[0].codes), dtype=np.int64))


AGES = st.one_of(st.none(), st.integers(18, 60).map(str))
ZIPS = st.sampled_from(["01001", "01002", "01101", "02139", "02140"])
RACES = st.sampled_from(["a", "b", "c", "d", "e", "*", None])  # a star may stand in the data too
DISEASES = st.sampled_from(["flu", "cancer", "aids", None])


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Between 4 and 40 people with an age, a postal code, a race and a disease; some values are missing."""
    rows = draw(st.lists(st.tuples(AGES, ZIPS, RACES, DISEASES), min_size=4, max_size=40))
    ages, zips, races, diseases = zip(*rows)
    return table({"age": ages, "zip": zips, "race": races}, {"disease": diseases})
