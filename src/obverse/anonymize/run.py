"""From a table and a wish to what is released: hierarchies, search, labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from obverse.anonymize.lattice import Search
from obverse.anonymize.models import all_hold
from obverse.anonymize.mondrian import mondrian
from obverse.anonymize.recipes import Recipe, built, guessed
from obverse.anonymize.recoding import Recoded, at_node, in_boxes
from obverse.anonymize.wish import Wish, models_of
from obverse.core.errors import invariant

if TYPE_CHECKING:
    from obverse.anonymize.table import Table


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
