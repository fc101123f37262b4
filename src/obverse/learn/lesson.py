"""Lesson: text, steps that run on the product, sliders with their frames, and an exercise at the end.

Small projects of a lesson: made-up rows in a folder of their own, a ledger in memory; all of it is gone afterwards.

Shown: what a step of a lesson shows, in a terminal, a notebook and a page alike: words, a table, a picture.
"""

from __future__ import annotations

import csv
import inspect
import math
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from obverse.learn.exercises import Exercise

if TYPE_CHECKING:
    from obverse.collect.spec import Spec
    from obverse.session.session import Session


Columns = Mapping[str, Sequence[object]]


def room(toml: str, *, purpose: str = "", **tables: Columns) -> Session:
    """The project opened by the product itself; closing the session deletes its folder."""
    from obverse.ledger.memory import MemoryLedger
    from obverse.session.project import claimed, load_project
    from obverse.session.session import Session

    folder = tempfile.TemporaryDirectory(prefix="obverse-lesson-")
    try:
        (Path(folder.name) / "obverse.toml").write_text(toml, encoding="utf-8")
        for name, columns in tables.items():
            write_csv(Path(folder.name) / f"{name}.csv", columns)
        loaded = load_project(Path(folder.name))
        ledger = MemoryLedger("lesson", claimed(loaded.catalog).terms, loaded.catalog.budget)
        return Session(loaded, ledger, dataset="lesson", purpose=purpose, close=folder.cleanup)
    except BaseException:
        folder.cleanup()
        raise


def write_csv(path: Path, columns: Columns) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values()))


def survey(toml: str, name: str) -> Spec:
    """A declared survey, with the protocol that it names or that is chosen for it."""
    from obverse.catalog.load import loads
    from obverse.collect.planning import chosen
    from obverse.collect.spec import Spec

    declared = loads(toml, ".").surveys[name]
    return Spec(declared, chosen(declared).protocol)


@dataclass(frozen=True, slots=True)
class Shown:
    """Words, a table of texts and an SVG picture; each may be missing."""

    words: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    svg: str = ""

    def __str__(self) -> str:
        return "\n\n".join(part for part in (self.figures, self.words) if part)

    @property
    def figures(self) -> str:
        """The table as text, and a word for the picture."""
        parts = [aligned(self.columns, self.rows)] if self.columns else []
        return "\n\n".join([*parts, *(["(a picture: --notebook shows it)"] if self.svg else [])])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self.rows)
        table = f"<table><tr>{head}</tr>{rows}</table>" if self.columns else ""
        return f"{table}{self.svg}<p>{escape(self.words)}</p>"

    def as_json(self) -> dict[str, Any]:
        return {
            "words": self.words,
            "columns": list(self.columns),
            "rows": [list(row) for row in self.rows],
            "svg": self.svg,
        }


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], words: str = "", svg: str = "") -> Shown:
    """Rows of anything; numbers with decimals in three digits or so."""
    return Shown(words, tuple(columns), tuple(tuple(map(told, row)) for row in rows), svg)


def at_most(chance: float) -> str:
    """A chance in per cent, rounded up."""
    return f"{math.ceil(1000 * chance - 1e-6) / 10:.1f} %"


def told(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def aligned(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns two blanks apart under a ruled header."""
    sizes = [max(len(line[i]) for line in (columns, *rows)) for i in range(len(columns))]
    lines = [columns, ["-" * size for size in sizes], *rows]
    return "\n".join("  ".join(cell.ljust(size) for cell, size in zip(line, sizes)).rstrip() for line in lines)


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    words: str

    def as_json(self) -> dict[str, Any]:
        return {"kind": "text", "words": self.words}


@dataclass(frozen=True, slots=True)
class Step:
    """Something that is run; its own source is what a notebook shows."""

    words: str
    run: Callable[[], Shown]

    @property
    def code(self) -> str:
        return f"{source(self.run)}\n\n\n{self.run.__name__}()"

    def as_json(self) -> dict[str, Any]:
        return {"kind": "step", "words": self.words, "code": source(self.run), "shown": self.run().as_json()}


@dataclass(frozen=True, slots=True)
class Slider:
    """A setting and what is shown at each of its places."""

    words: str
    name: str
    places: tuple[str, ...]
    run: Callable[[str], Shown]
    start: int = 0

    @property
    def code(self) -> str:
        return (
            f"{source(self.run)}\n\n\n{self.run.__name__}({self.places[self.start]!r})  # or {', '.join(self.places)}"
        )

    def as_json(self) -> dict[str, Any]:
        frames = [{"at": place, "shown": self.run(place).as_json()} for place in self.places]
        code = source(self.run)
        return {
            "kind": "slider",
            "words": self.words,
            "name": self.name,
            "start": self.start,
            "code": code,
            "frames": frames,
        }


Block = Text | Step | Slider


@dataclass(frozen=True, slots=True)
class Lesson:
    """One lesson of the list; `name` is what it is called by, `module` where its source is."""

    name: str
    title: str
    module: str
    blocks: tuple[Block, ...]
    exercise: Exercise

    def outline(self) -> dict[str, Any]:
        return {"name": self.name, "title": self.title, "steps": len(self.blocks)}

    def as_json(self) -> dict[str, Any]:
        """Everything, with all steps run and all frames made."""
        blocks = [block.as_json() for block in self.blocks]
        return {"name": self.name, "title": self.title, "blocks": blocks, "exercise": self.exercise.as_json()}


def source(function: Callable[..., Shown]) -> str:
    return inspect.getsource(function).rstrip()
