"""What every engine says when something goes wrong: one constant text, for its own message may carry a value."""

from __future__ import annotations

from obverse.core.errors import Failed, Refused

FAILURE = "the engine could not finish this question."


def failure() -> Failed:
    """After the debit."""
    return Failed("engine_failure", FAILURE, fix="ask the curator, naming the receipt.", charged=True)


def public_failure() -> Refused:
    return Refused("engine_failure", FAILURE, why="only public tables were read; nothing was spent.")
