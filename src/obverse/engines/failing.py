"""What every engine says when something goes wrong: one constant text, for its own message may carry a value."""

from __future__ import annotations

from obverse.core.errors import Failed, Refused

FAILURE = "the engine could not finish this question."


class Exhausted(Failed):
    """The same, where memory ended. Only who runs an engine in a process of its own tells it apart, to count it."""


def failure(error: Exception | None = None, memory: type[Exception] = MemoryError) -> Failed:
    """After the debit; `memory` is what an engine raises beside MemoryError when it has none left."""
    kind = Exhausted if isinstance(error, (memory, MemoryError)) else Failed
    return kind("engine_failure", FAILURE, fix="ask the curator, naming the receipt.", charged=True)


def public_failure() -> Refused:
    return Refused("engine_failure", FAILURE, why="only public tables were read; nothing was spent.")
