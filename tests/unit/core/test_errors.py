"""Errors say what, where, why and how to fix; an invariant is no assert."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from obverse.core.errors import (
    BudgetExceeded,
    CatalogError,
    Failed,
    InvariantBroken,
    LedgerError,
    ObverseError,
    Refused,
    Span,
    invariant,
)


@given(st.text(alphabet="ab \n\té\0", min_size=1, max_size=200), st.data())
def test_a_span_is_underlined_on_one_line_below_its_own(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    shown, carets = Span(start, end).underline(text).split("\n")
    assert shown.isprintable()
    assert set(carets) <= {" ", "^"}
    line, column = Span(start, end).line_and_column(text)
    assert text.split("\n")[line - 1][column - 1 : column] in (text[start], "")


def test_an_error_reads_as_the_guide_shows_it() -> None:
    sql = "SELECT SUM(salary) FROM staff"
    error = Refused("no_bounds", "SUM needs bounds.", why="noise.", fix="declare bounds.", span=Span(11, 17)).located(
        sql
    )
    assert str(error).split("\n") == [
        "[no_bounds] SUM needs bounds.",
        "  SELECT SUM(salary) FROM staff",
        "             ^^^^^^",
        "Why: noise.",
        "Fix: declare bounds.",
    ]
    assert error.as_json() == {
        "error": {
            "code": "no_bounds",
            "message": "SUM needs bounds.",
            "where": {"line": 1, "column": 12},
            "why": "noise.",
            "fix": "declare bounds.",
        },
        "charged": False,
    }


def test_an_error_without_a_place_has_none() -> None:
    assert Failed("engine_failure", "x", charged=True).as_json()["error"]["where"] is None
    assert Failed("engine_failure", "x", charged=True).as_json()["charged"] is True


@pytest.mark.parametrize("kind", [Refused, CatalogError, BudgetExceeded, LedgerError, Failed])
def test_every_error_is_an_obverse_error_with_a_code(kind: type[ObverseError]) -> None:
    error = kind("some_code", "what")
    assert isinstance(error, ObverseError)
    assert error.code == "some_code"
    assert issubclass(CatalogError, Refused)


def test_an_invariant_that_does_not_hold_is_a_defect_of_ours() -> None:
    invariant(True, "fine")
    with pytest.raises(InvariantBroken) as broken:
        invariant(False, "noise covers the price")
    assert broken.value.code == "invariant_broken"
    assert not isinstance(broken.value, Refused)


def test_an_invariant_survives_python_without_asserts() -> None:
    code = "from obverse.core.errors import invariant; invariant(False, 'held')"
    ran = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode != 0
    assert "InvariantBroken" in ran.stderr
