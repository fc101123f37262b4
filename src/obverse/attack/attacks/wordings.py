"""One question in other words: cases, blanks, comments and conditions that always hold. All of them mean the same."""

from __future__ import annotations

import re
from collections.abc import Callable

QUOTED = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*")""")


def wordings(question: str) -> list[str]:
    """The question as it is, and in other words."""
    inside = question.strip().rstrip(";").strip()
    head, blank, rest = inside.partition(" ")
    return list(dict.fromkeys([
        question,
        _outside(inside, str.lower),
        _outside(inside, str.swapcase),
        _outside(inside, lambda text: text.replace(" ", "  \n\t")),
        f"{head} /* once more */{blank}{rest}",
        f"{inside} -- once more\n",
        f"{inside};",
        reworded(inside, 1),
        reworded(inside, 2),
    ]))  # fmt: skip


def reworded(question: str, again: int) -> str:
    """The same question with a condition that always holds, different each time."""
    if again == 0:
        return question
    joint = "AND" if " WHERE " in question.upper() else "WHERE"
    return f"{question} {joint} {again} = {again}"


def _outside(question: str, changed: Callable[[str], str]) -> str:
    """The question changed where it is not quoted."""
    parts = QUOTED.split(question)
    return "".join(part if place % 2 else changed(part) for place, part in enumerate(parts))
