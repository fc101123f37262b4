"""The seam to wherever exact numbers come from."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from obverse.core.relation import Relation
from obverse.core.secret import Exact
from obverse.core.types import Value

if TYPE_CHECKING:
    import numpy as np

Columns = Mapping[str, "np.ndarray"]  # integer arrays, no nulls: what private measures travel as
Batches = Generator[Exact[Columns], None, None]
BATCH_ROWS = 1 << 16
Schema = Mapping[str, str]  # column name to the engine's own type name


@dataclass(frozen=True, slots=True)
class PublicRows:
    """Exact rows of public tables: nothing in them is protected."""

    names: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]


class Engine(Protocol):
    name: str
    dialect: str

    def schema(self, table: str) -> Schema: ...

    def run(self, sql: str, *, timeout_s: float) -> Exact[Columns]: ...

    def batches(self, sql: str, *, timeout_s: float) -> Batches:
        """The same rows, some at a time, none of them kept here; closing it ends the work. Fails as `run` does."""
        ...

    def run_public(self, sql: str, *, timeout_s: float) -> PublicRows: ...

    def readable(self, table: str, sql: str) -> bool: ...

    def known_by(self, table: str) -> tuple[str, ...]:
        """What tells a table on a server from every other, what changes when its rows do, or may have; and then what
        tells
        the tables that its rows lie in besides."""
        ...

    def collations(self, table: str) -> Mapping[str, str]:
        """Columns of text that the source compares otherwise than by their bytes, and the collation or type that it
        does so by;
        metadata alone. Plans compare by bytes all the same."""
        ...

    def relation(self, table: str) -> Relation:
        """How the source is described at this moment, by what the engine knows of it without reading rows."""
        ...

    def hold(self, relations: Mapping[str, Relation]) -> None:
        """From here on answer only while the sources are described so: what reads rows compares first, in the same
        transaction, and fails as `run` does. Refuses at once where they are described otherwise."""
        ...

    def check_sources(self) -> None:
        """Refuse, before anything is charged, where a source is described otherwise than it is held to."""
        ...

    def powers(self) -> tuple[str, ...]:
        """What the engine may do beyond reading the declared tables, in words for the curator."""
        ...

    def close(self) -> None: ...
