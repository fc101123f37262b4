"""One specification for both sides: canonical, complete, and another id for whatever changes."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from obverse.catalog.load import loads
from obverse.collect.card import ENGLISH, belief_words, card_json, card_text
from obverse.collect.planning import OF_ITEMS, OF_NUMBERS, OF_TEXTS, chosen
from obverse.collect.protocols import HadamardCountMean
from obverse.collect.randomness.coins import ONE, Coins
from obverse.collect.randomness.hashing import item_key, mix, mixed, symbol, symbols_of
from obverse.collect.spec import Spec, read_spec, spec_of
from obverse.core.errors import CatalogError, Refused
from obverse.testing.noiseless import SeededRng
from tests.unit.collect.surveys import spec_for, survey_text


def test_a_specification_comes_back_from_its_document() -> None:
    spec = spec_for(["a", "b", "ü"], "local_hash", "1.5", "per_day = 2\nreports = 30\nlifetime = 9")
    again = spec_of(json.loads(spec.document))
    assert (again.protocol, again.id, again.document) == (spec.protocol, spec.id, spec.document)


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": "1.1"},
        {"options": ["yes", "no"]},
        {"protocol": "unary"},
        {"more": "reports = 2"},
        {"more": 'labels = { de = { no = "nein", yes = "ja" } }'},
        {"more": "minimum = 21"},
    ],
)
def test_whatever_changes_is_another_survey(change: dict[str, Any]) -> None:
    assert spec_for(**change).id != spec_for().id


def test_composed_and_decomposed_letters_are_one_option() -> None:
    assert spec_for(["ü", "b"]).id == spec_for(["ü", "b"]).id
    assert spec_for(["ü", "b"]).code("ü") == 0
    assert item_key("ü") == item_key("ü")


@pytest.mark.parametrize(
    "break_it",
    [
        lambda told: told.pop("consent"),
        lambda told: told.update(extra=1),
        lambda told: told["protocol"].update(truth=ONE),
        lambda told: told["protocol"].update(truth=0.75),
        lambda told: told["protocol"].update(name="certain"),
        lambda told: told["protocol"].update(size="2"),
        lambda told: told["epsilon"].update(report="1/0"),
        lambda told: told["epsilon"].update(report="0.5"),
        lambda told: told["epsilon"].update(lifetime="0"),
        lambda told: told["epsilon"].update(permanent="1"),
        lambda told: told.update(reports="2"),
        lambda told: told.update(reports=0),
        lambda told: told.update(per_day=True),
        lambda told: told.update(per_day=1.5),
        lambda told: told.update(consent={}),
        lambda told: told.update(consent={"en": 1}),
        lambda told: told.update(options=["no", "no"]),
        lambda told: told.update(options=["no", "yes", "perhaps"]),
        lambda told: told.update(none="never"),
        lambda told: told.update(numbers={"low": "0", "high": "1", "step": "1"}),
    ],
)
def test_a_document_that_was_changed_is_refused(break_it: Any) -> None:
    told = spec_for().as_json()
    break_it(told)
    with pytest.raises(Refused) as caught:
        spec_of(told)
    assert caught.value.code == "bad_spec"


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b"1",
        b"[" * 100_000,
        spec_for().document + b" ",
        spec_for(["\u00fc", "b"]).document.replace(b"\xc3\xbc", b"u\xcc\x88"),
    ],
)
def test_bytes_that_are_not_canonical_are_refused(document: bytes) -> None:
    """The id is their hash, so that nothing may be written in two ways."""
    with pytest.raises(Refused) as caught:
        read_spec(document)
    assert caught.value.code == "bad_spec"


@pytest.mark.parametrize("answer", ["\ud800", "a\udfff", "", 3])
def test_what_has_no_bytes_is_no_answer(answer: Any) -> None:
    texts = Spec(replace(spec_for().survey, options=()), HadamardCountMean.fitted(2, Fraction(1)))
    for spec in (texts, spec_for()):
        with pytest.raises(Refused) as caught:
            spec.code(answer)
        assert caught.value.code == "not_an_option"
    assert texts.code("\U0001f600") == item_key("\U0001f600")


def test_the_card_tells_every_epsilon_and_the_odds_in_people() -> None:
    spec = spec_for(protocol="two_coins", epsilon="1.0987", more="per_day = 2\nreports = 30\nlifetime = 9")
    told = card_json(spec)
    assert told["epsilon"] == {"report": "1.09862", "day": "2.19723", "lifetime": "9"}
    text = card_text(spec, "en-GB")
    assert "Do you smoke?" in text
    assert "If your answer is yes, 75 of 100 people like you send yes; if it is no, 25 do." in text
    assert "2 reports a day and 30 reports in all" in text


def test_the_card_is_in_the_languages_of_the_survey_and_its_words_are_under_the_id() -> None:
    spec = spec_for(protocol="two_coins", epsilon="1.0987", more='labels = { de = { no = "nein", yes = "ja" } }')
    text = card_text(spec, "de-AT")
    assert "Rauchst du?" in text
    assert "Ist deine Antwort ja, so senden 75 von 100 Menschen wie du ja; ist sie nein, so tun es 25." in text
    told = spec.as_json()
    assert sorted(told["card"]) == ["de", "en", "und"]
    told["card"]["de"] = told["card"]["de"].replace("1.09862", "0.1")
    with pytest.raises(Refused) as caught:
        spec_of(told)
    assert caught.value.code == "bad_spec"


@pytest.mark.parametrize("protocol", [*OF_ITEMS, *OF_TEXTS])
def test_every_named_protocol_makes_a_survey(protocol: str) -> None:
    spec = spec_for(protocol=protocol, epsilon="4" if protocol == "apple_emoji" else "1.5")
    assert spec.protocol.loss() <= spec.survey.epsilon
    assert spec_of(spec.as_json()).document == spec.document
    assert "epsilon" in card_text(spec)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"protocol": "certain"}, "bad_choice"),
        ({"protocol": "two_coins", "epsilon": "1"}, "bad_parameter"),
        ({"protocol": "two_coins", "epsilon": "2", "options": ["a", "b", "c"]}, "bad_parameter"),
    ],
)
def test_protocols_that_do_not_fit_are_refused(change: dict[str, Any], code: str) -> None:
    with pytest.raises(Refused) as caught:
        spec_for(**change)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"options": ["a", "a"]}, "bad_values"),
        ({"options": ["ü", "ü"]}, "bad_values"),
        ({"options": ["a"]}, "bad_values"),
        ({"more": 'none = "x"'}, "bad_values"),
        ({"more": "bounds = [0, 5]"}, "missing_key"),
        ({"more": "text = true"}, "missing_key"),
        ({"more": "step = 1"}, "conflict"),
        ({"more": 'labels = { de = { no = "nein" } }'}, "bad_values"),
        ({"more": "per_day = 0"}, "bad_parameter"),
        ({"epsilon": "0"}, "bad_parameter"),
    ],
)
def test_surveys_that_contradict_themselves_are_refused(change: dict[str, Any], code: str) -> None:
    with pytest.raises(CatalogError) as caught:
        loads(survey_text(**change), ".")
    assert caught.value.code == code


def test_auto_takes_the_protocol_that_errs_least() -> None:
    assert spec_for(protocol="auto").protocol.name == "direct"
    many = spec_for([f"{i}" for i in range(100)], "auto")
    assert many.protocol.name == "projective"
    assert "errors of others" in chosen(many.survey).why
    assert spec_for(protocol="auto", more="permanent = 2").protocol.name in ("loloha", "memoised_unary")


NUMBERS = survey_text().replace('options = ["no", "yes"]', "bounds = [0, 24]\nstep = 0.5")
TEXTS = survey_text().replace('options = ["no", "yes"]', "text = true")


@pytest.mark.parametrize("protocol", ["auto", *OF_NUMBERS])
def test_numbers_have_places_on_a_grid(protocol: str) -> None:
    survey = loads(NUMBERS.replace('"direct"', f'"{protocol}"'), ".").surveys["it"]
    spec = Spec(survey, chosen(survey).protocol)
    coins = Coins(SeededRng(1).raw)
    assert spec.grid is not None
    assert (spec.grid.size, spec.code(0, coins), spec.code(24, coins), spec.code(99, coins)) == (49, 0, 48, 48)
    assert {spec.code(0.75, coins) for _ in range(50)} == {1, 2}
    assert spec_of(spec.as_json()).document == spec.document


@pytest.mark.parametrize(
    "change", [{"step": "0"}, {"step": "-1/2"}, {"step": "7"}, {"low": "24"}, {"low": "25"}, {"step": "1"}]
)
def test_a_grid_that_is_none_is_refused(change: dict[str, str]) -> None:
    survey = loads(NUMBERS.replace('"direct"', '"one_bit_mean"'), ".").surveys["it"]
    told = Spec(survey, chosen(survey).protocol).as_json()
    told["numbers"].update(change)
    with pytest.raises(Refused) as caught:
        spec_of(told)
    assert caught.value.code == "bad_spec"


@pytest.mark.parametrize("protocol", ["auto", *OF_TEXTS])
def test_any_text_has_a_code(protocol: str) -> None:
    survey = loads(TEXTS.replace('"direct"', f'"{protocol}"').replace("epsilon = 1\n", "epsilon = 4\n"), ".").surveys[
        "it"
    ]
    spec = Spec(survey, chosen(survey).protocol)
    assert spec.code("naïve") == spec.code("nai\u0308ve") == item_key("naïve")
    with pytest.raises(Refused):
        spec.code("")


def test_hashes_of_many_are_those_of_one() -> None:
    import numpy as np

    words = np.array([0, 1, 2**63, 2**64 - 1, 123456789], dtype=np.uint64)
    assert mixed(words.copy()).tolist() == [mix(int(word)) for word in words]
    items = np.arange(5, dtype=np.uint64)
    assert symbols_of(words, items, 7).tolist() == [symbol(int(s), int(i), 7) for s, i in zip(words, items)]


@pytest.mark.parametrize(("epsilon", "most"), [("1", "73.2"), ("4", "98.3"), ("40", "100"), ("700", "100")])
def test_a_belief_is_rounded_up_and_never_more_than_all(epsilon: str, most: str) -> None:
    assert f" {most} %" in belief_words(Fraction(epsilon), ENGLISH)


def test_options_labels_and_none_are_the_same_texts_however_they_were_typed() -> None:
    """A keyboard that sends letters and accents one after the other names the same option."""
    apart = "Zu\u0308rich"
    whole = "Z\u00fcrich"
    labels = 'labels = {{ de = {{ no = "nein", "{0}" = "x" }} }}\nnone = "{0}"'
    typed, known = (spec_for(["no", name], more=labels.format(name)) for name in (apart, whole))
    assert typed.document == known.document
    assert typed.survey.none == whole
