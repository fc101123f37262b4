"""Words as numbers: one for one word on every keyboard, back to what is known of it, and declared without
contradiction.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from obverse.catalog.load import loads
from obverse.catalog.spelling import ALPHABET, OTHER, Spelling, folded
from obverse.core.errors import CatalogError, InvariantBroken

LATIN = Spelling(8, ALPHABET)
TOML = """
[project]
name = "typing"
[surveys.it]
question = "Which word?"
text = true
{more}
epsilon = 4
retention_days = 90
purpose = "A dictionary."
consent = "I agree."
"""


@given(st.text(min_size=1, max_size=20))
def test_a_number_gives_back_the_folded_word_cut_and_with_one_sign_for_other_characters(text: str) -> None:
    known = "".join(sign if sign in ALPHABET else OTHER for sign in folded(text)[:8])
    code = LATIN.code(text)
    assert LATIN.word(code) == known
    assert 0 < code < 1 << 40
    assert LATIN.code(LATIN.word(code)) == code


@given(st.text(ALPHABET, min_size=1, max_size=8), st.text(ALPHABET, min_size=1, max_size=8))
def test_different_words_have_different_numbers(left: str, right: str) -> None:
    assert (LATIN.code(left) == LATIN.code(right)) == (left == right)


def test_letters_are_digits_the_first_one_highest_and_nothing_follows_the_end() -> None:
    assert LATIN.code("ab") == 1 << 35 | 2 << 30
    assert LATIN.code("a\0b") == LATIN.code("a!b") == 1 << 35 | 28 << 30 | 2 << 25
    assert LATIN.code("'") == 27 << 35
    assert (LATIN.symbols, LATIN.bits, LATIN.most) == (29, 5, 12)


def test_case_and_composition_do_not_count_and_long_words_are_cut() -> None:
    assert LATIN.code("Selfie") == LATIN.code("SELFIE") == LATIN.code("selfie")
    assert LATIN.code("straße") == LATIN.code("STRASSE")
    umlauts = Spelling(4, "abcü")
    assert umlauts.word(umlauts.code("U\u0308ba")) == "üba"
    assert LATIN.code("dictionary") == LATIN.code("dictiona")
    assert LATIN.word(LATIN.code("naïve")) == "na\ufffdve"


@pytest.mark.parametrize(("letters", "alphabet"), [(0, "ab"), (13, ALPHABET), (2, ""), (2, "aa"), (2, "A"), (2, OTHER)])
def test_a_spelling_that_is_none_cannot_be_made(letters: int, alphabet: str) -> None:
    with pytest.raises(InvariantBroken):
        Spelling(letters, alphabet)


def test_letters_and_an_alphabet_are_declared() -> None:
    assert loads(TOML.format(more="letters = 8"), ".").surveys["it"].spelling == LATIN
    assert loads(TOML.format(more='letters = 32\nalphabet = "01"'), ".").surveys["it"].spelling == Spelling(32, "01")
    assert loads(TOML.format(more=""), ".").surveys["it"].spelling is None


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ("letters = 13", "bad_parameter"),
        ("letters = 0", "bad_parameter"),
        ('letters = 4\nalphabet = "aba"', "bad_values"),
        ('letters = 4\nalphabet = "aB"', "bad_values"),
        ('letters = 4\nalphabet = "a\ufffd"', "bad_values"),
        ('alphabet = "ab"', "conflict"),
    ],
)
def test_letters_that_contradict_themselves_are_refused(more: str, code: str) -> None:
    with pytest.raises(CatalogError) as caught:
        loads(TOML.format(more=more), ".")
    assert caught.value.code == code


def test_letters_go_with_texts_only() -> None:
    with pytest.raises(CatalogError) as caught:
        loads(TOML.format(more="letters = 4").replace("text = true", 'options = ["a", "b"]'), ".")
    assert caught.value.code == "conflict"
