"""Every registered local protocol keeps its claim on small domains, exactly, and errs as its formulas say."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from obverse.collect.protocols import (
    PROTOCOLS,
    AllOfSeveral,
    CountMean,
    Direct,
    Fragments,
    Hadamard,
    HadamardCountMean,
    HybridMean,
    LocalHash,
    LocalProtocol,
    Loloha,
    MemoisedUnary,
    OneBitMean,
    OneOfSeveral,
    PiecewiseMean,
    PooledHash,
    Prefixes,
    Projective,
    ProjectiveSketch,
    Rappor,
    Several,
    Subset,
    Unary,
    WordProtocol,
)
from obverse.collect.protocols.base import MeanProtocol
from obverse.collect.protocols.words import beginnings
from obverse.collect.randomness.coins import ONE, Coins
from obverse.collect.randomness.hashing import item_key
from obverse.core.errors import Refused
from obverse.testing.conformance.protocol import (
    check_estimates,
    check_law,
    check_means,
    check_permanent,
    check_protocol,
    check_reading,
)

HALF = Fraction(1, 2)
ONCE = Fraction(1)
FEW = (Direct.fitted(3, ONCE), LocalHash.fitted(4, HALF))
MORE = (Unary.fitted(2, HALF), OneBitMean.fitted(3, HALF), PooledHash(2, 37, Direct.two_coins()))
MANY = (Direct.fitted(3, ONCE), Unary.fitted(5, HALF), LocalHash.fitted(4, ONCE), HybridMean.fitted(6, HALF))
PLANE = ProjectiveSketch(3, Projective(7, 2, 3, ONE // 3))
SMALL: dict[str, list[LocalProtocol]] = {
    "direct": [
        Direct.two_coins(),
        Direct.truthful(2, Fraction(1, 3)),
        Direct.fitted(5, Fraction(1)),
        Direct(3, ONE - 1),
    ],
    "unary": [Unary.fitted(4, Fraction(1)), Unary.symmetric(5, Fraction(2)), Unary.fitted(9, Fraction(1, 10))],
    "local_hash": [
        LocalHash.fitted(6, Fraction(1)),
        LocalHash.fitted(40, Fraction(3)),
        LocalHash(9, Direct.two_coins()),
    ],
    "pooled_hash": [PooledHash.fitted(6, Fraction(1)), PooledHash(12, 37, Direct.fitted(21, Fraction(3)))],
    "hadamard": [Hadamard.fitted(5, Fraction(1)), Hadamard.fitted(12, Fraction(3)), Hadamard.fitted(8, Fraction(1, 5))],
    "projective": [Projective.fitted(7, Fraction(1)), Projective(9, 3, 3, ONE // 2), Projective(6, 5, 3, ONE // 9)],
    "subset": [Subset.fitted(5, Fraction(1)), Subset.fitted(9, Fraction(3)), Subset(4, 2, ONE // 4 * 3)],
    "count_mean": [CountMean(3, 4, ONE // 4 * 3), CountMean(2, 9, ONE // 8 * 5)],
    "hadamard_count_mean": [HadamardCountMean(3, 8, ONE // 4 * 3), HadamardCountMean.fitted(2, Fraction(1))],
    "projective_sketch": [PLANE],
    "prefixes": [Prefixes(4, 5, 2, 3, PLANE)],
    "fragments": [Fragments(4, 5, 2, PLANE)],
    "rappor": [Rappor(3, 2, 5, ONE // 4, ONE // 2, ONE // 4 * 3), Rappor(4, 1, 300, ONE // 8, ONE // 10, ONE // 7)],
    "loloha": [Loloha.fitted(7, Fraction(1)), Loloha(9, 50, Direct.two_coins(), Direct.truthful(2, Fraction(1, 3)))],
    "memoised_unary": [MemoisedUnary.fitted(3, Fraction(1)), MemoisedUnary.symmetric(3, Fraction(3), Fraction(1, 2))],
    "one_bit_mean": [OneBitMean.fitted(5, Fraction(1)), OneBitMean(2, ONE // 4 * 3)],
    "piecewise_mean": [PiecewiseMean.fitted(6, Fraction(2)), PiecewiseMean(4, 2, ONE // 2)],
    "hybrid_mean": [HybridMean.fitted(5, Fraction(1)), HybridMean.fitted(4, Fraction(1, 2))],
    "one_of_several": [OneOfSeveral(FEW), OneOfSeveral(MORE)],
    "all_of_several": [AllOfSeveral(FEW), AllOfSeveral(MORE)],
}
LARGER: dict[str, list[LocalProtocol]] = {
    "direct": [Direct.fitted(20, Fraction(1)), Direct.fitted(3, Fraction(3))],
    "unary": [Unary.fitted(70, Fraction(1)), Unary.symmetric(64, Fraction(3))],
    "local_hash": [LocalHash.fitted(70, Fraction(1)), LocalHash.fitted(64, Fraction(3))],
    "pooled_hash": [PooledHash.fitted(70, Fraction(1)), PooledHash(64, 1 << 14, Direct.fitted(21, Fraction(3)))],
    "hadamard": [Hadamard.fitted(70, Fraction(1)), Hadamard.fitted(64, Fraction(3))],
    "projective": [Projective.fitted(70, Fraction(1)), Projective.fitted(64, Fraction(3))],
    "subset": [Subset.fitted(20, Fraction(1)), Subset.fitted(30, Fraction(2))],
    "count_mean": [CountMean(256, 64, Unary.symmetric(2, Fraction(1)).own), CountMean(64, 100, ONE // 4 * 3)],
    "hadamard_count_mean": [HadamardCountMean.fitted(70, Fraction(1)), HadamardCountMean(64, 256, ONE // 4 * 3)],
    "projective_sketch": [ProjectiveSketch.fitted(2, Fraction(3))],
    "prefixes": [Prefixes.of_words(6, 29, Fraction(1))],
    "fragments": [Fragments.of_words(5, 29, Fraction(2))],
    "rappor": [Rappor.fitted(20, Fraction(3)), Rappor(16, 2, 5000, ONE // 8, ONE // 4, ONE // 4 * 3)],
    "loloha": [Loloha.fitted(40, Fraction(2)), Loloha.fitted(20, Fraction(1))],
    "memoised_unary": [MemoisedUnary.fitted(40, Fraction(2)), MemoisedUnary.symmetric(30, Fraction(4), Fraction(1))],
    "one_bit_mean": [OneBitMean.fitted(50, Fraction(1)), OneBitMean.fitted(300, Fraction(3))],
    "piecewise_mean": [PiecewiseMean.fitted(50, Fraction(1)), PiecewiseMean.fitted(300, Fraction(3))],
    "hybrid_mean": [HybridMean.fitted(50, Fraction(1)), HybridMean.fitted(300, Fraction(3))],
    "one_of_several": [OneOfSeveral(FEW), OneOfSeveral(MANY)],
    "all_of_several": [AllOfSeveral(FEW), AllOfSeveral(MANY)],
}


def items_of(protocol: LocalProtocol) -> list[int]:
    if protocol.coded == "key":
        return [item_key(f"item {number}") for number in range(20)]
    if isinstance(protocol, WordProtocol):
        whole = beginnings(protocol.symbols, min(protocol.letters, 4))
        shift = (protocol.letters - min(protocol.letters, 4)) * (protocol.symbols - 1).bit_length()
        return [int(code) << shift for code in whole[:: max(1, len(whole) // 20)][:20]]
    return list(range(protocol.size))  # type: ignore[attr-defined]


def test_every_protocol_is_checked() -> None:
    assert {kind.name for kind in PROTOCOLS} == SMALL.keys() == LARGER.keys()


@pytest.mark.parametrize("protocol", [p for some in SMALL.values() for p in some], ids=lambda p: f"{p.name}-{p.length}")
def test_a_protocol_keeps_its_claim(protocol: LocalProtocol) -> None:
    draws = 4_000 if isinstance(protocol, Several) else 20_000  # for every combination of answers
    check_protocol(protocol, items_of(protocol)[: 5 if protocol.coded in ("key", "word") else None], draws=draws)


@pytest.mark.parametrize(
    "protocol", [p for some in LARGER.values() for p in some], ids=lambda p: f"{p.name}-{p.length}"
)
def test_estimates_are_right_on_average_and_vary_as_they_say(protocol: LocalProtocol) -> None:
    items = items_of(protocol)
    people = [2000 // (1 + place) for place in range(len(items))]
    if isinstance(protocol, MeanProtocol):
        check_means(protocol, people, rounds=200, seed=7)
        return
    check_estimates(protocol, items, people, rounds=60, seed=7)


SINGLE = [p for some in SMALL.values() for p in some if not isinstance(p, Several | WordProtocol)]


@pytest.mark.parametrize("protocol", SINGLE, ids=lambda p: f"{p.name}-{p.length}")
def test_no_report_moves_an_item_by_more_than_its_leverage(protocol: LocalProtocol) -> None:
    """Up from somebody who has it not, and down from somebody who has it; some report moves it so far."""
    codes = np.array(items_of(protocol)[:9], dtype=np.uint64)
    furthest = 0.0
    for payload in (sent for seed in range(6) for sent in protocol.payloads(seed)):
        value = protocol.estimate(protocol.fold(np.frombuffer(payload, dtype=np.uint8)[None, :]), 1, codes).value
        furthest = max(furthest, float(value.max()), float((1 - value).max()))
    assert furthest == pytest.approx(protocol.leverage())


@pytest.mark.parametrize("kind", PROTOCOLS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "3", "10"])
def test_fitted_odds_spend_nearly_all_of_epsilon_and_never_more(kind: type[LocalProtocol], epsilon: str) -> None:
    wanted = Fraction(epsilon)
    assert wanted * (1 - Fraction(1, 10**9)) <= kind.fitted(16, wanted).loss() <= wanted


@pytest.mark.parametrize("epsilon", ["0", "-1", "21"])
def test_an_epsilon_out_of_reason_is_refused(epsilon: str) -> None:
    for kind in PROTOCOLS:
        with pytest.raises(Refused) as caught:
            kind.fitted(16, Fraction(epsilon))
        assert caught.value.code == "bad_parameter"


def test_published_parameters_lose_what_was_published() -> None:
    for protocol in (CountMean.published(), HadamardCountMean.published()):
        assert Fraction("3.999999999") < protocol.loss() <= 4
    assert (CountMean.published().shape, HadamardCountMean.published().shape) == ((65_536, 1025), (1024, 32_769))


@dataclass(frozen=True, slots=True)
class Hasty(Direct):
    """Draws another item only where it needs one."""

    def report(self, code: int, coins: Coins, seed: int = 0) -> bytes:
        return b"\0" if code == 0 and coins.flip(self.truth) else Direct.report(self, code, coins)


@dataclass(frozen=True, slots=True)
class Overspent(Direct):
    """States a tenth less than it spends."""

    def loss(self) -> Fraction:
        return Direct.loss(self) * Fraction(9, 10)


@dataclass(frozen=True, slots=True)
class Certain(Unary):
    """Sends its own bit as it is, as a library is known to."""

    def probability(self, code: int, payload: bytes, seed: int = 0) -> Fraction:
        sent = payload[0] >> code & 1
        return Unary.probability(self, code, payload) / Fraction(self.own, ONE) if sent else Fraction(0)


@dataclass(frozen=True, slots=True)
class Forgetful(Rappor):
    """Randomizes once only what it states for ever, as if each report were the first."""

    def lasting(self) -> Fraction:
        return Rappor.loss(self)


@dataclass(frozen=True, slots=True)
class Summed(AllOfSeveral):
    """Answers everything, and states the loss of one answer."""

    def loss(self) -> Fraction:
        return max(part.loss() for part in self.parts)


def test_faulty_protocols_are_noticed() -> None:
    with pytest.raises(AssertionError, match="exceeds"):
        check_law(Summed(FEW), range(12), 0)
    with pytest.raises(AssertionError, match="permanent answers exceed"):
        check_permanent(
            Forgetful(3, 1, 5, ONE // 8, ONE // 4, ONE // 2), items_of(Rappor.published())[:5], 1, draws=1, seed=1
        )
    with pytest.raises(AssertionError, match="depends on the answer"):
        check_reading(Hasty(3, ONE // 2), range(3), 0, 1)
    with pytest.raises(AssertionError, match="exceeds"):
        check_law(Overspent(3, ONE // 2), range(3), 0)
    with pytest.raises(AssertionError, match="rules an answer out"):
        check_law(Certain(3, ONE // 2, ONE // 8), range(3), 0)


def test_reports_that_no_device_could_send_are_not_valid() -> None:
    def told(protocol: LocalProtocol, *rows: bytes) -> list[bool]:
        return [bool(x) for x in protocol.valid(np.array([list(row) for row in rows], dtype=np.uint8))]

    assert told(Direct.fitted(5, Fraction(1)), b"\x04", b"\x05") == [True, False]
    assert told(Unary.fitted(9, Fraction(1)), b"\xff\x01", b"\x00\x02") == [True, False]
    assert told(LocalHash(9, Direct.two_coins()), b"\xff" * 8 + b"\x01", bytes(8) + b"\x02") == [True, False]
    assert told(PooledHash(9, 100, Direct.two_coins()), b"\xc7", b"\xc8") == [True, False]
    assert told(Hadamard.fitted(5, Fraction(1)), b"\x07", b"\x08") == [True, False]
    assert told(Projective(9, 3, 3, ONE // 2), b"\x0c", b"\x0d") == [True, False]
    assert told(Subset(9, 2, ONE // 4 * 3), b"\x01\x01", b"\x01\x02", b"\x03\x01", b"\x01\0") == [
        True,
        False,
        False,
        False,
    ]
    assert told(CountMean(3, 9, ONE // 4 * 3), b"\x02\xff\x01", b"\x03\0\0", b"\0\0\x02") == [True, False, False]
    assert told(PLANE, b"\x14", b"\x15") == [True, False]
    assert told(Prefixes(4, 5, 2, 3, PLANE), b"\x3e", b"\x3f") == [True, False]
    assert told(Fragments(4, 5, 2, PLANE), b"\x3e\x14", b"\x3f\x14", b"\x3e\x15") == [True, False, False]
    filtered = Rappor(9, 2, 3, ONE // 4, ONE // 4, ONE // 2)
    assert told(filtered, b"\x02\xff\x01", b"\x03\0\0", b"\0\0\x02") == [True, False, False]
    assert told(PiecewiseMean(4, 2, ONE // 2), b"\x04", b"\x05") == [True, False]
    assert told(OneBitMean(4, ONE // 4 * 3), b"\x01", b"\x02") == [True, False]
    assert told(HybridMean.fitted(4, Fraction(1, 2)), b"\x04", b"\x05", b"\x06", b"\x07") == [False, True, True, False]
    assert told(HadamardCountMean(3, 8, ONE // 4 * 3), b"\x2f", b"\x30") == [True, False]
    both = (Direct.fitted(3, ONCE), Unary.fitted(9, ONCE))
    rows = (b"\0\2\0", b"\0\3\0", b"\0\2\1", b"\1\xff\1", b"\1\0\2", b"\2\0\0")
    assert told(OneOfSeveral(both), *rows) == [True, False, False, True, False, False]
    assert told(AllOfSeveral(both), b"\2\xff\1", b"\3\0\0", b"\0\0\2") == [True, False, False]
