"""Access and portability: all that is held of one person, as JSON or as CSV files in a zip, by the curator's own door."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obverse.catalog.columns import fitted
from obverse.core.types import Value
from obverse.curator.published_rows import published_rows
from obverse.curator.rights.rights import Keeper, person_of, reason_for, tables_of
from obverse.curator.rights.rights_list import acts_told
from obverse.ledger.rights import LEFT_OUT, Act, no_such_right
from obverse.plan.stability.derive import own_type
from obverse.session.budget import no_private_table
from obverse.session.custody import Rows, count_of, rows_of
from obverse.session.opening import load_project, open_ledger
from obverse.session.overlay import overlay_now

NOTE = (
    "These are all rows that lead to this person, as they lie in their sources, with every column there. Where a value was put "
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
        told = {"person": self.person, "unit": self.unit, "tables": self.tables, "standing": self.standing, "note": NOTE}
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
            opened.ledger.record_right(Act("export", keeper.hashed(unit), tables, reason_for(reason, unit), by))
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
    person, changing = keeper.hashed(unit), ("in force", "waits", "not recorded")
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
            unit, found = fitted(own_type(loaded.catalog), content["unit"]), {}
            for table in (loaded.catalog.tables[name] for name in tables_of(keeper, content)):
                where = {name: fitted(table.columns[name].type, value) for name, value in content.get("where", {}).items()}
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
    columns, rows = [], [list[Any]() for _ in table["rows"]]
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
