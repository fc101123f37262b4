"""From rights that are in force to the overlay that answers are read under."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Any

from obverse.catalog.columns import fitted
from obverse.catalog.model import Catalog, Table
from obverse.core.errors import LedgerError
from obverse.core.types import Type, Value
from obverse.ledger.home import Home, default_home
from obverse.ledger.opened import Opened
from obverse.ledger.opening import open_dataset
from obverse.ledger.rights import held, in_force
from obverse.ledger.sources import around
from obverse.plan.emit.overlay import NOTHING, Correction, Overlay
from obverse.plan.stability.derive import own_type
from obverse.session.project import claimed

SALT_BYTES = 16


def overlay_now(opened: Opened, catalog: Catalog) -> Overlay:
    """Who is left out and what is put right at this moment, whoever acted last."""
    try:
        return _overlay(opened, catalog)
    except LedgerError as error:
        if error.code != "rights_missing":
            raise
    return _overlay(opened, catalog)  # it may have been forgotten between the two readings; once is enough


def _overlay(opened: Opened, catalog: Catalog) -> Overlay:
    """The chain is read first: a content that is newer than it is in force early, and harms nobody."""
    rights = opened.ledger.rights()
    with opened.registered.shared() as datasets:
        contents = held(datasets, opened.dataset.id)
    if not contents and not rights.in_force:
        return NOTHING
    return overlay_of([json.loads(content) for content in in_force(rights, contents)], catalog)


def overlay_here(catalog: Catalog) -> Overlay:
    """The same for data that may never have been asked on this machine; makes nothing where nobody has rights in it."""
    home = Home(default_home())
    try:
        claim = claimed(catalog)
        identified = (*home.identified(claim.sources), *around(claim.sources))
        with home.shared() as registry:
            dataset = registry.dataset_of(identified)
            if dataset is None or (claim.server is None and not held(registry, dataset.id)):
                return NOTHING
        opened = open_dataset(home, claim)
        try:
            return overlay_now(opened, catalog)
        finally:
            opened.ledger.close()
    finally:
        home.close()


def overlay_of(rights: list[dict[str, Any]], catalog: Catalog) -> Overlay:
    kind = own_type(catalog)
    left_out = frozenset(_of_type(kind, one["unit"]) for one in rights if one["act"] != "correct")
    told = [one for one in rights if one["act"] == "correct" and one["table"] in catalog.tables]
    found = (_correction(catalog.tables[one["table"]], _of_type(kind, one["unit"]), one) for one in told)
    return Overlay(left_out, tuple(one for one in found if one is not None))


def _correction(table: Table, unit: Value, told: Mapping[str, Any]) -> Correction | None:
    """None where the rows can be told no more: a column they were told by is not declared any more."""
    if not set(told["where"]) <= set(table.columns):
        return None
    values = {name: value for name, value in told["set"].items() if name in table.columns}
    return Correction(table.name, unit, _fitted(table, values), _fitted(table, told["where"]))


def _fitted(table: Table, values: Mapping[str, Any]) -> tuple[tuple[str, Value], ...]:
    return tuple((name, _of_type(table.columns[name].type, value)) for name, value in sorted(values.items()))


def _of_type(kind: Type, value: Any) -> Value:
    """A value that an act told, in the type that is declared now; where it is none of it, it must not count as
    missing.
    """
    found = fitted(kind, value)
    if found is None and value is not None:
        raise LedgerError(
            "rights_unfit",
            "acts on people's rights were told in other types than this project declares, so nothing is answered",
            why="read as they are declared now, people would come back or values that were put right would be missing",
            fix="Declare the types of keys and columns as before; or lift such acts, and tell them anew: obverse "
            "rights list.",
        )
    return found


def content_of(act: str, unit: Value, **more: Any) -> str:
    """What is kept of a right, with a salt."""
    return json.dumps(
        {"salt": secrets.token_hex(SALT_BYTES), "act": act, "unit": unit, **more}, sort_keys=True, default=str
    )
