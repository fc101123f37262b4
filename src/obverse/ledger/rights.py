"""People's rights in the chain: each act is a record that holds a keyed hash of the person, never the person.

What an act changes in answers (who is left out, what is put right) names people, so it lies outside the chain: a row of
the place where datasets are registered, readable by its owner alone. The record seals it by a salted hash, and the row
can be deleted for good. A right is in force from the data's next version on; a row that no record knows of is in force
at once, since a ledger brought back from a backup must not bring a person back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from obverse.core.errors import LedgerError, Refused
from obverse.core.ledger import Entry
from obverse.ledger.chain import Draft

if TYPE_CHECKING:
    from obverse.ledger.datasets import Datasets
    from obverse.ledger.state import Book

LEFT_OUT = ("suppress", "erase")
STANDING = (*LEFT_OUT, "correct")  # acts that change answers until they are lifted
NOTED = ("export",)


@dataclass(slots=True)
class Rights:
    """What the chain says of rights: those that stand, those in force, and those that were lifted."""

    standing: dict[str, str] = field(default_factory=dict)  # the seal of each, by its id, in their order
    in_force: dict[str, str] = field(default_factory=dict)  # those that stood at the data's last version
    lifted: set[str] = field(default_factory=set)
    left_out: set[str] = field(default_factory=set)  # of all these, acts that leave somebody out

    def apply(self, entry: Entry) -> None:
        act = entry.fields["act"]
        right = entry.fields["right"]
        if act in STANDING:
            if right in self.standing or right in self.lifted:
                raise ValueError(act)
            self.standing[right] = entry.fields["seal"]
            self.left_out |= {right} if act in LEFT_OUT else set()
        elif act == "lift":
            del self.standing[right]
            self.lifted.add(right)
        elif act not in NOTED:
            raise ValueError(act)

    def begin_version(self, *, waits: bool = False) -> None:
        """All that stands is in force now. `waits`: whoever was left out stays so, though the act was lifted."""
        stays = {right: seal for right, seal in self.in_force.items() if waits and right in self.lifted & self.left_out}
        self.in_force = stays | self.standing

    def kept(self) -> set[str]:
        """Those whose content is still needed."""
        return {*self.standing, *self.in_force}


@dataclass(frozen=True, slots=True)
class Act:
    """One act: of which kind, about whom (a keyed hash), over which tables, why and by whom."""

    act: str
    person: str
    tables: Sequence[str]
    reason: str
    by: str
    right: str = ""
    seal: str = ""

    def draft(self) -> Draft:
        fields = {
            "act": self.act,
            "person": self.person,
            "tables": list(self.tables),
            "reason": self.reason,
            "by": self.by,
        }
        return Draft("rights", {**fields, "right": self.right, "seal": self.seal})


def drafts(book: Book, acts: Sequence[Act]) -> tuple[Draft, ...]:
    """Acts that are written at once, each checked as if those before it were written."""
    standing = set(book.rights.standing)
    lifted = set(book.rights.lifted)
    for act in acts:
        if act.act == "lift":
            if act.right not in standing:
                raise no_such_right()
            standing.remove(act.right)
            lifted.add(act.right)
        elif act.act in STANDING:
            if act.right in standing | lifted:
                message = "the act was recorded or lifted by somebody else meanwhile."
                raise Refused("right_changed", message, fix="`obverse rights list` shows what stands; then do it anew.")
            standing.add(act.right)
    return tuple(act.draft() for act in acts)


def sealed(content: str) -> str:
    """The content has a salt of its own in it, so that nobody can try out what it might be."""
    return hashlib.sha256(content.encode()).hexdigest()


def put(datasets: Datasets, dataset: str, rows: Iterable[tuple[str, str]]) -> None:
    """Write contents down, by their ids."""
    datasets.statements.executemany(
        "INSERT INTO rights VALUES (?, ?, ?) ON CONFLICT (dataset, id) DO NOTHING", [(dataset, *row) for row in rows]
    )


def held(datasets: Datasets, dataset: str) -> dict[str, str]:
    """All contents that lie there, by their ids."""
    found = datasets.statements.execute("SELECT id, content FROM rights WHERE dataset = ? ORDER BY id", (dataset,))
    return {str(row[0]): str(row[1]) for row in found.fetchall()}


def forget(datasets: Datasets, dataset: str, rights: Rights) -> None:
    """Delete the contents of rights that were lifted and are not in force any more."""
    gone = [(dataset, right) for right in sorted(rights.lifted - rights.kept())]
    datasets.statements.executemany("DELETE FROM rights WHERE dataset = ? AND id = ?", gone)


def in_force(rights: Rights, contents: Mapping[str, str]) -> list[str]:
    """The contents that answers follow: those in force, and those that no record knows of.

    Refused where one is missing.
    """
    for right, seal in rights.in_force.items():
        if right not in contents or sealed(contents[right]) != seal:
            raise LedgerError(
                "rights_missing",
                "people who are to be left out are not known here, so nothing is answered",
                why="the ledger has acts on people's rights whose content is missing from the place that keeps it",
                fix="Bring it: `obverse rights keep FILE` where the ledger was, then `obverse rights restore FILE` "
                "here.",
            )
    return [contents[right] for right in (*rights.in_force, *unrecorded(rights, contents)) if right in contents]


def unrecorded(rights: Rights, contents: Iterable[str]) -> list[str]:
    """Acts that are kept and that no record knows: a crash came between, or the ledger is an older one.

    They are in force.
    """
    return [right for right in contents if right not in rights.standing and right not in rights.lifted]


def number_of(entries: Iterable[Entry], act: str, right: str) -> int:
    """The record of an act that was just written."""
    same = (entry for entry in entries if entry.kind == "rights" and entry.fields["right"] == right)
    return max(entry.number for entry in same if entry.fields["act"] == act)


def no_such_right() -> Refused:
    return Refused("no_such_right", "no act with this id stands.", fix="`obverse rights list` shows those that do.")


def acts_of(entries: Iterable[Entry], rights: Rights) -> list[dict[str, Any]]:
    """Every act on the record, with what became of it."""
    found = []
    for entry in entries:
        if entry.kind != "rights":
            continue
        right = entry.fields["right"]
        state = "done"
        if entry.fields["act"] in STANDING:
            state = "in force" if right in rights.in_force else "waits" if right in rights.standing else "lifted"
        told = {key: entry.fields[key] for key in ("time", "act", "person", "right", "reason", "by", "tables")}
        found.append({"record": entry.number, **told, "state": state})
    return found
