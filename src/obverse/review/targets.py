"""What `obverse verify` can put on trial: a Python callable, a mechanism or protocol of ours by its name, a question in
SQL.

Python functions that a person names on the command line.

Python functions of others: what goes wrong inside one is told in a sentence, with the line where it happened.
"""

from __future__ import annotations

import importlib
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from traceback import extract_tb
from typing import Any

import numpy as np

from obverse.attack.lower_bound.trial import Draw, Moves, Pair, pairs
from obverse.collect.protocols import PROTOCOLS, LocalProtocol, WordProtocol
from obverse.collect.randomness.hashing import item_key
from obverse.core.errors import InvariantBroken, ObverseError, Refused
from obverse.core.loss import ApproxLoss, BoundedRangeLoss, Loss, PureLoss, ZcdpLoss
from obverse.core.numbers import exact, up
from obverse.core.rng import Rng
from obverse.mechanisms import MECHANISMS, Additive, KeyThreshold, Mechanism, RandomizedResponse


def imported(place: str) -> Any:
    """What `package.module:name` stands for, also in the current folder; ImportError where it stands for nothing.

    Files that were written a moment ago are seen too: what Python remembers of a folder is forgotten first, and so is
    a module of the same name that was read in another folder.
    """
    module, _, path = place.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")
    importlib.invalidate_caches()
    _forget_other_folders(module.partition(".")[0])
    try:
        found = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except Exception as error:  # whatever the module does when it is read
        raise ImportError(str(error)) from None
    return found


def _forget_other_folders(name: str) -> None:
    """Forget a module, and what is in it, that Python would not find where it was read: in a current folder of
    before.
    """
    read = getattr(sys.modules.get(name), "__file__", None)
    if read is None or any(found.origin == read for on in sys.meta_path if (found := on.find_spec(name, None))):
        return
    folder = Path(read).parent.parent if Path(read).name == "__init__.py" else Path(read).parent
    if folder not in [Path(on).absolute() for on in sys.path]:
        for known in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
            del sys.modules[known]


def telling(function: Callable[..., Any], name: str, fix: str) -> Callable[..., Any]:
    """The same function, whose failures are refusals; those that are so already stay as they are."""

    def called(*given: Any) -> Any:
        try:
            return function(*given)
        except ObverseError:
            raise
        except Exception as error:
            last = extract_tb(error.__traceback__)[-1]
            said = ", ".join(map(repr, given))
            why = f"it was called as {name.partition(':')[2]}({said}); {last.filename}, line {last.lineno}."
            message = f"{name} failed with {type(error).__name__}: {error}"
            raise Refused("target_failed", message, why=why, fix=fix) from error

    return called


CALLABLE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
FRACTION = re.compile(r"\d{1,30}/[1-9]\d{0,30}")
BY_NAME: Mapping[str, Any] = {**{kind.name: kind for kind in MECHANISMS}, **{kind.name: kind for kind in PROTOCOLS}}
ZCDP_DELTA = 1e-5  # at which a zCDP claim is compared
CALLED = "Let it take an input and n, and give n outputs; --left, --right and --length choose the inputs."
ITEMS = 4  # answers of a protocol that are tried against each other
LENGTH = 5  # of a list of numbers, where nothing is said
SEED = 0x0123456789ABCDEF  # of hashes: a local claim holds for each


@dataclass(frozen=True, slots=True)
class Target:
    """How it is sampled, on which neighbours, and what it claims."""

    draw: Draw
    pairs: Sequence[Pair]
    epsilon: float | None
    delta: float
    words: str


@dataclass(frozen=True, slots=True)
class Inputs:
    """The neighbours, as the command line has them: two inputs, or lists of numbers of a length that move so far."""

    both: Pair | None = None
    length: int | None = None
    move: float = 1.0
    moves: Moves = "all"

    def pairs(self, length: int, move: float | None = None, moves: Moves | None = None) -> Sequence[Pair]:
        if self.both is not None:
            return (self.both,)
        return pairs(self.length or length, self.move if move is None else move, moves or self.moves)


def of_callable(name: str, inputs: Inputs, epsilon: float | None, delta: float) -> Target:
    """`package.module:function`, called with an input and n; gives n outputs. Found from the current folder too."""
    try:
        found = imported(name)
    except ImportError as error:
        raise Refused(
            "no_target", f"{name} cannot be imported: {error}.", fix="Name it as package.module:function."
        ) from None
    if not callable(found):
        raise Refused("no_target", f"{name} is not a function.", fix="Name a function of an input and n.")
    alone = inputs.both is None and inputs.length is None
    return Target(
        telling(found, name, CALLED), [(0.0, inputs.move)] if alone else inputs.pairs(LENGTH), epsilon, delta, name
    )


