"""One table, released in all the ways: a raw sample, without names, k-anonymous, as exact counts, and through `ask`;
the same attacks on each, and what each is still good for.

Half of the rows, drawn at random, are released; the other half are people of the same kind who are in no release. They
are the control of every attack. Counts are released as a table too: each combination of quasi-identifiers and secret as
often as it was counted, so that every attack meets every release alike. Through `ask` all of epsilon is spent twice, on
two copies: by an attacker on that one question, and by an analyst on the counts by which releases are judged.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from obverse.anonymize.files import Files, anonymize
from obverse.anonymize.request import Wish
from obverse.attack.attacks import Attribute, Linkage
from obverse.attack.examples import in_random_order
from obverse.attack.finding import Finding
from obverse.attack.tables.cells import standing
from obverse.attack.tables.classes import coded, column
from obverse.attack.targets import Table
from obverse.catalog.keys import suggestion
from obverse.core.errors import Refused
from obverse.engines.files import read_table, write_table
from obverse.ledger.memory import MemoryLedger
from obverse.session.project import claimed, load_project
from obverse.session.session import Session

EPSILONS = (0.1, 1.0, 10.0)
EPSILON_RANGE = (1e-6, 100.0)  # of all of it; an analyst's share for one column is smaller, and still a price
DELTA = 1e-6
LEAST = 100  # rows; fewer prove nothing
PLACES = {  # of a label: how it is aligned, and how far it stands from its point
    "below right": ("left", 8, 10),
    "below left": ("right", -8, 10),
    "above right": ("left", 8, -8),
    "above left": ("right", -8, -8),
}
LEAST_SHOWN = 1e-5  # error, on a logarithmic axis
LEAKS = ("no attack surely wins", "an attack surely wins")
TOML = """\
[project]
name = "compared"
[privacy]
epsilon = {epsilon}
delta = {delta}
[budget]
epsilon = {epsilon}
delta = {delta}
[tables.people]
source = "people.parquet"
unit = "row"
[tables.people.columns]
{columns}
"""


@dataclass(frozen=True, slots=True)
class Compared:
    """One way of releasing: what the attacks won, and by how much of all people a count is off on average."""

    release: str
    findings: tuple[Finding, ...]
    error: float

    def as_json(self) -> dict[str, Any]:
        return {"release": self.release, "error": self.error, "findings": [found.as_json() for found in self.findings]}


@dataclass(frozen=True, slots=True)
class Comparison:
    """All of them, in the order of the lectures."""

    file: str
    secret: str
    people: int
    rows: tuple[Compared, ...]

    def as_json(self) -> dict[str, Any]:
        rows = [row.as_json() for row in self.rows]
        return {"version": 1, "file": self.file, "secret": self.secret, "people": self.people, "releases": rows}

    def plot(self) -> Any:
        """An altair.Chart: how much better secrets are guessed of people inside, against the error of counts."""
        from obverse.answers.frames import extra

        altair = extra("altair", "plot")
        names: dict[tuple[float, float, bool], list[str]] = {}
        for row in self.rows:
            gain = row.findings[0].rate.value - row.findings[0].usual
            names.setdefault((row.error, gain, any(one.leaks for one in row.findings)), []).append(row.release)
        points = [
            {
                "release": "; ".join(some) + ("" if error else " (no error)"),
                "error": max(error, LEAST_SHOWN),
                "gain": gain,
                "attacks": LEAKS[leaks],
            }
            for (error, gain, leaks), some in names.items()
        ]
        place_labels(points)
        title = altair.TitleParams(
            text="What is given away, and what it is still good for", anchor="start", subtitleColor="#555",
            subtitle=f"{self.file}: {self.people:,} people released; the ideal is at the lower left",
        )  # fmt: skip
        shown = altair.Chart(altair.Data(values=points)).encode(
            x=altair.X(
                "error:Q",
                title="error of a count, as a share of people",
                scale=altair.Scale(type="log"),
                axis=altair.Axis(tickCount=5, format="~%"),
            ),
            y=altair.Y(
                "gain:Q", title=f"{self.secret}: guessed of insiders, less of outsiders", axis=altair.Axis(format="%")
            ),
        )
        labels = [
            shown.mark_text(align=align, dx=dx, dy=dy)
            .encode(text="release:N")
            .transform_filter(f"datum.place == '{place}'")
            for place, (align, dx, dy) in PLACES.items()
        ]
        colours = altair.Scale(domain=list(LEAKS), range=["#1f4e8c", "#b2182b"])
        legend = altair.Legend(orient="top-right", title=None)
        dots = shown.mark_circle(size=90, opacity=1).encode(
            color=altair.Color("attacks:N", scale=colours, legend=legend)
        )
        return altair.layer(dots, *labels).properties(title=title, width=560, height=360)


def place_labels(points: list[dict[str, Any]]) -> None:
    """Where each label goes: to the middle of the picture from its point, and above it where one below is near."""
    logs = {id(one): math.log10(one["error"]) for one in points}
    middle = (min(logs.values()) + max(logs.values())) / 2
    gains = [one["gain"] for one in points]
    close = 0.08 * (max(gains) - min(gains))
    below: list[dict[str, Any]] = []
    for one in sorted(points, key=lambda point: point["error"]):
        near = any(logs[id(one)] - logs[id(other)] < 1 and abs(one["gain"] - other["gain"]) < close for other in below)
        one["place"] = ("above" if near else "below") + (" left" if logs[id(one)] > middle else " right")
        if not near:
            below.append(one)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is compared: the columns that others may know, the secret, and the strength of each release."""

    quasi: tuple[str, ...]
    secret: str
    k: int = 5
    sample: float = 0.1
    epsilons: tuple[float, ...] = EPSILONS
    seed: int = 0


