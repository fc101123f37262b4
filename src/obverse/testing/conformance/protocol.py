"""The conformance suite of local protocols: whoever writes one gets these checks by one line in the registry."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from obverse.collect.protocols.base import LastingProtocol, LocalProtocol, MeanProtocol
from obverse.collect.protocols.several import Several
from obverse.collect.randomness.coins import Coins, Memo, epsilon_of
from obverse.testing.noiseless import SeededRng
from obverse.testing.statistics import fits

SEEDS = (0, 1, 2**64 - 1, 0x0123456789ABCDEF)


def check_protocol(protocol: LocalProtocol, codes: Sequence[int], *, draws: int = 20_000, seed: int = 1) -> None:
    """Every check on one small protocol over these items; AssertionError names the law that is broken.

    Deterministic for a seed; over fresh seeds a false alarm has a chance of at most 1e-9 for each sample compared.
    """
    name = protocol.name
    _expect(pickle.loads(pickle.dumps(protocol)) == protocol, f"{name}: does not survive pickling")
    for hashing in SEEDS:
        check_seeds(protocol, codes, hashing)
        check_reading(protocol, codes, hashing, seed)
        laws = check_law(protocol, codes, hashing)
        for code, law in laws.items():
            check_samples(protocol=protocol, code=code, hashing=hashing, law=law, draws=draws, seed=seed)
    check_monoid(protocol, codes, seed)
    if isinstance(protocol, LastingProtocol):
        check_permanent(protocol, codes, SEEDS[-1], draws=draws // 10, seed=seed)
    if isinstance(protocol, MeanProtocol):
        check_scores(protocol)


def check_law(protocol: LocalProtocol, codes: Sequence[int], hashing: int) -> dict[int, dict[bytes, Fraction]]:
    """The exact law of the reports of each item: a law, and as close to every other as the loss says."""
    sent = list(protocol.payloads(hashing))
    _expect(len(set(sent)) == len(sent), f"{protocol.name}: a report is listed twice")
    _expect(all(len(payload) == protocol.length for payload in sent), f"{protocol.name}: a report of another length")
    _expect(bool(protocol.valid(_array(sent)).all()), f"{protocol.name}: a report of its own is not valid")
    laws = {code: {payload: protocol.probability(code, payload, hashing) for payload in sent} for code in codes}
    for law in laws.values():
        _expect(sum(law.values()) == 1, f"{protocol.name}: the chances of all reports are not one in all")
    worst = Fraction(1)
    for payload in sent:
        chances = [law[payload] for law in laws.values()]
        _expect(min(chances) > 0 or max(chances) == 0, f"{protocol.name}: a report rules an answer out")
        if max(chances) > 0:
            worst = max(worst, max(chances) / min(chances))
    _expect(epsilon_of(worst) <= protocol.loss(), f"{protocol.name}: the law exceeds the stated loss")
    return laws


def check_seeds(protocol: LocalProtocol, codes: Sequence[int], hashing: int) -> None:
    """A report that a seed rules out does not agree with it."""
    for other in SEEDS:
        sent = list(protocol.payloads(other))
        possible = [any(protocol.probability(code, payload, hashing) > 0 for code in codes) for payload in sent]
        agreeing = protocol.agrees(_array(sent), np.full(len(sent), hashing, dtype=np.uint64))
        _expect(bool(np.array_equal(agreeing, possible)), f"{protocol.name}: a seed decides other than it says")


def check_reading(protocol: LocalProtocol, codes: Sequence[int], hashing: int, seed: int) -> None:
    """How many coins a device reads does not depend on its answer: neither time nor a shared generator tells it."""
    read = [_asked(protocol, code, hashing, seed) for code in codes]
    _expect(all(asked == read[0] for asked in read), f"{protocol.name}: how much is read depends on the answer")


def _asked(protocol: LocalProtocol, code: int, hashing: int, seed: int) -> list[int]:
    """How many bytes each request of a device is for, over twenty reports."""
    rng = SeededRng(seed)
    asked: list[int] = []

    def raw(n: int) -> bytes:
        asked.append(n)
        return rng.raw(n)

    coins = Coins(raw)
    for _ in range(20):
        protocol.report(code, coins, hashing)
    return asked


def check_samples(
    protocol: LocalProtocol, code: int, hashing: int, law: dict[bytes, Fraction], draws: int, seed: int
) -> None:
    """Reports of one device and reports made many at once follow the law."""
    rng = SeededRng(seed)
    places = {payload: place for place, payload in enumerate(law)}
    chances = [float(chance) for chance in law.values()]
    coins = Coins(rng.raw)
    single = [protocol.report(code, coins, hashing) for _ in range(draws // 4)]
    many = protocol.reports(np.full(draws, code, dtype=np.uint64), rng, np.full(draws, hashing, dtype=np.uint64))
    for kind, made in (("one by one", single), ("many at once", [bytes(row) for row in many])):
        found = np.array([places.get(payload, -1) for payload in made])
        _expect(bool(np.all(found >= 0)), f"{protocol.name}: {kind}, a report that its law does not know")
        _expect(fits(found, 0, chances), f"{protocol.name}: {kind}, reports do not follow the stated law")


def check_monoid(protocol: LocalProtocol, codes: Sequence[int], seed: int) -> None:
    """Counts of two batches add up to those of both, in any order; nothing counts as nothing."""
    rng = SeededRng(seed)
    some = np.array(codes, dtype=np.uint64)[rng.below(len(codes), 600)]
    payloads = protocol.reports(some, rng)
    whole = protocol.fold(payloads)
    _expect(whole.shape == protocol.shape and whole.dtype == np.int64, f"{protocol.name}: counts of another shape")
    parts = protocol.fold(payloads[:217]) + protocol.fold(payloads[217:])
    _expect(bool(np.array_equal(whole, parts)), f"{protocol.name}: counts of two batches do not add up")
    _expect(bool(np.array_equal(whole, protocol.fold(payloads[::-1]))), f"{protocol.name}: the order of reports counts")
    _expect(not protocol.fold(payloads[:0]).any(), f"{protocol.name}: no reports count as some")


def check_permanent(
    protocol: LastingProtocol, codes: Sequence[int], hashing: int, *, draws: int, seed: int, length: int = 2
) -> None:
    """Permanent answers follow their law, and any sequence of reports of them stays within the loss of all reports
    ever.

    Exactly: over all sequences of this length, and over the permanent answers themselves, which no number of reports
             exceeds.
    """
    sent = list(protocol.payloads(hashing))
    laws = {code: dict(protocol.standing(code, hashing)) for code in codes}
    known = sorted({permanent for law in laws.values() for permanent in law})
    given = {permanent: [protocol.given(permanent, payload, hashing) for payload in sent] for permanent in known}
    for law in laws.values():
        _expect(sum(law.values()) == 1, f"{protocol.name}: the chances of permanent answers are not one in all")
    for code, law in laws.items():
        for place, payload in enumerate(sent):
            mixture = sum(chance * given[permanent][place] for permanent, chance in law.items())
            _expect(
                mixture == protocol.probability(code, payload, hashing), f"{protocol.name}: the two rounds do not mix"
            )
    limit = protocol.lasting()
    standing = [[law.get(permanent, Fraction(0)) for permanent in known] for law in laws.values()]
    _expect(_farthest(standing) <= limit, f"{protocol.name}: permanent answers exceed the stated loss")
    chances = []
    for law in laws.values():
        mixed = [
            math.prod((given[r][s] for s in series), start=c)
            for r, c in law.items()
            for series in _series(sent, length)
        ]
        chances.append([sum(mixed[place :: len(sent) ** length], Fraction(0)) for place in range(len(sent) ** length)])
    _expect(_farthest(chances) <= limit, f"{protocol.name}: reports of one answer together exceed the stated loss")
    rng = SeededRng(seed)
    for code, law in laws.items():
        label = protocol.label(code, hashing)
        memos = [Memo(rng.key(), b"a question") for _ in range(draws)]
        drawn = np.array([known.index(protocol.permanent(code, memo.coins(label), hashing)) for memo in memos])
        _expect(
            fits(drawn, 0, [float(law.get(permanent, 0)) for permanent in known]), f"{protocol.name}: permanent law"
        )
        again = [known.index(protocol.permanent(code, memo.coins(label), hashing)) for memo in memos[:20]]
        _expect(again == list(drawn[:20]), f"{protocol.name}: a permanent answer changes")


def _series(sent: Sequence[bytes], length: int) -> Iterator[tuple[int, ...]]:
    return itertools.product(range(len(sent)), repeat=length)


def _farthest(laws: Sequence[Sequence[Fraction]]) -> Fraction:
    """The loss between any two of these laws over the same places."""
    worst = Fraction(1)
    for chances in zip(*laws):
        _expect(min(chances) > 0, "an answer is ruled out")
        worst = max(worst, max(chances) / min(chances))
    return epsilon_of(worst)


def check_estimates(
    protocol: LocalProtocol, codes: Sequence[int], people: Sequence[int], *, rounds: int, seed: int
) -> None:
    """Over many rounds estimates are right on average, and vary as they say (false alarm below 1e-9 for each item).

    `people` says how many hold each item. The mean over rounds is compared at 6.5 standard errors. Variances: the mean
    of chi-squares of one degree each, by the bound of Laurent and Massart at 1e-9, and with the plug-in's own error
    forgiven. What hashes leave is the same in all rounds: it must be small here, and has a test of its own.
    """
    rng = SeededRng(seed)
    held = np.repeat(np.array(codes, dtype=np.uint64), people)
    items, truth = _estimated(protocol, codes, people, held)
    values = []
    variances = []
    floor = 0.0
    for _ in range(rounds):
        counts = protocol.fold(protocol.reports(held, rng))
        found = protocol.estimate(counts, len(held), items)
        values.append(found.value)
        variances.append(found.variance)
        floor = max(floor, found.floor)
    error = np.array(values) - truth
    expected = np.mean(variances, axis=0)
    off = np.abs(error.mean(axis=0)) / np.sqrt(np.maximum(expected - floor, 0.0) / rounds + floor)
    _expect(bool(np.all(off < 6.5)), f"{protocol.name}: an estimate is off by {off.max():.1f} standard errors")
    ratio = float(np.mean(error**2 / expected))
    trials = rounds * len(items) / 4  # items of one round hang together
    limit = 2 * math.sqrt(math.log(1e9) / trials) + 2 * math.log(1e9) / trials
    _expect(
        abs(ratio - 1) < limit + 0.02,
        f"{protocol.name}: the variance is {ratio:.3f} of what it says (within {limit:.3f})",
    )


def _estimated(
    protocol: LocalProtocol, codes: Sequence[int], people: Sequence[int], held: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """What is estimated, and the truth: the items, or those of each of several questions."""
    if not isinstance(protocol, Several):
        return np.array(codes, dtype=np.uint64), np.array(people) / sum(people)
    truth: list[float] = []
    for place, part in enumerate(protocol.parts):
        own = protocol.answers(held, place).astype(np.int64)
        mean = [float(own.mean()) / (part.size - 1)]
        truth += mean if part.told == "mean" else (np.bincount(own, minlength=part.size) / len(own)).tolist()
    return np.arange(len(truth), dtype=np.uint64), np.array(truth)


def check_means(protocol: MeanProtocol, people: Sequence[int], *, rounds: int, seed: int) -> None:
    """Over many rounds the mean is right on average, varies exactly as its scores do, and says so or more.

    `people` says how many are at each place. The same bounds as for shares; what is said is compared with the law of
    people drawn at random, within a tenth.
    """
    rng = SeededRng(seed)
    held = np.repeat(np.arange(len(people), dtype=np.uint64), people)
    n = len(held)
    along = held / (protocol.size - 1)
    found = [protocol.estimate(protocol.fold(protocol.reports(held, rng)), n, held[:0]) for _ in range(rounds)]
    error = np.array([each.value[0] for each in found]) - along.mean()
    exact = sum(float(protocol.spread(place)) * many for place, many in enumerate(people)) / n**2
    off = abs(float(error.mean())) / math.sqrt(exact / rounds)
    _expect(off < 6.5, f"{protocol.name}: the mean is off by {off:.1f} standard errors")
    limit = 2 * math.sqrt(math.log(1e9) / rounds) + 2 * math.log(1e9) / rounds
    ratio = float(np.mean(error**2)) / exact
    _expect(
        abs(ratio - 1) < limit, f"{protocol.name}: the variance is {ratio:.3f} of the exact one (within {limit:.3f})"
    )
    said = float(np.mean([each.variance[0] for each in found])) / (exact + float(along.var()) / n)
    _expect(
        abs(said - 1) < 0.1, f"{protocol.name}: the stated variance is {said:.3f} of that of people drawn at random"
    )


def check_scores(protocol: MeanProtocol) -> None:
    """Scores are unbiased at every place, and vary as stated: exactly."""
    scores = protocol.scores()
    for place in range(protocol.size):
        law = [
            (protocol.probability(place, sent, 0), scores[int.from_bytes(sent, "little")])
            for sent in protocol.payloads(0)
        ]
        mean = sum((chance * score for chance, score in law), Fraction(0))
        squares = sum((chance * score * score for chance, score in law), Fraction(0))
        _expect(mean == Fraction(place, protocol.size - 1), f"{protocol.name}: a place's score is biased")
        _expect(
            squares - mean**2 == protocol.spread(place), f"{protocol.name}: a place's score varies other than stated"
        )


def _array(payloads: Sequence[bytes]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(payloads), dtype=np.uint8).reshape(len(payloads), -1)


def _expect(holds: bool, text: str) -> None:
    if not holds:
        raise AssertionError(text)
