"""Exercises: a question, a reference solution written by hand, and a check that the product computes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from obverse.core.errors import Refused
from obverse.core.numbers import exact

THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(?!\d)")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an answer is right, and what there is to say of it."""

    right: bool
    words: str

    def __str__(self) -> str:
        return f"{'Right' if self.right else 'Not yet'}: {self.words}"

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, slots=True)
class Number:
    """A number within so much of the one that the product computes."""

    value: Callable[[], float]
    within: float

    def check(self, answer: str, why: str) -> Verdict:
        try:
            given = float(_number(answer))
        except (Refused, ValueError, ZeroDivisionError, OverflowError):
            return Verdict(False, "write a number, such as 0.25, 1/4 or 25 %.")
        right = abs(given - self.value()) <= self.within
        return Verdict(right, why if right else "that is not the number that the product finds.")

    def as_json(self) -> dict[str, Any]:
        value = self.value()
        return {"kind": "number", "low": value - self.within, "high": value + self.within}


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several, by its letter; which one is right the product finds out."""

    options: tuple[str, ...]
    right: Callable[[], int]

    def check(self, answer: str, why: str) -> Verdict:
        letter = answer.strip().strip("().").lower()
        if letter not in self.letters:
            return Verdict(False, f"write one of {', '.join(self.letters)}.")
        right = self.letters.index(letter) == self.right()
        return Verdict(right, why if right else "the product finds otherwise.")

    @property
    def letters(self) -> list[str]:
        return [chr(ord("a") + n) for n in range(len(self.options))]

    def as_json(self) -> dict[str, Any]:
        options = [{"letter": letter, "words": words} for letter, words in zip(self.letters, self.options)]
        return {"kind": "choice", "options": options, "right": self.letters[self.right()]}


@dataclass(frozen=True, slots=True)
class Sql:
    """A question in SQL, judged by what the product says of it; only where the product runs."""

    judge: Callable[[str], Verdict]

    def check(self, answer: str, why: str) -> Verdict:
        try:
            found = self.judge(answer)
        except Refused as refused:
            return Verdict(False, f"refused: {refused.message}")
        return Verdict(True, why) if found.right else found

    def as_json(self) -> dict[str, Any]:
        return {"kind": "sql"}


@dataclass(frozen=True, slots=True)
class Exercise:
    """`answer` is the reference solution; `wrong` are answers that one might give; `why` is told after a right one."""

    question: str
    accepts: Number | Choice | Sql
    answer: str
    wrong: tuple[str, ...]
    hint: str
    why: str

    def check(self, answer: str) -> Verdict:
        return self.accepts.check(answer, self.why)

    def as_json(self) -> dict[str, Any]:
        return {
            "question": self.question, "check": self.accepts.as_json(), "answer": self.answer, "hint": self.hint,
            "why": self.why,
        }  # fmt: skip


def _number(text: str) -> Fraction:
    """A decimal, a fraction a/b or a share in per cent; commas part thousands, or else stand before decimals."""
    text = text.strip()
    text = text.replace(",", "" if THOUSANDS.match(text) else ".")
    if text.endswith("%"):
        return exact(text[:-1].strip()) / 100
    top, slash, bottom = text.partition("/")
    return exact(top.strip()) / exact(bottom.strip()) if slash else exact(text)
