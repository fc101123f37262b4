"""Strict decoding: every way in which a report can be wrong is a reason of its own, and what is right is counted
once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from obverse.collect.collector import Submitted, accept
from obverse.collect.randomness.coins import Coins
from obverse.collect.spec import Spec
from obverse.collect.tally import empty, tallied
from obverse.collect.wire import TOKEN_BYTES, Mint
from obverse.core.errors import Refused
from obverse.core.rng import Rng
from obverse.testing.noiseless import SeededRng
from tests.unit.collect.surveys import spec_for

KINDS = ["direct", "unary", "local_hash", "pooled_hash", "hadamard", "count_mean", "hadamard_count_mean"]


def minted(spec: Spec) -> Mint:
    return Mint(bytes(range(32)), spec.digest)


def sent(spec: Spec, token: bytes, answer: str = "yes", epoch: int = 0) -> Submitted:
    payload = spec.protocol.report(spec.code(answer), Coins(SeededRng(4).raw), spec.seed(token))
    return Submitted(spec.frame.framed(epoch, payload), token)


def none(marks: object) -> set[bytes]:
    return set()


@pytest.mark.parametrize("protocol", KINDS)
def test_a_report_is_counted_once(protocol: str) -> None:
    spec = spec_for(protocol=protocol)
    mint = minted(spec)
    tokens = [mint.issue(Rng()) for _ in range(5)]
    came = [sent(spec, token) for token in tokens]
    found = accept(spec, mint, 0, [*came, came[0]], none)
    assert (len(found.payloads), found.rejected) == (5, {"spent": 1})
    later = accept(spec, mint, 0, came, lambda marks: set(found.marks[:2]) & set(marks))
    assert (len(later.payloads), later.rejected) == (3, {"spent": 2})
    assert {len(mark) for mark in found.marks} == {16}
    assert not any(token in b"".join(found.marks) for token in tokens)


def cut(report: bytes, _: Spec) -> bytes:
    return report[:-1]


def of_another_survey(report: bytes, _: Spec) -> bytes:
    return bytes(8) + report[8:]


def of_another_epoch(report: bytes, _: Spec) -> bytes:
    return report[:8] + b"\x01\x00" + report[10:]


def out_of_range(report: bytes, spec: Spec) -> bytes:
    return report[:10] + b"\xff" * spec.protocol.length


@pytest.mark.parametrize(
    ("change", "reason"),
    [(cut, "length"), (of_another_survey, "survey"), (of_another_epoch, "epoch"), (out_of_range, "range")],
)
def test_every_fault_has_its_reason(change: Callable[[bytes, Spec], bytes], reason: str) -> None:
    spec = spec_for()
    mint = minted(spec)
    token = mint.issue(Rng())
    found = accept(spec, mint, 0, [Submitted(change(sent(spec, token).report, spec), token)], none)
    assert (len(found.payloads), found.rejected) == (0, {reason: 1})


@pytest.mark.parametrize("protocol", ["local_hash", "pooled_hash", "count_mean", "hadamard_count_mean"])
def test_nobody_chooses_the_hash_of_their_report(protocol: str) -> None:
    spec = spec_for(protocol=protocol)
    mint = minted(spec)
    token = mint.issue(SeededRng(1))
    other = mint.issue(SeededRng(2))
    found = accept(spec, mint, 0, [Submitted(sent(spec, other).report, token)], none)
    assert (len(found.payloads), found.rejected) == (0, {"seed": 1})
    assert found.marks  # the token is spent all the same: a second try would be a choice


@pytest.mark.parametrize("token", [b"", bytes(TOKEN_BYTES), bytes(TOKEN_BYTES - 1), bytes(TOKEN_BYTES + 1)])
def test_tokens_that_were_not_issued_are_rejected(token: bytes) -> None:
    spec = spec_for()
    found = accept(spec, minted(spec), 0, [sent(spec, token)], none)
    assert (len(found.payloads), found.rejected) == (0, {"token": 1})


def test_a_token_of_another_survey_is_none_of_this_one() -> None:
    spec = spec_for()
    other = spec_for(epsilon="2")
    token = minted(other).issue(Rng())
    assert minted(other).genuine(token)
    assert not minted(spec).genuine(token)
    assert not Mint(bytes(32), other.digest).genuine(token)


def test_tallies_of_two_surveys_do_not_add_up() -> None:
    one = spec_for()
    other = spec_for(epsilon="2")
    with pytest.raises(Refused) as caught:
        empty(one.digest, one.protocol).plus(empty(other.digest, other.protocol))
    assert caught.value.code == "other_survey"


@pytest.mark.parametrize("protocol", KINDS)
def test_tallies_are_a_commutative_monoid(protocol: str) -> None:
    spec = spec_for([str(i) for i in range(9)], protocol)
    rng = SeededRng(9)
    codes = np.array(spec.codes(), dtype=np.uint64)[rng.below(9, 300)]
    payloads = spec.protocol.reports(codes, rng)
    a, b, c = (tallied(spec.digest, spec.protocol, part) for part in np.split(payloads, [100, 150]))
    nothing = empty(spec.digest, spec.protocol)
    assert a.plus(b).same(b.plus(a))
    assert a.plus(b).plus(c).same(a.plus(b.plus(c)))
    assert a.plus(nothing).same(a)
    assert a.plus(b).plus(c).same(tallied(spec.digest, spec.protocol, payloads))
    assert not a.same(b)
