"""What is asked for: columns, models, search. It is what the manifest holds, and a run can be repeated from it.

A manifest that names whose rows are whose (`person`) is of version 2: what reads version 1 alone would count rows by
it.

From a table and a wish to what is released: hierarchies, search, labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any

from obverse.anonymize.grouping import whole_of
from obverse.anonymize.hierarchies import Recipe, built, guessed, has_order
from obverse.anonymize.lattice import LOSSES, Search
from obverse.anonymize.models import Close, Distinct, Entropy, Large, Model, Present, Recursive, Unsure, all_hold
from obverse.anonymize.mondrian import mondrian
from obverse.anonymize.persons import EACH_ROW
from obverse.anonymize.recoding import Recoded, at_node, in_boxes
from obverse.anonymize.table import Table
from obverse.core.errors import Refused, invariant

# of the manifest, without and with a column that says whose a row is
VERSION = 1
BY_PERSON = 2
SEARCHES = ("optimal", "mondrian")
L_KINDS = ("distinct", "entropy", "recursive")
T_KINDS = ("equal", "ordered", "hierarchical")
ALPHABET = ", texts in alphabetical order"


@dataclass(frozen=True, slots=True)
class Wish:
    """Demands on sensitive columns are written [COLUMN=][KIND:]NUMBER, as on the command line; without a column, on
    all.

    `person` is the column that says whose a row is; without one each row is taken as a person.
    """

    quasi: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    k: int | None = None
    l: tuple[str, ...] = ()  # noqa: E741
    t: tuple[str, ...] = ()
    alpha: tuple[str, ...] = ()
    presence: str | None = None
    suppress: float = 0.0
    search: str = "optimal"
    loss: str = LOSSES[0]
    sample: float | None = None
    deidentify: tuple[str, ...] = ()
    pseudonymise: tuple[str, ...] = ()
    secret: str = field(default="", repr=False)
    person: str | None = None
    hierarchies: Mapping[str, Recipe] = field(default_factory=dict)

    def __post_init__(self) -> None:
        named = (*self.quasi, *self.sensitive, *self.keep, *self.deidentify, *self.pseudonymise)
        if len(set(named)) < len(named):
            raise _wrong("a column has two roles.", "Name each column once, under one role.")
        if not 0 <= self.suppress < 1:
            raise _wrong("the share to suppress is at least 0 and below 1.")
        if self.sample is not None and not 0 < self.sample <= 1:
            raise _wrong("a sample is a share above 0 and at most 1.")
        if self.search not in SEARCHES or self.loss not in LOSSES:
            raise _wrong(f"a search is one of {', '.join(SEARCHES)}, a loss one of {', '.join(LOSSES)}.")
        if self.k is not None and self.k < 1:
            raise _wrong("k is at least 1.")
        if (self.l or self.t or self.alpha) and not self.sensitive:
            raise _wrong(
                "l, t and alpha are demands on sensitive columns, and none is named.", "Add --sensitive COLUMN."
            )
        if not self.quasi and (self.k or self.l or self.t or self.alpha or self.presence):
            raise _wrong(
                "a model is a demand on rows that look alike, and no quasi-identifier is named.", "Add --quasi COLUMN."
            )
        if not self.quasi and self.sample is None and not (self.deidentify or self.pseudonymise):
            raise _wrong(
                "nothing is asked for.", "Name quasi-identifiers with --quasi, or use --sample or --deidentify."
            )
        if self.quasi and not (self.k or self.l or self.t or self.alpha or self.presence):
            raise _wrong("quasi-identifiers are named, and no model.", "Add --k 5, or --l, --t, --alpha, --presence.")
        if self.search == "mondrian" and self.suppress:
            raise _wrong("Mondrian suppresses no row.", "Leave --suppress out, or use --search optimal.")

    def as_json(self) -> dict[str, Any]:
        told = {f.name: getattr(self, f.name) for f in fields(self)}
        told["hierarchies"] = {name: recipe.as_json() for name, recipe in self.hierarchies.items()}
        plain = {name: list(v) if isinstance(v, tuple) else v for name, v in told.items()}
        counted = EACH_ROW if self.person is None else f"People are counted, named by {self.person}."
        return {"version": VERSION if self.person is None else BY_PERSON, **plain, "counted": counted}

    @classmethod
    def from_json(cls, told: Any) -> Wish:
        try:
            if told["version"] not in (VERSION, BY_PERSON):
                raise _unreadable()
            # the first manifests have none
            named = told.get("person") if told["version"] == VERSION else told["person"]
            known = {f.name: told[f.name] for f in fields(cls) if f.name != "person"} | {"person": named}
            recipes = {str(name): Recipe.from_json(one) for name, one in known.pop("hierarchies").items()}
            plain: dict[str, Any] = {
                name: tuple(map(str, v)) if isinstance(v, list) else v for name, v in known.items()
            }
            return cls(**plain, hierarchies=recipes)
        except (KeyError, TypeError, AttributeError, ValueError):
            raise _unreadable() from None


def _unreadable() -> Refused:
    return Refused(
        "bad_manifest", "the manifest cannot be read.", fix="Use a manifest.json that this version has written."
    )


def _wrong(message: str, fix: str = "") -> Refused:
    return Refused("bad_parameter", message, fix=fix)


def models_of(wish: Wish, table: Table) -> list[Model]:
    """The demands, each on its column."""
    found: list[Model] = [Large(wish.k)] if wish.k else []
    for text in wish.l:
        found += _each(text, L_KINDS, table, lambda kind, numbers, place, name: _diverse(kind, numbers, place, name))
    for text in wish.t:
        found += _each(
            text, T_KINDS, table, lambda kind, numbers, place, name: _close(kind, numbers, place, name, wish, table)
        )
    for text in wish.alpha:
        found += _each(
            text, ("share",), table, lambda kind, numbers, place, name: Unsure(place, name, _in_unit(numbers))
        )
    if wish.presence is not None:
        numbers = _numbers(wish.presence)
        if len(numbers) != 2 or not 0 <= numbers[0] <= numbers[1] <= 1:
            raise _wrong("presence is two shares, the lower first, such as 0,0.5.")
        if table.population is None:
            raise _wrong("presence is told against a population, and none is given.", "Add --population FILE.")
        found.append(Present(numbers[0], numbers[1]))
    return found


def _each(
    text: str, kinds: tuple[str, ...], table: Table, make: Callable[[str, list[float], int, str], Model]
) -> list[Model]:
    """The model of a demand, for the column that it names or for all."""
    column, equals, rest = text.rpartition("=")
    kind, colon, numbers = rest.rpartition(":")
    kind = kind if colon else kinds[0]
    if kind not in kinds:
        raise _wrong(f"{text!r}: a kind is one of {', '.join(kinds)}.")
    names = [one.name for one in table.sensitive]
    if equals and column not in names:
        raise _wrong(f"{text!r} names no sensitive column.", f"Sensitive: {', '.join(names)}.")
    return [
        make(kind, _numbers(numbers), place, name) for place, name in enumerate(names) if not equals or name == column
    ]


def _numbers(text: str) -> list[float]:
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = [math.nan]
    if not all(map(math.isfinite, found)):
        raise _wrong(f"{text!r} is not a number.")
    return found


def _in_unit(numbers: list[float]) -> float:
    if len(numbers) != 1 or not 0 <= numbers[0] <= 1:
        raise _wrong("t and alpha are shares between 0 and 1.")
    return numbers[0]


def _diverse(kind: str, numbers: list[float], place: int, name: str) -> Model:
    if kind == "recursive":
        if len(numbers) != 2 or numbers[0] <= 0 or numbers[1] < 2 or numbers[1] % 1:
            raise _wrong("recursive diversity is recursive:C,L with C above 0 and a whole L from 2 on.")
        return Recursive(place, name, numbers[0], int(numbers[1]))
    if len(numbers) != 1 or numbers[0] < 1 or (kind == "distinct" and numbers[0] % 1):
        raise _wrong("l is at least 1, and whole where values are counted.")
    return Entropy(place, name, numbers[0]) if kind == "entropy" else Distinct(place, name, int(numbers[0]))


def _close(kind: str, numbers: list[float], place: int, name: str, wish: Wish, table: Table) -> Model:
    column = table.sensitive[place]
    levels: tuple[Any, ...] = ()
    if kind == "hierarchical":
        recipe = wish.hierarchies.get(name) or guessed(name, column.values)
        levels = tuple(level.groups for level in built(recipe, name, column.values).levels[:-1])
    order = ALPHABET if kind == "ordered" and column.size > 3 and not has_order(column.values) else ""
    return Close(place, name, _in_unit(numbers), kind, whole_of(table, place, table.counts), levels, order)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is released, the wish with its recipes filled in, and how it was searched for."""

    recoded: Recoded
    wish: Wish
    search: dict[str, Any]


