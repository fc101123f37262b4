"""Events by which an observer may tell two databases apart by a whole number: half-lines, single values, low bits, sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Outputs = NDArray[np.int64]
    Floats = NDArray[np.float64]

CUTS_MAX = 256  # half-lines and single values that are tried
SET_MAX = 4096  # distinct values up to which sets are tried
LOW_BITS_MAX = 8


class AnyEvent(Protocol):
    """A set of outputs, perhaps with a coin of its own for some of them."""

    @property
    def words(self) -> str: ...

    def hits(self, samples: Any) -> int: ...


@dataclass(frozen=True, slots=True)
class Candidates:
    """Events that may be chosen, by how often each happened in the two samples that choose."""

    left: Floats
    right: Floats
    trials: tuple[int, int]
    event: Callable[[int], AnyEvent]


@dataclass(frozen=True, slots=True)
class Event:
    """A set of outputs: those at least or at most a value, a remainder modulo a power of two, or a list."""

    kind: Literal["at_least", "at_most", "remainder", "among"]
    values: tuple[int, ...]  # the cut; (remainder, modulus); the list

    @property
    def words(self) -> str:
        match self.kind:
            case "at_least":
                return f"output >= {self.values[0]}"
            case "at_most":
                return f"output <= {self.values[0]}"
            case "remainder":
                return f"output mod {self.values[1]} = {self.values[0]}"
            case "among":
                shown = ", ".join(map(str, self.values[:8]))
                return f"output among {{{shown}{', ...' if len(self.values) > 8 else ''}}}"

    def holds(self, outputs: Outputs) -> NDArray[np.bool_]:
        import numpy as np

        match self.kind:
            case "at_least":
                return outputs >= self.values[0]
            case "at_most":
                return outputs <= self.values[0]
            case "remainder":
                low_bits: Outputs = outputs & (self.values[1] - 1)
                return np.equal(low_bits, self.values[0])
            case "among":
                return np.isin(outputs, np.array(self.values, dtype=np.int64))

    def hits(self, samples: Outputs) -> int:
        import numpy as np

        return int(np.count_nonzero(self.holds(samples)))


@dataclass(frozen=True, slots=True)
class Tally:
    """The distinct outputs of two samples, and how often each sample has them."""

    values: Outputs
    left: Outputs
    right: Outputs

    def hits(self, event: Event) -> tuple[int, int]:
        held = event.holds(self.values)
        return int(self.left[held].sum()), int(self.right[held].sum())


def tally(left: Outputs, right: Outputs) -> Tally:
    import numpy as np

    values, place = np.unique(np.concatenate((left, right)), return_inverse=True)
    size = len(values)
    counted_left = np.bincount(place[: len(left)], minlength=size)
    return Tally(values, counted_left, np.bincount(place[len(left) :], minlength=size))


def events(seen: Tally) -> tuple[Event, ...]:
    """The family worth trying on samples like these; chosen on samples that do not judge it."""
    import numpy as np

    values, counts_left, counts_right = seen.values, seen.left, seen.right
    cuts = values[np.unique(np.linspace(0, len(values) - 1, CUTS_MAX).astype(np.int64))]
    common = values[np.argsort(-(counts_left + counts_right), kind="stable")[:CUTS_MAX]]
    found = [Event("at_least", (int(c),)) for c in cuts] + [Event("at_most", (int(c),)) for c in cuts]
    found += [Event("among", (int(c),)) for c in common]
    for bits in range(1, LOW_BITS_MAX + 1):
        found += [Event("remainder", (r, 1 << bits)) for r in range(1 << bits)]
    if len(values) <= SET_MAX:
        order = np.argsort(-(counts_left + 0.5) / (counts_right + 0.5), kind="stable")
        for size in np.unique(np.geomspace(1, len(values), 48).astype(np.int64)):
            found.append(Event("among", tuple(sorted(int(v) for v in values[order[:size]]))))
            found.append(Event("among", tuple(sorted(int(v) for v in values[order[::-1][:size]]))))
    return tuple(found)


def candidates(left: Outputs, right: Outputs) -> Candidates:
    """The family of whole numbers, counted."""
    import numpy as np

    seen = tally(left, right)
    family = events(seen)
    hits = np.array([seen.hits(event) for event in family], dtype=np.float64)
    return Candidates(hits[:, 0], hits[:, 1], (len(left), len(right)), lambda i: family[i])
