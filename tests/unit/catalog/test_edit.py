from __future__ import annotations

import tomllib
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from obverse.catalog.edit import number_text, with_analyst, with_number
from obverse.core.errors import Refused

TEXT = """\
# epsilon = 3 is a comment
[privacy]
epsilon = 0.1  # stays
[budget]  # epsilon = 7
epsilon = 4.0  # for ever
delta=1e-6

[analysts."Dr. No"]
epsilon = 4.0
"""


@given(st.decimals(min_value="0.000000001", max_value=100, places=9))
def test_only_the_number_changes_and_it_is_exact(number: object) -> None:
    wanted = Fraction(str(number))
    changed = with_number(TEXT, ("budget", "epsilon"), wanted)
    assert Fraction(str(tomllib.loads(changed, parse_float=str)["budget"]["epsilon"])) == wanted
    assert changed.replace(f"epsilon = {number_text(wanted)}  # for ever", "epsilon = 4.0  # for ever") == TEXT


@pytest.mark.parametrize(
    "text",
    [
        "budget = { epsilon = 1, delta = 0 }\n",
        "budget.epsilon = 1\nbudget.delta = 0\n",
        '[budget]\nepsilon=1 # "\ndelta=0',
    ],
)
def test_every_way_to_write_the_table_is_understood(text: str) -> None:
    changed = with_number(
        with_number(text, ("budget", "epsilon"), Fraction(5, 2)), ("budget", "delta"), Fraction(1, 10**7)
    )
    assert tomllib.loads(changed)["budget"] == {"epsilon": 2.5, "delta": 1e-7}


def test_a_missing_key_is_added_beside_its_fellows() -> None:
    changed = with_number(
        '[budget]\nepsilon = 4.0  # all\n[project]\nname = "x"\n', ("budget", "delta"), Fraction(1, 10**6)
    )
    assert changed == '[budget]\nepsilon = 4.0  # all\ndelta = 0.000001\n[project]\nname = "x"\n'


def test_what_cannot_be_changed_safely_is_refused_with_what_to_write() -> None:
    with pytest.raises(Refused, match="cannot be changed safely") as refused:
        with_number("budget = { epsilon = 1 }\n", ("budget", "delta"), Fraction(1, 10**6))
    assert "budget.delta by hand: 0.000001" in refused.value.fix
    with pytest.raises(Refused, match="cannot be changed safely"):
        with_analyst("analysts = { ana = {} }\n", "ben", {})


@pytest.mark.parametrize("text", [TEXT, TEXT.rstrip("\n"), TEXT.replace("\n", "\r\n"), ""])
def test_an_analyst_goes_to_the_end_and_the_rest_stays(text: str) -> None:
    changed = with_analyst(text, "Eve Müller", {"epsilon": Fraction(1, 2), "purposes": ("a", 'b"')})
    assert changed.startswith(text)
    assert tomllib.loads(changed)["analysts"]["Eve Müller"] == {"epsilon": 0.5, "purposes": ["a", 'b"']}


def test_an_analyst_is_declared_once() -> None:
    with pytest.raises(Refused, match="declared already") as refused:
        with_analyst(TEXT, "Dr. No", {})
    assert refused.value.code == "name_twice"


def test_a_number_that_toml_would_not_hold_exactly_is_refused() -> None:
    with pytest.raises(Refused, match="too many digits"):
        number_text(Fraction(1, 3))
