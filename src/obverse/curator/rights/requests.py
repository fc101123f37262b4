"""The curator's acts on people's rights: leave somebody out, put values right, lift it again. None of them reads a row.

Each is a record in the ledger with a keyed hash of the person. It is in force from the data's next version on, which
the act itself begins unless it is to wait for the next `obverse data publish`.

What may be put right in somebody's rows: which tables and columns, and which values.

Every act on people's rights, by a keyed hash of the person; also one that is kept and that no record knows.
"""

from __future__ import annotations

import json
import re
import secrets
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from obverse.catalog.columns import fitted
from obverse.catalog.keys import suggestion
from obverse.catalog.model import OTHER, Catalog, Column, Table
from obverse.core.bounds import Categories, Interval, Unbounded
from obverse.core.errors import Refused
from obverse.core.types import Type, Value
from obverse.core.units import Neighbours
from obverse.ledger import rights as ledger_rights
from obverse.ledger.home import Home
from obverse.ledger.opened import Opened
from obverse.ledger.opening import publish
from obverse.ledger.rights import acts_of, unrecorded
from obverse.plan.expressions import from_number
from obverse.plan.partitions import first_counted
from obverse.plan.stability.derive import own_type
from obverse.session.budget import no_private_table
from obverse.session.overlay import content_of
from obverse.session.project import load_project, open_ledger, sources_of


def correctable(catalog: Catalog, name: str) -> Table:
    table = catalog.tables.get(name)
    if table is None:
        raise Refused("unknown_table", f"no table {name!r} is declared.", fix=suggestion(name, catalog.tables))
    if table.unit is None or table.unit.column is None or len(table.unit.steps) > 1:
        raise Refused(
            "correct_at_source",
            f"rows of {name} do not name the person themselves, so they are put right where they lie.",
            fix="Change them in the source, then: obverse data publish.",
        )
    return table


def keys(catalog: Catalog, table: str) -> set[str]:
    """Columns that lead to a unit: to put one right would give rows to somebody else."""
    paths = [one.unit for one in catalog.tables.values() if one.unit is not None]
    own = {path.column for path in paths if path.table == table and path.column is not None}
    return own | {key for path in paths for there, key in path.steps if there == table}


def values_of(table: Table, told: Mapping[str, Any]) -> dict[str, Any]:
    """Values of declared columns, of their types."""
    found = {}
    for name, value in told.items():
        if name not in table.columns:
            raise Refused(
                "unknown_column", f"table {table.name} has no column {name!r}.", fix=suggestion(name, table.columns)
            )
        found[name] = typed(table, name, value)
    return found


def declared_values(table: Table, told: Mapping[str, Any]) -> dict[str, Any]:
    """The same, for values that are put right: each counts as it is told, or is refused."""
    found = values_of(table, told)
    for name, value in found.items():
        column = table.columns[name]
        if value is not None and not _counts(column, fitted(column.type, value)):
            raise _not_declared(table.name, column)
    return found


def _counts(column: Column, value: Any) -> bool:
    """Whether answers read a value as it is; compared as engines do, with the bounds in the column's type."""
    match column.bounds:
        case Interval(lo, hi):
            low, high = (from_number(end, column.type) for end in (lo, hi))
            return bool(low <= value <= high)
        case Categories():
            return value in (column.declared or ())
        case Unbounded():
            return True


def _not_declared(table: str, column: Column) -> Refused:
    name = column.name
    if isinstance(column.bounds, Interval):
        low, high = (from_number(end, column.type) for end in (column.bounds.lo, column.bounds.hi))
        message = f"{table}.{name} is declared within [{low}, {high}], and this value is outside."
        why = "it would count as the nearest bound, not as it is told."
    else:
        message = f"{table}.{name} has a declared list of values, and this is none of them."
        rest = f", and the row be in no answer over {name}" if column.drops else ""
        why = f"it would be read as {OTHER if column.other else 'missing'}{rest}."
    fix = (
        f"Check the value. If it is right, declare {name} wider in obverse.toml, as wide as it can ever be, then do "
        "this."
    )
    return Refused("value_not_declared", message, why=why, fix=fix)


