"""The first look at the text: size, tokens, depth, blanks and string forms."""

from __future__ import annotations

import contextlib

import pytest

from obverse.core.errors import Refused
from obverse.sql.parse import BYTES_MAX, CHAIN_MAX, DEPTH_MAX, DIGITS_MAX, TOKENS_MAX, screen
from tests.effort import effort


def code(text: str) -> str:
    with pytest.raises(Refused) as refused:
        screen(text)
    return refused.value.code


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM people;", "SELECT 'é ü 你好 \u202e' -- ü\n", 'SELECT "naïve" FROM t', "SELECT /* ü */ 1",
        "SELECT 'it''s'", "SELECT .5, 1., 1e-5", "", "SELECT a[1]", "SELECT 'a -- b', '/*'",
    ],
)  # fmt: skip
def test_ordinary_text_passes(text: str) -> None:
    screen(text)


def test_a_text_is_long_in_bytes_not_in_letters() -> None:
    screen("'" + "x" * (BYTES_MAX - 2) + "'")
    assert code("'" + "x" * BYTES_MAX + "'") == "too_long"
    assert code("'" + "é" * (BYTES_MAX // 2) + "'") == "too_long"


def test_tokens_depth_chains_and_digits_have_a_limit() -> None:
    screen("1 " * TOKENS_MAX)
    assert code("1 " * (TOKENS_MAX + 1)) == "too_complex"
    screen("(" * DEPTH_MAX)
    assert code("(" * (DEPTH_MAX + 1)) == "too_complex"
    screen("NOT " * CHAIN_MAX)
    assert code("NOT " * (CHAIN_MAX + 1)) == "too_complex"
    assert code("- " * (CHAIN_MAX + 1)) == "too_complex"
    screen("9" * DIGITS_MAX)
    assert code("9" * (DIGITS_MAX + 1)) == "bad_parameter"


@pytest.mark.parametrize("blank", ["\u00a0", "\u3000", "\u202e", "\u200b", "\ufeff", "\x00", "\x0b", "é"])
def test_outside_strings_only_plain_ascii_is_read(blank: str) -> None:
    assert code(f"SELECT{blank}1") == "parse_error"


@pytest.mark.parametrize(
    "text", ["E'\\x65'", "e'a'", "U&'\\0065'", "x'41'", "b'1'", "N'a'", "r'a'", "$$a$$", "$tag$a$tag$"]
)
def test_strings_that_engines_read_differently_are_refused(text: str) -> None:
    assert code(f"SELECT {text}") == "parse_error"


@pytest.mark.parametrize("text", ["/* open", "/* /* nested */ */", "/*" * 100])
def test_comments_are_closed_and_flat(text: str) -> None:
    assert code(text) == "parse_error"


@pytest.mark.parametrize(
    "text", ["'" * 63_999, "/" * 63_999, "a" * 63_999, "/**/" * 15_000, "--" * 30_000, '"' * 63_999]
)
def test_looking_takes_time_linear_in_the_text(text: str) -> None:
    with effort() as spent, contextlib.suppress(Refused):
        screen(text)
    assert spent.cpu_s < 1
