"""The letters of a survey whose words nobody listed: a word is one number of at most 64 bits, a few for each letter."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Any

from obverse.catalog.locate import Document, KeyParts
from obverse.core.errors import invariant

WORD_BITS = 64
ALPHABET = "abcdefghijklmnopqrstuvwxyz'"
OTHER = "\ufffd"  # how a character that is not in the alphabet is shown


@dataclass(frozen=True, slots=True)
class Spelling:
    """Words of up to so many letters; longer ones are cut. Symbol 0 is the end, the last one any other character."""

    letters: int
    alphabet: str

    def __post_init__(self) -> None:
        sound = (
            self.alphabet and len(set(self.alphabet)) == len(self.alphabet) and folded(self.alphabet) == self.alphabet
        )
        invariant(bool(sound) and OTHER not in self.alphabet, "an alphabet has different small letters")
        invariant(1 <= self.letters <= self.most, "a word has at most 64 bits")

    @property
    def symbols(self) -> int:
        return len(self.alphabet) + 2

    @property
    def bits(self) -> int:
        """Of one letter."""
        return (self.symbols - 1).bit_length()

    @property
    def most(self) -> int:
        """Letters that fit into a number."""
        return WORD_BITS // self.bits

    def code(self, text: str) -> int:
        """The number of a word; the first letter is highest, and after the last one there are zeros."""
        signs = folded(text)[: self.letters]
        code = 0
        for sign in signs:
            place = self.alphabet.find(sign)
            code = code << self.bits | (place + 1 if place >= 0 else self.symbols - 1)
        return code << self.bits * (self.letters - len(signs))

    def word(self, code: int) -> str:
        """The word of a number, as far as it is known."""
        signs = ["", *self.alphabet, OTHER]
        return "".join(
            signs[code >> self.bits * place & (1 << self.bits) - 1] for place in reversed(range(self.letters))
        )


def folded(text: str) -> str:
    """Composed (NFC), and with the case folded as Unicode has it, so that one word is one number on every keyboard."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def spelling(raw: dict[str, Any], path: KeyParts, document: Document) -> Spelling | None:
    """That of [surveys.NAME] letters = 8, alphabet = "abc"; None where no words are to be discovered."""
    for key, needed in (("letters", "text"), ("alphabet", "letters")):
        if key in raw and not raw.get(needed):
            fix = f"Remove it, or add {'text = true' if needed == 'text' else 'letters = 8'}."
            raise document.error("conflict", (*path, key), f"{key} goes with {needed}", fix=fix)
    if "letters" not in raw:
        return None
    alphabet = raw.get("alphabet", ALPHABET)
    if folded(alphabet) != alphabet or len(set(alphabet)) < len(alphabet) or OTHER in alphabet:
        message = "an alphabet is a text of different characters, small letters where there are such"
        raise document.error("bad_values", (*path, "alphabet"), message, fix="Name each letter once: abcdefg.")
    most = Spelling(1, alphabet).most
    if raw["letters"] > most:
        message = f"words of this alphabet have at most {most} letters"
        why = "a word is one number of 64 bits."
        raise document.error(
            "bad_parameter", (*path, "letters"), message, why=why, fix=f"Write letters = {most}, or fewer."
        )
    return Spelling(raw["letters"], alphabet)
