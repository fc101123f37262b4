"""Access and portability: all that is held of one person, as JSON or as CSV files in a zip, by the curator's own door.

An errand of the curator in a process of its own: one person's rows, for a service that cannot reach the door to them.

Reads one JSON object from its input (whom, why, by whom, in which form; or the id of an act, whose rows are counted)
and writes a line and the bytes: `ok`, or the error. The person is in no argument, since those are seen by every user of
a machine.

What is kept of rights, carried to where the ledger goes, or brought back where it was lost.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from obverse.catalog.columns import fitted
from obverse.core.errors import ObverseError, Refused
from obverse.core.types import Value
from obverse.curator.ledger import opened_ledger
from obverse.curator.partitions import published_rows
from obverse.curator.rights.requests import Keeper, acts_told, person_of, reason_for, tables_of
from obverse.ledger import rights as ledger_rights
from obverse.ledger.rights import LEFT_OUT, Act, no_such_right
from obverse.plan.stability.derive import own_type
from obverse.session.budget import no_private_table
from obverse.session.custody import Rows, count_of, rows_of
from obverse.session.overlay import overlay_now
from obverse.session.project import load_project, open_ledger


def keep(project: Path, file: Path) -> int:
    """Write the contents of all rights that stand or are in force to a file that only its owner can read."""
    with opened_ledger(project) as (_, _, opened):
        rights = opened.ledger.rights()
        with opened.registered.shared() as datasets:
            held = ledger_rights.held(datasets, opened.dataset.id)
    kept = {right: content for right, content in held.items() if right in rights.kept()}
    try:
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
            json.dump({"obverse_rights": 1, "contents": kept}, out)
    except FileExistsError:
        raise Refused("file_exists", "there is a file already.", place=str(file), fix="Name another.") from None
    return len(kept)


def restore(project: Path, file: Path) -> int:
    """Put contents back; only those that the ledger has sealed, and none that was lifted."""
    try:
        contents = json.loads(file.read_text(encoding="utf-8"))["contents"]
        pairs = [(str(right), str(content)) for right, content in contents.items()]
    except OSError as error:
        raise Refused(
            "no_such_file", f"cannot be read: {error.strerror}", place=str(file), fix="Check the name."
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _strange(file) from None
    with opened_ledger(project) as (_, _, opened):
        rights = opened.ledger.rights()
        sealed = {**rights.standing, **rights.in_force}
        if any(ledger_rights.sealed(content) != sealed.get(right) for right, content in pairs):
            raise _strange(file)
        with opened.registered.exclusive() as datasets:
            ledger_rights.put(datasets, opened.dataset.id, pairs)
    return len(pairs)


def _strange(file: Path) -> Refused:
    return Refused(
        "not_kept_here",
        "the file holds no acts of this ledger, or was changed.",
        place=str(file),
        fix="Name the file that `obverse rights keep` wrote last.",
    )


NOTE = (
    "These are all rows that lead to this person, as they lie in their sources, with every column there. Where a value "
    "was put "
    "right, the value that answers read stands beside the stored one. Answers that were "
    "published carry noise and hold nothing that could be picked out as theirs. Reports of surveys bear no name."
)
FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # of every file in a zip: the same rows give the same bytes


@dataclass(frozen=True, slots=True)
class Held:
    """What is held of one person; `standing` are the acts on their rights that change answers."""

    person: Value
    unit: str
    tables: list[dict[str, Any]]
    standing: list[dict[str, Any]]

    def as_json(self) -> dict[str, Any]:
        told = {
            "person": self.person,
            "unit": self.unit,
            "tables": self.tables,
            "standing": self.standing,
            "note": NOTE,
        }
        return {"version": 1, **told}

    def as_zip(self) -> bytes:
        """A CSV file for each table, and the rest as about.json."""
        about = {**self.as_json(), "tables": [{**t, "rows": len(t["rows"])} for t in self.tables]}
        files = {f"{_file_name(table['name'])}.csv": _csv(*_beside(table)) for table in self.tables}
        files["about.json"] = json.dumps(about, ensure_ascii=False, indent=2) + "\n"
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
            for name, text in files.items():
                packed.writestr(zipfile.ZipInfo(name, FIRST_DAY), text)
        return out.getvalue()


def export(project: Path, person: str | int, reason: str, by: str = "curator") -> Held:
    """Everything of one person. That it is read, why and by whom is in the ledger before a row is."""
    loaded = load_project(project)
    try:
        if loaded.catalog.unit is None:
            raise no_private_table()
        home, opened = open_ledger(loaded)
        try:
            keeper = Keeper(loaded.catalog, home, opened, by)
            unit = person_of(loaded.catalog, person)
            tables = tuple(table.name for table in loaded.catalog.tables.values() if table.unit is not None)
            overlay = overlay_now(opened, loaded.catalog)
            opened.ledger.record_right(
                Act(act="export", person=keeper.hashed(unit), tables=tables, reason=reason_for(reason, unit), by=by)
            )
            found = rows_of(loaded.engine, loaded.catalog, unit, overlay)
            return Held(unit, loaded.catalog.unit.words, [_told(keeper, one) for one in found], _standing(keeper, unit))
        finally:
            opened.ledger.close()
            home.close()
    finally:
        loaded.engine.close()


def _told(keeper: Keeper, rows: Rows) -> dict[str, Any]:
    table = keeper.catalog.tables[rows.table]
    until = "" if table.retain_until is None else table.retain_until.isoformat()
    held = {"name": rows.table, "basis": table.basis, "purposes": list(table.purposes), "retain_until": until}
    in_force = [
        {"row": row, "column": rows.columns[column], "stored": plain(rows.rows[row][column]), "in_force": plain(value)}
        for (row, column), value in sorted(rows.in_force.items(), key=lambda one: one[0])
    ]
    stored = [[plain(value) for value in row] for row in rows.rows]
    return {**held, "columns": list(rows.columns), "rows": stored, "corrected": in_force}


def _standing(keeper: Keeper, unit: Value) -> list[dict[str, Any]]:
    person = keeper.hashed(unit)
    changing = ("in force", "waits", "not recorded")
    acts = (one for one in acts_told(keeper) if one["person"] == person and one["state"] in changing)
    return [{name: one[name] for name in ("act", "record", "tables", "state")} for one in acts]


def plain(value: Any) -> Any:
    """A value as JSON can hold it."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def matched(project: Path, right: str) -> dict[str, int]:
    """How many rows of each table an act is about now, for the curator alone; of nobody's there may be some later.

    The act is on the record already, the same whether anybody matches: that record is also the one of this reading.
    """
    loaded = load_project(project)
    try:
        home, opened = open_ledger(loaded)
        try:
            keeper = Keeper(loaded.catalog, home, opened)
            content = keeper.contents().get(right)
            if content is None or right not in opened.ledger.rights().standing:
                raise no_such_right()
            unit = fitted(own_type(loaded.catalog), content["unit"])
            found = {}
            for table in (loaded.catalog.tables[name] for name in tables_of(keeper, content)):
                where = {
                    name: fitted(table.columns[name].type, value) for name, value in content.get("where", {}).items()
                }
                found[table.name] = count_of(loaded.engine, loaded.catalog, table, unit, where)
            growing = published_rows(loaded, home, opened)
            if growing is not None and content["act"] in LEFT_OUT:
                growing.noted(unit)
            return found
        finally:
            opened.ledger.close()
            home.close()
    finally:
        loaded.engine.close()


