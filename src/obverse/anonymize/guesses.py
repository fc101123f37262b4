"""Secrets guessed from a release: by the most frequent of a class, and by what two releases of the same people both allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from obverse.anonymize.persons import held_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from obverse.anonymize.classes import Pairs
    from obverse.anonymize.persons import Held
    from obverse.anonymize.recoding import Recoded

PAIRS_AT_ONCE = 200_000


class Guessed(NamedTuple):
    """Right guesses of people's secrets, the same if each person's own rows were not there, and how many people there are.

    Somebody with rows in several classes is guessed in each. A guess is right that is one of the person's secrets there.
    """

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
    if recoded.table.persons is not None:
        rivals = (others == np.repeat(most, lengths)) | ((others == np.repeat(most, lengths) - 1)
                                                         & (np.arange(len(others)) < np.repeat(top, lengths)))  # fmt: skip
        rivals[top] = False
        without = _without_own(held_in(recoded, place), pairs, (top, rivals), usual, classes.sizes)
        return Guessed(int(most.sum()), without, int(classes.sizes.sum()))
    still = np.where(alone, pairs.values[top] == usual, (most - 1 > second) | ((most - 1 == second) & (top < rival)))
    return Guessed(int(most.sum()), int(most[still].sum()), int(classes.sizes.sum()))


def by_both(one: Recoded, other: Recoded, place: int) -> int:
    """People released by one and by the other who are left with one secret by both together, and with several by each.

    Of somebody with several rows one such row is enough: whoever knows what it says of them knows the secret that it has.
    """
    people = np.where(other.kept, one.rows, 0)
    here = people > 0
    keys, where = np.unique(one.index[here] * other.count + other.index[here], return_inverse=True)
    weight = np.bincount(where, weights=people[here], minlength=len(keys))
    first, second = one.classes().pairs[place], other.classes().pairs[place]
    size = one.table.sensitive[place].size
    known = second.classes * size + second.values  # in order
    (starts, lengths), (_, others) = (_by_class(pairs, count) for pairs, count in ((first, one.count), (second, other.count)))
    won = np.zeros(len(keys), dtype=bool)
    for begin in range(0, len(keys), PAIRS_AT_ONCE):
        mine, theirs = np.divmod(keys[begin : begin + PAIRS_AT_ONCE], other.count)
        each = lengths[mine]
        owner = np.repeat(np.arange(len(mine)), each)
        at = np.arange(len(owner)) - np.repeat(np.cumsum(each) - each, each) + starts[mine][owner]
        wanted = theirs[owner] * size + first.values[at]
        place_of = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        common = np.bincount(owner[known[place_of] == wanted], minlength=len(mine))
        left = (common == 1) & (each > 1) & (others[theirs] > 1)
        won[begin : begin + PAIRS_AT_ONCE] = left
    if one.table.persons is None:
        return int(weight[won].sum())
    decided = np.zeros(len(here), dtype=bool)
    decided[here] = won[where]
    return one.table.people_of(decided)


def by_several(recoded: Recoded, place: int) -> int:
    """People with rows in several classes, of several secrets each, of which all have the person's own alone in common."""
    mine = held_in(recoded, place)
    pairs, size = recoded.classes().pairs[place], recoded.table.sensitive[place].size
    starts, lengths = _by_class(pairs, recoded.count)
    spread, most = mine.codes > 0, int(mine.codes.max(initial=0)) + 1
    owners, classes = np.divmod(np.unique(mine.codes[spread] * np.int64(recoded.count) + mine.classes[spread]), recoded.count)
    secrets = np.unique(mine.codes[spread] * np.int64(size) + mine.values[spread]) // size
    number, least = np.bincount(owners, minlength=most), np.full(most, np.iinfo(np.int64).max)
    np.minimum.at(least, owners, lengths[classes])
    tried = (np.bincount(secrets, minlength=most) == 1) & (number > 1) & (least > 1)
    classes, owners = classes[tried[owners]], owners[tried[owners]]
    each = lengths[classes]
    fresh = np.flatnonzero(_changes(owners))
    begins = fresh[_changes((np.cumsum(each) - each)[fresh] // PAIRS_AT_ONCE)]
    won = 0
    for begin, end in zip(begins.tolist(), [*begins[1:].tolist(), len(owners)]):
        here, there, many = owners[begin:end], classes[begin:end], each[begin:end]
        at = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many) + np.repeat(starts[there], many)
        keys, times = np.unique(np.repeat(here, many) * size + pairs.values[at], return_counts=True)
        common = np.unique((keys // size)[times == number[keys // size]], return_counts=True)[1]
        won += int((common == 1).sum())
    return won


def _without_own(
    mine: Held, pairs: Pairs, guess: tuple[NDArray[np.int64], NDArray[np.bool_]], usual: int, sizes: NDArray[np.int64]
) -> int:
    """Right guesses of people whose own rows are left out: the first guess is still made, or what is made instead is theirs.

    Rivals are values that are guessed first once somebody is gone who held the first guess and not the rival. Of a class of
    one person nothing is left, and the usual value is guessed.
    """
    top, rivals = guess
    classes = len(sizes)
    first = np.full(classes, -1, dtype=np.int64)
    first[pairs.of] = pairs.values[top]
    width = int(pairs.values.max(initial=0)) + 1
    keys = pairs.classes * width + pairs.values
    rival = rivals[np.searchsorted(keys, mine.classes * width + mine.values)]
    number = np.bincount(pairs.classes, weights=rivals, minlength=classes)
    fresh = _changes(mine.codes) | _changes(mine.classes) | (mine.codes == 0)
    who = np.cumsum(fresh) - 1  # a person in a class; of people who are not named, all with one value
    own = np.bincount(who, weights=rival)[who]
    alone = sizes[mine.classes] == 1
    guessed = np.where(alone, mine.values == usual, (mine.values == first[mine.classes]) & (own == number[mine.classes]))
    return int(mine.number[guessed].sum())


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


def _changes(ordered: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a value begins that the entry before does not have."""
    found = np.ones(len(ordered), dtype=bool)
    found[1:] = ordered[1:] != ordered[:-1]
    return found
