"""A survey is played with as many people as its law allows; more are refused before any memory is taken."""

from __future__ import annotations

import pytest

from obverse.collect.simulate import PLAYED_MAX, played
from obverse.core.errors import Refused
from tests.unit.collect.surveys import several_spec, spec_for

PEOPLE = 10**12


def test_any_number_of_people_is_played_where_the_law_is_short() -> None:
    held = played(spec_for(), ["yes=0.25"], PEOPLE)
    assert held.tally.n == PEOPLE
    assert held.truth["yes"] == pytest.approx(0.25, abs=1e-4)


@pytest.mark.parametrize("split", ["one", "budget"])
def test_any_number_of_people_is_played_with_several_questions(split: str) -> None:
    """The truth is that of all people, of whom some are asked each question."""
    spec = several_spec(split)
    held = played(spec, ["smokes=yes=0.25"], PEOPLE)
    assert held.tally.n == PEOPLE
    assert held.truth["smokes=yes"] == pytest.approx(0.25, abs=1e-4)
    asked = held.tally.counts[-2:].tolist()
    assert asked == [PEOPLE] * 2 if split == "budget" else sum(asked) == PEOPLE


@pytest.mark.parametrize("protocol", ["local_hash", "count_mean", "loloha"])
def test_more_people_than_can_be_played_report_by_report_are_refused(protocol: str) -> None:
    with pytest.raises(Refused) as refused:
        played(spec_for(protocol=protocol), [], PLAYED_MAX + 1)
    assert refused.value.code == "bad_parameter"
    assert "--people" in refused.value.fix