def compare(
    table: Table, asked: Asked, told: Callable[[float], None] = lambda share: None, called: str = "a table"
) -> Comparison:
    """Release the table in each way, and attack each."""
    for name in (*asked.quasi, asked.secret):
        if name not in table:
            raise Refused("column_missing", f"the table has no column {name!r}.", fix=suggestion(name, table))
    everybody = {name: table[name] for name in (*asked.quasi, asked.secret)}
    order = in_random_order(len(everybody[asked.secret]), asked.seed)
    if len(order) < LEAST:
        raise Refused("too_few_rows", f"fewer than {LEAST} rows prove nothing either way.", fix="Give a larger table.")
    half = len(order) // 2
    members, outsiders = (
        {name: values[part] for name, values in everybody.items()} for part in (order[:half], order[half:])
    )
    rows = []
    ways = 4 + len(asked.epsilons)
    with tempfile.TemporaryDirectory() as folder:
        for release, made, error in _releases(members, asked, Path(folder)):
            findings = (
                Attribute().run(made, members, outsiders, asked.quasi, asked.secret, release),
                Linkage().run(made, members, asked.quasi, outsiders=outsiders, target=release),
            )
            rows.append(Compared(release, findings, error))
            told(len(rows) / ways)
    return Comparison(called, asked.secret, half, tuple(rows))


def _releases(members: Table, asked: Asked, folder: Path) -> Iterator[tuple[str, Table, float]]:
    """Each way with its table, and the error of its counts."""
    people = len(members[asked.secret])
    some = in_random_order(people, asked.seed + 1)[: max(1, round(asked.sample * people))]
    raw = {name: values[some] for name, values in members.items()}
    yield f"a raw sample of {100 * asked.sample:g} %", raw, _error(members, raw, people / len(some), asked)
    yield "all rows, without names", members, 0.0
    write_table(members, folder / "people.parquet")
    wish = Wish(quasi=asked.quasi, sensitive=(asked.secret,), k=asked.k, suppress=0.0, search="mondrian")
    anonymize(Files(folder / "people.parquet", folder / "released"), wish, {})
    classes = read_table(folder / "released" / "table.parquet")
    yield f"{asked.k}-anonymous", classes, _error(members, classes, 1.0, asked)
    yield "exact counts", members, 0.0  # of all combinations: the same rows again
    for epsilon in asked.epsilons:
        attacked = _counted(members, (*asked.quasi, asked.secret), folder, epsilon)
        each = [_counted(members, (name, asked.secret), folder, epsilon / len(asked.quasi)) for name in asked.quasi]
        wrong = [_error(members, one, 1.0, replace(asked, quasi=(name,))) for name, one in zip(asked.quasi, each)]
        yield f"ask, epsilon {epsilon:g}", attacked, sum(wrong) / len(wrong)


