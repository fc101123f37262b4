"""Tallies: a commutative monoid, saved and read again; what was tampered with is refused."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace

import numpy as np
import pytest

from obverse.collect.tally import MAGIC, Tally, empty, loaded, tallied
from obverse.core.errors import Refused
from obverse.core.rng import Rng
from tests.unit.collect.surveys import spec_for

SPEC = spec_for(["a", "b", "c"], "hadamard_count_mean", "2")


def some(n: int) -> Tally:
    return tallied(SPEC.digest, SPEC.protocol, SPEC.protocol.reports(np.arange(n, dtype=np.uint64), Rng()))


def test_order_and_grouping_do_not_matter_and_nothing_adds_nothing() -> None:
    a = some(5)
    b = some(7)
    c = some(11)
    assert a.plus(b).plus(c).same(c.plus(a.plus(b)))
    assert a.plus(empty(SPEC.digest, SPEC.protocol)).same(a)
    assert not a.same(b)
    assert (replace(a, gone=3).plus(replace(b, gone=4)).gone, a.same(replace(a, gone=1))) == (7, False)


def test_what_is_saved_is_read_again() -> None:
    told = some(50)
    told = Tally(told.survey, told.n, told.counts, {"length": 3}, 2, frozenset({"0a" * 16, "0b" * 16}), 4)
    assert loaded(SPEC.digest, SPEC.protocol, told.saved()).same(told)


def test_a_collector_counts_once() -> None:
    one, other, both = (
        replace(some(9), collectors=frozenset(names)) for names in (["0a" * 16], ["0b" * 16], ["0a" * 16, "0b" * 16])
    )
    assert one.plus(other).collectors == both.collectors
    assert one.plus(some(3)).plus(some(3)).collectors == one.collectors
    with pytest.raises(Refused) as caught:
        one.plus(both)
    assert caught.value.code == "same_collector"


def spoiled(**changed: object) -> bytes:
    head, packed = some(50).saved()[len(MAGIC) :].split(b"\n", 1)
    return MAGIC + json.dumps({**json.loads(head), **changed}).encode() + b"\n" + packed


@pytest.mark.parametrize(
    ("saved", "code"),
    [
        (b"", "not_a_tally"),
        (MAGIC + b"{}\n", "not_a_tally"),
        (some(50).saved()[:-1], "not_a_tally"),
        (spoiled(n=1), "not_a_tally"),  # fewer people than counts
        (spoiled(n=-1), "not_a_tally"),
        (spoiled(gone=-1), "not_a_tally"),
        (spoiled(n=50.0), "not_a_tally"),
        (spoiled(odd=51), "not_a_tally"),
        (spoiled(rejected=3), "not_a_tally"),
        (spoiled(rejected={"x": float("inf")}), "not_a_tally"),
        (spoiled(rejected={"x": -1}), "not_a_tally"),
        (spoiled(n=1 << 60), "not_a_tally"),
        (MAGIC + b"[" * 200_000 + b"\n", "not_a_tally"),
        (spoiled(collectors="0a" * 16), "not_a_tally"),
        (spoiled(collectors=["0A" * 16]), "not_a_tally"),
        (spoiled(collectors=[None]), "not_a_tally"),
        (spoiled(survey="00"), "other_survey"),
        (
            MAGIC + b"\n".join([some(9).saved()[len(MAGIC) :].split(b"\n", 1)[0], zlib.compress(b"\0" * 10**7)]),
            "not_a_tally",
        ),
    ],
)
def test_what_does_not_fit_is_refused(saved: bytes, code: str) -> None:
    with pytest.raises(Refused) as caught:
        loaded(SPEC.digest, SPEC.protocol, saved)
    assert caught.value.code == code


def test_counts_below_nothing_are_refused_where_no_signs_are_summed() -> None:
    plain = spec_for(["a", "b", "c"])
    assert loaded(plain.digest, plain.protocol, Tally(plain.digest, 30, np.array([5, 0, 25])).saved()).n == 30
    with pytest.raises(Refused) as caught:
        loaded(plain.digest, plain.protocol, Tally(plain.digest, 30, np.array([-5, 10, 25])).saved())
    assert caught.value.code == "not_a_tally"
