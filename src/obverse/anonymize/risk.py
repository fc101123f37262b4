"""How likely a row is tied to its person: by one who knows that the person is in the table, by one who does not, by one who
wants many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from obverse.anonymize.grouping import numbered

if TYPE_CHECKING:
    from obverse.anonymize.recoding import Recoded

BINS = (1, 2, 3, 5, 10, 20, 50, 100, 1000)


@dataclass(frozen=True, slots=True)
class Risk:
    """Chances of re-identification by the quasi-identifiers; `contributions` is what the marketer's loses without a column."""

    prosecutor: float
    prosecutor_rows: float  # the share of rows with that chance
    journalist: float | None
    marketer: float
    unique: float
    contributions: dict[str, float]
    sizes: dict[str, int]  # rows by the size of their class

    @property
    def sentences(self) -> dict[str, str]:
        most = max(self.contributions.items(), key=lambda item: item[1], default=("", 0.0))
        found = {
            "prosecutor": "Who knows that somebody is in the table finds their row with a chance of at most"
            f" {_share(self.prosecutor)}"
            f"; {_share(self.prosecutor_rows)} of rows are that exposed.",
            "marketer": "Who guesses every row's person among those that look alike is right for"
            f" {_share(self.marketer)} of rows.",
            "unique": f"{_share(self.unique)} of rows look like no other.",
            "contributions": f"Without {most[0]} the share of right guesses would fall by {_share(most[1])}."
            if most[0]
            else "",
        }
        if self.journalist is not None:
            found["journalist"] = (
                "Who does not know whether somebody is in the table, and looks for them in the population, finds their row with"
                f" a chance of at most {_share(self.journalist)}."
            )
        return found

    def as_json(self) -> dict[str, Any]:
        return {field: getattr(self, field) for field in self.__slots__} | {"sentences": self.sentences}


def _share(share: float) -> str:
    return f"{100 * share:.3g} %"


def risk(recoded: Recoded) -> Risk:
    classes = recoded.classes()
    sizes = classes.sizes[classes.sizes > 0]
    rows = max(int(sizes.sum()), 1)
    least = int(sizes.min()) if len(sizes) else 0
    journalist = None
    if classes.population is not None and len(sizes):
        people = np.maximum(classes.population, classes.sizes)[classes.sizes > 0]
        journalist = 1 / int(people.min())
    marketer = len(sizes) / rows
    return Risk(
        prosecutor=1 / least if least else 0.0,
        prosecutor_rows=float(sizes[sizes == least].sum() / rows),
        journalist=journalist,
        marketer=marketer,
        unique=float((sizes == 1).sum() / rows),
        contributions={name: marketer - without / rows for name, without in _classes_without(recoded).items()},
        sizes=_binned(sizes),
    )


def _classes_without(recoded: Recoded) -> dict[str, int]:
    """How many classes there were if a column were not there; counted over classes, of which there are fewer than rows."""
    people = np.bincount(recoded.index, weights=recoded.people, minlength=recoded.count)
    first = np.zeros(recoded.count, dtype=np.int64)
    first[recoded.index] = np.arange(len(recoded.index))
    first = first[people > 0]
    places = [(c.name, c.places[first].astype(np.int32), len(c.labels)) for c in recoded.columns]
    found = {}
    for name, _, _ in places:
        others = [(at, size) for other, at, size in places if other != name]
        found[name] = numbered([at for at, _ in others], [size for _, size in others])[1] if others and len(first) else 1
    return found


def _binned(sizes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> dict[str, int]:
    found = {}
    for low, high in zip(BINS, [*BINS[1:], None]):
        here = sizes[(sizes >= low) & (sizes < high if high is not None else True)]
        label = f"{low}" if high == low + 1 else f"{low}+" if high is None else f"{low}-{high - 1}"
        found[label] = int(here.sum())
    return found