def _counted(members: Table, names: Sequence[str], folder: Path, epsilon: float) -> Table:
    """The counts of all combinations as one private question gives them, each combination as often as it was
    counted.
    """
    place = Path(tempfile.mkdtemp(dir=folder))
    short = {f"q{i}": name for i, name in enumerate(names)}
    write_table({key: members[name] for key, name in short.items()}, place / "people.parquet")
    columns = "\n".join(f'{key} = {{ type = "text" }}' for key in short)
    toml = TOML.format(epsilon=f"{epsilon:.12f}", delta=DELTA, columns=columns)
    (place / "obverse.toml").write_text(toml, encoding="utf-8")
    keys = ", ".join(short)
    with _session(place) as session:
        rows = session.ask(f"SELECT {keys}, COUNT(*) AS n FROM people GROUP BY {keys}").rows
    counts = np.array([max(round(cast(float, row[-1])), 0) for row in rows], dtype=np.int64)
    found = {}
    for i, name in enumerate(names):
        told = np.empty(len(rows), dtype=object)
        told[:] = [row[i] for row in rows]
        found[name] = np.repeat(told, counts)
    return found


def _session(folder: Path) -> Session:
    """Over the reviewer's own file, whose ledger is in memory and forgotten with the comparison."""
    loaded = load_project(folder)
    try:
        ledger = MemoryLedger("compared", claimed(loaded.catalog).terms, loaded.catalog.budget)
        return Session(loaded, ledger, dataset="compared")
    except BaseException:
        loaded.engine.close()
        raise


def _error(members: Table, made: Table, scale: float, asked: Asked) -> float:
    """By how much counts of each value of each quasi-identifier and the secret are off; as a share of people, on
    average.
    """
    people = len(members[asked.secret])
    off = []
    secrets = coded(np.concatenate([column(members, asked.secret), column(made, asked.secret)]))
    own = secrets.codes[:people]
    theirs = secrets.codes[people:]
    for name in asked.quasi:
        values = coded(column(members, name))
        cells = coded(column(made, name))
        right = _table(values.codes, own, len(values.texts), len(secrets.texts))
        shares = np.zeros((len(cells.texts), len(values.texts)))
        for place, fits in enumerate(standing(cells.texts, values.texts)):
            shares[place, fits] = 1 / max(len(fits), 1)  # a cell stands for its values evenly
        found = shares.T @ _table(cells.codes, theirs, len(cells.texts), len(secrets.texts)) * scale
        off.append(np.abs(found - right).mean())
    return float(np.mean(off)) / people


def _table(rows: NDArray[np.int64], columns: NDArray[np.int64], height: int, width: int) -> NDArray[np.float64]:
    return np.bincount(rows * width + columns, minlength=height * width).reshape(height, width).astype(np.float64)


def listed(texts: str) -> Sequence[float]:
    """Epsilons as they are written, with commas between."""
    try:
        found = tuple(float(text) for text in texts.split(",") if text.strip())
    except ValueError:
        found = ()
    least, most = EPSILON_RANGE
    if not found or not all(least <= epsilon <= most for epsilon in found):
        what = f"epsilons are numbers from {least:g} to {most:g} with commas between."
        raise Refused("bad_parameter", what, fix="Write --epsilons 0.1,1,10.")
    return found