def recipes_for(table: Table, told: Mapping[str, Recipe]) -> dict[str, Recipe]:
    """A recipe for each quasi-identifier: as told, or as its values call for; those of other columns stay."""
    return {**told, **{c.name: told.get(c.name) or guessed(c.name, c.values) for c in table.quasi}}


def anonymized(table: Table, wish: Wish, told: Callable[[float], None] = lambda share: None) -> Outcome:
    """The table, made to satisfy the models."""
    wish = replace(wish, hierarchies=recipes_for(table, wish.hierarchies))
    hierarchies = [built(wish.hierarchies[c.name], c.name, c.values) for c in table.quasi]
    models = models_of(wish, table)
    about: dict[str, Any] = {"kind": wish.search, "models": [model.words for model in models]}
    if wish.search == "mondrian":
        recoded = in_boxes(table, hierarchies, mondrian(table, hierarchies, models, told))
    else:
        limit = int(Fraction(repr(wish.suppress)) * table.people)  # 0.29 of a hundred is 29
        found = Search(table, hierarchies, models, limit, wish.loss, told).run()
        recoded = at_node(table, hierarchies, found.judged.node, models)
        invariant(recoded.people_suppressed == found.judged.suppressed, "what is written is what was found")
        about |= {
            "loss": wish.loss,
            "loss_value": found.loss,
            "node": {c.name: level for c, level in zip(table.quasi, found.judged.node)},
            "heights": {h.name: h.height - 1 for h in hierarchies},
            "nodes": found.nodes,
            "looked_at": found.looked_at,
        }
    classes = recoded.classes()
    invariant(bool(all_hold(models, classes)[classes.sizes > 0].all()), "every released class satisfies the models")
    return Outcome(recoded, wish, about)
