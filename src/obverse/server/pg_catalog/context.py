"""Who asks the shadow, and what it knows of their project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import expressions as exp

READ, WRITTEN = "postgres", "duckdb"


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks: a name, a project, its settings, the values of parameters, and the connection's number."""

    user: str
    database: str
    settings: Mapping[str, str]
    values: tuple[Any, ...] = ()
    number: int = 0


@dataclass(frozen=True, slots=True)
class Declared:
    """What the rewriting knows of the project: its tables' OIDs."""

    tables: Mapping[str, int]


def constant(value: Any) -> exp.Expression:
    """A value as a literal of the query."""
    match value:
        case None:
            return exp.null()
        case bool():
            return exp.Boolean(this=value)
        case int():
            return exp.Literal.number(value)
        case list():
            return exp.Array(expressions=[constant(one) for one in value])
        case _:
            return exp.Literal.string(str(value))
