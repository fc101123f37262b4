"""Exact p-values of permutation tests: right matches by chance, Fisher's exact test, the rank sum of two groups."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from obverse.core.errors import invariant

Numbers = NDArray[np.float64]
Blocks = Mapping[tuple[int, int], int]  # how many blocks there are of so many guesses and so many records


_SAFETY = 1 + 1e-6  # far more than the doubles below can err
_TERMS = 40  # of the alternating series after the first: they fall faster than those of 1 / e
EXACT_MAX = 500_000_000  # additions up to which the law of a rank sum is summed
# of larger groups, and of those of more than MANY people
DRAWS = 9_999
DRAWS_OF_MANY = 999
MANY = 2_000


def at_least_right(right: int, blocks: Blocks, records: int) -> float:
    """The chance that so many guesses are right where whose a record is was drawn from all ways at once.

    A block is some guesses and some owners of which each would make each of those guesses right, one guess and one
    owner at a time; no guess and no owner is in two blocks. So many people who are all taken for the owner of one
    record are a block of so many guesses and one; rows taken for one person's, who has several, are a block of those
    rows and that person's.

    Claim:   P[right guesses >= right] is at most what is returned, and is that but for rounding where less than one
             guess is expected to be right.
    Proof:   S_i, the expected number of sets of i guesses that are all right, is r_i (n - i)! / n!, where r_i counts
             the ways to place i rooks on the blocks. The chance is the sum over i >= w of (-1)^(i - w) C(i - 1, w - 1)
             S_i, and the partial sums that end with an addition are at least that (Bonferroni). More than `most` right
             guesses are at most as likely as `most`.
    Assumes: all ways to hand the records out are alike, whatever the guesses are.
    """
    expected = sum(times * guesses * held for (guesses, held), times in blocks.items()) / max(1, records)
    most = math.ceil(64 + 8 * expected)
    reachable = sum(times * min(block) for block, times in blocks.items())
    invariant(0 <= right <= reachable, "no more guesses are right than can be")
    if right == 0:
        return 1.0
    right = min(right, most)
    return _bonferroni(_sets_all_right(blocks, records, min(reachable + 1, right + _TERMS)), right)


def _bonferroni(sets: Numbers, right: int) -> float:
    """The least partial sum that ends with an addition, or that is followed by terms of zero alone."""
    total = 0.0
    least = math.inf
    largest = 0.0
    for i in range(right, len(sets)):
        term = math.comb(i - 1, right - 1) * float(sets[i])
        largest = max(largest, term)
        total += -term if (i - right) % 2 else term
        if (i - right) % 2 == 0 or i + 1 == len(sets):
            least = min(least, total + 1e-12 * largest)
    return min(1.0, least * _SAFETY)


def _sets_all_right(blocks: Blocks, records: int, degree: int) -> Numbers:
    """S_0 to S_degree: rook numbers over n^i, from blocks multiplied up, times n^i (n - i)! / n!."""
    product = np.ones(1)
    for (guesses, held), times in blocks.items():
        block = [1.0]
        for j in range(1, min(guesses, held, degree) + 1):
            block.append(block[-1] * (guesses - j + 1) * (held - j + 1) / (j * records))
        product = np.convolve(product, _power(np.array(block), times, degree))[: degree + 1]
    falling = np.cumprod(np.concatenate([[1.0], records / (records - np.arange(min(degree, records)))]))
    sets = np.zeros(degree + 1)
    sets[: len(product)] = product * falling[: len(product)]
    return sets


def _power(block: Numbers, times: int, degree: int) -> Numbers:
    found = np.ones(1)
    while times:
        if times & 1:
            found = np.convolve(found, block)[: degree + 1]
        block = np.convolve(block, block)[: degree + 1]
        times = times >> 1
    return found


def fisher(wins: int, trials: int, control_wins: int, control_trials: int) -> float:
    """Fisher's exact test: the chance that so many of all wins fall to the first group, were groups drawn by chance.

    Claim:   were people parted into the two groups by chance, p <= a would have a chance of at most a. So it would if
             some of the first group's wins were left out.
    Proof:   the wins of the first group are hypergeometric given the wins of both, and p is their upper tail. With the
             control's wins given it falls with the wins of the first group, so that leaving some out only raises it.
    Assumes: people are parted without regard to what wins.
    """
    people = trials + control_trials
    all_wins = wins + control_wins
    whole = _log_comb(people, all_wins)
    terms = (
        math.exp(_log_comb(trials, j) + _log_comb(control_trials, all_wins - j) - whole)
        for j in range(wins, min(all_wins, trials) + 1)
    )
    return min(1.0, math.fsum(terms) * _SAFETY)


def fisher_at_best(trials: int, control_trials: int) -> float:
    """The least p-value that two groups of these sizes could give, by wins or by ranks."""
    return min(1.0, math.exp(-_log_comb(trials + control_trials, trials)) * _SAFETY)


def _log_comb(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def rank_sum(scores: Numbers, control: Numbers, seed: int = 1) -> float:
    """The chance that a group drawn by chance has scores so far above the others' (Mann and Whitney); ties count for
    those.

    Claim:   were people parted into the two groups by chance, p <= a would have a chance of at most a. So it would if
             some scores of the first group were lowered.
    Proof:   U counts the pairs in which the first group's score is the larger one. Were ties broken by chance, U would
             have the law of Mann and Whitney's statistic without ties, and p is its upper tail; as they are broken, U
             is no larger. Lowering a score of the first group lowers U too. Where there are too many people to sum the
             law, U is placed among draws of it: p counts the one seen with them.
    Assumes: people are parted without regard to their scores.
    """
    if not len(scores) or not len(control):
        return 1.0
    seen = int(np.searchsorted(np.sort(control), scores, "left").sum())
    few, many = sorted((len(scores), len(control)))  # the law is the same either way around
    people = few + many
    if people * few * few * many <= EXACT_MAX:
        return max(_mann_whitney(few, many, seen), fisher_at_best(few, many))
    generator = np.random.default_rng(seed)
    draws = DRAWS if people <= MANY else DRAWS_OF_MANY
    least = few * (few - 1) // 2
    reached = sum(int(generator.permutation(people)[:few].sum()) - least >= seen for _ in range(draws))
    return (1 + reached) / (draws + 1)


def _mann_whitney(few: int, many: int, seen: int) -> float:
    """P[U >= seen] from the law of U: people join in the order of their scores, each above all who are there."""
    law = np.zeros((few + 1, few * many + 1))  # of U, given that j of those so far are of the first group
    law[0, 0] = 1.0
    for so_far in range(1, few + many + 1):
        for j in range(min(few, so_far), 0, -1):
            below = so_far - j  # of the other group
            law[j] *= below / so_far
            law[j, below:] += law[j - 1, : law.shape[1] - below] * (j / so_far)
    return min(1.0, float(law[few, seen:].sum()) * _SAFETY)
