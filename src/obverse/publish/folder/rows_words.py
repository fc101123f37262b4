"""What synthetic rows tell, and what they do not, in words."""

from __future__ import annotations

from typing import Any


def rows_words(metadata: dict[str, Any]) -> tuple[str, ...]:
    """From the metadata of a release of synthetic rows."""
    method = metadata["method"]
    names = [one["name"] for one in method["attributes"]]
    chosen = "; ".join(" with ".join(names[i] for i in part) for part in method["edges"])
    measured = f"Tables that were chosen and measured: {chosen}." if chosen else "No table stood out of the noise."
    given = "; ".join(
        f"{names[int(place)]} is {' or '.join(_label(method, int(place), value) for value in values)}"
        for place, values in method["given"].items()
    )
    kind = f", in which {given}" if given else ""
    beside = f"`data/sample` holds rows drawn beside them{kind}." if method["given"] or method["wanted"] else ""
    found = (
        "`data/synthetic` holds rows that no person stands behind: they are drawn from a model of noisy tables, and the same "
        "rows follow from the same measurements.",
        f"{measured} What rows tell of any other table follows from these, as if columns were independent given those between "
        "them; where none are between them, as if they were independent.",
        "Do not look for a person in the rows, and do not take a table that was not measured for a finding.",
        beside,
    )
    return tuple(one for one in found if one)


def _label(method: dict[str, Any], place: int, value: int) -> str:
    told = method["attributes"][place]["values"][value]
    return "missing" if told is None else str(told)