def typed(table: Table, name: str, value: Any) -> Any:
    """A value as JSON or the command line has it, in the column's type; None is NULL where that may be."""
    column = table.columns[name]
    if value is None and column.nullable:
        return None
    if isinstance(value, str) and column.type in (Type.INTEGER, Type.DOUBLE, Type.BOOLEAN):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = None
    found = fitted(column.type, value)
    if found is None:
        raise Refused("bad_parameter", f"this is no value of {table.name}.{name}, which is {column.type.value}.")
    return found if isinstance(found, (str, int, float)) else str(found)


PERSON_MAX = 1000
UNRECORDED = "kept without a record, as after a crash; put on the record to be lifted"
COMES_BACK = (
    "then: obverse data publish; this person is left out until then, and comes back with the rows they had, or none"
)
CANNOT_UNDO = (
    "What was published before stays published: answers and releases that counted this person carry noise that hides "
    "them, and "
    "cannot be called back. Budget spent about them stays spent. Reports of surveys are randomized and bear no name, "
    "so none "
    "can be found. Copies that others made of the source are theirs to erase."
)


@dataclass(frozen=True, slots=True)
class Keeper:
    """A project in the curator's hands: its completed catalog, and the ledger that serves its data."""

    catalog: Catalog
    home: Home
    opened: Opened
    by: str = "curator"

    def hashed(self, person: Value) -> str:
        """What the ledger knows a person by: nobody without the secret of the place can try out who it is."""
        return self.opened.registered.seal.of("person", f"{self.opened.dataset.id}\0{person}")

    def kept(self) -> dict[str, str]:
        """What is kept of each right, by its id, as it lies there."""
        with self.opened.registered.shared() as datasets:
            return ledger_rights.held(datasets, self.opened.dataset.id)

    def contents(self) -> dict[str, dict[str, Any]]:
        """The same, read."""
        return {right: json.loads(text) for right, text in self.kept().items()}


@dataclass(frozen=True, slots=True)
class Done:
    """An act that is on the record. `data_version` is None where it waits for the next one."""

    act: str
    person: str
    right: str
    record: int
    data_version: str | None
    procedure: tuple[str, ...] = ()
    cannot_undo: str = CANNOT_UNDO

    def as_json(self) -> dict[str, Any]:
        return {"version": 1, **asdict(self), "procedure": list(self.procedure)}


@contextmanager
def kept(project: Path, by: str = "curator") -> Iterator[Keeper]:
    """The project opened for acts on rights."""
    loaded = load_project(project)
    try:
        if loaded.catalog.unit is None:
            raise no_private_table()
        home, opened = open_ledger(loaded)
        try:
            yield Keeper(loaded.catalog, home, opened, by)
        finally:
            opened.ledger.close()
            home.close()
    finally:
        loaded.engine.close()


def suppress(keeper: Keeper, person: str | int, reason: str, *, later: bool = False) -> Done:
    """Somebody is in no later answer: objection, restriction, consent withdrawn."""
    return _left_out(keeper, "suppress", person, reason, later)


def erase(keeper: Keeper, person: str | int, reason: str, *, later: bool = False) -> Done:
    """The same at once, and what is left to be done where the rows themselves lie, which are only read from here."""
    return _left_out(keeper, "erase", person, reason, later)


def correct(
    keeper: Keeper,
    person: str | int,
    table: str,
    values: Mapping[str, Any],
    reason: str,
    *,
    where: Mapping[str, Any] | None = None,
    later: bool = False,
) -> Done:
    """Values of somebody's rows are read as told, whatever the source says; `where` tells which of several rows."""
    unit = person_of(keeper.catalog, person)
    said = reason_for(reason, unit)
    declared = correctable(keeper.catalog, table)
    told = {"table": table, "set": declared_values(declared, values), "where": values_of(declared, where or {})}
    for name in sorted(set(values) & keys(keeper.catalog, table)):
        raise Refused(
            "correct_at_source",
            f"{name} says whose rows they are, and is put right where they lie.",
            fix="Change it in the source, then: obverse data publish.",
        )
    if declared.partition is not None and declared.partition.column in values:
        raise Refused(
            "correct_at_source",
            f"{declared.partition.column} says in which partition rows count, and nobody is moved to another.",
            why="each partition has a budget of its own because a person counts in one of them, once and for all.",
            fix="Leave the person out: obverse rights suppress.",
        )
    if not told["set"]:
        raise Refused("no_columns", "which values are put right?", fix="Say it: --set age=41.")
    where_it_lies = (f"put it right in the source of {table} too, publish it, then lift this act",)
    return _standing(keeper, "correct", unit, (table,), said, later, where_it_lies, **told)


