"""A release folder checked by itself: from its own measurements everything is made again.

No data, no ledger, no project.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from obverse.core.errors import InvariantBroken, Refused
from obverse.core.types import Type
from obverse.mechanisms.discrete_gaussian import DiscreteGaussian
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.publish.families.folder import family_laws
from obverse.publish.families.linking import CHILDREN, PARENTS, Family, Part
from obverse.publish.folder.check_text import words_laws
from obverse.publish.folder.files import DECIMALS, METADATA, VERIFY, Folder, as_text, cannot_write, hashes, statement
from obverse.publish.folder.metadata import FORMAT, cells_of, draft_of, figures_of, method_of, noise_told
from obverse.publish.folder.statement import within_claim
from obverse.publish.graph.folder import graph_laws
from obverse.publish.graph.method import GraphMethod
from obverse.publish.method import Entries, Measured, Method, Outcome
from obverse.publish.synthetic.check import course_laws, row_laws
from obverse.publish.synthetic.method import Synthetic

Array = np.ndarray[Any, Any]


Read = Callable[[Path, Mapping[str, Any]], "dict[str, Array]"]
Told = Callable[[float], None]
# of the work: files read, tables made again
READ = 0.4
MADE = 0.8
# of files that were changed
NONSENSE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, InvariantBroken)
WHOLE = "Name the folder of a release, with all that was written to it."
CLOSE = 1e-6  # of numbers that are made again from the same integers
# of those that were rounded when they were told, beside the rounding
FINE = 1e-9
BITS = 1e-13


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    holds: bool
    words: str

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "holds": self.holds, "words": self.words}


@dataclass(frozen=True, slots=True)
class Opened:
    """A folder read: the method, what was measured, and its tables as they stand in data/."""

    out: Path
    fields: dict[str, Any]
    method: Method
    measured: Measured
    tables: tuple[dict[str, Array], ...]


def opened(out: Path, read: Read | None = None, told: Told = lambda share: None) -> Opened:
    """The folder's own files, read; what cannot be read is refused. `read`: a faster way than plain Python's."""
    read = read or _columns
    try:
        fields = json.loads((out / METADATA).read_text(encoding="utf-8"))
        method = method_of(fields)
        figures = figures_of(fields)
        fields["claim"] = dict(fields["claim"])
        draft = draft_of(method, fields, figures.terms)
        measured = []
        for n, (block, mechanism) in enumerate(zip(draft.strategy.blocks, noise_told(fields), strict=True)):
            values = read(out / "measurements" / f"{n + 1:02d}.csv", {"value": int})["value"]
            told(READ * (n + 1) / (2 * len(draft.strategy.blocks)))
            measured.append(Entries(block, mechanism, float(figures.unit), values))
        kinds = {"count": int, "estimate": float, "low": float, "high": float}
        files = [one.file for one in method.errors(tuple(measured), figures.terms) if one.kind == "count"]
        tables = []
        for n, file in enumerate(files):
            tables.append(read(out / "data" / f"{file}.csv", kinds))
            told(READ / 2 + READ * (n + 1) / (2 * len(files)))
    except OSError as error:
        raise Refused(
            "bad_release", "a file of the release is missing.", place=str(error.filename), fix=WHOLE
        ) from None
    except NONSENSE as error:
        why = type(error).__name__
        raise Refused("bad_release", "a file of the release cannot be read.", place=str(out), why=why) from None
    return Opened(out, fields, method, tuple(measured), tuple(tables))


def _columns(path: Path, kinds: Mapping[str, Callable[[str], Any]]) -> dict[str, Array]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([kind(row[name]) for row in rows]) for name, kind in kinds.items()}


def check(out: Path, read: Read | None = None, told: Told = lambda share: None) -> list[Check]:
    """Everything that can be checked without the data."""
    return [*made_again(out, read, told), _files(out, out / VERIFY)]


def made_again(out: Path, read: Read | None = None, told: Told = lambda share: None) -> list[Check]:
    """All but whether files are those that were written: what stands in verify.json. What makes no sense is refused."""
    try:
        return _made_again(out, read, told)
    except NONSENSE as error:
        why = type(error).__name__
        raise Refused("bad_release", "a file of the release cannot be read.", place=str(out), why=why) from None


def _made_again(out: Path, read: Read | None, told: Told) -> list[Check]:
    if (apart := _apart(out, read)) is not None:
        return apart
    folder = opened(out, read, told)
    figures = figures_of(folder.fields)
    sizes = [len(entries.values) == entries.block.entries for entries in folder.measured if entries.values is not None]
    expected = [one for one in folder.method.errors(folder.measured, figures.terms) if one.kind == "count"]
    sizes += [len(table["count"]) == one.cells for table, one in zip(folder.tables, expected)]
    found = [Check("sizes", all(sizes), "every table and measurement has all of its cells")]
    stepwise = folder.method if isinstance(folder.method, Synthetic) else None
    if stepwise is not None and found[0].holds:
        laws = course_laws(stepwise, folder.measured, figures, folder.fields["claim"])
        found += [Check(law.name, law.holds, law.words) for law in laws]
    elif stepwise is None:
        found.append(_price(folder))
    if folder.fields.get("before"):
        found.append(_debit(folder))
    if found[0].holds:
        outcome = folder.method.finish(folder.measured, figures.terms)
        told(MADE)
        least = all(bool((table["count"] >= 0).all()) for table in folder.tables)
        found += [_estimates(folder, outcome), _intervals(folder, outcome), _same(folder, outcome)]
        found.append(Check("non_negative", least, "counts are whole numbers without negatives"))
        if outcome.further:
            found.append(_further(folder, outcome))
        laws = folder.method.laws(folder.tables, bool(folder.fields["agree"]))
        if stepwise is not None:
            laws += row_laws(stepwise, folder.measured, out, [table["count"] for table in folder.tables])
        errors = folder.method.errors(folder.measured, figures.terms)
        whole = Folder(folder.method, folder.measured, outcome, errors, folder.fields)
        laws += words_laws(out, whole, *statement(whole), read or _columns)
        found += [Check(law.name, law.holds, law.words) for law in laws]
    return found


def sealed(out: Path, read: Read | None = None, told: Told = lambda share: None) -> tuple[Check, ...]:
    """A folder that was just written: checked as anybody would, with verify.json put to it."""
    checks = tuple(_made_again(out, read, told))
    try:
        written = {"checks": [one.as_json() for one in checks], "files": hashes(out)}
        (out / VERIFY).write_text(as_text(written), encoding="utf-8")
    except OSError as error:
        raise cannot_write(out, error) from None
    return checks


def _apart(out: Path, read: Read | None) -> list[Check] | None:
    """The checks of a network, which has no cells, and of parents and children, which are two releases; None of
    others.
    """
    try:
        fields = json.loads((out / METADATA).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None  # told by `opened`
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        return None
    if fields.get("kind") == Family.name:
        return _families(out, fields, read)
    if fields.get("kind") != GraphMethod.name:
        return None
    return [Check(law.name, law.holds, law.words) for law in graph_laws(out, fields)]


def _families(out: Path, fields: dict[str, Any], read: Read | None) -> list[Check]:
    """Each part by itself, then both together."""
    found = []
    parts = []
    models = []
    for name in (PARENTS, CHILDREN):
        found += [Check(f"{name}_{one.name}", one.holds, f"{name}: {one.words}") for one in check(out / name, read)]
        part = opened(out / name, read)
        if not isinstance(part.method, Synthetic):
            raise Refused("bad_release", "a part is no release of synthetic rows.", place=str(out / name))
        parts.append(part.fields)
        models.append(Part(part.method, part.measured))
    try:
        laws = family_laws(out, fields, parts, *models)
    except OSError as error:
        raise Refused(
            "bad_release", "a file of the release is missing.", place=str(error.filename), fix=WHOLE
        ) from None
    return found + [Check(law.name, law.holds, law.words) for law in laws]


def _price(folder: Opened) -> Check:
    """The noise, by norms derived anew from what was measured, costs no more than what is claimed; in exact
    fractions.
    """
    figures = figures_of(folder.fields)
    draft = draft_of(folder.method, folder.fields, figures.terms)
    squared = figures.terms.accounting == "zcdp"
    per = []
    for entries in folder.measured:
        mechanism = entries.mechanism
        fits = isinstance(mechanism, DiscreteGaussian if squared else DiscreteLaplace)
        if not fits:
            return Check("price", False, "the noise is not of the kind that the accounting counts")
        if isinstance(mechanism, DiscreteGaussian):
            per.append(1 / (2 * mechanism.sigma_squared))
        elif isinstance(mechanism, DiscreteLaplace):
            per.append(1 / mechanism.scale)
    cells = cells_of(folder.method.workload, draft, total=figures.total)
    cost = draft.strategy.worst(cells, figures.terms.neighbours, per, squared=squared)
    cost *= Fraction(figures.weight) ** (2 if squared else 1)
    name = "rho" if squared else "epsilon"
    claimed = within_claim(
        folder.fields["claim"], figures.terms.accounting, figures.terms.neighbours.value, figures.loss
    )
    words = f"the noise costs {name} {float(cost):.6g}, at most {float(figures.loss):.6g} is claimed"
    return Check(
        "price", cost <= figures.loss and claimed, words if claimed else f"{words} here, and less in the statement"
    )


def _debit(folder: Opened) -> Check:
    """What was found out first and what was measured then are together within the claim."""
    figures = figures_of(folder.fields)
    parts = [(Fraction(one["loss"]), Fraction(one["delta"])) for one in folder.fields["before"]]
    amount = figures.loss + sum((loss for loss, _ in parts), Fraction(0))
    hidden = sum((d for _, d in parts), Fraction(0))
    terms = figures.terms
    fits = within_claim(folder.fields["claim"], terms.accounting, terms.neighbours.value, amount, hidden)
    return Check("debit", fits, "what was found out first, and the tables, cost no more together than is claimed")


def as_told(read: Array, made: Array, roundings: int = 1) -> bool:
    """Whether numbers are those that were made again, but for so many roundings to the decimals told and for the last
    bits
    of large doubles, which machines add up in another order. A change of one in the last decimal is more than one
    rounding."""
    bits = BITS * float(np.abs(made).max(initial=0.0))
    return made.shape == read.shape and bool(
        (np.abs(read - made) <= roundings * 0.5 * 10.0**-DECIMALS + FINE + bits).all()
    )


def _estimates(folder: Opened, outcome: Outcome) -> Check:
    same = all(as_told(table["estimate"], one.values) for table, one in zip(folder.tables, outcome.tables))
    return Check("estimates", same, "estimates follow from the measurements by least squares")


def _intervals(folder: Opened, outcome: Outcome) -> Check:
    wide = all(
        as_told(table["high"], one.values + one.half_width)
        and as_told(table["low"], one.values - one.half_width)
        and as_told(table["high"] + table["low"], 2 * table["estimate"], roundings=4)
        for table, one in zip(folder.tables, outcome.tables)
    )
    return Check("intervals", wide, "intervals are those of the noise")


def _same(folder: Opened, outcome: Outcome) -> Check:
    """The whole numbers are those that rounding gives; another machine may round a tie differently."""
    worst = max(int(np.abs(t["count"] - one.whole).max()) for t, one in zip(folder.tables, outcome.tables))
    return Check("rounding", worst <= 1, "counts follow from the estimates")


def _further(folder: Opened, outcome: Outcome) -> Check:
    """Sheets that follow from the measurements, made again and compared number by number."""
    same = True
    for one in outcome.further:
        numbers = [name for name, kind in one.types.items() if kind in (Type.DOUBLE, Type.INTEGER)]
        try:
            read = _columns(
                folder.out / "data" / f"{one.file}.csv", {n: lambda text: float(text or "nan") for n in numbers}
            )
        except OSError as error:
            raise Refused(
                "bad_release", "a file of the release is missing.", place=str(error.filename), fix=WHOLE
            ) from None
        except (ValueError, KeyError, TypeError) as error:
            raise Refused("bad_release", "a sheet cannot be read.", place=one.file, why=type(error).__name__) from None
        for name in numbers:
            made = np.ma.filled(np.ma.asarray(one.columns[name]).astype(float), np.nan)
            near = made.shape == read[name].shape and np.allclose(
                read[name], made, rtol=FINE, atol=CLOSE, equal_nan=True
            )
            same = same and near
    return Check("further", bool(same), "what follows from the tables, such as quantiles and bands, is made again")


def _files(out: Path, written: Path) -> Check:
    try:
        told = json.loads(written.read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return Check("files", False, f"{VERIFY} cannot be read")
    now = hashes(out)
    changed = sorted(name for name in {*told, *now} if told.get(name) != now.get(name))
    words = "no file was changed since" if not changed else f"changed since: {', '.join(changed[:5])}"
    return Check("files", not changed, words)
