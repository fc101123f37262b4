"""A folder of synthetic rows checked by itself: its course is walked again, and its rows are compared with its
model.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.core.errors import InvariantBroken, invariant
from obverse.core.types import Value
from obverse.plan.strategy.adaptive import Chosen, Ground, Noised, Step, Taken, Walked, again, walk
from obverse.publish.folder.metadata import Figures, cells_of
from obverse.publish.folder.statement import within_claim
from obverse.publish.method import Law, Measured
from obverse.publish.synthetic.marginals import variance
from obverse.publish.synthetic.method import Synthetic
from obverse.publish.workload import Attribute, label

Array = np.ndarray[Any, Any]
Integers = NDArray[np.int64]


UNLIKELY = 1e-9  # of all pairs together, were rows drawn one by one


def course_laws(method: Synthetic, measured: Measured, figures: Figures, claim: Mapping[str, Any]) -> list[Law]:
    """What was measured and chosen is what the course does next, at every step, and all of it costs no more than is
    claimed.
    """
    name = "rho" if figures.terms.accounting == "zcdp" else "epsilon"
    try:
        walked = walked_again(method, measured, figures)
    except InvariantBroken:
        words = f"the steps cannot be taken again within {name} {float(figures.loss):.6g}"
        return [Law("price", False, words), Law("forest", False, "the pairs do not follow from what was released")]
    noise = [m for step in walked.steps if isinstance(step, Noised) for m in step.mechanisms]
    same = len(noise) == len(measured) and all(variance(a) == variance(b.mechanism) for a, b in zip(noise, measured))
    same = same and within_claim(claim, figures.terms.accounting, figures.terms.neighbours.value, figures.loss)
    spent = walked.spent
    words = f"at most {float(figures.loss):.6g} is claimed"
    first = walked.steps[0]
    assert isinstance(first, Noised)
    seen = method.course.look(first, walked.taken[0], _ground(method, figures), figures.loss)
    grouped = len(seen.groups) == len(method.groups) and all(
        a.tolist() == b.tolist() for a, b in zip(seen.groups, method.groups)
    )
    again_edges = method.course.chosen(_ground(method, figures), figures.loss, walked.taken) == method.edges
    return [
        Law("price", same and spent <= figures.loss, f"the steps cost {name} {float(spent):.6g}, {words}"),
        Law("forest", grouped and again_edges, "the pairs follow from the noisy columns and from what was chosen"),
    ]


def walked_again(method: Synthetic, measured: Measured, figures: Figures) -> Walked:
    measurements = again(tuple(one.values for one in measured if one.values is not None))
    choices = again(tuple(np.array([one], dtype=np.int64) for one in method.choices))

    def release(step: Step) -> Taken:
        if isinstance(step, Chosen):
            return choices(step)
        found = measurements(step)
        fits = all(len(values) == block.entries for values, block in zip(found, step.strategy.blocks))
        invariant(fits, "what was measured is what the course measures")
        return found

    walked = walk(method.course, _ground(method, figures), figures.loss, release)
    names = [b.name for step in walked.steps if isinstance(step, Noised) for b in step.strategy.blocks]
    picked = sum(isinstance(step, Chosen) for step in walked.steps)
    invariant(names == [one.block.name for one in measured], "what was measured is what the course measures")
    invariant(picked == len(method.choices), "what was chosen is what the course chooses")
    return walked


def _ground(method: Synthetic, figures: Figures) -> Ground:
    cells = cells_of(method.workload, method.draft(figures.terms), total=figures.total)
    return Ground(cells, figures.terms.neighbours, figures.weight, figures.terms.accounting == "zcdp")


def row_laws(method: Synthetic, measured: Measured, out: Path, counts: list[Array]) -> list[Law]:
    """The rows are those that the tables count, and every pair of columns is as far from the model as drawing
    explains.
    """
    codes = codes_of(method.workload.attributes, out / "data" / "synthetic.csv")
    if codes is None:
        return [Law("rows", False, "a row holds a value that is not in the public list")]
    tallied = True
    for one, code, have in zip(method.workload.attributes, codes, counts):
        alias = _alias(one.values)
        own = np.bincount(alias, weights=have, minlength=one.cells)
        tallied = tallied and bool(np.array_equal(np.bincount(code, minlength=one.cells), own))
    far = 0.0
    n = max(1, len(codes[0]))
    model = method.fitted(measured).model
    columns = [i for i, one in enumerate(method.workload.attributes) if told_apart(one.values)]
    pairs = list(combinations(columns, 2))
    for a, b in pairs:
        want = model.pair(a, b)
        have = np.bincount(codes[a] * want.shape[1] + codes[b], minlength=want.size).reshape(want.shape) / n
        far = max(far, 0.5 * float(np.abs(have - want).sum()) / drawn_apart(want, n, len(pairs)))
    words = "every pair of columns, measured or not, lies as near to the model as drawing rows explains"
    return [Law("rows", tallied, "the rows are those that the tables count"), Law("model", far <= 1, words)]


def drawn_apart(chances: Array, rows: int, pairs: int = 1) -> float:
    """How far, in total variation, rows drawn one by one stray from their chances at most, but for UNLIKELY.

    The mean is at most half the sum of standard deviations; one row moves it by at most 1/rows (McDiarmid).
    """
    mean = 0.5 * float(np.sqrt(np.clip(chances * (1 - chances), 0, None) / rows).sum())
    return mean + math.sqrt(math.log(pairs / UNLIKELY) / (2 * rows))


def codes_of(attributes: Sequence[Attribute], path: Path, skipped: int = 0) -> list[Integers] | None:
    """The rows of a CSV file as places of values, after columns that are skipped; None where a value is none of
    them.
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    found = []
    for place, one in enumerate(attributes, skipped):
        known = {text: n for n, text in reversed(list(enumerate(_texts(one.values))))}
        own = [known.get(_plain(row[place]), -1) for row in rows[1:]]
        if min(own, default=0) < 0:
            return None
        found.append(np.array(own, dtype=np.int64))
    return found


def _texts(values: tuple[Value, ...]) -> list[str]:
    """As they stand in a CSV file; what is missing looks like an empty text there."""
    return ["" if value is None else _plain(label(value)) for value in values]


def told_apart(values: tuple[Value, ...]) -> bool:
    """Whether no two values look the same in a CSV file."""
    return len({*_texts(values)}) == len(values)


def _alias(values: tuple[Value, ...]) -> list[int]:
    texts = _texts(values)
    return [texts.index(text) for text in texts]


def _plain(text: str) -> str:
    """Seconds without trailing noughts."""
    return text.rstrip("0").rstrip(".") if text[4:5] == "-" and "." in text[19:20] else text
