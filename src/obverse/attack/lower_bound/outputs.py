"""Outputs as arrays of numbers. Each is turned into its numbers by itself: what was drawn beside it must not matter.

Else two inputs could be told apart by how a whole batch is written, and an honest mechanism that sometimes says "none" in place
of a number would be refuted.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any

from obverse.core.errors import Refused

if TYPE_CHECKING:
    from numpy.typing import NDArray

WHOLE_MAX = 2.0**63


@dataclass(frozen=True, slots=True)
class Form:
    """How each output is written: numbers of one shape, as they are; without a shape, a number that stands for its words.

    In a form of numbers an output that is no such number, or of another shape, is the number of its words, in every place.
    """

    shape: tuple[int, ...] | None
    whole: bool = False  # single whole numbers

    @property
    def width(self) -> int:
        return max(1, math.prod(self.shape or ()))

    def array(self, found: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
        """These outputs. The same output gives the same numbers, in whatever company."""
        import numpy as np

        if self.shape is None:
            return np.array([_word(one) for one in found], dtype=np.int64)
        numbers = _numbers(found)
        if numbers is not None and numbers.shape[1:] == self.shape and (numbers.dtype.kind in "iu" or not self.whole):
            return numbers if self.shape else numbers.astype(np.int64 if self.whole else np.float64)
        kind = np.int64 if self.whole else np.float64
        return np.array([self._alone(one) for one in found], dtype=kind).reshape(len(found), *self.shape)

    def _alone(self, one: Any) -> Any:
        import numpy as np

        numbers = _numbers([one])
        if numbers is None or numbers.shape[1:] != self.shape:
            return np.full(self.shape or (), _word(one))
        if self.whole and numbers.dtype.kind == "f":
            value = float(numbers[0])
            return int(value) if value.is_integer() and -WHOLE_MAX <= value < WHOLE_MAX else _word(one)
        return numbers[0].astype(np.int64) if self.whole else numbers[0]


def form_of(batches: Sequence[Any]) -> Form:
    """The form that fits these; it is to be chosen on other outputs than those that are counted.

    Where some outputs are no numbers, or of several lengths, it is that of most of those that are: the others are told apart
    by their words, and noise on the numbers is seen all the same.
    """
    found = [_numbers(batch) for batch in batches]
    whole = [one for one in found if one is not None]
    if len(whole) < len(found):
        alone = (_numbers([one]) for batch in batches for one in batch)
        whole = [one for one in alone if one is not None and 0 not in one.shape]
    elif len({one.shape[1:] for one in whole}) != 1 or any(0 in one.shape[1:] for one in whole):
        fix = "Give inputs of one length, at least 1. If these are neighbours, the length alone tells them apart."
        raise Refused("bad_outputs", "outputs of the two inputs are not of one length, or empty.", fix=fix)
    shapes = Counter(one.shape[1:] for one in whole)
    if not shapes:
        return Form(None)
    shape = min(shapes, key=lambda one: (-shapes[one], one))
    return Form(shape, shape == () and all(one.dtype.kind in "iu" for one in whole if one.shape[1:] == ()))


def counted(found: Any, n: int) -> Any:
    """What a target gave, if it is n outputs."""
    try:
        fits = len(found) == n and not isinstance(found, (str, bytes, dict, set, frozenset))
    except TypeError:
        fits = False
    if not fits:
        raise Refused("bad_outputs", f"the target was asked for {n} outputs and gave something else.",
                      fix="Return a list or an array of n outputs: numbers, rows of numbers, or texts.")  # fmt: skip
    return found


def _numbers(found: Any) -> NDArray[Any] | None:
    """As an array of numbers; None where one of them is something else, or their lengths differ."""
    import numpy as np

    try:
        array = np.asarray(found)
    except ValueError:
        return None
    if array.dtype.kind == "b":
        return array.astype(np.int64)
    if array.dtype.kind == "O" and all(isinstance(one, (Real, Decimal)) for one in array.flat):
        with suppress(OverflowError):  # fractions, and whole numbers beyond 64 bits
            return array.astype(np.float64)
    return array if array.dtype.kind in "iuf" else None


def written(one: Any) -> str:
    """An output in words."""
    return repr(one.tolist() if hasattr(one, "tolist") else one)


def _word(one: Any) -> int:
    return int.from_bytes(hashlib.blake2b(written(one).encode(), digest_size=8).digest(), "little", signed=True)
