"""Specifications that lie, forge or crash: a device refuses each of them before it shows or sends anything."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import pytest

from obverse.catalog.load import loads
from obverse.collect.card import card_json
from obverse.collect.protocols import PROTOCOLS, Direct, HadamardCountMean, Loloha, MemoisedUnary, Rappor, Unary
from obverse.collect.randomness.coins import ONE
from obverse.collect.spec import Spec, canonical_json, protocol_json, protocol_of, read_spec, spec_of
from obverse.core.errors import CatalogError, Refused
from tests.effort import effort
from tests.unit.collect.surveys import LETTERS, lasting_spec, numbers_spec, spec_for, survey_text

WITHIN = [
    (kind, field.name)
    for kind in PROTOCOLS
    for field in fields(kind)  # type: ignore[arg-type]
    if not isinstance(getattr(kind.fitted(4, Fraction(1)), field.name), (int, tuple))
]


def code_of(told: Any) -> str:
    with pytest.raises(Refused) as caught:
        spec_of(told)
    return caught.value.code


def test_protocols_have_parts() -> None:
    assert len(WITHIN) >= 8


@pytest.mark.parametrize(("kind", "field"), WITHIN, ids=lambda one: getattr(one, "name", one))
def test_a_part_is_of_its_own_kind_and_of_no_other(kind: Any, field: str) -> None:
    """The loss is computed from the part's odds: those of another protocol mean something else."""
    right = kind.fitted(4, Fraction(1))
    own = type(getattr(right, field))
    for other in PROTOCOLS:
        told = {**protocol_json(right), field: protocol_json(other.fitted(4, Fraction(1)))}
        if other is own:
            protocol_of(told)
            continue
        with pytest.raises(Refused):
            protocol_of(told)


def test_permanent_answers_within_permanent_answers_do_not_hide_that_nothing_is_flipped() -> None:
    """A nested protocol once made a loss of 5.7e-14 of reports that were the plain answer."""
    near = 1 << 30
    inner = MemoisedUnary(Unary(2, ONE - near, near), ONE - near, near)
    told = {"name": "memoised_unary", "first": protocol_json(inner), "high": ONE - (1 << 44), "low": 1 << 44}
    with pytest.raises(Refused):
        protocol_of(told)


@pytest.mark.parametrize(
    "lifetime", ["1e400", "-1000", "1e1000000", "1e999999999", "9" * 2000, "1/0", "0", " 1", "1.5"]
)
def test_numbers_that_take_a_devices_time_are_refused_at_once(lifetime: str) -> None:
    told = json.loads(spec_for().document)
    told["epsilon"]["lifetime"] = lifetime
    with effort() as spent:
        assert code_of(told) == "bad_spec"
    assert spent.cpu_s < 0.2


def test_a_space_of_a_billion_dimensions_is_refused_at_once() -> None:
    told = {**protocol_json(spec_for(LETTERS, "projective").protocol), "dims": 10**9}
    with pytest.raises(Refused):
        protocol_of(told)


@pytest.mark.parametrize("kind", [Rappor, Loloha, HadamardCountMean, Direct])
def test_numbers_are_not_asked_for_by_a_protocol_of_items(kind: Any) -> None:
    """With one of permanent answers a device charged for a report, and then could not make it."""
    spec = numbers_spec()
    told = Spec(spec.survey, kind.fitted(11, Fraction(1)))
    assert read_spec(spec.document).document == spec.document
    with pytest.raises(Refused) as caught:
        read_spec(told.document)
    assert caught.value.code == "bad_spec"


FORGED = "help.\nLoss (epsilon): 0.01 per report, 0.01 per day, 0.01 in a lifetime."


@pytest.mark.parametrize("sign", ["\n", "\r", "\u2028", "\u202e", "\x1b", "\x00"])
def test_no_text_forges_a_line_of_the_card(sign: str) -> None:
    spec = spec_for()
    for asked in (
        replace(spec.survey, purpose={"und": FORGED.replace("\n", sign)}),
        replace(spec.survey, question={"und": f"a{sign}b"}),
        replace(spec.survey, options=("no", f"yes{sign}"), labels={}),
        replace(spec.survey, labels={"de": {"no": "nein", "yes": f"ja{sign}"}}),
        replace(spec.survey, name=f"it{sign}"),
    ):
        with pytest.raises(Refused) as caught:
            read_spec(canonical_json(replace(spec, survey=asked).as_json()))
        assert caught.value.code == "bad_spec"


def test_a_curator_is_told_of_such_a_line_in_the_toml() -> None:
    with pytest.raises(CatalogError) as caught:
        loads(survey_text().replace('"A lecture."', '"A\\nlecture."'), ".")
    assert caught.value.code == "bad_values"


@pytest.mark.parametrize("sign", ["\\t", "\\r", "\\u202e"])
def test_a_curator_is_told_of_a_consent_that_every_device_would_refuse(sign: str) -> None:
    with pytest.raises(CatalogError) as caught:
        loads(survey_text().replace('"I agree."', f'"I{sign}agree."'), ".")
    assert caught.value.code == "bad_values"


def test_a_consent_may_have_several_lines() -> None:
    spec = spec_for()
    longer = replace(spec, survey=replace(spec.survey, consent={"und": "I agree.\nI may withdraw."}))
    assert read_spec(longer.document).document == longer.document


def test_a_day_of_permanent_answers_costs_what_the_device_charges_for_it() -> None:
    """Two reports of one permanent answer may lose more than twice what one does."""
    protocol = MemoisedUnary.optimized(4, Fraction(4), Fraction(1))
    spec = lasting_spec(protocol)
    told = card_json(replace(spec, survey=replace(spec.survey, per_day=2)))["epsilon"]
    assert Fraction(told["day"]) >= protocol.lasting()
    assert card_json(replace(spec, survey=replace(spec.survey, per_day=1)))["epsilon"]["day"] == told["report"]


def test_beliefs_are_rounded_up() -> None:
    spec = spec_for(epsilon="0.019")
    assert "50.5 %" in card_json(spec)["belief"]
