"""Lesson: text, steps that run on the product, sliders with their frames, and an exercise at the end."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from obverse.learn.exercises import Exercise
from obverse.learn.shown import Shown


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
        return f"{source(self.run)}\n\n\n{self.run.__name__}({self.places[self.start]!r})  # or {', '.join(self.places)}"

    def as_json(self) -> dict[str, Any]:
        frames = [{"at": place, "shown": self.run(place).as_json()} for place in self.places]
        code = source(self.run)
        return {"kind": "slider", "words": self.words, "name": self.name, "start": self.start, "code": code, "frames": frames}


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
