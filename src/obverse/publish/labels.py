"""What cells stand for, as columns; and workloads as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from obverse.answers.cells import plain, typed
from obverse.core.types import Type
from obverse.publish.workload import Attribute, Table, Workload

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

FIGURES = ("count", "estimate", "low", "high", "value", "stddev")
STORED = {Type.INTEGER: "int64", Type.DOUBLE: "float64", Type.BOOLEAN: "bool", Type.DATE: "datetime64[D]",
          Type.TIMESTAMP: "datetime64[us]"}  # fmt: skip


def cell_labels(workload: Workload, table: Table) -> tuple[dict[str, Array], dict[str, Type]]:
    """The value of each attribute in every cell, the last attribute running fastest."""
    import numpy as np

    found: dict[str, Array] = {}
    types: dict[str, Type] = {}
    places = np.unravel_index(np.arange(workload.cells(table)), workload.shape(table)) if table else ()
    for place, i in zip(places, table):
        attribute = workload.attributes[i]
        name = column_name(attribute.name)
        found[name], types[name] = values_at(attribute, place), attribute.type
    return found, types


def column_name(name: str) -> str:
    """A column's name that is no figure's."""
    return name + (" (key)" if name in FIGURES else "")


def values_at(attribute: Attribute, place: Array) -> Array:
    """The attribute's values at these places; masked where they are missing."""
    import numpy as np

    missing = np.array([value is None for value in attribute.values])
    stored = np.empty(attribute.cells, dtype=object)
    stored[:] = [_filler(attribute) if value is None else value for value in attribute.values]
    kept = stored.astype(np.dtype(STORED.get(attribute.type, "O")))
    return np.ma.array(kept[place], mask=missing[place])


def _filler(attribute: Attribute) -> Any:
    """Whatever stands where a value is missing."""
    return next((value for value in attribute.values if value is not None), "" if attribute.type is Type.TEXT else 0)


def label(value: object) -> str:
    """A value for people."""
    return "missing" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def workload_json(workload: Workload) -> dict[str, Any]:
    attributes = [
        {"name": one.name, "type": one.type.value, "values": [plain(value) for value in one.values]}
        for one in workload.attributes
    ]
    return {"attributes": attributes, "tables": [list(table) for table in workload.tables]}


def workload_of(fields: dict[str, Any]) -> Workload:
    attributes = []
    for one in fields["attributes"]:
        kind = Type(one["type"])
        attributes.append(Attribute(one["name"], tuple(typed(value, kind) for value in one["values"]), kind))
    return Workload(tuple(attributes), tuple(tuple(table) for table in fields["tables"]))
