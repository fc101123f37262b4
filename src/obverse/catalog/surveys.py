"""The [surveys.NAME] of obverse.toml: what is asked, how often, and what one report and all of them may cost."""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from typing import Any

from obverse.catalog.locate import Document, KeyParts
from obverse.catalog.model import Question, Survey, Texts
from obverse.catalog.spelling import spelling
from obverse.core.errors import Refused
from obverse.core.numbers import exact

PEOPLE = 1000
MINIMUM = 20
STEPS = 100
PLACES_MAX = 2**16  # of a numeric grid
NO_LANGUAGE = "und"
UNSEEN = ("Cc", "Zl", "Zp", "Cs")
TURNING = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
SHUFFLER_KEY = re.compile(r"[0-9a-f]{64}")


def survey(name: str, raw: dict[str, Any], document: Document) -> Survey:
    path = ("surveys", name)
    epsilon = exact(raw["epsilon"])
    reports = raw.get("reports", 1)
    asked = _question(name, raw, path, document)
    questions = _questions(raw, path, document)
    if (bool(asked.options), asked.bounds is not None, bool(raw.get("text")), bool(questions)).count(True) != 1:
        fix = (
            'Add options = ["no", "yes"], or bounds = [0, 24], or text = true, or several '
            "[surveys.NAME.questions.NAME]."
        )
        raise document.error(
            "missing_key", (*path, "options"), "a survey asks for one of options, numbers or texts", fix=fix
        )
    _check_lines(raw, (asked, *questions), path, document)
    return Survey(
        name=name,
        question=asked.question,
        options=asked.options,
        labels=asked.labels,
        none=asked.none,
        bounds=asked.bounds,
        step=asked.step,
        protocol=asked.protocol,
        epsilon=epsilon,
        permanent=exact(raw["permanent"]) if "permanent" in raw else None,
        people=raw.get("people", PEOPLE),
        reports=reports,
        per_day=raw.get("per_day", 1),
        lifetime=exact(raw["lifetime"]) if "lifetime" in raw else epsilon * reports,
        minimum=raw.get("minimum", MINIMUM),
        retention_days=raw["retention_days"],
        purpose=texts(raw["purpose"]),
        consent=texts(raw["consent"]),
        split=raw.get("split", "one") if questions else None,
        questions=questions,
        shuffler=_shuffler(raw, path, document),
        spelling=spelling(raw, path, document),
    )


def _check_lines(raw: dict[str, Any], asked: tuple[Question, ...], path: KeyParts, document: Document) -> None:
    """What people read beside the figures of a card is of one line each; what they consent to may have several."""
    shown = [*texts(raw["purpose"]).values(), *(text.replace("\n", " ") for text in texts(raw["consent"]).values())]
    for one in asked:
        labels = [label for texts_ in one.labels.values() for label in texts_.values()]
        shown += [one.name, *one.question.values(), *one.options, *labels]
    if not all(is_line(text) for text in shown):
        message = (
            "what people read has a line break, a control sign such as a tab, or one that turns the direction "
            "of "
            "writing"
        )
        fix = "Write questions, options, labels and purpose in one line each; a consent may have several, without tabs."
        raise document.error("bad_values", path, message, fix=fix)


def _shuffler(raw: dict[str, Any], path: KeyParts, document: Document) -> str | None:
    key: str | None = raw.get("shuffler", {}).get("key")
    if key is not None and not SHUFFLER_KEY.fullmatch(key):
        message = "a shuffler's key has 64 digits in hexadecimal, in small letters"
        raise document.error(
            "bad_values", (*path, "shuffler", "key"), message, fix="Take it from `obverse collect shuffler`."
        )
    return key


def _question(name: str, raw: dict[str, Any], path: KeyParts, document: Document) -> Question:
    options = _options(raw, path, document)
    bounds = _bounds(raw, path, document)
    return Question(
        name=name,
        question=texts(raw["question"]),
        options=options,
        labels=_labels(raw, options, path, document),
        none=_none(raw, options, path, document),
        bounds=bounds,
        step=_step(raw, bounds, path, document),
        protocol=raw.get("protocol", "auto"),
    )


