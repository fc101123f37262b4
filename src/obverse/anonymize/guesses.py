"""Secrets guessed from a release: by the most frequent of a class, and by what two releases of the same people both allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from obverse.anonymize.classes import Pairs
    from obverse.anonymize.recoding import Recoded

PAIRS_AT_ONCE = 200_000


class Guessed(NamedTuple):
    """Right guesses of people's secrets, the same if each person's own row were not there, and how many people there are."""

    right: int
    without_own: int
    people: int


def by_class(recoded: Recoded, place: int) -> Guessed:
    """The most frequent secret of each class, guessed for everybody in it; the first of several, and alone the usual one."""
    classes = recoded.classes()
    pairs = classes.pairs[place]
    if not len(pairs.starts):
        return Guessed(0, 0, 0)
    lengths = _lengths(pairs)
    most = np.maximum.reduceat(pairs.counts, pairs.starts)
    top = _first(pairs.counts == np.repeat(most, lengths), pairs, lengths)
    others = pairs.counts.copy()
    others[top] = 0
    second = np.maximum.reduceat(others, pairs.starts)
    rival = _first((others == np.repeat(second, lengths)), pairs, lengths)
    usual = int(np.bincount(pairs.values, weights=pairs.counts).argmax())
    alone = classes.sizes[pairs.of] == 1
    still = np.where(alone, pairs.values[top] == usual, (most - 1 > second) | ((most - 1 == second) & (top < rival)))
    return Guessed(int(most.sum()), int(most[still].sum()), int(classes.sizes.sum()))


def by_both(one: Recoded, other: Recoded, place: int) -> int:
    """People released by one and by the other who are left with one secret by both together, and with several by each."""
    people = np.where(other.kept, one.people, 0)
    here = people > 0
    keys, where = np.unique(one.index[here] * other.count + other.index[here], return_inverse=True)
    weight = np.bincount(where, weights=people[here], minlength=len(keys))
    first, second = one.classes().pairs[place], other.classes().pairs[place]
    size = one.table.sensitive[place].size
    known = second.classes * size + second.values  # in order
    (starts, lengths), (_, others) = (_by_class(pairs, count) for pairs, count in ((first, one.count), (second, other.count)))
    won = 0
    for begin in range(0, len(keys), PAIRS_AT_ONCE):
        mine, theirs = np.divmod(keys[begin : begin + PAIRS_AT_ONCE], other.count)
        each = lengths[mine]
        owner = np.repeat(np.arange(len(mine)), each)
        at = np.arange(len(owner)) - np.repeat(np.cumsum(each) - each, each) + starts[mine][owner]
        wanted = theirs[owner] * size + first.values[at]
        place_of = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        common = np.bincount(owner[known[place_of] == wanted], minlength=len(mine))
        left = (common == 1) & (each > 1) & (others[theirs] > 1)
        won += int(weight[begin : begin + PAIRS_AT_ONCE][left].sum())
    return won


def _lengths(pairs: Pairs) -> NDArray[np.int64]:
    return np.diff(np.append(pairs.starts, len(pairs.classes)))


def _first(held: NDArray[np.bool_], pairs: Pairs, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """In each class the first pair of which something holds."""
    places = np.where(held, np.arange(len(held)), len(held))
    return np.asarray(np.minimum.reduceat(places, pairs.starts), dtype=np.int64)


def _by_class(pairs: Pairs, classes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the secrets of each class begin, and how many there are."""
    starts, lengths = np.zeros(classes, dtype=np.int64), np.zeros(classes, dtype=np.int64)
    starts[pairs.of], lengths[pairs.of] = pairs.starts, _lengths(pairs)
    return starts, lengths
