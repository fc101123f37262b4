"""Warnings to makers of surveys: reports that averaging undoes, lifetimes that are spent, questions the page cannot
ask.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import obverse.collect
from obverse.catalog.load import loads
from obverse.collect.cautions import IN_BROWSERS, cautions, named_by_averaging
from obverse.collect.planning import chosen
from obverse.collect.spec import Spec
from obverse.testing.noiseless import SeededRng
from tests.unit.collect.surveys import (
    HOURS,
    LETTERS,
    numbers_spec,
    several_spec,
    several_text,
    spec_for,
    survey_text,
    text_spec,
)

MONTH = "reports = 30"


def names(spec: Spec) -> list[str]:
    return [one.name for one in cautions(spec)]


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ("", []), ("reports = 3", []), (MONTH, ["averaging"]), (MONTH + "\nlifetime = 3", ["lifetime"]),
        (MONTH + "\nlifetime = 20", ["averaging", "lifetime"]),
        (f'shuffler = {{ key = "{"00" * 32}" }}', ["page"]),
    ],
)  # fmt: skip
def test_makers_are_warned(more: str, found: list[str]) -> None:
    assert names(spec_for(more=more)) == found


def test_many_reports_that_tell_next_to_nothing_are_no_danger() -> None:
    assert names(spec_for(epsilon="0.1", more=MONTH)) == []


def test_permanent_answers_are_not_averaged_and_may_run_out() -> None:
    assert names(spec_for(protocol="auto", more=MONTH + "\npermanent = 2")) == []
    (one,) = cautions(spec_for(LETTERS, protocol="auto", more=MONTH + "\npermanent = 2\nlifetime = 2"))
    assert one.name == "lifetime"


@pytest.mark.parametrize(
    ("days", "people", "more", "warned"),
    [
        (10, 15, "lifetime = 3", True), (33, 15, "lifetime = 3", False), (34, 15, "lifetime = 3", False),
        (10, 30, "lifetime = 3", False), (10, 15, "", False),
    ],
)  # fmt: skip
def test_a_retention_that_ends_before_the_schedule_is_warned_of(
    days: int, people: int, more: str, *, warned: bool
) -> None:
    """Of few people, whose counts are deleted with their reports; what is advised works as it is written."""
    text = survey_text(more=f"{MONTH}\n{more}").replace("people = 1000", f"people = {people}")
    for line, told in (("", warned), ("retention_days = 34", False)):
        text = re.sub(r"retention_days = \d+", line or f"retention_days = {days}", text)
        survey = loads(text, ".").surveys["it"]
        found = [one for one in cautions(Spec(survey, chosen(survey).protocol)) if one.name == "retention"]
        assert bool(found) == told
        assert all("`retention_days = 34`" in one.fix for one in found)


@pytest.mark.parametrize("options", [["no", "yes"], LETTERS])
@pytest.mark.parametrize("more", [MONTH, MONTH + "\nlifetime = 5", MONTH + "\nlifetime = 20"])
def test_what_is_advised_works_as_it_is_written(options: list[str], more: str) -> None:
    """Each line in backticks, typed into obverse.toml: then that warning is gone."""
    for protocol in ("direct", "auto"):
        spec = spec_for(options, protocol, "2", more)
        for one in cautions(spec):
            for key, line in re.findall(r"`((\w+) = [^`]+)`", one.fix):
                text = survey_text(options, "auto", "2", more)
                text = re.sub(rf"^{line} = .*\n", "", text, flags=re.MULTILINE) + key + "\n"
                survey = loads(text, ".").surveys["it"]
                assert one.name not in names(Spec(survey, chosen(survey).protocol)), key


@pytest.mark.parametrize("split", ["one", "budget"])
def test_several_questions_are_warned_of_together(split: str) -> None:
    assert names(several_spec(split, epsilon="4", more=MONTH)) == ["averaging"]
    assert names(several_spec(split, last=HOURS)) == ["page"]
    assert "permanent" not in cautions(several_spec(split, epsilon="4", more=MONTH))[0].fix
    assert several_text(split)


def test_numbers_and_words_are_not_asked_in_browsers() -> None:
    assert "page" in names(numbers_spec())
    assert "page" not in names(text_spec())
    words = survey_text(None, "auto").replace('options = ["no", "yes"]', "text = true\nletters = 4")
    survey = loads(words, ".").surveys["it"]
    assert names(Spec(survey, chosen(survey).protocol)) == ["page"]


def test_browsers_know_as_many_protocols_as_their_program_has() -> None:
    source = (Path(obverse.collect.__file__).parent / "js" / "obverse-local.js").read_text(encoding="utf-8")
    listed = re.search(r"const PROTOCOLS = \{(.*?)\};", source, re.DOTALL)
    assert listed is not None
    known = {entry.partition(":")[0].strip() for entry in listed.group(1).split(",") if entry.strip()}
    assert known == IN_BROWSERS


@pytest.mark.parametrize(
    ("options", "protocol", "epsilon"),
    [
        (["no", "yes"], "direct", "1"),
        (["no", "yes"], "direct", "0.4"),
        (LETTERS, "unary", "1"),
        (LETTERS, "hadamard", "1"),
    ],
)
def test_an_averaging_attacker_is_right_for_about_as_many_as_are_told(
    options: list[str], protocol: str, epsilon: str
) -> None:
    """2,000 people, attacked by the estimates of their own 30 reports: right for as many within 4 points (six
    deviations, so a
    false alarm is below 1e-7; the seed is fixed)."""
    spec = spec_for(options, protocol, epsilon, MONTH)
    rng = SeededRng(5)
    truth = np.random.default_rng(5).integers(0, 2, 2000)
    items = np.arange(2, dtype=np.uint64)
    right = 0
    for held in truth.tolist():
        counts = spec.protocol.fold(spec.protocol.reports(np.full(30, held, dtype=np.uint64), rng))
        found = spec.protocol.estimate(counts, 30, items).value
        right += int(found[held] > found[1 - held]) + 0.5 * int(found[0] == found[1])
    told = named_by_averaging(spec)
    assert right / 2000 >= told - 0.04
    if len(options) == 2:
        assert right / 2000 <= told + 0.04
