"""Surveys that tests of the local model share."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from obverse.catalog.load import loads
from obverse.collect.planning import chosen
from obverse.collect.protocols import HadamardCountMean, OneBitMean
from obverse.collect.randomness.coins import ONE
from obverse.collect.spec import Spec

LETTERS = ["a", "b", "c", "d"]
LONG = "reports = 400\nper_day = 400\nlifetime = {}"

TOML = """
[project]
name = "class"
[surveys.it]
question = {{ en = "Do you smoke?", de = "Rauchst du?" }}
options = {options}
protocol = "{protocol}"
epsilon = {epsilon}
people = 1000
retention_days = 30
purpose = "A lecture."
consent = "I agree."
{more}
"""


def survey_text(options: list[str] | None = None, protocol: str = "direct", epsilon: str = "1", more: str = "") -> str:
    listed = str(options or ["no", "yes"]).replace("'", '"')
    return TOML.format(options=listed, protocol=protocol, epsilon=epsilon, more=more)


def spec_for(options: list[str] | None = None, protocol: str = "direct", epsilon: str = "1", more: str = "") -> Spec:
    survey = loads(survey_text(options, protocol, epsilon, more), ".").surveys["it"]
    return Spec(survey, chosen(survey).protocol)


SEVERAL = """
[surveys.it.questions.smokes]
question = {{ en = "Do you smoke?", de = "Rauchst du?" }}
options = ["no", "yes"]
protocol = "{0}"
[surveys.it.questions.town]
question = "Where do you live?"
options = ["a", "Zu\u0308rich", "c", "nowhere"]
none = "nowhere"
protocol = "{1}"
{2}
"""
HOURS = """
[surveys.it.questions.hours]
question = "How long do you sleep?"
bounds = [0, 12]
step = 3
"""


def several_text(
    split: str = "one",
    protocols: tuple[str, str] = ("direct", "unary"),
    more: str = "",
    last: str = "",
    epsilon: str = "1",
) -> str:
    """A survey of two questions, and of numbers too where `last` is HOURS."""
    plain = survey_text(epsilon=epsilon, more=f'split = "{split}"\n{more}')
    plain = plain.replace('options = ["no", "yes"]\nprotocol = "direct"\n', "")
    return plain + SEVERAL.format(*protocols, last)


def several_spec(
    split: str = "one",
    protocols: tuple[str, str] = ("direct", "unary"),
    more: str = "",
    last: str = "",
    epsilon: str = "1",
) -> Spec:
    survey = loads(several_text(split, protocols, more, last, epsilon), ".").surveys["it"]
    return Spec(survey, chosen(survey).protocol)


def lasting_spec(protocol: object, lifetime: str = "100") -> Spec:
    return replace(spec_for(LETTERS, more=LONG.format(lifetime)), protocol=protocol)  # type: ignore[arg-type]


def numbers_spec(size: int = 11) -> Spec:
    plain = spec_for(more=LONG.format("1"))
    asked = replace(plain.survey, options=(), bounds=(Fraction(0), Fraction(size - 1)), step=Fraction(1))
    return Spec(asked, OneBitMean.fitted(size, Fraction(1)))


def text_spec() -> Spec:
    asked = replace(spec_for(more=LONG.format("1")).survey, options=())
    return Spec(asked, HadamardCountMean(4, 16, ONE // 4 * 3))
