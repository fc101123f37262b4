"""Transaction blocks: nothing here can be written or taken back, but clients begin and end them, and errors fail them."""

from __future__ import annotations

from dataclasses import dataclass, field

from obverse.core.errors import Refused
from obverse.server.postgres.settings import Settings
from obverse.server.postgres.statements import Kind, Statement

SAVEPOINTS_MAX = 100


@dataclass(slots=True)
class Block:
    """The state of one connection: its settings, and whether it is in a block (T), in one that failed (E), or in none (I)."""

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
            self.settings, self.local = self.rested, {}

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
                self.status, self.before = "T", self.settings
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
                self.settings, self.local = self.savepoints[at][1], dict(self.savepoints[at][2])
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
        self.local, self.rested = {}, self.settings

    def _ended(self, statement: Statement) -> tuple[str, str]:
        if self.status == "I":
            return statement.tag, "there is no transaction in progress"
        failed = self.status == "E" or statement.kind is Kind.ROLLBACK
        if failed and self.before is not None:
            self.settings = self.before
            self.local = {}
        self._end_local()
        self.status, self.before, self.savepoints = "I", None, []
        if any(word.upper == "CHAIN" for word in statement.words) and not any(word.upper == "NO" for word in statement.words):
            self.status, self.before = "T", self.settings
        return ("ROLLBACK" if failed else "COMMIT"), ""

    def _needed(self, what: str) -> None:
        if self.status == "I":
            raise Refused("no_block", f"{what} can only be used in transaction blocks.")

    def _at(self, name: str) -> int:
        for at in range(len(self.savepoints) - 1, -1, -1):
            if self.savepoints[at][0] == name:
                return at
        raise Refused("no_such_savepoint", f"savepoint {name[:63]!r} does not exist.")