def _beside(table: Mapping[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """Columns and rows, with the value in force right of the stored one where any of a column was put right."""
    found = {(one["row"], one["column"]): one["in_force"] for one in table["corrected"]}
    changed = {name for _, name in found}
    columns = []
    rows = [list[Any]() for _ in table["rows"]]
    for place, name in enumerate(table["columns"]):
        columns += [name, f"{name} (in force)"] if name in changed else [name]
        for number, row in enumerate(rows):
            stored = table["rows"][number][place]
            row += [stored, found.get((number, name), stored)] if name in changed else [stored]
    return columns, rows


def _file_name(table: str) -> str:
    """A table's name without what would lead elsewhere."""
    return re.sub(r"[/\\:]", "_", table)


def _csv(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """CSV by RFC 4180, exact; NULL and the empty text are both an empty field, which the JSON form tells apart."""
    out = io.StringIO(newline="")
    csv.writer(out).writerows([columns, *rows])
    return out.getvalue()


def main(asked: BinaryIO, told: BinaryIO) -> None:
    try:
        wanted = json.loads(asked.read())
        if "right" in wanted:
            told.write(b"ok\n" + json.dumps(matched(Path(wanted["project"]), wanted["right"])).encode())
            return
        held = export(Path(wanted["project"]), wanted["person"], wanted["reason"], wanted["by"])
        packed = held.as_zip() if wanted["format"] == "csv" else json.dumps(held.as_json(), ensure_ascii=False).encode()
        told.write(b"ok\n" + packed)
    except ObverseError as error:
        told.write(json.dumps(error.as_json()["error"]).encode() + b"\n")


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
