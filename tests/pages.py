"""How pages of the reference are put together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any


def page(title: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", *(part.strip("\n") for part in parts)]) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell(one) for one in line)} |" for line in lines)


def cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def block(kind: str, text: str) -> str:
    return f"```{kind}\n{text.strip()}\n```"


def shape(value: Any) -> Any:
    """A document's keys with the kinds of their values; of a list, the shape of its first entry."""
    match value:
        case dict():
            return {key: shape(one) for key, one in value.items()}
        case list() | tuple():
            return [shape(one) for one in value[:1]]
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "number"
        case _:
            return "text"


def outline(value: Any) -> str:
    return block("json", json.dumps(shape(value), indent=2))