def of_name(name: str, settings: Mapping[str, str], inputs: Inputs) -> Target:
    """A mechanism with its own parameters, or a protocol with size and epsilon; as in its examples where none are
    given.
    """
    if name not in BY_NAME:
        near = get_close_matches(name, BY_NAME, n=1)
        raise Refused(
            "no_target",
            f"nothing is called {name!r}." + (f" Did you mean {near[0]!r}?" if near else ""),
            fix="Give package.module:function, SQL in quotes, or one of " + ", ".join(sorted(BY_NAME)) + ".",
        )
    kind = BY_NAME[name]
    try:
        if kind in MECHANISMS:
            types = {one.name: str(one.type) for one in fields(kind)}
            values = {key: _value(text, types.get(key, "")) for key, text in settings.items()}
            return _fit(of_mechanism(kind(**values), inputs) if values else of_example(kind, inputs), name, inputs)
        fitted = {"size": str(ITEMS), "epsilon": "1", **settings}
        size = int(_value(fitted.pop("size"), "int"))
        epsilon = _value(fitted.pop("epsilon"), "")
        return _fit(of_protocol(kind.fitted(size, epsilon, **fitted), inputs), name, inputs)
    except (TypeError, InvariantBroken) as error:
        said = error.message if isinstance(error, InvariantBroken) else str(error).rpartition("() ")[2]
        named = [one.name for one in fields(kind)] if kind in MECHANISMS else ["size", "epsilon"]
        fix = "Give each as --with NAME=VALUE: " + ", ".join(named) + "."
        raise Refused("bad_parameter", f"{name} does not take these parameters: {said}.", fix=fix) from None


def _fit(target: Target, name: str, inputs: Inputs) -> Target:
    """The target; inputs of somebody's own choice that it cannot take are refused as such."""

    def draw(given: Any, n: int) -> Any:
        try:
            return target.draw(given, n)
        except (ValueError, TypeError, IndexError, OverflowError, InvariantBroken):
            fix = "Mechanisms take a whole number, or a list of them; protocols the number of an answer, from 0."
            raise Refused("bad_parameter", f"{name} does not take the input {given!r}.", fix=fix) from None

    return target if inputs.both is None else replace(target, draw=draw)


def of_example(kind: type[Mechanism], inputs: Inputs) -> Target:
    example = kind.examples()[0]
    return of_mechanism(example.mechanism, inputs if inputs.both else Inputs((example.left, example.right)))


def of_mechanism(mechanism: Mechanism, inputs: Inputs, rng: Rng | None = None) -> Target:
    """Lists of whole numbers; those of one number moved where each entry has noise of its own."""
    source = Rng() if rng is None else rng
    epsilon, delta = promised(mechanism.loss())
    found = _mechanism_pairs(mechanism, inputs)
    return Target(lambda given, n: sampled(mechanism, given, n, source), found, epsilon, delta, repr(mechanism))


def sampled(mechanism: Mechanism, given: Any, n: int, rng: Rng) -> Any:
    """n releases of one exact vector: whole ones where entries are independent, else the first number of each."""
    vector = np.array([given] if isinstance(given, (int, float)) else given, dtype=np.int64)
    if isinstance(mechanism, (Additive, KeyThreshold, RandomizedResponse)):
        released = mechanism.sample(np.tile(vector, n), rng).reshape(n, len(vector))
        return released[:, 0] if len(vector) == 1 else released
    return mechanism.draws([int(entry) for entry in vector], n, rng)


def of_protocol(protocol: LocalProtocol, inputs: Inputs, rng: Rng | None = None) -> Target:
    """Any two answers of one person; a report is its bits. The seed of hashes is fixed: the claim holds for each."""
    source = Rng() if rng is None else rng

    def draw(code: int, n: int) -> Any:
        seeds = np.full(n, SEED, dtype=np.uint64)
        return np.unpackbits(
            protocol.reports(np.full(n, code, dtype=np.uint64), source, seeds), axis=1, bitorder="little"
        )

    items = [item_key(f"item {i}") for i in range(ITEMS)] if protocol.coded == "key" else _codes(protocol)
    found = [inputs.both] if inputs.both else [(a, b) for i, a in enumerate(items) for b in items[i + 1 :]]
    return Target(draw, found, up(protocol.loss()), 0.0, protocol.name)


def promised(loss: Loss) -> tuple[float, float]:
    """The epsilon and delta that a loss promises; for zCDP at a delta of ours."""
    match loss:
        case PureLoss(epsilon) | BoundedRangeLoss(epsilon):
            return up(epsilon), 0.0
        case ApproxLoss(epsilon, delta):
            return up(epsilon), up(delta)
        case ZcdpLoss(rho):
            return float(rho) + 2 * math.sqrt(rho * math.log(1 / ZCDP_DELTA)), ZCDP_DELTA
        case _:
            raise Refused("no_target", f"no epsilon is known for a loss of kind {loss.kind}.")


def _mechanism_pairs(mechanism: Mechanism, inputs: Inputs) -> Sequence[Pair]:
    move = getattr(mechanism, "sensitivity", 1)
    if isinstance(mechanism, KeyThreshold) and inputs.both is None:
        return [((0,), (1,)), ((mechanism.threshold - 1,), (mechanism.threshold,))]
    if isinstance(mechanism, Additive):
        return inputs.pairs(1, float(move), "one")
    if isinstance(mechanism, RandomizedResponse):
        return inputs.pairs(1, 1.0, "one")
    base = getattr(mechanism, "threshold", 0)
    return (
        inputs.pairs(LENGTH) if inputs.both else pairs(inputs.length or LENGTH, float(move), inputs.moves, float(base))
    )


def _codes(protocol: LocalProtocol) -> list[int]:
    """First, second, middle and last answer; of words, some numbers of so many letters."""
    size: int = 1 << protocol.letters if isinstance(protocol, WordProtocol) else protocol.size  # type: ignore[attr-defined]
    return sorted({0, 1, size // 2, size - 1} & set(range(size)))


def _value(text: str, kind: str) -> Any:
    """A truth, a whole number or an exact one, as the parameter's type says."""
    if kind == "bool":
        return text.lower() in ("true", "1", "yes")
    number = Fraction(text) if FRACTION.fullmatch(text) else exact(text)
    return int(number) if "int" in kind and number.denominator == 1 else number