def lift(keeper: Keeper, right: str, reason: str, *, later: bool = False) -> Done:
    """An act stands no more: consent was given again, or the source itself was changed. Its content is then forgotten.

    One that no record knows is put on the record in the same step.
    """
    content = keeper.kept().get(right)
    rights = keeper.opened.ledger.rights()
    if content is None or right in rights.lifted:
        raise ledger_rights.no_such_right()
    found = json.loads(content)
    unit = fitted(own_type(keeper.catalog), found["unit"])
    person = keeper.hashed(unit)
    said = reason_for(reason, unit)
    acts = [ledger_rights.Act("lift", person, (), said, keeper.by, right)]
    waits = found["act"] in ledger_rights.LEFT_OUT and first_counted(keeper.catalog) is not None
    if right not in rights.standing:
        if later:
            why = "no version of the data began it, so it is in force as long as it is kept, and none can end it."
            raise Refused(
                "bad_parameter", "an act without a record is lifted at once.", why=why, fix="Do it without later."
            )
        tables = tables_of(keeper, found)
        seal = ledger_rights.sealed(content)
        acts.insert(0, ledger_rights.Act(found["act"], person, tables, UNRECORDED, keeper.by, right, seal))
    if waits:  # for a version that compares rows: who comes back has the first partition that they had
        for act in acts[:-1]:
            _written(keeper, (act,), False)
        return _written(keeper, acts[-1:], True, cannot_undo="", procedure=(COMES_BACK,))
    return _written(keeper, acts, later, cannot_undo="")


def tables_of(keeper: Keeper, content: Mapping[str, Any]) -> tuple[str, ...]:
    """The tables that an act is about."""
    if content["act"] == "correct":
        return (content["table"],)
    return tuple(table.name for table in keeper.catalog.tables.values() if table.unit is not None)


def _written(keeper: Keeper, acts: Sequence[ledger_rights.Act], later: bool, **told: Any) -> Done:
    """On the record, in one step with the data's version that they are in force from: what was lifted is forgotten
    then.
    """
    ledger = keeper.opened.ledger
    act = acts[-1]
    if later:
        return Done(act.act, act.person, act.right, ledger.record_right(act), None, **told)
    waits = first_counted(keeper.catalog) is not None
    version = publish(keeper.home, keeper.opened, sources_of(keeper.catalog), acts=acts, lifts_wait=waits)
    number = ledger_rights.number_of(ledger.entries(), act.act, act.right)
    return Done(act.act, act.person, act.right, number, version, **told)


def person_of(catalog: Catalog, person: str | int) -> Value:
    """Somebody by the value of the unit's key, of its declared type."""
    if catalog.unit is None or catalog.unit.key is None:
        raise Refused(
            "rows_are_units",
            "each row is its own unit here, so nobody's rows can be told from others'.",
            fix="Change the rows in the source, then: obverse data publish. Or declare the column that names people as "
            "unit.",
        )
    kind = own_type(catalog)
    found: Value = None
    if isinstance(person, bool) or not isinstance(person, (str, int)):
        pass
    elif kind is Type.INTEGER and re.fullmatch(r"-?[0-9]{1,19}", str(person)):
        found = fitted(kind, int(person))
    elif kind is Type.TEXT and 0 < len(str(person)) <= PERSON_MAX:
        found = fitted(kind, str(person))
    if found is None:
        raise Refused("bad_person", f"a person is named by their {catalog.unit.key}, which is {kind.value} here.")
    return found


