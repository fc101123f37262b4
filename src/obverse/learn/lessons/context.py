"""Contextual integrity, and consent screens that manipulate."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from obverse.collect.device import Device
from obverse.core.errors import ObverseError
from obverse.learn.exercises import Choice, Exercise
from obverse.learn.lesson import Lesson, Shown, Step, Text, room, survey, table

HOSPITAL = """
[project]
name = "hospital"
[privacy]
epsilon = 0.1
[budget]
epsilon = 4
[purposes.care]
epsilon = 2
[purposes.advertising]
epsilon = 2
[tables.patients]
source = "patients.csv"
unit = "id"
purposes = ["care"]
"""
DOSES = """
[project]
name = "doses"
[surveys.doses]
question = "Have you missed a dose this month?"
options = ["no", "yes"]
protocol = "two_coins"
epsilon = 1.0987
people = 1000
retention_days = 30
purpose = "To plan reminders."
consent = "I agree that my randomized answer is counted."
"""
TOKEN = bytes(32)
SCREENS = {  # what it says: whether silence sends something, and how many acts a yes and a no take
    "a box that is ticked already; whoever does nothing has agreed": (True, 0, 1),
    "a large button 'Agree', and 'Settings' from which one can decline on the third page": (False, 1, 3),
    "'Yes' and 'No', alike in size, with what is sent and for how long; whoever does nothing sends nothing": (
        False,
        1,
        1,
    ),
    "a ticked box: 'Untick this if you would rather not be excluded from not taking part'": (True, 0, 1),
}


def told(call: Callable[[], object], done: str) -> str:
    """What came of it."""
    try:
        call()
    except ObverseError as refused:
        return f"refused [{refused.code}]"
    return done


def by_purpose() -> Shown:
    """The same count from the same rows, for the purpose that they were given for, for another, and for none."""
    rows = []
    for purpose in ("care", "advertising", ""):
        with room(HOSPITAL, purpose=purpose, patients={"id": list(range(200))}) as session:
            said = told(lambda: session.ask("SELECT COUNT(*) FROM patients"), "answered, with noise")
        rows.append((purpose or "(none)", said))
    return table(
        ("asked for", "the product"),
        rows,
        "Noise would have hidden every patient each time. The flow was wrong all the same.",
    )


def what_is_shown() -> Shown:
    """What a device shows before anybody agrees; made from the survey, so that nobody can show something else."""
    with tempfile.TemporaryDirectory() as folder:
        device = Device(Path(folder))
        text = device.consent_text(survey(DOSES, "doses"))
        device.close()
    return Shown(text)


def acts_of_a_person() -> Shown:
    """What a device sends, after each thing that its owner may do."""
    spec = survey(DOSES, "doses")
    rows = []
    for name, acts in {
        "nothing": (),
        "no": ("decline",),
        "yes": ("consent",),
        "yes, and then stop": ("consent", "withdraw"),
    }.items():
        with tempfile.TemporaryDirectory() as folder:
            device = Device(Path(folder))
            for act in acts:
                getattr(device, act)(spec)
            said = told(lambda: device.report(spec, "yes", token=TOKEN), "one randomized report")  # noqa: B023
            rows.append((name, len(acts), said))
            device.close()
    return table(("the person said", "acts", "is sent"), rows, "A no is as short as a yes, and silence is a no.")


def without_a_purpose() -> Shown:
    """A survey that does not say what it is for, or for how long, is not a survey."""
    rows = []
    for line in ("purpose", "consent", "retention_days"):
        text = "\n".join(one for one in DOSES.splitlines() if not one.startswith(line))
        rows.append((line, told(lambda: survey(text, "doses"), "accepted")))  # noqa: B023
    return table(("left out", "the product"), rows)


def sends_after(*acts: str) -> bool:
    """Whether a device sends a report after its owner did this."""
    spec = survey(DOSES, "doses")
    with tempfile.TemporaryDirectory() as folder:
        device = Device(Path(folder))
        for act in acts:
            getattr(device, act)(spec)
        sent = told(lambda: device.report(spec, "yes", token=TOKEN), "sent") == "sent"
        device.close()
    return sent


def fair_screen() -> int:
    """The screen that asks as the device does: tried on the device itself."""
    yes = 1 if sends_after("consent") and not sends_after() else 0
    no = 1 if not sends_after("decline") else 0
    return list(SCREENS.values()).index((sends_after(), yes, no))


LESSON = Lesson(
    "context",
    "Contextual integrity, and consent screens that manipulate",
    __name__,
    (
        Text(
            "Privacy is not secrecy. A patient tells a doctor what they tell no employer. Helen Nissenbaum calls it "
            "contextual integrity: information has a subject, a sender, a recipient, a type, and a rule under which it "
            "was "
            "passed on. Privacy is kept when a flow fits the context in which it began."
        ),
        Step(
            "Differential privacy bounds what is learned about one person. Whether a question should be asked at all "
            "it "
            "does not say; so tables have purposes:",
            by_purpose,
        ),
        Text(
            "Consent is such a rule, if it was given freely. Many screens are made so that it is not: boxes ticked "
            "beforehand, an 'Allow all' in colour beside a grey maze, a no that has to be confirmed, a yes that does "
            "not."
        ),
        Step("What a device of this product shows before anything is sent:", what_is_shown),
        Step("And what it sends:", acts_of_a_person),
        Step("Three things that a survey cannot leave out:", without_a_purpose),
    ),
    Exercise(
        "Which screen asks freely, as the device above does?",
        Choice(tuple(SCREENS), fair_screen),
        answer="c",
        wrong=("a", "b", "d"),
        hint="what happens if one does nothing, and how many steps does a no take?",
        why="silence sends nothing, and a no is as short as a yes.",
    ),
)
