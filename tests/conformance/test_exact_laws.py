"""What a device draws is what its protocol claims, exactly: every outcome of every coin is gone through, in both
languages.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import pytest

import obverse
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
    Subset,
    Unary,
)
from obverse.collect.randomness.coins import ONE, Coins
from obverse.collect.spec import protocol_json
from tests.servers import missing

LAWS = Path(__file__).parents[1] / "js" / "laws.mjs"
MODULE = Path(obverse.__file__).parent / "collect" / "js" / "obverse-local.js"
SEEDS = (77, (1 << 63) + 5)
PLANE = ProjectiveSketch(3, Projective(7, 2, 3, ONE // 3))
FEW = (Direct.fitted(3, Fraction(1)), Unary.fitted(2, Fraction(2)))
SMALL: tuple[LocalProtocol, ...] = (
    *(
        Direct.two_coins(),
        Direct.fitted(3, Fraction(2)),
        Unary.fitted(3, Fraction(1)),
        LocalHash.fitted(5, Fraction(1)),
    ),
    *(PooledHash(5, 37, Direct.fitted(4, Fraction(1))), Hadamard.fitted(5, Fraction(3)), Subset(4, 2, ONE // 4 * 3)),
    *(Projective(6, 5, 2, ONE // 9), Projective(7, 2, 3, ONE // 3), CountMean(3, 4, ONE // 4 * 3)),
    *(HadamardCountMean(3, 8, ONE // 4 * 3), PLANE, Prefixes(4, 5, 2, 3, PLANE), Fragments(4, 5, 2, PLANE)),
    *(
        Rappor(3, 2, 5, ONE // 4, ONE // 2, ONE // 4 * 3),
        Loloha.fitted(7, Fraction(1)),
        MemoisedUnary.fitted(2, Fraction(1)),
    ),
    *(OneBitMean.fitted(5, Fraction(1)), PiecewiseMean.fitted(5, Fraction(2)), HybridMean.fitted(3, Fraction(1))),
    *(OneOfSeveral(FEW), AllOfSeveral(FEW)),
)
NOT_IN_PAGES = {"one_bit_mean", "piecewise_mean", "hybrid_mean", "projective_sketch", "prefixes", "fragments"}


class EveryCoin:
    """Coins that come out in every way, one after the other, each with its exact chance."""

    def __init__(self) -> None:
        self.path: list[list[int]] = []  # which outcome, of how many
        self.depth = 0
        self.chance = Fraction(1)

    def again(self) -> bool:
        """Turn to the next outcome; false when all were seen."""
        del self.path[self.depth :]
        self.depth = 0
        self.chance = Fraction(1)
        while self.path:
            self.path[-1][0] += 1
            if self.path[-1][0] < self.path[-1][1]:
                return True
            self.path.pop()
        return False

    def drawn(self, chances: Sequence[Fraction]) -> int:
        if self.depth == len(self.path):
            self.path.append([0, len(chances)])
        found = self.path[self.depth][0]
        self.depth = self.depth + 1
        self.chance = self.chance * chances[found]
        return found

    def flip(self, odds: int) -> bool:
        return bool(self.drawn([1 - Fraction(odds, ONE), Fraction(odds, ONE)]))

    def below(self, bound: int) -> int:
        return self.drawn([Fraction(1, bound)] * bound)

    def below_each(self, bounds: Sequence[int]) -> list[int]:
        return [self.below(bound) for bound in bounds]

    def vector(self, odds: int, size: int) -> int:
        return sum(self.flip(odds) << place for place in range(size))


def drawn_law(protocol: LocalProtocol, code: int, seed: int) -> dict[bytes, Fraction]:
    coins = EveryCoin()
    found = defaultdict[bytes, Fraction](Fraction)
    more = True
    while more:
        sent = protocol.report(code, cast(Coins, coins), seed)
        found[sent] += coins.chance
        more = coins.again()
    return found


def cases(protocol: LocalProtocol) -> Iterator[tuple[int, int, dict[bytes, Fraction]]]:
    """Two seeds, some items of each, and the law that the protocol claims."""
    codes = (341, (1 << 9) + 4) if protocol.coded in ("key", "word") else range(min(protocol.size, 3))  # type: ignore[attr-defined]
    for seed in SEEDS:
        for code in codes:
            claimed = {sent: protocol.probability(code, sent, seed) for sent in protocol.payloads(seed)}
            yield code, seed, {sent: chance for sent, chance in claimed.items() if chance}


@pytest.mark.parametrize("protocol", SMALL, ids=lambda protocol: f"{protocol.name}-{protocol.length}")
def test_every_outcome_of_the_coins_adds_up_to_the_claimed_law(protocol: LocalProtocol) -> None:
    for code, seed, claimed in cases(protocol):
        assert drawn_law(protocol, code, seed) == claimed


def test_every_protocol_is_gone_through() -> None:
    assert {protocol.name for protocol in SMALL} == {kind.name for kind in PROTOCOLS}


def test_javascript_draws_the_same_laws(tmp_path: Path) -> None:
    """In doubles, to nine digits; that thresholds are met to the last one is for the vectors to tell."""
    node = shutil.which("node")
    if node is None:
        missing("Node.js")
        raise AssertionError
    told: list[dict[str, Any]] = []
    for protocol in (one for one in SMALL if one.name not in NOT_IN_PAGES):
        for code, seed, claimed in cases(protocol):
            law = {sent.hex(): float(chance) for sent, chance in claimed.items()}
            told.append({"protocol": protocol_json(protocol), "code": str(code), "seed": str(seed), "law": law})
    file = tmp_path / "laws.json"
    file.write_text(json.dumps(told), encoding="ascii")
    ran = subprocess.run([node, str(LAWS), str(MODULE), str(file)], capture_output=True, text=True, timeout=120)
    assert ran.stdout.split() == [str(len(told)), "laws,", "0", "faults"], ran.stdout + ran.stderr
