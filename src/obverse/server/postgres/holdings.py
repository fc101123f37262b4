"""What one connection keeps by name: prepared statements and portals, in bounded numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from obverse.core.errors import Refused
from obverse.server.postgres.replies import Field
from obverse.server.postgres.statements import Statement

STATEMENTS_MAX = 1_000
PORTALS_MAX = 20
TEXT_MAX = 1 << 20  # of all prepared statements
ROWS_HELD = 100_000  # of portals that are read in parts


@dataclass(frozen=True, slots=True)
class Rows:
    """What a statement gave: columns (none: no rows at all), rows, the tag, and what is said beside."""

    fields: tuple[Field, ...] | None
    rows: Sequence[Sequence[Any]]
    tag: str
    notices: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """Columns that a client was told, and whether with those of intervals."""

    fields: tuple[Field, ...]
    intervals: bool


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement that was parsed; None: an empty one. Types of its parameters are given, or inferred.

    `shown` are its columns where they are known without values, under the settings of intervals that they were told with;
    `told` is what the client was told of them.
    """

    statement: Statement | None
    types: tuple[int, ...]
    shown: tuple[Field, ...] | None = None
    intervals: bool = False
    told: Told | None = None


@dataclass(slots=True)
class Portal:
    """A statement with its values. It is run once: reading on reads what was drawn then."""

    prepared: Prepared
    values: tuple[Any, ...]
    formats: tuple[int, ...]
    found: Rows | None = None
    at: int = 0
    described: Told | None = None

    @property
    def told(self) -> Told | None:
        return self.described or self.prepared.told

    def fits(self, fields: tuple[Field, ...]) -> None:
        """Refuse columns that are others than the client was told last, or that it has too few formats for, or too many."""
        if self.told is not None and self.told.fields != fields:
            why = "a setting or the project was changed since its columns were told."
            raise Refused("columns_changed", "cached plan must not change result type.", why=why, fix="prepare it again.")
        self.codes(len(fields))

    def codes(self, count: int) -> tuple[int, ...]:
        """The format of each column."""
        if len(self.formats) > 1 and len(self.formats) != count:
            raise Refused("protocol_violation", f"the result has {count} columns, and {len(self.formats)} formats came.")
        return self.formats if len(self.formats) > 1 else (self.formats or (0,)) * count

    def next(self, most: int) -> Iterator[Sequence[Any]]:
        """The rows that come next, at most so many; 0: all."""
        assert self.found is not None
        end = len(self.found.rows) if most == 0 else min(len(self.found.rows), self.at + most)
        begin, self.at = self.at, end
        return iter(self.found.rows[begin:end])

    @property
    def ended(self) -> bool:
        return self.found is not None and self.at >= len(self.found.rows)

    def let_go(self) -> None:
        """Keep no rows that were read to the end: a block may keep its portals for hours."""
        if self.found is not None and self.ended:
            self.found, self.at = replace(self.found, rows=()), 0


@dataclass(slots=True)
class Holdings:
    """By name; the empty name is replaced at will."""

    statements: dict[str, Prepared] = field(default_factory=dict)
    portals: dict[str, Portal] = field(default_factory=dict)

    def prepare(self, name: str, prepared: Prepared) -> None:
        if name and name in self.statements:
            raise Refused("prepared_twice", f"prepared statement {name[:63]!r} already exists.")
        size = sum(len(one.statement.text) for one in self.statements.values() if one.statement is not None)
        if len(self.statements) >= STATEMENTS_MAX or size > TEXT_MAX:
            raise Refused("too_large", "too many statements are prepared.", fix="close some, or DEALLOCATE ALL.")
        self.statements[name] = prepared

    def prepared(self, name: str) -> Prepared:
        if name not in self.statements:
            raise Refused("no_such_prepared", f"prepared statement {name[:63]!r} does not exist.")
        return self.statements[name]

    def tell(self, name: str, told: Told) -> None:
        """Remember what the client is told of a statement."""
        self.statements[name] = replace(self.statements[name], told=told)

    def bind(self, name: str, portal: Portal) -> None:
        if name and name in self.portals:
            raise Refused("portal_twice", f"portal {name[:63]!r} already exists.")
        if len(self.portals) >= PORTALS_MAX:
            raise Refused("too_large", "too many portals are open.", fix="close some.")
        self.portals[name] = portal

    def portal(self, name: str) -> Portal:
        if name not in self.portals:
            raise Refused("no_such_portal", f"portal {name[:63]!r} does not exist.")
        return self.portals[name]

    def hold(self) -> None:
        """Refuse to keep more than so many rows for a client that reads them in parts."""
        held = sum(len(portal.found.rows) for portal in self.portals.values() if portal.found is not None and not portal.ended)
        if held > ROWS_HELD:
            self.portals.clear()
            told = f"at most {ROWS_HELD:,} rows are kept to be read in parts."
            raise Refused("too_large", told, fix="fetch them all at once.")

    def forget(self, kind: str, name: str) -> None:
        if kind == "S":
            self.statements.pop(name, None)
        else:
            self.portals.pop(name, None)

    def deallocate(self, name: str) -> None:
        """DEALLOCATE of SQL: one that must be there, or all."""
        if not name:
            self.statements.clear()
        else:
            self.prepared(name)
            del self.statements[name]
