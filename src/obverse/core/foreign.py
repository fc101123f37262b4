"""Texts that come from somebody else's server, made fit to be shown."""

from __future__ import annotations

LENGTH_MAX = 500


def foreign_text(said: object) -> str:
    """The text without signs that would move a terminal's cursor or colours, and not too long."""
    text = " ".join("".join(sign if sign.isprintable() else " " for sign in str(said or "")).split())
    return text if len(text) <= LENGTH_MAX else text[:LENGTH_MAX] + " ..."
