"""What one connection keeps by name: prepared statements and portals, in bounded numbers.

Transaction blocks: nothing here can be written or taken back, but clients begin and end them, and errors fail them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from obverse.core.errors import Refused
from obverse.server.postgres.messages import Field
from obverse.server.postgres.settings import Settings
from obverse.server.postgres.statements import Kind, Statement

SAVEPOINTS_MAX = 100


@dataclass(slots=True)
class Block:
    """The state of one connection: its settings, and whether it is in a block (T), in one that failed (E), or in
    none (I).
    """

    settings: Settings
    status: str = "I"
    before: Settings | None = None  # settings at the begin of the block
    local: dict[str, str | None] = field(default_factory=dict)  # what SET LOCAL hides until the end of the block
    savepoints: list[tuple[str, Settings, dict[str, str | None]]] = field(default_factory=list)
    rested: Settings = field(init=False)  # settings when everything was answered: a message that fails leaves them

    def __post_init__(self) -> None:
        self.rested = self.settings

    def check(self, statement: Statement) -> None:
        """In a block that failed nothing is done but ending it."""
        if self.status == "E" and not statement.ends_block:
            raise Refused(
                "in_failed_block",
                "current transaction is aborted, commands ignored until end of transaction block.",
                fix="ROLLBACK.",
            )

    def fail(self) -> None:
        if self.status == "T":
            self.status = "E"
        elif self.status == "I":
            self.settings = self.rested
            self.local = {}

    def rest(self) -> None:
        """Everything was answered. Outside of a block a message is a block of its own, which ends here."""
        if self.status == "I":
            self._end_local()

    def done(self, statement: Statement) -> tuple[str, str]:
        """Do what a statement says about blocks: its tag, and a warning or nothing."""
        name = statement.words[-1].name if statement.words else ""
        match statement.kind:
            case Kind.BEGIN:
                if self.status != "I":
                    return "BEGIN", "there is already a transaction in progress"
                self.status = "T"
                self.before = self.settings
                return "BEGIN", ""
            case Kind.COMMIT | Kind.ROLLBACK:
                return self._ended(statement)
            case Kind.SAVEPOINT:
                self._needed("SAVEPOINT")
                if len(self.savepoints) >= SAVEPOINTS_MAX:
                    raise Refused("too_complex", f"there are at most {SAVEPOINTS_MAX} savepoints.")
                self.savepoints.append((name, self.settings, dict(self.local)))
            case Kind.RELEASE:
                self._needed("RELEASE SAVEPOINT")
                del self.savepoints[self._at(name) :]
            case Kind.ROLLBACK_TO:
                self._needed("ROLLBACK TO SAVEPOINT")
                at = self._at(name)
                self.settings = self.savepoints[at][1]
                self.local = dict(self.savepoints[at][2])
                del self.savepoints[at + 1 :]
                self.status = "T"
        return statement.tag, ""

    def set_local(self, name: str) -> None:
        """Remember what a name was before it was set for the block alone."""
        self.local.setdefault(name.lower(), self.settings.now.get(name.lower()))

    def set_for_good(self, name: str) -> None:
        """What is set beyond the block is not hidden any more by what was set for it alone."""
        self.local.pop(name.lower(), None)

    def _end_local(self) -> None:
        for name, value in self.local.items():
            self.settings = self.settings.with_value(name, value)
        self.local = {}
        self.rested = self.settings

    def _ended(self, statement: Statement) -> tuple[str, str]:
        if self.status == "I":
            return statement.tag, "there is no transaction in progress"
        failed = self.status == "E" or statement.kind is Kind.ROLLBACK
        if failed and self.before is not None:
            self.settings = self.before
            self.local = {}
        self._end_local()
        self.status = "I"
        self.before = None
        self.savepoints = []
        if any(word.upper == "CHAIN" for word in statement.words) and not any(
            word.upper == "NO" for word in statement.words
        ):
            self.status = "T"
            self.before = self.settings
        return ("ROLLBACK" if failed else "COMMIT"), ""

    def _needed(self, what: str) -> None:
        if self.status == "I":
            raise Refused("no_block", f"{what} can only be used in transaction blocks.")

    def _at(self, name: str) -> int:
        for at in range(len(self.savepoints) - 1, -1, -1):
            if self.savepoints[at][0] == name:
                return at
        raise Refused("no_such_savepoint", f"savepoint {name[:63]!r} does not exist.")


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

    `shown` are its columns where they are known without values, under the settings of intervals that they were told
    with; `told` is what the client was told of them.
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
        """Refuse columns that are others than the client was told last, or that it has too few formats for, or too
        many.
        """
        if self.told is not None and self.told.fields != fields:
            why = "a setting or the project was changed since its columns were told."
            raise Refused(
                "columns_changed", "cached plan must not change result type.", why=why, fix="prepare it again."
            )
        self.codes(len(fields))

    def codes(self, count: int) -> tuple[int, ...]:
        """The format of each column."""
        if len(self.formats) > 1 and len(self.formats) != count:
            raise Refused(
                "protocol_violation", f"the result has {count} columns, and {len(self.formats)} formats came."
            )
        return self.formats if len(self.formats) > 1 else (self.formats or (0,)) * count

    def next(self, most: int) -> Iterator[Sequence[Any]]:
        """The rows that come next, at most so many; 0: all."""
        assert self.found is not None
        end = len(self.found.rows) if most == 0 else min(len(self.found.rows), self.at + most)
        begin = self.at
        self.at = end
        return iter(self.found.rows[begin:end])

    @property
    def ended(self) -> bool:
        return self.found is not None and self.at >= len(self.found.rows)

    def let_go(self) -> None:
        """Keep no rows that were read to the end: a block may keep its portals for hours."""
        if self.found is not None and self.ended:
            self.found = replace(self.found, rows=())
            self.at = 0


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
        held = sum(
            len(portal.found.rows) for portal in self.portals.values() if portal.found is not None and not portal.ended
        )
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