def reason_for(reason: str, person: Value) -> str:
    """The reason goes on the record, where the person does not."""
    said = fitted(Type.TEXT, reason.strip())
    if not isinstance(said, str) or not said:
        raise Refused("no_reason", "why is this done?", fix='Say it: --reason "consent withdrawn by letter of 3 May".')
    named = _folded(str(person))
    read = _folded(said)
    numbers = {re.sub(r"\D", "", one).lstrip("0") for one in re.findall(r"[0-9][0-9.,'\u2019 _]*", read)}
    if (named and re.search(rf"(?<![^\W_]){re.escape(named)}(?![^\W_])", read)) or named.lstrip("-0") in numbers - {""}:
        why = "the ledger keeps a keyed hash of the person, and its records are never changed."
        raise Refused("reason_names_person", "the reason names the person.", why=why, fix="Leave their key out of it.")
    return said


def _folded(text: str) -> str:
    """A text as people read it, in whatever letters it was typed."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).strip()


def _left_out(keeper: Keeper, act: str, person: str | int, reason: str, later: bool) -> Done:
    unit = person_of(keeper.catalog, person)
    said = reason_for(reason, unit)
    if keeper.catalog.neighbours is Neighbours.REPLACE:
        raise Refused(
            "number_is_public",
            "nobody can be left out: under replace the number of people is public, and answers are exact about it.",
            why="an answer with one person less would tell that somebody was left out.",
            fix="Delete the rows in the source, lower `size`, then: obverse data publish.",
        )
    tables = tables_of(keeper, {"act": act})
    procedure = tuple(_deletion(keeper.catalog.tables[name]) for name in tables) if act == "erase" else ()
    if procedure:
        procedure += ("then: obverse data publish; and once no copy can bring the rows back: obverse rights lift",)
    return _standing(keeper, act, unit, tables, said, later, procedure)


def _standing(
    keeper: Keeper,
    act: str,
    unit: Value,
    tables: tuple[str, ...],
    reason: str,
    later: bool,
    procedure: tuple[str, ...],
    **told: Any,
) -> Done:
    """The content first, then at once the record that seals it and the version: cut short anywhere, nobody is
    brought back.
    """
    known = keeper.contents()
    rights = keeper.opened.ledger.rights()
    if act != "correct":
        same = [right for right, one in known.items() if one["act"] != "correct" and one["unit"] == unit]
        if any(right in rights.standing for right in same):
            raise Refused("already_left_out", "this person is left out already.", fix="`obverse rights list` shows it.")
    right = secrets.token_hex(16)
    content = content_of(act, unit, **told)
    person = keeper.hashed(unit)
    with keeper.opened.registered.exclusive() as datasets:
        ledger_rights.put(datasets, keeper.opened.dataset.id, [(right, content)])
    sealed = ledger_rights.sealed(content)
    recorded = ledger_rights.Act(act, person, tables, reason, keeper.by, right, sealed)
    return _written(keeper, (recorded,), later, procedure=procedure)


def _deletion(table: Table) -> str:
    """What the owner of a source does; in words, for a source is only ever read from here."""
    assert table.unit is not None
    place = table.source.path.name if table.source.path is not None else table.source.table or table.name
    if len(table.unit.steps) <= 1:
        return f"delete the rows of {table.name} ({place}) whose {table.unit.column} is this person"
    through, key = table.unit.steps[0]
    return (
        f"delete the rows of {table.name} ({place}) whose {table.unit.column} is a {key} of this person's rows of "
        f"{through}"
    )


def acts_told(keeper: Keeper) -> list[dict[str, Any]]:
    """Those on the record, and then those a crash left behind, which are in force.

    Reads contents first: a record follows.
    """
    contents = keeper.contents()
    ledger = keeper.opened.ledger
    rights = ledger.rights()
    left = [_told(keeper, right, contents[right]) for right in unrecorded(rights, contents)]
    return [*acts_of(ledger.entries(), rights), *left]


def _told(keeper: Keeper, right: str, content: Mapping[str, Any]) -> dict[str, Any]:
    told = {"record": None, "time": "", "act": content["act"], "person": keeper.hashed(content["unit"]), "right": right}
    return {**told, "reason": "", "by": "", "tables": list(tables_of(keeper, content)), "state": "not recorded"}
