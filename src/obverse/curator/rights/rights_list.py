"""Every act on people's rights, by a keyed hash of the person; also one that is kept and that no record knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from obverse.curator.rights.rights import Keeper, tables_of
from obverse.ledger.rights import acts_of, unrecorded


def acts_told(keeper: Keeper) -> list[dict[str, Any]]:
    """Those on the record, and then those a crash left behind, which are in force. Reads contents first: a record follows."""
    contents, ledger = keeper.contents(), keeper.opened.ledger
    rights = ledger.rights()
    left = [_told(keeper, right, contents[right]) for right in unrecorded(rights, contents)]
    return [*acts_of(ledger.entries(), rights), *left]


def _told(keeper: Keeper, right: str, content: Mapping[str, Any]) -> dict[str, Any]:
    told = {"record": None, "time": "", "act": content["act"], "person": keeper.hashed(content["unit"]), "right": right}
    return {**told, "reason": "", "by": "", "tables": list(tables_of(keeper, content)), "state": "not recorded"}
