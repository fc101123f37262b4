from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from obverse.cli.commands.ask import statements


def test_semicolons_in_strings_names_and_comments_do_not_cut() -> None:
    text = "SELECT ';', 'it''s;' AS \"a;b\" -- no; cut\n/* nor; here */ FROM t; ; SELECT 1 - 2 / 3;\n-- the end\n"
    assert statements(text) == [
        "SELECT ';', 'it''s;' AS \"a;b\" -- no; cut\n/* nor; here */ FROM t",
        "SELECT 1 - 2 / 3",
    ]


@given(st.text(alphabet="a;'\"-/* \n", max_size=60))
def test_nothing_but_semicolons_blanks_and_comments_is_lost(text: str) -> None:
    joined = "".join(statements(text))
    assert [sign for sign in joined if sign == "a"] <= [sign for sign in text if sign == "a"]
    assert all(part.strip() == part and part for part in statements(text))
