"""Python functions of others: what goes wrong inside one is told in a sentence, with the line where it happened."""

from __future__ import annotations

from collections.abc import Callable
from traceback import extract_tb
from typing import Any

from obverse.core.errors import ObverseError, Refused


def telling(function: Callable[..., Any], name: str, fix: str) -> Callable[..., Any]:
    """The same function, whose failures are refusals; those that are so already stay as they are."""

    def called(*given: Any) -> Any:
        try:
            return function(*given)
        except ObverseError:
            raise
        except Exception as error:
            last = extract_tb(error.__traceback__)[-1]
            said = ", ".join(map(repr, given))
            why = f"it was called as {name.partition(':')[2]}({said}); {last.filename}, line {last.lineno}."
            message = f"{name} failed with {type(error).__name__}: {error}"
            raise Refused("target_failed", message, why=why, fix=fix) from error

    return called