def _questions(raw: dict[str, Any], path: KeyParts, document: Document) -> tuple[Question, ...]:
    """Several questions of one survey; what belongs to each of them stands nowhere else."""
    asked = raw.get("questions", {})
    for key in ("protocol", "permanent") if asked else ("split",):
        if key in raw:
            message = f"{key} does not go with several questions" if asked else "a split takes several questions"
            raise document.error(
                "conflict", (*path, key), message, fix=f"Remove {key!r}, or the [surveys.NAME.questions]."
            )
    found = tuple(_question(name, one, (*path, "questions", name), document) for name, one in asked.items())
    for one in found:
        if bool(one.options) == (one.bounds is not None):
            fix = 'Add options = ["no", "yes"], or bounds = [0, 24].'
            where = (*path, "questions", one.name, "options")
            raise document.error("missing_key", where, "a question asks for one of options or numbers", fix=fix)
    return found


def is_line(text: Any) -> bool:
    """Whether this is a text of one line, without signs that move others about: what is shown beside it stays as it
    is.
    """
    return isinstance(text, str) and not any(unicodedata.category(sign) in UNSEEN or sign in TURNING for sign in text)


def texts(raw: str | dict[str, str]) -> Texts:
    return {NO_LANGUAGE: raw} if isinstance(raw, str) else dict(sorted(raw.items()))


def _options(raw: dict[str, Any], path: KeyParts, document: Document) -> tuple[str, ...]:
    found = tuple(map(_composed, raw.get("options", ())))
    if found and (len(found) < 2 or len(set(found)) < len(found) or "" in found):
        message = "options are two different texts or more"
        raise document.error("bad_values", (*path, "options"), message, fix="Name each answer once.")
    return found


def _composed(text: str) -> str:
    """As devices compare it (NFC): one option is one text on every keyboard."""
    return unicodedata.normalize("NFC", text)


def _none(raw: dict[str, Any], options: tuple[str, ...], path: KeyParts, document: Document) -> str | None:
    none = _composed(raw["none"]) if "none" in raw else None
    if none is not None and none not in options:
        message = "the option for no answer is not among the options"
        raise document.error(
            "bad_values", (*path, "none"), message, fix=f"Add {none!r} to the options, or remove the key."
        )
    return none


def _labels(
    raw: dict[str, Any], options: tuple[str, ...], path: KeyParts, document: Document
) -> dict[str, dict[str, str]]:
    told: dict[str, dict[str, str]] = raw.get("labels", {})
    labels = {
        language: {_composed(option): label for option, label in shown.items()} for language, shown in told.items()
    }
    for language, shown in labels.items():
        if sorted(shown) != sorted(options):
            message = f"the labels of {language} are not those of the options"
            raise document.error("bad_values", (*path, "labels", language), message, fix="Give each option one label.")
    return labels


def _bounds(raw: dict[str, Any], path: KeyParts, document: Document) -> tuple[Fraction, Fraction] | None:
    if "bounds" not in raw:
        return None
    try:
        low, high = (exact(end) for end in raw["bounds"])
    except Refused:
        low = high = Fraction(0)
    if low >= high:
        message = "bounds are two numbers, the smallest and the largest"
        raise document.error("bad_bounds", (*path, "bounds"), message, fix="Write bounds such as [0, 24].")
    return low, high


def _step(
    raw: dict[str, Any], bounds: tuple[Fraction, Fraction] | None, path: KeyParts, document: Document
) -> Fraction | None:
    if bounds is None:
        if "step" in raw:
            raise document.error(
                "conflict", (*path, "step"), "a step goes with bounds", fix="Remove it, or add bounds."
            )
        return None
    width = bounds[1] - bounds[0]
    step = exact(raw["step"]) if "step" in raw else width / STEPS
    if width % step or width / step >= PLACES_MAX:
        message = f"the step does not divide the range into fewer than {PLACES_MAX} parts"
        raise document.error("bad_grid", (*path, "step"), message, fix="Choose a step that divides the range.")
    return step
