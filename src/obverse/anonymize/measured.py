"""How far a table satisfies each model: the k, l, t ... that it reaches, by one GROUP BY."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from obverse.anonymize.classes import whole_of
from obverse.anonymize.distances import distinct, entropies, equal, hierarchical, ordered, tails
from obverse.anonymize.recipes import built

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from obverse.anonymize.classes import Classes
    from obverse.anonymize.recipes import Recipe
    from obverse.anonymize.recoding import Recoded

RECURSIVE_L = 2


def measured(recoded: Recoded) -> dict[str, Any]:
    """Of the worst class: k; for each sensitive column l, t and the largest share of one value; presence."""
    classes = recoded.classes()
    here = classes.sizes > 0
    found: dict[str, Any] = {"k": int(classes.sizes[here].min()) if here.any() else 0, "classes": int(here.sum())}
    if classes.population is not None and here.any():
        share = classes.sizes / np.maximum(np.maximum(classes.population, classes.sizes), 1)
        found["presence"] = [float(share.min()), float(share.max())]
    found["sensitive"] = {
        column.name: _of_column(classes, place, here, whole_of(recoded.table, place, recoded.rows))
        for place, column in enumerate(recoded.table.sensitive)
        if here.any()
    }
    return found


def closeness_on_trees(recoded: Recoded, recipes: Mapping[str, Recipe]) -> dict[str, float]:
    """For each sensitive column that has a hierarchy the t of its worst class, by the distance over that hierarchy."""
    classes, found = recoded.classes(), {}
    here = classes.sizes > 0
    for place, column in enumerate(recoded.table.sensitive):
        if column.name in recipes and here.any():
            levels = tuple(one.groups for one in built(recipes[column.name], column.name, column.values).levels[:-1])
            whole = whole_of(recoded.table, place, recoded.rows)
            found[column.name] = float(hierarchical(classes, place, whole, levels)[here].max())
    return found


def _of_column(classes: Classes, place: int, here: NDArray[np.bool_], whole: NDArray[np.float64]) -> dict[str, float]:
    largest, tail = (part[here] for part in tails(classes, place, RECURSIVE_L))
    with np.errstate(divide="ignore"):
        ratio = float(np.max(largest / tail))
    return {
        "distinct_l": int(distinct(classes, place)[here].min()),
        "entropy_l": max(float(np.exp(entropies(classes, place)[here].min())), 1.0),
        "recursive_c": ratio if np.isfinite(ratio) else None,  # type: ignore[dict-item]
        "t_equal": float(equal(classes, place, whole)[here].max()),
        "t_ordered": float(ordered(classes, place, whole)[here].max()),
        "alpha": float((largest / classes.sizes[here]).max()),
    }
